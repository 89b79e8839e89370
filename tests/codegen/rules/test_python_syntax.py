"""What Python itself refuses. Its words differ from version to version; the line does not."""

from __future__ import annotations

import pytest

RULE = "python-syntax"
POLICY = (
    "class Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n"
)

BEFORE_AND_LINE = [
    ("class Policy:\ndef f(self):\n    pass\n", 2),
    ("def f(:\n", 1),
    ("if x:\n\ty = 1\n        z = 1\n", 3),
    ("x = '", 1),
    ("def f(a, a):\n    return 1\n", 1),
    ("print 'x'\n", 1),
    ("return 1\n", 1),
    (POLICY + "    def g(self):\n        x = [1 async for y in self]\n        return x\n", 5),
    (POLICY + "    def g(self):\n        x = await self\n        return x\n", 5),
    ("x = 1\ny = " + "(" * 150 + "1" + ")" * 90 + "\n", 2),
]
DEEP = [
    "x = " + "-" * 60 + "1\n" + POLICY,
    "x = " + " + ".join(["1"] * 70) + "\n" + POLICY,
    "x = " + "[" * 45 + "]" * 45 + "\n" + POLICY,
    "x = a" + ".a" * 60 + "\n" + POLICY,
    "x = " + "not " * 60 + "1\n" + POLICY,
]


@pytest.mark.parametrize(("before", "line"), BEFORE_AND_LINE)
def test_violations(found, before, line):
    violations = found(before, RULE)
    assert len(violations) == 1
    assert violations[0].startswith(f"{line}:")
    assert "not valid Python: " in violations[0]


@pytest.mark.parametrize("before", DEEP)
def test_deep_nesting_is_refused_before_it_is_analysed(found, before):
    assert ["the code is nested too deeply" in each for each in found(before, RULE)] == [True]


def test_accepts(found):
    assert found(POLICY) == []


def test_many_elif_are_not_nesting(found):
    chain = "".join(f"        elif state.depth == {n}:\n            return 'ascender'\n" for n in range(80))
    head = "class Policy:\n    def select_skill(self, state, finished, startable):\n        if state.blind:\n"
    assert found(f"{head}            return 'merchant'\n{chain}        return 'descender'\n") == []


def test_tabs_are_explained(found):
    assert "Write spaces, never tabs." in found("if 1:\n\ty = 1\n        z = 1\n", RULE)[0]
