"""The world's own rewards and Motif's tasks, on scripted steps."""

from __future__ import annotations

import numpy as np
import pytest

from maestro.envs import load_world_module, make_world
from maestro.envs.nethack.names import GLYPH_NAMES
from maestro.envs.nethack.situations import make_wizard_world, teleport, visit
from maestro.envs.nethack.state import State
from maestro.envs.world import StepResult
from maestro.errors import ConfigError
from maestro.learner.extrinsic import SUCCESS_REWARD, make_task_reward

ORACLE = 270
"""Glyph of the monster; NetHack numbers its statue and its corpse otherwise."""


class Script:
    """Two games of NetHack whose states are set by hand."""

    name = "nethack"
    num_games = 2

    def __init__(self) -> None:
        self.observation = {
            "glyphs": np.full((2, 21, 79), 2359, np.int16),
            "blstats": np.zeros((2, 27), np.int64),
        }
        self.states = [state(), state()]

    def result(self, reward=(0.0, 0.0)) -> StepResult:
        return StepResult(np.array(reward, np.float32), np.zeros(2, bool), np.zeros(2, bool))


def state(**changed) -> State:
    facts = dict.fromkeys(State._fields, 0)
    return State(**facts | {"message": "", "nearby": frozenset(), "hallucinating": False} | changed)  # type: ignore


def watch(name, **options):
    world = Script()
    task = make_task_reward(name, world, **options)  # type: ignore[arg-type]
    for index in range(2):
        task.begin(index)
    return world, task


def step(world, task, first, reward=(0.0, 0.0)) -> tuple[float, bool]:
    """Let game 0 come into a state; game 1 stays where it is and must never be paid for it."""
    world.states = [first, world.states[1]]
    rewards, over = task(world.result(reward))
    assert rewards[1] == reward[1] and not over[1]
    return float(rewards[0]), bool(over[0])


@pytest.mark.parametrize("level", [2, 3, 4])
def test_staircase_pays_the_walk_down_to_its_level_and_ends(level):
    world, task = watch(f"staircase_{level}")
    down = "You descend the stairs."
    assert step(world, task, state(level=level - 1, message=down)) == (0, False)
    assert step(world, task, state(level=level + 1, message=down)) == (0, False)
    assert step(world, task, state(level=level, message="You fall through a trap door!")) == (0, False)
    assert step(world, task, state(level=level, message="You climb up the stairs.")) == (0, False)
    assert step(world, task, state(level=level, message=f"The newt bites! {down}")) == (SUCCESS_REWARD, True)


def test_staircase_counts_levels_within_the_branch():
    world, task = watch("staircase_2")
    mines = state(level=2, depth=4, dungeon="Gnomish Mines", message="You descend the stairs.")
    assert step(world, task, mines) == (50.0, True)


def test_continual_pays_once_an_episode_and_never_ends_it():
    world, task = watch("continual_3")
    there = state(level=3, message="You descend the stairs.")
    assert step(world, task, there) == (50.0, False)
    assert step(world, task, state(level=2)) == (0, False)
    assert step(world, task, there) == (0, False)
    task.begin(0)
    assert step(world, task, there) == (50.0, False)


@pytest.mark.parametrize("hero", [(10, 5), (0, 0), (78, 20)])
def test_oracle_pays_beside_her(hero):
    world, task = watch("oracle")
    x, y = hero
    seen = state(nearby=frozenset({"Oracle"}))
    world.observation["blstats"][0, :2] = x, y
    glyphs = world.observation["glyphs"]
    far = (y, x + 2 if x < 40 else x - 2)
    glyphs[0][far] = ORACLE
    assert step(world, task, seen) == (0, False), "two squares away is not beside"
    glyphs[0][far] = 2359
    glyphs[1][min(y + 1, 20), x] = ORACLE
    assert step(world, task, seen) == (0, False), "that one is in another game"
    near = (y - 1 if y else 1, x + 1 if x < 40 else x - 1)
    glyphs[0][near] = next(g for g, n in GLYPH_NAMES.items() if n == "Oracle corpse")
    assert step(world, task, seen) == (0, False)
    glyphs[0][near] = ORACLE
    assert step(world, task, seen) == (50.0, True)


def test_only_the_sober_are_paid_for_sobriety():
    world, task = watch("sober")
    world.observation["blstats"][0, :2] = 10, 5
    world.observation["glyphs"][0, 5, 11] = ORACLE
    seen = frozenset({"Oracle"})
    assert step(world, task, state(nearby=seen, hallucinating=True)) == (0, False)
    assert step(world, task, state(nearby=seen, hallucinating=True, confused=True)) == (0, False)
    assert step(world, task, state(nearby=seen, confused=True)) == (50.0, True)
    world, task = watch("oracle")
    world.observation["blstats"][0, :2] = 10, 5
    world.observation["glyphs"][0, 5, 11] = ORACLE
    assert step(world, task, state(nearby=seen, hallucinating=True)) == (50.0, True), "as in the original"


@pytest.mark.parametrize(
    ("penalty", "taken"),
    [
        ("none", [0, 0, 0, 0]),
        ("constant", [0, 0.01, 0.01, 0]),
        ("exp", [0.01, 0.02, 0.04, 0.01]),
        ("square", [0, 0.01, 0.04, 0]),
        ("linear", [0, 0.01, 0.02, 0]),
        ("always", [0.01, 0.01, 0.01, 0.01]),
    ],
)
def test_score_less_a_penalty_while_the_clock_stands_still(penalty, taken):
    world, task = watch("score", penalty=penalty)
    given = []
    for number, turn in enumerate([1, 1, 1, 5]):
        world.states = [state(turn=turn), state(turn=100 + number)]
        rewards, over = task(world.result((3.0, 0.0)))
        assert not over.any()
        given.append(float(rewards[0]))
    assert given == pytest.approx([3.0 - penalty for penalty in taken])


def test_a_new_episode_starts_the_penalty_anew():
    world, task = watch("score", penalty="linear")
    for _ in range(3):
        task(world.result())
    world.states = [state(turn=1), state(turn=0)]
    task.begin(0)
    rewards, _ = task(world.result())
    assert rewards.tolist() == pytest.approx([-0.01, -0.04])


def test_a_world_that_tells_nothing_of_a_task_is_refused():
    world = make_world("corridor", 1)
    make_task_reward("score", world)
    for name, lacking in (("staircase_2", "level"), ("sober", "nearby")):
        with pytest.raises(ConfigError, match=f"'corridor' cannot pay the task '{name}'.*no '{lacking}'"):
            make_task_reward(name, world)  # type: ignore[arg-type]


def test_walking_down_real_stairs_is_paid():
    world = make_world("nethack", 4)
    policy = load_world_module("nethack").make_reference_policy(4)
    task = make_task_reward("staircase_2", world)
    for index in range(4):
        world.seed(index, index, index)
    world.reset()
    for index in range(4):
        policy.reset(index, index)
        task.begin(index)
    paid = np.zeros(4)
    for _ in range(600):
        before = [state.depth for state in world.states]
        rewards, over = task(world.step(policy.act(world, ["descender"] * 4)))
        assert over.tolist() == (rewards == 50).tolist()
        for index in np.flatnonzero(rewards):
            assert (before[index], world.states[index].depth) == (1, 2)
        paid += rewards
        if paid.any():
            break
    world.close()
    assert paid.max() == SUCCESS_REWARD


def test_the_real_oracle_is_recognised():
    world = make_wizard_world(1)
    world.seed(0, 1, 1)
    world.reset()
    task = make_task_reward("oracle", world)
    task.begin(0)
    visit(world, 0, "oracle")
    paid = {}
    for column in (37, 39):  # outside her chamber, and beside the middle of it, where she sits
        teleport(world, 0, column, 11)
        paid[column] = float(task(world.send_keys(0, b"\x12"))[0][0])
    assert paid == {37: 0.0, 39: SUCCESS_REWARD}
    world.close()
