"""Attributes of self."""

from __future__ import annotations

import pytest

RULE = "self-attributes"

BEFORE_AND_VIOLATIONS = [
    ("x = self.gaol", ["6:18: self.gaol is not defined. Did you mean 'goal'?"]),
    (
        "self.new = 1",
        ["6:14: self.new is not defined. Give it a first value in `__init__`: `self.new = ...`."],
    ),
    (
        "self.select_skill = None",
        ["6:14: the method 'select_skill' is overwritten. Give the attribute a name of its own."],
    ),
    (
        "self.observ(state)",
        ["6:14: self.observ is not defined. Give it a first value in `__init__`: `self.observ = ...`."],
    ),
]

ACCEPTED = [
    "self.goal += 1",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []
