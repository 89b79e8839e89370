"""Modules that may be imported."""

from __future__ import annotations

import pytest

RULE = "imports"

BEFORE_AND_VIOLATIONS = [
    (
        "import os\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:8: the module 'os' may not be imported. Allowed: collections, math, random, typing."],
    ),
    (
        "import math, sys\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:14: the module 'sys' may not be imported. Allowed: collections, math, random, typing."],
    ),
    (
        "from math import *\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:1: `from math import *` is not allowed. Import the names that are needed."],
    ),
    (
        "from random import Random\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:20: 'Random' may not be imported from random. Did you mean 'random'?"],
    ),
    (
        "from . import x\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:1: the module '.' may not be imported. Allowed: collections, math, random, typing."],
    ),
    (
        "import collections.abc\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        [
            "1:8: the module 'collections.abc' may not be imported. Allowed: collections, math, random, typing."
        ],
    ),
    (
        "from collections.abc import Iterable\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        [
            "1:1: the module 'collections.abc' may not be imported. Allowed: collections, math, random, typing."
        ],
    ),
    (
        "from __future__ import annotations\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:1: the module '__future__' may not be imported. Leave it out: annotations are never evaluated."],
    ),
    (
        "from collections import defaultdic\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
        ["1:25: 'defaultdic' may not be imported from collections. Did you mean 'defaultdict'?"],
    ),
    (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        import math\n        return 'discoverer'\n",
        ["3:9: imports belong to the top of the module. Move it there."],
    ),
]

ACCEPTED = [
    "import math\nfrom collections import Counter as Count\nclass Policy:\n    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n",
]


@pytest.mark.parametrize(("before", "violations"), BEFORE_AND_VIOLATIONS)
def test_violations(found, before, violations):
    assert found(before, RULE) == violations


@pytest.mark.parametrize("before", ACCEPTED)
def test_accepts(found, before):
    assert found(before) == []
