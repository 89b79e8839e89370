"""What may be assigned."""

from __future__ import annotations

import pytest

RULE = "assigned-targets"

BEFORE_AND_VIOLATIONS = [
    (
        "state.depth = 3",
        [
            "6:9: only attributes of `self` may be assigned. A state cannot be changed; keep values in `self.x`."
        ],
    ),
    (
        "state.nearby[0] = 3",
        ["6:9: only places in a variable or in `self.x` may be assigned. Give the container a name."],
    ),
    (
        "for state.gold in range(3):\n    pass",
        [
            "6:13: only attributes of `self` may be assigned. A state cannot be changed; keep values in `self.x`."
        ],
    ),
    (
        "x, state.depth = 1, 2",
        [
            "6:12: only attributes of `self` may be assigned. A state cannot be changed; keep values in `self.x`."
        ],
    ),
    ("self = 3", ["6:9: `self` may not be assigned. Use another name."]),
]

ACCEPTED = [
    "x, y = 1, 2\nself.names[0] = x\nself.goal = y",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []
