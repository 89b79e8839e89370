"""Loops that end."""

from __future__ import annotations

import pytest

RULE = "bounded-loops"

BEFORE_AND_VIOLATIONS = [
    ("for x in range(100000):\n    pass", ["6:24: the range is longer than 10000. Stay below 10000."]),
    (
        "n = state.gold * 3\nfor x in range(n):\n    pass",
        ["7:24: it cannot be seen how long this range is. Write `range(min(n, 1000))`."],
    ),
    (
        "for r in map(range, (10 ** 12,)):\n    for x in r:\n        pass",
        ["6:22: range is used as a value. Call it where it is looped over."],
    ),
    ("longer = range", ["6:18: range is used as a value. Call it where it is looped over."]),
    (
        "for a in range(1000):\n    for b in range(1000):\n        pass",
        ["7:13: nested loops run up to 1000000 times, more than 100000. Loop over less."],
    ),
    (
        "x = [a for a in range(1000) for b in range(1000)]",
        ["6:36: nested loops run up to 1000000 times, more than 100000. Loop over less."],
    ),
    ("x = sum(range(10 ** 9))", ["6:23: the range is longer than 10000. Stay below 10000."]),
]

ACCEPTED = [
    "x = list(range(self.goal))",
    "for x in range(state.depth + 1):\n    pass",
    "for x in range(min(self.goal, 50)):\n    pass",
    "n = 30\nfor x in range(n):\n    pass",
    "for x in range(len(self.names)):\n    pass",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []
