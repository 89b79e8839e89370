"""Values that grow by their own size."""

from __future__ import annotations

import pytest

RULE = "doubling"

BEFORE_AND_VIOLATIONS = [
    (
        "x = 3\nfor y in range(60):\n    x *= x",
        ["8:13: the value can grow without bound. Add a number instead, or cut it off with min(x, 1000)."],
    ),
    (
        "x = 3\nfor y in range(60):\n    x = x * x",
        ["8:13: the value can grow without bound. Add a number instead, or cut it off with min(x, 1000)."],
    ),
    (
        "x = 'a'\nfor y in range(60):\n    x = x + x",
        ["8:13: the value can grow without bound. Add a number instead, or cut it off with min(x, 1000)."],
    ),
    (
        "x = 'a'\nfor y in range(60):\n    x += x",
        ["8:13: the value can grow without bound. Add a number instead, or cut it off with min(x, 1000)."],
    ),
    (
        "self.names.extend(self.names)",
        ["6:9: the value can grow without bound. Add a number instead, or cut it off with min(x, 1000)."],
    ),
    (
        "self.goal *= state.depth",
        ["6:9: the value can grow without bound. Add a number instead, or cut it off with min(x, 1000)."],
    ),
    (
        "x = 'a'\nfor y in range(60):\n    x = f'{x}{x}'",
        ["8:13: the value can grow without bound. Add a number instead, or cut it off with min(x, 1000)."],
    ),
    (
        "x = []\nfor y in range(60):\n    x = [x, x]",
        ["8:13: the value can grow without bound. Add a number instead, or cut it off with min(x, 1000)."],
    ),
]

ACCEPTED = [
    "for y in range(60):\n    self.goal = self.goal + 1",
    "x = 1\nfor y in range(8):\n    x = x * 2",
    "x = state.depth * state.gold",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []
