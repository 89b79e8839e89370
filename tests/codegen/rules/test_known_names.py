"""Names that are defined."""

from __future__ import annotations

import pytest

RULE = "known-names"

BEFORE_AND_VIOLATIONS = [
    (
        "x = eval('1')",
        [
            "6:13: 'eval' is not allowed. Allowed builtins: abs, all, any, bool, dict, divmod, enumerate, filter, float, frozenset, int, isinstance, len, list, map, max, min, range, reversed, round, set, slice, sorted, str, sum, tuple, zip."
        ],
    ),
    ("x = open('f')", ["6:13: 'open' is not allowed. There are no files here."]),
    ("print(1)", ["6:9: 'print' is not allowed. Printing belongs into the unit test."]),
    ("x = depth", ["6:13: 'depth' is not defined. The state has it: state.depth."]),
    ("x = y", ["6:13: 'y' is not defined."]),
    ("x = getattr(state, 'x')", ["6:13: 'getattr' is not allowed. Write `state.x` with the field's name."]),
    ("x = goal", ["6:13: 'goal' is not defined. Write self.goal."]),
    ("x = math.pi", ["6:13: 'math' is not defined. Write `import math` at the top."]),
    ("x = startible", ["6:13: 'startible' is not defined. Did you mean 'startable'?"]),
]

ACCEPTED = [
    "x = len(startable)\ny = x",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []
