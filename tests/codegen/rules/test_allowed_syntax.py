"""Only the syntax that is listed."""

from __future__ import annotations

import pytest

RULE = "allowed-syntax"

BEFORE_AND_VIOLATIONS = [
    ("while True:\n    pass", ["6:9: `while` is not allowed. Write `for _ in range(n)` with a number n."]),
    (
        "try:\n    pass\nexcept KeyError:\n    pass",
        ["6:9: `try` is not allowed. Test the condition beforehand with `if`; exceptions may not be hidden."],
    ),
    ("raise ValueError('x')", ["6:9: `raise` is not allowed. Every call must give an answer: return one."]),
    (
        "assert state.depth",
        [
            "6:9: `assert` is not allowed. Assertions belong into the unit test: functions whose names begin with `test_`."
        ],
    ),
    ("with state:\n    pass", ["6:9: `with` is not allowed. There is nothing to open or to close."]),
    ("global x", ["6:9: `global` is not allowed. Keep what must be remembered in attributes: `self.x`."]),
    (
        "del self.names[0]",
        ["6:9: `del` is not allowed. Leave it out, or build a new value without the part."],
    ),
    ("yield 'discoverer'", ["6:9: `yield` is not allowed. Return a value instead."]),
    ("if (x := state.depth) > 1:\n    pass", ["6:13: `:=` is not allowed. Assign on a line of its own."]),
    (
        "match state.depth:\n    case 1:\n        pass",
        ["6:9: `match` is not allowed. Write `if` and `elif`."],
    ),
    ("...", ["6:9: `...` is not allowed. Write the code; nothing may be left open."]),
    ("x = 1 << 3", ["6:15: `<<` is not allowed. Multiply by a number."]),
    ("x = 1j", ["6:13: a complex number is not allowed. Say it with plainer code."]),
    ("x = 2\nx **= 2", ["7:11: `**=` is not allowed. Write `x ** 2` with a number."]),
    ("async def f():\n    pass", ["6:9: `async` is not allowed. Write plain functions."]),
]

ACCEPTED = [
    "x = [d for d in range(3) if d]\nfor y in x:\n    if y > 1 and not y < 0:\n        continue",
    "x = {'a': 1, **{}}\ny = [*x]",
    "x = -1 if state.blind else ~1",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []
