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
    (
        "x = 3\nfor y in range(60):\n    x = x ** 2",
        ["8:13: the value can grow without bound. Add a number instead, or cut it off with min(x, 1000)."],
    ),
    (
        "x = 3\nfor y in range(60):\n    y = x + x\n    x = y",
        ["8:13: the value can grow without bound. Add a number instead, or cut it off with min(x, 1000)."],
    ),
    (
        "a, b = 'a', 'b'\nfor y in range(60):\n    a, b = b + b, a + a",
        ["8:13: the value can grow without bound. Add a number instead, or cut it off with min(x, 1000)."],
    ),
]

ACCEPTED = [
    "for y in range(60):\n    self.goal = self.goal + 1",
    "x = 1\nfor y in range(8):\n    x = x * 2",
    "x = state.depth * state.gold",
    "low, high = 0, 100\nfor y in range(9):\n    middle = (low + high) // 2\n    low = middle",
    "a, b = 0, 0\nfor y in range(9):\n    a, b = a + b, 0",
    "a, b = 0, 1\nfor y in range(9):\n    a, b = b, a",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []
