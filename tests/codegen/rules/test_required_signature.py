"""The functions that are asked for."""

from __future__ import annotations

import pytest

RULE = "required-signature"

BEFORE_AND_VIOLATIONS = [
    ("x = 1\n", ["1:1: there is no class Policy. Write `class Policy:`."]),
    (
        "class Police:\n    pass\n",
        ["1:1: there is no class Policy. Write `class Policy:`. Did you mean 'Police'?"],
    ),
    (
        "class Policy:\n    def choose(self, state):\n        return 'discoverer'\n",
        [
            "1:1: there is no function select_skill. Write `def select_skill(self, state, finished, startable):`."
        ],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, available):\n        return 'discoverer'\n",
        [
            "2:9: select_skill has the parameters (self, state, finished, available). Write `def select_skill(self, state, finished, startable):`."
        ],
    ),
    (
        "class Policy:\n    def select_skill(self, state, startable):\n        return 'discoverer'\n",
        [
            "2:9: select_skill has the parameters (self, state, startable). Write `def select_skill(self, state, finished, startable):`."
        ],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable, more=1):\n        return 'discoverer'\n",
        [
            "2:9: select_skill has the parameters (self, state, finished, startable, more). Write `def select_skill(self, state, finished, startable):`."
        ],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n    def observe(self):\n        pass\n",
        ["4:9: observe has the parameters (self). Write `def observe(self, state):`."],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n    def __init__(self, goal):\n        self.goal = goal\n",
        ["4:9: __init__ has parameters. Write `def __init__(self):`."],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["4:9: Policy.select_skill is defined twice. Keep one of them."],
    ),
]

ACCEPTED = [
    "class Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
    "class Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n    def observe(self, state):\n        pass\n",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, before, violations):
    assert found(before, RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, before):
    assert found(before) == []
