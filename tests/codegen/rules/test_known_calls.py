"""Calls of what can be seen."""

from __future__ import annotations

import pytest

RULE = "known-calls"

BEFORE_AND_VIOLATIONS = [
    (
        "f = len\nx = f('a')",
        [
            "7:13: the variable 'f' is called. Call functions by their names: Policy.__init__, Policy.select_skill."
        ],
    ),
    (
        "x = (lambda: 1)()",
        [
            "6:14: a lambda may only be an argument, as in `max(x, key=lambda ...)`. Write a function with `def`.",
            "6:14: the result of an expression is called. Call functions by their names: Policy.__init__, Policy.select_skill.",
        ],
    ),
    (
        "x = self.names[0]()",
        [
            "6:13: the result of an expression is called. Call functions by their names: Policy.__init__, Policy.select_skill."
        ],
    ),
    (
        "f = lambda y: y",
        [
            "6:13: a lambda may only be an argument, as in `max(x, key=lambda ...)`. Write a function with `def`."
        ],
    ),
    (
        "x = max(*self.names, 1)\ny = len(*self.names)",
        ["7:17: `*` in a call is only allowed for max, min, zip and print. Write every argument."],
    ),
    ("x = dict(**{})", ["6:18: `**` in a call is not allowed. Write every argument."]),
    (
        "x = self.goal()",
        [
            "6:13: self.goal is called but is not a method. Call functions by their names: Policy.__init__, Policy.select_skill."
        ],
    ),
    ("x = state.depth()", ["6:13: the field 'depth' is called. Leave the brackets out."]),
]

ACCEPTED = [
    "x = max(self.names, key=lambda y: -y)",
    "x = max(*[1, 2])",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []
