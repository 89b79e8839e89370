"""Loops that feed what they loop over."""

from __future__ import annotations

import pytest

RULE = "growing-loops"

BEFORE_AND_VIOLATIONS = [
    (
        "for x in self.names:\n    self.names.append(x)",
        ["7:13: the loop changes what it loops over. Loop over a copy: `for x in list(values)`."],
    ),
    (
        "xs = [1]\nys = xs\nfor x in xs:\n    ys += [x]",
        ["9:13: the loop changes what it loops over. Loop over a copy: `for x in list(values)`."],
    ),
    (
        "xs = [1]\nfor x in xs:\n    xs[0:0] = [x]",
        ["8:13: the loop changes what it loops over. Loop over a copy: `for x in list(values)`."],
    ),
    (
        "xs = [1]\nxs.extend(x for x in xs)",
        ["7:9: the loop changes what it loops over. Loop over a copy: `for x in list(values)`."],
    ),
    (
        "xs = [1]\nys = (x for x in xs)\nxs += ys",
        ["8:9: the loop changes what it loops over. Loop over a copy: `for x in list(values)`."],
    ),
    (
        "d = {1: [1]}\nfor x in d[1]:\n    d[1].append(x)",
        ["8:13: the loop changes what it loops over. Loop over a copy: `for x in list(values)`."],
    ),
    (
        "d = {1: [1]}\nfor xs in d.values():\n    for x in xs:\n        d[1].append(x)",
        ["9:17: the loop changes what it loops over. Loop over a copy: `for x in list(values)`."],
    ),
    (
        "xs, zs = [1], [2]\nys = max(xs, key=lambda x: zs.append(x))",
        ["7:36: a container grows inside an expression that loops. Write a `for` loop on lines of its own."],
    ),
    (
        "xs = [1]\nys = list(map(xs.append, xs))",
        ["7:23: 'append' is used as a value. Call it: `values.append(x)`."],
    ),
    (
        "xs = [1]\nfor x in xs:\n    list.append(xs, x)",
        ["8:13: 'append' is used as a value. Call it: `values.append(x)`."],
    ),
]

ACCEPTED = [
    "for x in list(self.names):\n    self.names.append(x)",
    "for x in self.names[:]:\n    self.names.append(x)",
    "xs = []\nfor x in self.names:\n    xs.append(x)",
    "d = {1: []}\nfor x in d:\n    d[x].append(1)",
    "total = 0\nfor x in self.names:\n    total += 1",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []


POLICY = """class Policy:
    def __init__(self):
        self.names = [1]

    def all(self):
        return self.names

    def grow(self, x):
        self.names.append(x)
        return x

    def select_skill(self, state, finished, startable):
        LINES
        return "discoverer"
"""


@pytest.mark.parametrize(
    "line",
    [
        "x = [self.grow(x) for x in self.names]",
        "x = max(self.names, key=self.grow)",
        "x = list(map(self.grow, self.all()))",
        "x = any(self.grow(x) for x in self.names)",
    ],
)
def test_what_is_called_for_every_element_is_followed(found, line):
    assert "the loop changes what it loops over" in str(found(POLICY.replace("LINES", line), RULE))
    assert (
        found(POLICY.replace("LINES", line.replace("self.names", "(1, 2)").replace("self.all()", "(1, 2)")))
        == []
    )
