"""Values of bounded size."""

from __future__ import annotations

import pytest

RULE = "bounded-values"

BEFORE_AND_VIOLATIONS = [
    (
        "x = 10 ** 100",
        ["6:13: the power can be too large. Write the exponent as a number up to 8, or use math.pow."],
    ),
    (
        "x = 2 ** state.gold",
        ["6:13: the power can be too large. Write the exponent as a number up to 8, or use math.pow."],
    ),
    (
        "x = 10000000000000000",
        ["6:13: the number is larger than 1000000000000. Write float('inf') for a number above all."],
    ),
    ("x = 'a' * state.gold", ["6:13: it cannot be seen how long this becomes. Repeat at most 10000 times."]),
    ("x = [0] * 100000", ["6:13: it cannot be seen how long this becomes. Repeat at most 10000 times."]),
    ("x = ([0] * 1000) * 1000", ["6:13: a sequence is repeated twice over. Repeat it once."]),
    ("x = round(1, -999999999)", ["6:22: the number of digits can be too large. Write a number up to 20."]),
    (
        "import random\nx = random.choices(self.names, k=10 ** 9)",
        ["7:40: the number of choices can be too large. Write a number up to 1000."],
    ),
    (
        "s = 'a'\nx = s * state.gold",
        ["7:13: it cannot be seen how long this becomes. Repeat at most 10000 times."],
    ),
    ("x = int('9', 36)", ["6:22: int() takes one argument here. Leave the base out."]),
    (
        "x = list(map(round, [5], [-(10 ** 9)]))",
        ["6:22: round is used as a value. Call it: `[round(x) for x in values]`."],
    ),
]

ACCEPTED = [
    "x = [0] * 64",
    "x = state.gold ** 2",
    "x = round(1.234, 2)",
    "x = state.gold * state.depth",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []


def test_a_function_is_known_under_any_name(found, in_policy):
    source = "from random import choices as take, sample as draw\n" + in_policy(
        "x = take([1], k=10 ** 9)\ny = draw([1], 1, counts=[5])"
    )
    assert found(source, RULE) == [
        "7:23: the number of choices can be too large. Write a number up to 1000.",
        "8:26: sample() takes no counts here. Repeat the values in the list.",
    ]
