"""Documented fields of the state."""

from __future__ import annotations

import pytest

RULE = "state-fields"

BEFORE_AND_VIOLATIONS = [
    ("x = state.dept", ["6:19: 'dept' is not a field of the state. Did you mean 'depth'?"]),
    (
        "previous = state\nx = previous.gold_pieces",
        ["7:22: 'gold_pieces' is not a field of the state. Did you mean 'gold'?"],
    ),
    (
        "x = state.keys()",
        [
            "6:19: 'keys' is not a field of the state. Fields: turn, depth, gold, hunger, branch_depth, nearby, blind."
        ],
    ),
]

ACCEPTED = [
    "x = state.depth + state.gold",
    "x = 'altar' in state.nearby",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []
