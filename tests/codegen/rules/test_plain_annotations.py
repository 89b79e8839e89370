"""Annotations that name types."""

from __future__ import annotations

import pytest

RULE = "plain-annotations"

BEFORE_AND_VIOLATIONS = [
    (
        "class Policy:\n    def select_skill(self, state: print('x'), finished, startable):\n        return 'discoverer'\n",
        ["2:35: the annotation is more than a type. Write a type such as `int`, or leave it out."],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable) -> (lambda: 1):\n        return 'discoverer'\n",
        ["2:59: the annotation is more than a type. Write a type such as `int`, or leave it out."],
    ),
    (
        "X: [y for y in (1,)] = 3\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:4: the annotation is more than a type. Write a type such as `int`, or leave it out."],
    ),
    (
        "X: 1 + 1 = 2\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:4: the annotation is more than a type. Write a type such as `int`, or leave it out."],
    ),
]

ACCEPTED = [
    "from typing import Callable, Literal, Optional\nX: dict[str, int | None] = {}\nY: Literal['a', 1] = 1\nZ: Callable[[int], 'str'] | None = None\nW: tuple[int, ...] = ()\nclass Policy:\n    def select_skill(self, state: State, finished, startable) -> str:\n        return 'discoverer'\n",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, before, violations):
    assert found(before, RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, before):
    assert found(before) == []
