"""Names that lead into the interpreter."""

from __future__ import annotations

import pytest

RULE = "interpreter-names"

NAMES = [
    "gi_frame",
    "f_back",
    "f_builtins",
    "cr_frame",
    "ag_frame",
    "tb_frame",
    "co_consts",
    "func_globals",
    "mro",
]


@pytest.mark.parametrize("name", NAMES)
def test_they_are_read_of_nothing(found, in_policy, name):
    (violation,) = found(in_policy(f"x = startable.{name}"), RULE)
    assert violation == f"6:23: the name '{name}' belongs to the interpreter. Give it another name."


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("member", ["{} = 0", "a, {} = 1, 2", "{}: int", "def {}(self):\n        return 1"])
def test_no_member_is_called_so(found, name, member):
    source = (
        f"class Policy:\n    {member.format(name)}\n"
        "    def select_skill(self, state, finished, startable):\n        return 'discoverer'\n"
    )
    assert f"the name '{name}' belongs to the interpreter" in str(found(source, RULE))


def test_no_attribute_is_made_so(found, in_policy):
    assert len(found(in_policy("self.f_back = 1"), RULE)) == 1


@pytest.mark.parametrize("line", ["f_back = 1", "self.goal = 1", "x: 'a.f_back' = 1"])
def test_accepts(found, in_policy, line):
    assert found(in_policy(line), RULE) == []
