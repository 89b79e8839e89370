"""An answer on every path."""

from __future__ import annotations

import pytest

RULE = "every-path-returns"

BEFORE_AND_VIOLATIONS = [
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        if state.blind:\n            return 'ascender'\n",
        [
            "2:9: Policy.select_skill can end without returning a skill's name. End with `return` and a skill's name."
        ],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        return None\n",
        [
            "3:9: Policy.select_skill returns None here instead of a skill's name. End with `return` and a skill's name."
        ],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        return 3\n",
        [
            "3:16: Policy.select_skill returns something that is no skill's name. Skills: discoverer, descender, ascender, merchant."
        ],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        return ['discoverer']\n",
        ["3:9: Policy.select_skill returns several values. Return one skill's name."],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        return self.f()\n    def f(self):\n        for s in ('ascender',):\n            return s\n",
        ["4:9: Policy.f can end without returning a skill's name. End with `return` and a skill's name."],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        return state.depth > 1\n",
        [
            "3:16: Policy.select_skill returns something that is no skill's name. Skills: discoverer, descender, ascender, merchant."
        ],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        return\n",
        [
            "3:9: Policy.select_skill returns None here instead of a skill's name. End with `return` and a skill's name."
        ],
    ),
]

ACCEPTED = [
    "class Policy:\n    def select_skill(self, state, finished, startable):\n        if state.blind:\n            return 'ascender'\n        elif state.depth > 1:\n            return 'descender'\n        else:\n            return 'discoverer'\n",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, before, violations):
    assert found(before, RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, before):
    assert found(before) == []
