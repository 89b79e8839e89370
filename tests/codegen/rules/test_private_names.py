"""Names that begin with underscores."""

from __future__ import annotations

import pytest

RULE = "private-names"

BEFORE_AND_VIOLATIONS = [
    (
        "x = state.__class__",
        ["6:19: the attribute '__class__' is not allowed. Python's own attributes are out of reach."],
    ),
    (
        "x = self.__dict__",
        ["6:18: the attribute '__dict__' is not allowed. Python's own attributes are out of reach."],
    ),
    (
        "x = state._secret",
        ["6:19: the attribute '_secret' is not allowed. Only `self._x` may begin with `_`."],
    ),
    ("x = __builtins__", ["6:13: the name '__builtins__' is not allowed. Begin names with a letter."]),
    ("x = __import__", ["6:13: the name '__import__' is not allowed. Begin names with a letter."]),
    ("__x = 1", ["6:9: the name '__x' is not allowed. Begin names with a letter."]),
    (
        "x = [].__class__.__base__",
        [
            "6:16: the attribute '__class__' is not allowed. Python's own attributes are out of reach.",
            "6:26: the attribute '__base__' is not allowed. Python's own attributes are out of reach.",
        ],
    ),
]

ACCEPTED = [
    "self.goal = 1\n_x = 2\nself.names = [_x]",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []
