"""Names that hide others."""

from __future__ import annotations

import pytest

RULE = "shadowing"

BEFORE_AND_VIOLATIONS = [
    ("max = 3", ["6:9: 'max' hides the builtin of that name. Use another name, for example `max_`."]),
    (
        "for id in range(3):\n    pass",
        ["6:13: 'id' hides the builtin of that name. Use another name, for example `id_`."],
    ),
    (
        "x = [list for list in range(3)]",
        ["6:23: 'list' hides the builtin of that name. Use another name, for example `list_`."],
    ),
    ("random = 3", ["6:9: 'random' hides the module of that name. Use another name."]),
    ("State = 3", ["6:9: 'State' is given and may not be defined. Leave the definition out."]),
]

ACCEPTED = [
    "x = max(1, 2)",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []


@pytest.mark.parametrize(
    "lines",
    [
        "def frame(m):\n    return m",
        "def frame(xs):\n    return [m for m in xs]",
        "def frame(xs):\n    for m in xs:\n        return m",
        "def frame(xs):\n    m = xs\n    return m",
        "def frame(xs):\n    return list(map(lambda m: m, xs))",
        "def m(x):\n    return x",
    ],
)
@pytest.mark.parametrize("start", ["import math as m", "from math import sqrt as m"])
def test_nothing_is_called_like_an_import(found, policy, start, lines):
    (violation,) = found(f"{start}\n{lines}\n{policy}", RULE)
    assert "'m' hides the import of that name" in violation


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("def f(self):\n    return 1", "a parameter is called `self` outside of a method"),
        ("def f(xs):\n    return list(map(lambda self: 1, xs))", "a parameter is called `self`"),
        ("import math as self", "`self` may not be defined"),
        ("def self(x):\n    return x", "`self` may not be defined"),
        ("def Policy(x):\n    return x", "'Policy' is defined twice"),
        ("class Policy:\n    pass", "'Policy' is defined twice"),
        ("import math as m\nimport random as m", "'m' is imported twice"),
    ],
)
def test_names_that_other_rules_believe_in(found, policy, source, what):
    assert what in str(found(f"{source}\n{policy}", RULE))


def test_a_lambda_in_a_method_has_no_self(found, in_policy):
    (violation,) = found(in_policy("x = list(map(lambda self: self.goal, self.names))"), RULE)
    assert violation.startswith("6:29: a parameter is called `self` outside of a method")
