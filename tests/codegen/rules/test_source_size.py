"""Small sources only."""

from __future__ import annotations

import pytest

RULE = "source-size"
POLICY = (
    "class Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n"
)

BEFORE_AND_VIOLATIONS = [
    ("", ["1:1: the module is empty. Write the whole module."]),
    (" \n\n", ["1:1: the module is empty. Write the whole module."]),
    (
        "x = 1\n" * 401 + POLICY,
        ["401:1: the module has 404 lines, more than 400. Say the same in less code."],
    ),
    (f"x = '{'a' * 300}'\n{POLICY}", ["1:301: the line has 306 characters, more than 300. Break it."]),
    (
        ("# " + "é" * 98 + "\n") * 110 + POLICY,
        ["1:1: the module has 21988 bytes, more than 20000. Say the same in less code."],
    ),
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, before, violations):
    assert found(before, RULE) == violations


def test_accepts_exactly_the_limit(found):
    assert found("# a\n" * 397 + POLICY) == []
    assert found("# a\n" * 398 + POLICY) != []


def test_nothing_else_is_looked_at_in_a_source_that_is_too_large(found):
    assert len(found("while True:\n    pass\n" * 300)) == 1
