"""Carrying helper methods from one class into another."""

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.merge import Merged, MergeRefused, helper_names, merge
from codegen.validate import validate

HELPERS = '''"""The training policy."""

import math
import random

# how often
LIMIT = 5


def far(state):
    return state.depth > LIMIT


class Policy:
    WAYS = ("descender", "ascender")

    def __init__(self):
        self.goal = random.choice([2, 3])  # levels
        self.spare = math.pi
        self.bursts = 0

    def select_skill(self, state, finished, startable):
        return self.alternate(state)

    # up and down
    def alternate(self, state):
        """Go up and down."""
        if far(state):
            return self.WAYS[1]
        return self.explore() if state.depth < self.goal else self.WAYS[0]

    def explore(self):
        self.bursts += 1  # one more
        return "discoverer"

    def unused(self):
        return "merchant"
'''

NEW = '''"""A task."""


class Policy:
    """Sell, then alternate."""

    def select_skill(self, state, finished, startable):
        # trade first
        if "merchant" in startable:
            return "merchant"
        return self.alternate(state)
'''

EXPECTED = '''"""A task."""

import random

# how often
LIMIT = 5


def far(state):
    return state.depth > LIMIT


class Policy:
    """Sell, then alternate."""

    WAYS = ("descender", "ascender")

    def __init__(self):
        self.goal = random.choice([2, 3])  # levels
        self.bursts = 0

    def select_skill(self, state, finished, startable):
        # trade first
        if "merchant" in startable:
            return "merchant"
        return self.alternate(state)

    # up and down
    def alternate(self, state):
        """Go up and down."""
        if far(state):
            return self.WAYS[1]
        return self.explore() if state.depth < self.goal else self.WAYS[0]

    def explore(self):
        self.bursts += 1  # one more
        return "discoverer"
'''


def test_before_and_after(contracts):
    merged = merge(NEW, HELPERS, contracts["policy"])
    assert isinstance(merged, Merged), merged
    assert merged.carried == ("alternate", "explore")
    assert merged.source.split("\n") == EXPECTED.split("\n")
    assert validate(merged.source, contracts["policy"]) == []


def test_merging_again_changes_nothing(contracts):
    merged = merge(NEW, HELPERS, contracts["policy"])
    assert isinstance(merged, Merged)
    assert merge(merged.source, HELPERS, contracts["policy"]) == Merged(merged.source, ())


def test_what_needs_nothing_comes_back_byte_for_byte(contracts, policy):
    assert merge(policy, HELPERS, contracts["policy"]) == Merged(policy, ())


def test_helper_names_leave_the_interface_out(contracts):
    assert helper_names(HELPERS, contracts["policy"]) == ("alternate", "explore", "unused")
    assert helper_names("def f(:", contracts["policy"]) == ()
    assert helper_names(HELPERS, contracts["initiation"]) == ()


def test_lines_join_an_existing_init(contracts):
    new = NEW.replace(
        "    def select",
        '    def __init__(self):\n        """Begin."""\n        self.mine = 1\n\n    def select',
        1,
    )
    merged = merge(new, HELPERS, contracts["policy"])
    assert isinstance(merged, Merged)
    lines = merged.source.split("\n")
    at = lines.index('        """Begin."""')
    assert lines[at + 1 : at + 4] == [
        "        self.goal = random.choice([2, 3])  # levels", "        self.bursts = 0", "        self.mine = 1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("new", "reason", "names"),
    [
        (NEW + "\n    def explore(self):\n        return 'discoverer'\n", "duplicate", ("explore",)),
        (NEW.replace('"""A task."""', '"""A task."""\n\nLIMIT = 9'), "duplicate", ("LIMIT",)),
        (
            NEW.replace("    def select", "    def __init__(self):\n        self.goal = 9\n\n    def select", 1),
            "duplicate", ("goal",),
        ),
        (NEW.replace("Policy", "Police"), "missing", ("Policy",)),
        ("def f(:\n", "invalid", ()),
        (NEW.replace("self.alternate(state)", "self.fly()"), None, ()),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_its_names(contracts, new, reason, names):
    merged = merge(new, HELPERS, contracts["policy"])
    if reason is None:  # calls something that nobody has: nothing is carried, and validation will say so
        assert merged == Merged(new, ())
        assert validate(new, contracts["policy"])
        return
    assert isinstance(merged, MergeRefused)
    assert (merged.reason, merged.names) == (reason, names)
    assert str(merged)


def test_names_can_be_asked_for(contracts):
    merged = merge(NEW, HELPERS, contracts["policy"], names=["unused", "alternate"])
    assert isinstance(merged, Merged)
    assert merged.carried == ("alternate", "explore", "unused")
    refused = merge(NEW, HELPERS, contracts["policy"], names=["absent"])
    assert isinstance(refused, MergeRefused)
    assert refused.names == ("absent",)


def test_a_first_value_that_depends_on_others_of_init_is_refused(contracts):
    helpers = HELPERS.replace("self.goal = random.choice([2, 3])", "low = 2\n        self.goal = low")
    merged = merge(NEW, helpers, contracts["policy"])
    assert isinstance(merged, MergeRefused)
    assert (merged.reason, merged.names) == ("entangled", ("goal",))


def test_same_import_and_same_constant_are_no_duplicates(contracts):
    new = NEW.replace('"""A task."""', '"""A task."""\n\nimport random\n\nLIMIT = 5')
    merged = merge(new, HELPERS, contracts["policy"])
    assert isinstance(merged, Merged), merged
    assert merged.source.count("import random") == merged.source.count("LIMIT = 5") == 1


def test_pass_gives_way(contracts):
    new = NEW.replace("    def select", "    def __init__(self):\n        pass\n\n    def select", 1)
    merged = merge(new, HELPERS, contracts["policy"])
    assert isinstance(merged, Merged)
    assert "pass" not in merged.source


_names = st.lists(
    st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon"]), unique=True, min_size=1, max_size=5
)


@settings(max_examples=40, deadline=None)
@given(
    own=_names,
    given_=_names,
    called=st.sets(st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon"])),
    data=st.data(),
)
def test_own_text_is_kept_and_carried_methods_are_whole(contracts, own, given_, called, data):
    def method(name: str, calls: list[str], mark: str) -> str:
        lines = "".join(
            f"        if state.depth > {i}:\n            return self.{c}(state)\n"
            for i, c in enumerate(calls)
        )
        return f"    # {mark} {name}\n    def {name}(self, state):\n{lines}        return 'merchant'\n"

    # every helper may call only those after it: no recursion
    parts = [method(n, data.draw(st.lists(st.sampled_from(given_[i + 1 :]), max_size=2)) if given_[i + 1 :] else [], "given")
             for i, n in enumerate(given_)]  # fmt: skip
    interface = "    def select_skill(self, state, finished, startable):\n        return 'merchant'\n"
    helpers = "class Policy:\n" + interface + "\n" + "\n".join(parts)
    calls = "".join(
        f"        if state.gold > {i}:\n            return self.{c}(state)\n"
        for i, c in enumerate(sorted(called))
    )
    new = (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n" + calls + "        return 'merchant'\n\n"
        + "\n".join(method(name, [], "own") for name in own)
    )  # fmt: skip
    merged = merge(new, helpers, contracts["policy"])
    if isinstance(merged, MergeRefused):
        if merged.reason == "duplicate":
            assert set(merged.names) <= set(own) & set(given_)
        else:
            assert merged.reason == "invalid"
            assert called - set(own) - set(given_)
        return
    new_lines, lines = new.rstrip("\n").split("\n"), merged.source.split("\n")
    rest = iter(lines)
    assert all(any(line == other for other in rest) for line in new_lines)  # a subsequence, in order
    methods = re.findall(r"def (\w+)", merged.source)
    assert sorted(methods) == sorted({"select_skill", *own, *merged.carried})
    for name in merged.carried:
        assert merged.source.count(f"# given {name}\n") == 1
    ast.parse(merged.source)
