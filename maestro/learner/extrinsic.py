"""Rewards that come from the world: its score, and the tasks that Motif trains on beside it.

    score                               the world's own reward (NetHack: difference of score), less a penalty for standing still
    staircase_2, _3, _4                 50 for taking a staircase down to that level of a dungeon branch, which ends the episode
    continual_2, _3, _4                 the same, once; the episode goes on
    oracle                              50 for standing beside what looks like the Oracle, which ends the episode
    sober                               the same, unless the hero hallucinates

Source: the table of root environments of Motif. There, anyone who is hallucinating can meet an "Oracle" anywhere; `sober`
compared the whole condition with hallucination, so that a hero who was also confused passed. Here he does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import numpy as np

from maestro.envs import load_world_module
from maestro.envs.world import StepResult, World
from maestro.errors import ConfigError

TaskName = Literal[
    "score", "staircase_2", "staircase_3", "staircase_4", "continual_2", "continual_3", "continual_4", "oracle", "sober"
]  # fmt: skip
Penalty = Literal["none", "constant", "exp", "square", "linear", "always"]

SUCCESS_REWARD = 50.0
FROZEN_PENALTY = -0.01
"""Per step on which the clock stood still, in mode "constant"; the other modes multiply it."""
_DESCENT = "descend the stairs"
"""What NetHack says when stairs are walked down: not of a fall, a flight or a burdened stumble. Source: Motif's test."""


class TaskReward(Protocol):
    """Pays N games for one task. Call `begin` after a reset, and the object itself after every step of the world."""

    def begin(self, index: int) -> None:
        """Begin watching the new episode of game `index`."""
        ...

    def __call__(self, result: StepResult) -> tuple[np.ndarray, np.ndarray]:
        """Return rewards, float64 (N,), and which episodes the task ends with this step, bool (N,)."""
        ...


class Score:
    """The world's own reward, less a penalty while the game's clock does not advance."""

    def __init__(self, world: World, penalty: Penalty = "constant") -> None:
        self._world = world
        self._penalise = _PENALTIES[penalty]
        self._turns = np.zeros(world.num_games, np.int64)
        self._frozen = np.zeros(world.num_games, np.int64)

    def begin(self, index: int) -> None:
        """Remember the clock."""
        self._turns[index] = self._world.states[index].turn
        self._frozen[index] = 0

    def __call__(self, result: StepResult) -> tuple[np.ndarray, np.ndarray]:
        """Pay the world's reward; a score never ends an episode."""
        turns = np.array([state.turn for state in self._world.states])
        self._frozen[turns != self._turns] = -1
        self._frozen += 1
        self._turns = turns
        return result.reward + self._penalise(self._frozen), np.zeros(len(turns), bool)


class _Watch:
    """Pays once an episode, where `holds(index, state)` is true after a step."""

    def __init__(self, world: World, holds: Callable[[int, Any], bool], *, goes_on: bool = False) -> None:
        self._world = world
        self._holds = holds
        self._goes_on = goes_on
        self._paid = np.zeros(world.num_games, bool)

    def begin(self, index: int) -> None:
        """Allow the reward once more."""
        self._paid[index] = False

    def __call__(self, result: StepResult) -> tuple[np.ndarray, np.ndarray]:
        """Look at every game that has not been paid."""
        paid, holds = self._paid.tolist(), self._holds
        states = enumerate(self._world.states)
        reached = np.array([not paid[index] and holds(index, state) for index, state in states], bool)
        self._paid |= reached
        return SUCCESS_REWARD * reached, np.zeros_like(reached) if self._goes_on else reached


def make_task_reward(name: TaskName, world: World, penalty: Penalty = "constant") -> TaskReward:
    """Make the reward of a task; `penalty` is `score`'s alone.

    Raises ConfigError for a task that this world knows nothing of.
    """
    if name == "score":
        return Score(world, penalty)
    kind, _, level = name.partition("_")
    state = load_world_module(world.name).State
    wanted = ("message", "level") if level else ("nearby", "hallucinating")
    missing = [field for field in wanted if not hasattr(state, field)]
    if missing:
        raise ConfigError(
            f"the world {world.name!r} cannot pay the task {name!r}: its State has no {missing[0]!r}",
            where="pay.extrinsic",
            expected="'score'",
        )
    if level:
        return _Watch(world, _descended_to(int(level)), goes_on=kind == "continual")
    return _Watch(world, _beside_oracle(world, sober=kind == "sober"))


def _descended_to(level: int) -> Callable[[int, Any], bool]:
    return lambda _, state: state.level == level and _DESCENT in state.message


def _beside_oracle(world: World, sober: bool) -> Callable[[int, Any], bool]:
    """Look for the Oracle's glyph in the 3 by 3 squares around the hero, as the original does."""
    from maestro.envs.nethack.names import GLYPH_NAMES

    glyphs, status = world.observation["glyphs"], world.observation["blstats"]
    oracle = min(glyph for glyph, name in GLYPH_NAMES.items() if name == "Oracle")  # the monster, no statue

    def holds(index: int, state: Any) -> bool:
        if "Oracle" not in state.nearby or (sober and state.hallucinating):
            return False
        x, y = status[index, :2]
        around = glyphs[index, max(0, y - 1) : y + 2, max(0, x - 1) : x + 2]
        return bool((around == oracle).any())

    return holds


_PENALTIES: dict[str, Callable[[np.ndarray], np.ndarray | float]] = {
    "none": lambda frozen: 0.0,
    "constant": lambda frozen: FROZEN_PENALTY * (frozen > 0),
    "exp": lambda frozen: FROZEN_PENALTY * 2.0 ** np.minimum(frozen, 60),
    "square": lambda frozen: FROZEN_PENALTY * frozen.astype(float) ** 2,
    "linear": lambda frozen: FROZEN_PENALTY * frozen,
    "always": lambda frozen: np.full(len(frozen), FROZEN_PENALTY),
}
"""Mode to penalty, from the steps in a row, this one included, on which the clock stood still. Source: NLE's tasks."""
