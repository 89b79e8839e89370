"""Texts that a field can have."""

from __future__ import annotations

import pytest

RULE = "field-values"

BEFORE_AND_VIOLATIONS = [
    (
        "x = state.hunger == 'Hungary'",
        [
            "6:29: 'hunger' is never 'Hungary'. It is one of 'Not hungry', 'Hungry', 'Weak'. Did you mean 'Hungry'?"
        ],
    ),
    (
        "x = state.hunger in ('Weak', 'weak')",
        ["6:38: 'hunger' is never 'weak'. It is one of 'Not hungry', 'Hungry', 'Weak'. Did you mean 'Weak'?"],
    ),
    (
        "x = 'Starved' != state.hunger",
        ["6:13: 'hunger' is never 'Starved'. It is one of 'Not hungry', 'Hungry', 'Weak'."],
    ),
]

ACCEPTED = [
    "x = state.hunger == 'Weak'",
    "x = state.hunger not in ('Weak', 'Hungry')",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []
