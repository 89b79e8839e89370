"""Episodes of the corridor: what is recorded, how they end, and that nothing depends on what is played beside them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro.content import shipped_root
from maestro.envs.corridor import make_world
from maestro.errors import GeneratedCodeError, UnknownNameError
from maestro.evaluation.episode import EpisodeFile
from maestro.evaluation.games import (
    Games,
    Setup,
    Tally,
    check_setup,
    last_blow,
    source_digest,
    world_ending,
    world_sources,
)
from maestro.options.load import VALIDATOR_VERSION
from maestro.options.provenance import sign

ROOTS = (shipped_root(),)


def setup(
    policy: str = "reference", num_games: int = 3, seed: int = 0, roots: tuple[Path, ...] = ROOTS
) -> Setup:
    return Setup("locked_door", policy, seed, num_games, roots)


def play(given: Setup, order: list[int]) -> dict[int, EpisodeFile]:
    games, waiting, found = Games(given), list(order), {}
    while waiting or games.num_running:
        while waiting and games.num_free:
            games.start(waiting.pop(0))
        for one in games.step():
            found[one.file.record.episode] = one.file
    games.close()
    return found


def task_with_policy(folder: Path, source: str) -> tuple[Path, ...]:
    """Copy the corridor's task with another policy over skills."""
    task = folder / "meta_policies" / "locked_door"
    shutil.copytree(shipped_root() / "meta_policies" / "locked_door", task)
    (task / "policy.py").write_text(source)
    # without the validator, which would not let these errors happen
    sign(task, author="test", state_version=1, validator_version=VALIDATOR_VERSION, skills=())
    return (folder, *ROOTS)


REFERENCE = play(setup(), list(range(12)))


@settings(max_examples=15, deadline=None)
@given(st.permutations(list(range(12))), st.integers(1, 12), st.sampled_from(["reference", "random"]))
def test_no_episode_depends_on_batch_size_or_order(order: list[int], num_games: int, policy: str):
    alone = play(setup(policy, 1), list(range(12)))
    together = play(setup(policy, num_games), order)
    assert set(together) == set(range(12))
    for number, one in together.items():
        assert one.record.deterministic() == alone[number].record.deterministic()
        np.testing.assert_array_equal(one.actions, alone[number].actions)
        assert one.switches == alone[number].switches


def test_other_seeds_give_other_episodes():
    other = play(setup(seed=1), list(range(12)))
    assert [one.record.seeds for one in other.values()] != [one.record.seeds for one in REFERENCE.values()]
    assert [one.record.steps for one in other.values()] != [one.record.steps for one in REFERENCE.values()]


def test_a_success_is_recorded_with_its_skills():
    record = REFERENCE[3].record
    assert record.success == {"true": 1.0, "compatible": 1.0}
    assert record.ended.by == "success"
    assert record.steps == len(REFERENCE[3].actions) == sum(use.steps for use in record.skills.values())
    assert [switch.skill for switch in REFERENCE[3].switches] == ["keyfinder", "eastwalker", "opener"]
    assert record.skills["opener"].ended == {"episode": 1}
    assert record.depth is None
    assert record.progression is None


def test_a_long_episode_is_truncated(tmp_path: Path):
    source = (
        "class Policy:\n    def select_skill(self, state, finished, startable):\n        return 'keyfinder'\n"
    )
    roots = task_with_policy(tmp_path, source.replace("keyfinder", "eastwalker"))
    record = play(setup(roots=roots), [0])[0].record
    assert record.ended.by == "truncated"
    assert record.steps == 100
    assert record.success == {"true": 0.0, "compatible": 0.0}


RAISES_SOMETIMES = """
class Policy:
    def select_skill(self, state, finished, startable):
        if finished == "keyfinder" and state.position % 2:
            return {answer}
        if "opener" in startable:
            return "opener"
        return "keyfinder" if state.num_keys == 0 else "eastwalker"
"""


@pytest.mark.parametrize(
    ("answer", "text"),
    [("1 // 0", "ZeroDivisionError"), ("None", "returned None"), ("'opner'", "returned 'opner'")],
)
def test_an_error_in_generated_code_ends_that_episode_and_no_other(answer: str, text: str, tmp_path: Path):
    roots = task_with_policy(tmp_path, RAISES_SOMETIMES.replace("{answer}", answer))
    found = play(setup(roots=roots, num_games=4), list(range(20)))
    by = {number: one.record.ended.by for number, one in found.items()}
    assert set(by.values()) == {"success", "error"}
    for one in found.values():
        if one.record.ended.by == "error":
            assert text in one.record.ended.cause
            assert "policy.py:" in one.record.ended.cause
            assert one.record.success == {"true": 0.0, "compatible": 0.0}
        else:
            assert one.record.success == {"true": 1.0, "compatible": 1.0}


def test_an_error_before_the_first_step_is_recorded(tmp_path: Path):
    source = "class Policy:\n    def select_skill(self, state, finished, startable):\n        return 1 // 0\n"
    found = play(setup(roots=task_with_policy(tmp_path, source), num_games=2), [0, 1, 2])
    for one in found.values():
        assert one.record.steps == len(one.actions) == 0
        assert one.record.ended.by == "error"
        assert one.switches == []


def test_a_setup_is_checked_before_anything_starts(tmp_path: Path):
    check_setup(setup())
    with pytest.raises(UnknownNameError, match="did you mean 'locked_door'"):
        check_setup(Setup("lockeddoor", "reference", 0, 1, ROOTS))
    roots = task_with_policy(tmp_path, "class Polcy:\n    pass\n")
    with pytest.raises(GeneratedCodeError, match="Policy"):
        check_setup(setup(roots=roots))


@pytest.mark.parametrize(
    ("how", "message", "cause"),
    [
        ("DIED", "You miss. The werewolf hits! You die...", "werewolf"),
        ("DIED", "The soldier ant bites! The soldier ant stings! You die...", "soldier ant"),
        ("DIED", "The magic missile hits you! You die...", "magic missile"),
        ("DIED", "It hits! You die...", "something unseen"),
        ("DIED", "Call an orange potion: The soldier ant bites! You die...", "soldier ant"),
        ("DIED", "You are suddenly very hot! You die...", "You are suddenly very hot!"),
        ("DIED", "Your scroll catches fire and burns! You die...", "Your scroll catches fire and burns!"),
        ("DIED", "The gnome lord shoots an arrow! You die...", "The gnome lord shoots an arrow!"),
        ("STARVING", "You faint from lack of food.", "starving"),
        ("TURNED_SLIME", "You die...", "turned slime"),
        ("DIED", "", "died"),
    ],
)
def test_the_last_blow_is_named(how: str, message: str, cause: str):
    assert last_blow(how, message) == cause


class FakeTest:
    def __init__(self, value: float, done: bool) -> None:
        self.value, self.done = value, done

    def start(self, world: Any, index: int) -> None: ...

    def update(self, world: Any, index: int) -> None: ...


@pytest.mark.parametrize(
    ("tests", "terminated", "truncated", "how", "by"),
    [
        ([(1, True), (1, True)], False, False, "", "success"),
        ([(1, True), (0, True)], False, False, "", "success"),
        ([(0, True), (0, True)], False, False, "", "missed"),
        ([(1, True), (0, False)], False, False, "", None),
        ([(1, True), (0, False)], True, False, "DIED", "died"),
        ([(0, False), (0, False)], True, False, "ESCAPED", "left"),
        ([(0, False), (0, False)], True, False, "", "ended"),
        ([(0, False), (0, False)], False, True, "", "truncated"),
        ([(1, True), (1, True)], True, False, "DIED", "success"),
    ],
)
def test_every_way_to_end(tests: list, terminated: bool, truncated: bool, how: str, by: str | None):
    world: Any = make_world(1)
    world.reset()
    world.ending = lambda index: how
    made: Any = {str(number): FakeTest(*values) for number, values in enumerate(tests)}
    found = world_ending(world, 0, Tally(world, 0, made), terminated, truncated)
    assert (found.by if found else None) == by


def test_the_source_digest_tells_worlds_apart_and_skips_what_is_not_there():
    corridor, nethack = (source_digest(*world_sources(name)) for name in ("corridor", "nethack"))
    assert corridor != nethack
    assert source_digest("envs/corridor.py") == source_digest("envs/corridor.py", "envs/nowhere")
    assert source_digest("options") != source_digest("options", "envs/corridor.py")
