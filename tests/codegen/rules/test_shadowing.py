"""Names that hide others."""

from __future__ import annotations

import pytest

RULE = "shadowing"

BEFORE_AND_VIOLATIONS = [
    ("max = 3", ["6:9: 'max' hides the builtin of that name. Use another name, for example `max_`."]),
    (
        "for id in range(3):\n    pass",
        ["6:13: 'id' hides the builtin of that name. Use another name, for example `id_`."],
    ),
    (
        "x = [list for list in range(3)]",
        ["6:23: 'list' hides the builtin of that name. Use another name, for example `list_`."],
    ),
    ("random = 3", ["6:9: 'random' hides the module of that name. Use another name."]),
    ("State = 3", ["6:9: 'State' is given and may not be defined. Leave the definition out."]),
]

ACCEPTED = [
    "x = max(1, 2)",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []
