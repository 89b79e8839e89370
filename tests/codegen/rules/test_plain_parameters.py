"""Parameters of functions."""

from __future__ import annotations

import pytest

RULE = "plain-parameters"

BEFORE_AND_VIOLATIONS = [
    (
        "def f(*args):\n    return 1\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:7: `*args` is not allowed. Name every parameter."],
    ),
    (
        "def f(**more):\n    return 1\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:7: `**more` is not allowed. Name every parameter."],
    ),
    (
        "def f(x=[]):\n    return 1\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:9: a default must be a constant. Use None, a number or a text."],
    ),
    (
        "def f(x=len('a')):\n    return 1\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:9: a default must be a constant. Use None, a number or a text."],
    ),
    (
        "X = max([1], key=lambda y=1: y)\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:27: a lambda's parameter may have no default. Write a function with `def`."],
    ),
]

ACCEPTED = [
    "def f(x, y=-1, z=None, w=()):\n    return 1\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, before, violations):
    assert found(before, RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, before):
    assert found(before) == []
