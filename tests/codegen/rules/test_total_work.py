"""Loops of functions that call functions."""

from __future__ import annotations

import pytest

RULE = "total-work"

BEFORE_AND_VIOLATIONS = [
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        for b in range(9000):\n            self.f()\n        return 'discoverer'\n    def f(self):\n        x = 0\n        for a in range(1000):\n            x += 1\n        return x\n",
        [
            "2:9: Policy.select_skill can run through its loops 9018001 times, more than 1000000. Loop over less, or call fewer functions inside loops."
        ],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        x = [self.g() for b in range(50)]\n        return 'discoverer'\n    def g(self):\n        return [self.f() for c in range(50)]\n    def f(self):\n        x = 0\n        for a in range(1000):\n            x += 1\n        return x\n",
        [
            "2:9: Policy.select_skill can run through its loops 2505101 times, more than 1000000. Loop over less, or call fewer functions inside loops."
        ],
    ),
]

ACCEPTED = [
    "class Policy:\n    def select_skill(self, state, finished, startable):\n        for b in range(100):\n            self.f()\n        return 'discoverer'\n    def f(self):\n        x = 0\n        for a in range(1000):\n            x += 1\n        return x\n",
    "class Policy:\n    def select_skill(self, state, finished, startable):\n        x = [b for b in range(len([self.f()])) if b]\n        return 'discoverer'\n    def f(self):\n        x = 0\n        for a in range(1000):\n            x += 1\n        return x\n",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, before, violations):
    assert found(before, RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, before):
    assert found(before) == []
