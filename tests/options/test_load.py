"""The loader: what may run, what it may reach, and how it says no."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maestro.content import SkillContent, TaskContent
from maestro.errors import ContentError, GeneratedCodeError, RunError, SpecError
from maestro.options.load import (
    VALIDATOR_VERSION,
    load_option,
    load_options,
    load_policy,
    sign_folder,
    state_version,
)
from maestro.options.provenance import hash_source, sign
from maestro.specs import SkillSpec, TaskSpec, load_toml

INITIATION = "def can_initiate(state):\n    return state.num_keys == 0\n"
TERMINATION = "def should_terminate(state, start, startable):\n    return state.step > start.step + 2\n"
POLICY = "class Policy:\n    def select_skill(self, state, finished, startable):\n        return 'digger'\n"
SKILL_TOML = 'name = "digger"\nworld = "corridor"\ndescription = "digs"\npreference = "digging"\nmax_turns = 7\nmax_steps = 9\n'
TASK_TOML = (
    'name = "dig"\nworld = "corridor"\ninstruction = "Dig."\nfallback = "digger"\n'
    '[success]\ntrue = "door_opened"\ncompatible = "door_message"\n'
)


def speak_for(folder: Path, **changes: Any) -> None:
    """Sign without asking the validator, to see what the loader does about code that passed it wrongly."""
    facts = {
        "author": "a test",
        "state_version": 1,
        "validator_version": VALIDATOR_VERSION,
        "skills": ["digger"],
    }
    sign(folder, **(facts | changes))


def skill(
    folder: Path, initiation: str = INITIATION, termination: str = TERMINATION, signed: bool = True
) -> SkillContent:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "skill.toml").write_text(SKILL_TOML)
    (folder / "initiation.py").write_text(initiation)
    (folder / "termination.py").write_text(termination)
    if signed:
        speak_for(folder)
    return SkillContent("digger", folder, load_toml(folder / "skill.toml", SkillSpec))


def task(folder: Path, policy: str | bytes = POLICY, signed: bool = True) -> TaskContent:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.toml").write_text(TASK_TOML)
    (folder / "policy.py").write_bytes(policy if isinstance(policy, bytes) else policy.encode())
    if signed:
        speak_for(folder)
    return TaskContent("dig", folder, load_toml(folder / "task.toml", TaskSpec))


class Keys:
    def __init__(self, num_keys: int = 0, step: int = 0) -> None:
        self.num_keys, self.step = num_keys, step


def test_an_option_has_the_files_functions_the_specs_limits_and_the_sources_hashes(tmp_path: Path):
    content = skill(tmp_path / "digger")
    (option,) = load_options({"digger": content})
    assert (option.name, option.max_turns, option.max_steps) == ("digger", 7, 9)
    assert [option.can_initiate(Keys(keys)) for keys in (0, 1)] == [True, False]
    assert option.should_terminate(Keys(step=3), Keys(step=0), frozenset()) is True
    assert option.sources == {
        "initiation.py": hash_source(INITIATION.encode()),
        "termination.py": hash_source(TERMINATION.encode()),
    }


def test_a_policy_is_made_anew_for_every_episode(tmp_path: Path):
    source = load_policy(task(tmp_path / "dig", "seen = []\n" + POLICY.replace("return", "seen.append(1)\n        return") + "    def count(self):\n        return len(seen)\n"))  # fmt: skip
    first, second = source(1), source(1)
    for _ in range(3):
        assert first.select_skill(None, None, frozenset()) == "digger"
    assert [policy.count() for policy in (first, second)] == [3, 0]  # type: ignore[attr-defined]
    assert source.file == str(tmp_path / "dig" / "policy.py")
    assert source.sha256 == hash_source(Path(source.file).read_bytes())
    assert source.provenance.author == "a test"


def test_random_numbers_follow_from_the_seed_and_nothing_else(tmp_path: Path):
    drawing = "import random\n" + POLICY.replace("'digger'", "random.random()") + (
        "    def __init__(self):\n        self.luck = random.randint(1, 10 ** 9)\n"
    )  # fmt: skip

    def draws(source: Any, seed: int) -> tuple:
        policy = source(seed)
        return policy.luck, policy.select_skill(None, None, frozenset())

    (tmp_path / "elsewhere").mkdir()
    source = load_policy(task(tmp_path / "dig", drawing))
    other_place = load_policy(task(tmp_path / "elsewhere" / "dig", drawing))
    assert draws(source, 1) == draws(source, 1) == draws(other_place, 1)
    assert draws(source, 1) != draws(source, 2)
    one, two = source(1), source(2)  # side by side, they do not disturb one another
    together = one.luck, two.luck, one.select_skill(None, None, frozenset())  # type: ignore[attr-defined]
    assert (together[0], together[2]) == draws(source, 1)


def test_an_options_module_level_names_last_one_episode(tmp_path: Path):
    termination = "seen = []\ndef should_terminate(state, start, startable):\n    seen.append(1)\n    return len(seen) > 2\n"
    option = load_option(skill(tmp_path / "digger", termination=termination))
    assert option.fresh is not None
    first, second = option.fresh(1), option.fresh(1)
    assert [first.should_terminate(None, None, frozenset()) for _ in range(3)] == [False, False, True]
    assert second.should_terminate(None, None, frozenset()) is False
    assert (second.name, second.max_turns, second.sources) == (option.name, option.max_turns, option.sources)


def test_an_option_that_draws_is_made_anew_for_every_episode(tmp_path: Path):
    content = skill(
        tmp_path / "digger",
        termination="import random\ndef should_terminate(state, start, startable):\n    return random.random() < 0.5\n",
    )
    option = load_option(content)
    assert option.fresh is not None

    def ends(seed: int) -> list[bool]:
        assert option.fresh is not None
        termination = option.fresh(seed).should_terminate
        return [termination(None, None, frozenset()) for _ in range(30)]

    assert ends(1) == ends(1)
    assert ends(1) != ends(2)
    assert option.fresh(1).max_turns == 7


@pytest.mark.parametrize(
    ("source", "where", "what"),
    [
        ("", "policy.py", "no class Policy"),
        ("Policy = 3\n", "policy.py", "no class Policy"),
        ("class Polizy:\n    pass\n", "policy.py", "did you mean 'Polizy'"),
        ("class Policy:\n    pass\n", "policy.py", "no method select_skill"),
        (
            "class Policy:\n    def select_skills(self):\n        pass\n",
            "policy.py",
            "did you mean 'select_skills'",
        ),
        ("class Policy:\n    select_skill = 'digger'\n", "policy.py", "no plain function"),
        (POLICY.replace("finished, ", ""), "policy.py:2", "(self, state, startable)"),
        (
            POLICY.replace("state, finished", "finished, state"),
            "policy.py:2",
            "(self, finished, state, startable)",
        ),
        (POLICY.replace("startable", "*startable"), "policy.py:2", "(self, state, finished, *startable)"),
        (POLICY.replace("    def", "    async def"), "policy.py:2", "coroutine"),
        (POLICY.replace("return", "yield"), "policy.py:2", "generator"),
        (POLICY + "    def observe(self):\n        pass\n", "policy.py:4", "def observe(self, state)"),
        ("class Policy:\n  def\n", "policy.py:2", "not valid Python"),
        (POLICY + "if True:\n\tx = 1\n        y = 2\n", "policy.py:6", "not valid Python"),
        ("x = 1 / 0\n" + POLICY, "policy.py:1", "ZeroDivisionError"),
        (
            POLICY + "    def __init__(self):\n        self.x = nothing\n",
            "policy.py:5",
            "'nothing' is not defined",
        ),
        ("raise ValueError('x' * 100000)\n", "policy.py:1", "ValueError: xxx"),
        (b"\xff\xfe", "policy.py", "not UTF-8"),
        (b"x = 1\0\n", "policy.py", "not valid Python"),
        ("x = " + "(" * 5000 + ")" * 5000, "policy.py:1", "not valid Python"),
        ("#" * 70_000, "policy.py", "at most 65536"),
    ],
)
def test_a_file_that_does_not_keep_to_the_interface_is_refused_with_its_line(
    tmp_path: Path, source: str | bytes, where: str, what: str
):
    with pytest.raises(GeneratedCodeError) as caught:
        load_policy(task(tmp_path / "dig", source))
    assert what in str(caught.value)
    assert (caught.value.where or "").endswith(where)
    assert caught.value.hint or caught.value.expected
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("initiation", "termination", "where", "what"),
    [
        ("", TERMINATION, "initiation.py", "def can_initiate(state)"),
        (
            INITIATION.replace("can_initiate", "can_start"),
            TERMINATION,
            "initiation.py",
            "no function can_initiate",
        ),
        (INITIATION.replace("state)", "state, items)"), TERMINATION, "initiation.py:1", "(state, items)"),
        ("can_initiate = len\n", TERMINATION, "initiation.py", "no plain function"),
        (INITIATION, TERMINATION.replace(", startable", ""), "termination.py:1", "(state, start)"),
        (
            INITIATION,
            "def should_terminate(state, start, startable) -> bool\n",
            "termination.py:1",
            "expected ':'",
        ),
    ],
)
def test_predicates_that_do_not_keep_to_the_interface_are_refused(
    tmp_path: Path, initiation: str, termination: str, where: str, what: str
):
    with pytest.raises(GeneratedCodeError) as caught:
        load_option(skill(tmp_path / "digger", initiation, termination))
    assert what in str(caught.value)
    assert (caught.value.where or "").endswith(where)


@pytest.mark.parametrize(
    "line",
    [
        "import os", "import sys", "from os import path", "import collections.abc", "from . import x", "import builtins",
        "open('/etc/passwd')", "eval('1')", "exec('1')", "compile('1', '', 'eval')",
        "globals()", "getattr(1, 'real')", "setattr(int, 'x', 1)", "vars()", "dir()", "input()", "print('x')",
        "type(1)", "breakpoint()", "memoryview(b'')", "import typing; typing.sys", "import random; random.os",
        "import collections; collections.abc", "import random; random.SystemRandom()", "import random; random.seed(1)",
        "import math; math.pi = 3", "import random; random.random = None", "from typing import get_type_hints", "raise SystemExit", "help()",
    ],
)  # fmt: skip
def test_builtins_and_imports_are_restricted(tmp_path: Path, line: str):
    with pytest.raises(GeneratedCodeError) as caught:
        load_policy(task(tmp_path / "dig", line + "\n" + POLICY))
    assert any(name in caught.value.what for name in ("ImportError", "NameError", "AttributeError"))
    assert (caught.value.where or "").endswith("policy.py:1")


def test_what_honest_code_needs_is_there(tmp_path: Path):
    source = '''"""Uses what it may."""

import math
import random
from collections import Counter, defaultdict, deque, namedtuple
from typing import NamedTuple, Optional


class Visit(NamedTuple):
    depth: int
    turns: Optional[int] = None


class Policy:
    """With annotations whose names nobody imported."""

    kinds: dict[str, State]

    def __init__(self) -> None:
        self.visits = [Visit(depth) for depth in range(3)]
        self.counts = Counter("aab")
        self.queue = deque(maxlen=3)
        self.table = defaultdict(int)
        self.angle = math.floor(math.pi)
        self.choice = random.choice(sorted({"digger"}))

    def observe(self, state: State) -> None:
        self.table[state.step] += 1

    def select_skill(self, state: State, finished: str | None, startable: frozenset[str]) -> str:
        return max(startable, key=len, default=self.choice)
'''
    policy = load_policy(task(tmp_path / "dig", source))(0)
    assert policy.select_skill(Keys(), None, frozenset()) == "digger"


# ---- provenance


def test_unsigned_code_does_not_run_and_the_error_names_the_command(tmp_path: Path):
    folder = tmp_path / "dig"
    with pytest.raises(GeneratedCodeError) as caught:
        load_policy(task(folder, "x = 1 / 0\n", signed=False))
    assert "no provenance.toml" in caught.value.what
    assert f"maestro sign {folder}" in str(caught.value)


def test_code_changed_after_it_was_signed_does_not_run(tmp_path: Path):
    content = task(tmp_path / "dig")
    content.policy_path.write_text(POLICY + "\n")
    with pytest.raises(GeneratedCodeError, match="changed after 'a test' signed it") as caught:
        load_policy(content)
    assert "maestro sign" in str(caught.value)
    speak_for(content.folder, author="somebody else")
    assert load_policy(content).provenance.author == "somebody else"


def test_a_file_the_provenance_does_not_list_does_not_run(tmp_path: Path):
    content = skill(tmp_path / "digger")
    provenance = content.folder / "provenance.toml"
    lines = [line for line in provenance.read_text().splitlines() if "termination" not in line]
    provenance.write_text("\n".join(lines))
    with pytest.raises(GeneratedCodeError, match=r"termination\.py: provenance\.toml does not speak for"):
        load_option(content)


def test_code_written_for_another_state_does_not_run(tmp_path: Path):
    content = task(tmp_path / "dig")
    provenance = content.folder / "provenance.toml"
    current = state_version("corridor")
    provenance.write_text(provenance.read_text().replace(f"state_version = {current}", "state_version = 99"))
    with pytest.raises(GeneratedCodeError, match=f"version 99 of State. Expected: version {current}"):
        load_policy(content)


@pytest.mark.parametrize("damage", ["author = ", "author = 3\n", "", "colour = 1\n"])
def test_a_damaged_provenance_names_its_file(tmp_path: Path, damage: str):
    content = task(tmp_path / "dig")
    (content.folder / "provenance.toml").write_text(damage)
    with pytest.raises(SpecError, match=r"provenance\.toml"):
        load_policy(content)


def test_missing_code_and_missing_folders_are_named(tmp_path: Path):
    content = task(tmp_path / "dig")
    content.policy_path.unlink()
    with pytest.raises(GeneratedCodeError, match=r"policy\.py: the file does not exist"):
        load_policy(content)
    with pytest.raises(GeneratedCodeError, match="nothing to sign"):
        sign_folder(content.folder, "a test")
    with pytest.raises(ContentError, match="no folder of a skill or a task"):
        sign_folder(tmp_path, "a test")


def test_signing_where_nothing_can_be_written_says_so(tmp_path: Path):
    content = task(tmp_path / "dig")
    (content.folder / "provenance.toml").unlink()
    (content.folder / "provenance.toml").mkdir()
    with pytest.raises(RunError, match="cannot sign"):
        speak_for(content.folder)


def test_an_authors_name_is_kept_whatever_it_holds(tmp_path: Path):
    content = task(tmp_path / "dig")
    for author in ('quo"te', "back\\slash", "Ærøskøbing", "two\nlines", "\U0001f600\x7f"):
        speak_for(content.folder, author=author)
        assert load_policy(content).provenance.author == author


# ---- the validator's word


def test_what_the_validator_refuses_is_not_signed_and_every_reason_is_given(tmp_path: Path):
    content = task(
        tmp_path / "dig", POLICY.replace("'digger'", "state.hunger") + "\nimport os\n", signed=False
    )
    with pytest.raises(GeneratedCodeError, match="breaks .* rules and is not signed") as caught:
        sign_folder(content.folder, "a test")
    text = str(caught.value)
    assert "policy.py:3:22: " in text and "'hunger'" in text
    assert "policy.py:5:8: " in text and "'os'" in text
    assert not (content.folder / "provenance.toml").exists()


def test_signing_records_validator_state_and_skills(tmp_path: Path):
    content = task(tmp_path / "meta_policies" / "dig", POLICY.replace("digger", "opener"), signed=False)
    sign_folder(content.folder, "a test")
    provenance = load_policy(content).provenance
    assert provenance.validator_version == VALIDATOR_VERSION
    assert provenance.state_version == state_version("corridor")
    assert provenance.skills == ["eastwalker", "keyfinder", "opener"]
    assert provenance.origin == {}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"validator_version": 0}, "passed by version 0 of the validator"),
        ({"validator_version": VALIDATOR_VERSION + 1}, f"version {VALIDATOR_VERSION}"),
        ({"skills": ["digger", "flyer", "swimmer"]}, "skills that are not there any more: flyer, swimmer"),
    ],
)
def test_code_checked_against_something_else_does_not_run(tmp_path: Path, changes: dict, text: str):
    content = task(tmp_path / "dig", signed=False)
    speak_for(content.folder, **changes)
    with pytest.raises(GeneratedCodeError, match=text) as caught:
        load_policy(content, ["digger", "runner"])
    assert f"maestro sign {content.folder}" in str(caught.value)


def test_a_skill_more_is_no_reason_to_refuse(tmp_path: Path):
    content = task(tmp_path / "dig")
    assert load_policy(content, ["digger", "runner"]).provenance.skills == ["digger"]


def test_a_seeds_folder_is_described_by_the_one_around_it(tmp_path: Path):
    content = task(tmp_path / "meta_policies" / "dig", signed=False)
    inner = content.folder / "seed7"
    inner.mkdir()
    (inner / "policy.py").write_text(POLICY.replace("digger", "opener"))
    assert sign_folder(inner, "a test") == [inner / "policy.py"]
    assert load_policy(content.with_code_seed(7)).provenance.author == "a test"
