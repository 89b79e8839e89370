"""Formats of texts."""

from __future__ import annotations

import pytest

RULE = "formatting"

BEFORE_AND_VIOLATIONS = [
    ("x = f'{state.depth:1000}'", ["6:28: the format '1000' is too wide. Use a width below 100."]),
    (
        "x = f'{state.depth:{state.gold}}'",
        ["6:28: a computed format is not allowed. Write the width as a number."],
    ),
    (
        "x = '%1000d'",
        ["6:13: the text holds a wide or computed `%` format. Use an f-string and a width below 100."],
    ),
    (
        "x = '%*d'",
        ["6:13: the text holds a wide or computed `%` format. Use an f-string and a width below 100."],
    ),
]

ACCEPTED = [
    "x = f'{state.depth:>3} {state.gold!r:.2}'",
    "x = '100% sure'",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []
