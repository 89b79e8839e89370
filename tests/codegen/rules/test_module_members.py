"""Members of modules that may be used."""

from __future__ import annotations

import pytest

RULE = "module-members"

BEFORE_AND_VIOLATIONS = [
    (
        "import math\nX = math.sqroot\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["2:10: math.sqroot may not be used. Did you mean 'sqrt'?"],
    ),
    (
        "import random\nX = random.Random\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["2:12: random.Random may not be used. Did you mean 'random'?"],
    ),
    (
        "import typing\nX = typing.sys\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        [
            "2:12: typing.sys may not be used. Allowed: Any, Callable, ClassVar, DefaultDict, Deque, Dict, Final, FrozenSet, Iterable, Iterator, List, Literal, Mapping, MutableMapping, NamedTuple, Optional, Sequence, Set, Tuple, Union, cast."
        ],
    ),
    (
        "import math\nX = math\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["2:5: the module 'math' is used as a value. Call its functions directly."],
    ),
    (
        "import random as r\nX = r.seed\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        [
            "2:7: random.seed may not be used. Allowed: betavariate, choice, choices, expovariate, gauss, normalvariate, randint, random, randrange, sample, shuffle, triangular, uniform."
        ],
    ),
]

ACCEPTED = [
    "import math\nX = math.pi\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, before, violations):
    assert found(before, RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, before):
    assert found(before) == []
