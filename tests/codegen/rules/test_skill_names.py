"""Names of skills."""

from __future__ import annotations

import pytest

RULE = "skill-names"

BEFORE_AND_VIOLATIONS = [
    (
        "return 'descend'",
        [
            "6:16: 'descend' is not a skill. Skills: discoverer, descender, ascender, merchant. Did you mean 'descender'?"
        ],
    ),
    (
        "return 'ascender' if state.blind else 'trader'",
        ["6:47: 'trader' is not a skill. Skills: discoverer, descender, ascender, merchant."],
    ),
    (
        "if finished == 'shopkeeper':\n    pass",
        ["6:24: 'shopkeeper' is not a skill. Skills: discoverer, descender, ascender, merchant."],
    ),
    (
        "if 'mercant' in startable:\n    pass",
        [
            "6:12: 'mercant' is not a skill. Skills: discoverer, descender, ascender, merchant. Did you mean 'merchant'?"
        ],
    ),
    (
        "choice = 'explorer'\nreturn choice",
        ["6:18: 'explorer' is not a skill. Skills: discoverer, descender, ascender, merchant."],
    ),
    (
        "for s in ('merchant', 'explore'):\n    if s in startable:\n        return s",
        ["6:31: 'explore' is not a skill. Skills: discoverer, descender, ascender, merchant."],
    ),
    (
        "self.names = ['descend']\nreturn self.names[0]",
        [
            "6:23: 'descend' is not a skill. Skills: discoverer, descender, ascender, merchant. Did you mean 'descender'?"
        ],
    ),
    (
        "return {'a': 'ascend'}.get('a', 'go')",
        [
            "6:22: 'ascend' is not a skill. Skills: discoverer, descender, ascender, merchant. Did you mean 'ascender'?",
            "6:41: 'go' is not a skill. Skills: discoverer, descender, ascender, merchant.",
        ],
    ),
    (
        "plan = ['a', 'b']\nreturn plan.pop()",
        [
            "6:17: 'a' is not a skill. Skills: discoverer, descender, ascender, merchant.",
            "6:22: 'b' is not a skill. Skills: discoverer, descender, ascender, merchant.",
        ],
    ),
    (
        "if finished in (None, 'merchants'):\n    pass",
        [
            "6:31: 'merchants' is not a skill. Skills: discoverer, descender, ascender, merchant. Did you mean 'merchant'?"
        ],
    ),
]

ACCEPTED = [
    "x = 'anything'\nif finished == 'merchant':\n    return 'ascender'",
    "return max(('ascender', 'descender'))",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, in_policy, before, violations):
    assert found(in_policy(before), RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, in_policy, before):
    assert found(in_policy(before)) == []
