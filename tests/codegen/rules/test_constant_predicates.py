"""Predicates that say something."""

from __future__ import annotations

import pytest

RULE = "constant-predicates"

BEFORE_AND_VIOLATIONS = [
    (
        "def can_initiate(state):\n    return True\n",
        ["1:5: can_initiate always returns True. Let it depend on the state."],
    ),
    (
        "def can_initiate(state):\n    return state.depth == state.depth\n",
        ["1:5: can_initiate always returns True. Let it depend on the state."],
    ),
    (
        "def can_initiate(state):\n    return 1 > 1 or 2 == 2\n",
        ["1:5: can_initiate always returns True. Let it depend on the state."],
    ),
    (
        "def can_initiate(state):\n    return state.blind or True\n",
        ["1:5: can_initiate always returns True. Let it depend on the state."],
    ),
    (
        "def can_initiate(state):\n    return state.blind or not state.blind\n",
        ["1:5: can_initiate always returns True. Let it depend on the state."],
    ),
    (
        "def can_initiate(state):\n    if state.blind:\n        return False\n    return False\n",
        ["1:5: can_initiate always returns False. Let it depend on the state."],
    ),
    (
        "def can_initiate(state):\n    if True:\n        return True\n    return state.blind\n",
        ["1:5: can_initiate always returns True. Let it depend on the state."],
    ),
    (
        "def can_initiate(state):\n    x = False\n    return x\n",
        ["1:5: can_initiate always returns False. Let it depend on the state."],
    ),
    (
        "def can_initiate(state):\n    return bool(0)\n",
        ["1:5: can_initiate always returns False. Let it depend on the state."],
    ),
]

ACCEPTED = [
    "def can_initiate(state):\n    return state.blind\n",
    "def can_initiate(state):\n    return state.depth > 1 and not state.blind\n",
    "def can_initiate(state):\n    if state.blind:\n        return False\n    return True\n",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, before, violations):
    assert found(before, RULE, "initiation") == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, before):
    assert found(before, None, "initiation") == []
