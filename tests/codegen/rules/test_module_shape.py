"""What modules consist of."""

from __future__ import annotations

import pytest

RULE = "module-shape"

BEFORE_AND_VIOLATIONS = [
    (
        "for x in range(3):\n    pass\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:1: this may not stand at the top of the module. Put it into a function."],
    ),
    (
        "x = len('abc')\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        [
            "1:1: this may not stand at the top of the module. Only imports and constants stand there; put the rest into functions."
        ],
    ),
    (
        "max(1, 2)\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        [
            "1:1: this may not stand at the top of the module. Only imports and constants stand there; put the rest into functions."
        ],
    ),
    (
        "class Helper:\n    pass\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:7: the class 'Helper' is one too many. Write methods of Policy."],
    ),
    (
        "class Policy(object):\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:7: the class has bases. Write `class Policy:`."],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        def f():\n            return 1\n        return 'discoverer'\n",
        ["3:13: the function 'f' is nested. Move it out, or make it a method."],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n    def f(x):\n        return x\n",
        ["4:9: Policy.f has no `self`. Write `self` as the first parameter."],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n    X = [y for y in range(3)]\n",
        [
            "4:5: this may not stand in the body of the class. Only imports and constants stand there; put the rest into functions."
        ],
    ),
]

ACCEPTED = [
    '"""Doc."""\nX = {"a": (1, -2)}\nY = frozenset({"a"})\nZ: int = 3\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return \'discoverer\'\n    LIMIT = 3\n',
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, before, violations):
    assert found(before, RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, before):
    assert found(before) == []
