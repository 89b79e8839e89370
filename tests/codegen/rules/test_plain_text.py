"""Characters that are not what they look like."""

from __future__ import annotations

import pytest

RULE = "plain-text"

BEFORE_AND_VIOLATIONS = [
    (
        "x = 'a\u202eb'\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:7: the character U+202E may not stand in the source. Write visible characters only."],
    ),
    (
        "# \u200b\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:3: the character U+200B may not stand in the source. Write visible characters only."],
    ),
    (
        "x = 1\x0c\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:6: the character U+000C may not stand in the source. Write visible characters only."],
    ),
    (
        "dépth = 1\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:1: 'dépth' is not written in ASCII letters. Use the letters a to z for names."],
    ),
    (
        "# -*- coding: latin-1 -*-\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:1: an encoding is declared. Leave it out: this is UTF-8."],
    ),
    (
        "x = 'a\x00'\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:7: the character U+0000 may not stand in the source. Write visible characters only."],
    ),
    (
        "ﬁ = 1\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:1: 'ﬁ' is not written in ASCII letters. Use the letters a to z for names."],
    ),
]

ACCEPTED = [
    "# größe\nx = 'né'\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, before, violations):
    assert found(before, RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, before):
    assert found(before) == []
