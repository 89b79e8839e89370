"""Functions that call themselves."""

from __future__ import annotations

import pytest

RULE = "recursion"

BEFORE_AND_VIOLATIONS = [
    (
        "def f(x):\n    return f(x)\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["2:12: recursion is not allowed: f -> f. Write a `for` loop."],
    ),
    (
        "def f(x):\n    return g(x)\ndef g(x):\n    return f(x)\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["2:12: recursion is not allowed: f -> g -> f. Write a `for` loop."],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        return self.select_skill(state, finished, startable)\n",
        ["3:16: recursion is not allowed: Policy.select_skill -> Policy.select_skill. Write a `for` loop."],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        x = Policy()\n        return 'discoverer'\n",
        ["3:13: recursion is not allowed: Policy.select_skill -> Policy.select_skill. Write a `for` loop."],
    ),
    (
        "def f(x):\n    return max([x], key=f)\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["2:25: recursion is not allowed: f -> f. Write a `for` loop."],
    ),
]

ACCEPTED = [
    "def f(x):\n    return x\ndef g(x):\n    return f(f(x))\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, before, violations):
    assert found(before, RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, before):
    assert found(before) == []
