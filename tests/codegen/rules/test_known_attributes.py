"""Attributes of plain values."""

from __future__ import annotations

import pytest

RULE = "known-attributes"

BEFORE_AND_VIOLATIONS = [
    ("x = self.names.frobnicate", ["6:24: the attribute 'frobnicate' is not known. Did you mean 'rotate'?"]),
    ("x = '{0}'.format(1)", ["6:19: the attribute 'format' is not known. Write an f-string: f\"{x}\"."]),
    (
        "x = 'a'.replace('a', 'b')",
        [
            "6:17: the attribute 'replace' is not known. Use fields of the state and methods of plain values only."
        ],
    ),
    (
        "x = (y for y in self.names).gi_frame",
        [
            "6:37: the attribute 'gi_frame' is not known. Use fields of the state and methods of plain values only."
        ],
    ),
    ("x = [].apend", ["6:16: the attribute 'apend' is not known. Did you mean 'append'?"]),
    (
        "x = state.nearby.pop().f_back",
        [
            "6:32: the attribute 'f_back' is not known. Use fields of the state and methods of plain values only."
        ],
    ),
]

ACCEPTED = [
    "self.names.append(1)",
    "x = 'A'.lower().startswith('a')",
    "x = {}.get(1)",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []
