"""The corridor: a toy world of one row of cells, for tutorials and tests, without any game engine.

    |..@....*....+        @ hero   * key   + locked door   ' open door

The hero starts in the middle. A key lies somewhere in the western half; the door at the eastern end needs it. The
floor is slippery: now and then a step fails. The episode ends when the door opens.

    world = make_world(2)
    world.seed(0, core=1, disp=1)
    world.reset()
    world.step([ACTION["east"], ACTION["west"]])
    world.states[0].message

It is small enough to be read in one go, and keeps every promise of `maestro.envs.world.World`: a world of your own can
start as a copy of this file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pydantic

from maestro.envs.world import IDLE, Screen, StepResult
from maestro.errors import UnknownNameError, WorldError

STATE_VERSION = 1
"""Raised whenever a field of State changes its name, type or meaning."""

ACTION_NAMES = ("west", "east", "open", "wait")
ACTION = {name: number for number, name in enumerate(ACTION_NAMES)}
WEST, EAST, OPEN, WAIT = range(4)

FLOOR, KEY, DOOR, OPEN_DOOR, HERO = range(5)
_SYMBOLS = np.frombuffer(b".*+'@", dtype=np.uint8)
_COLORS = np.array([8, 11, 3, 3, 15], dtype=np.int8)  # grey floor, yellow key, brown door, white hero

_NEWS = ("bump", "slip", "locked", "pick up")  # what messages can say that a network sees


class State(NamedTuple):
    """What the hero knows after a step: the only thing that generated code may read. Immutable."""

    step: int
    turn: int
    position: int
    length: int
    at_door: bool
    num_keys: int
    door_open: bool
    message: str


FIELD_DOCS: dict[str, str] = {
    "step": "Decisions of the agent since the episode began; 0 at its start.",
    "turn": "The corridor's clock; it always equals `step`.",
    "position": "The hero's cell, from 0 at the western wall to `length` - 2 beside the door.",
    "length": "Number of cells, the door's included.",
    "at_door": "Whether the hero stands beside the door.",
    "num_keys": "Keys the hero carries.",
    "door_open": "Whether the door is open.",
    "message": "What happened in this step.",
}
"""Field name to one line of text, for prompts, errors and docs."""


class CorridorOptions(pydantic.BaseModel):
    """How the corridors are built."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    length: int = pydantic.Field(default=12, ge=5, le=78)
    """Cells, the door's included; a screen is 80 columns wide."""
    max_steps: int = pydantic.Field(default=100, ge=1)
    """Steps after which an episode is truncated."""
    slip: float = pydantic.Field(default=0.1, ge=0.0, lt=1.0)
    """Probability that a step to the west or east fails."""
    render: bool = False
    """Accepted because every world knows it; screens cost nothing here and always work."""


class Truth(NamedTuple):
    """What really is, for success tests."""

    door_open: bool
    num_keys: int
    key_position: int | None
    """None once the key was picked up."""


class CorridorWorld:
    """N corridors; see `maestro.envs.world.World` for what every method promises."""

    name = "corridor"
    action_names = ACTION_NAMES

    def __init__(self, num_games: int, options: CorridorOptions) -> None:
        if num_games < 1:
            raise WorldError(f"num_games is {num_games}", where="CorridorWorld", expected="at least 1")
        self.num_games = num_games
        self.options = options
        self.observation: dict[str, np.ndarray] = {
            "cells": np.zeros((num_games, options.length), np.uint8),
            "num_keys": np.zeros((num_games, 1), np.uint8),
        }
        self.states: list[Any] = [None] * num_games
        self._previous_messages = [""] * num_games
        self._seeds: list[tuple[int, int] | None] = [None] * num_games
        self._slips = np.zeros((num_games, options.max_steps), bool)
        self._positions = np.zeros(num_games, np.int64)
        self._key_positions = np.full(num_games, -1, np.int64)  # -1: nothing lies there any more
        self._num_keys = np.zeros(num_games, np.int64)
        self._open = np.zeros(num_games, bool)
        self._over = np.ones(num_games, bool)
        self._result = StepResult(
            np.zeros(num_games, np.float32), np.zeros(num_games, bool), np.zeros(num_games, bool)
        )

    def seed(self, index: int, core: int, disp: int) -> None:
        """Fix what is random in the next episode of game `index`: `core` lays the key, `disp` makes steps slip."""
        self._seeds[index] = (core, disp)

    def reset(self, indices: Iterable[int] | None = None) -> None:
        """Lay out new corridors and put the heroes in the middle of them."""
        length, max_steps = self.options.length, self.options.max_steps
        for index in range(self.num_games) if indices is None else indices:
            layout, luck = (np.random.default_rng(seed) for seed in self._seeds[index] or (None, None))
            self._seeds[index] = None
            self._positions[index] = length // 2
            self._key_positions[index] = layout.integers(0, length // 2)
            self._slips[index] = luck.random(max_steps) < self.options.slip
            self._num_keys[index] = 0
            self._open[index] = self._over[index] = False
            self._previous_messages[index] = ""
            self.states[index] = self._state(index, 0, "You stand in a corridor.")
        self._draw()

    def step(self, actions: Sequence[int]) -> StepResult:
        """Apply one action in every game whose action is not `IDLE`; opening the door is worth a reward of 1.

        Raises WorldError for a game that has ended and for an action that does not exist.
        """
        reward, terminated, truncated = self._result
        reward[:], terminated[:], truncated[:] = 0.0, False, False
        for index, action in enumerate(actions):
            if action <= IDLE:
                continue
            self._check(index, action)
            before = self.states[index]
            message = self._act(index, action, slips=bool(self._slips[index, before.step]))
            self._previous_messages[index] = before.message
            self.states[index] = self._state(index, before.step + 1, message)
            terminated[index] = self._open[index]
            truncated[index] = before.step + 1 >= self.options.max_steps and not self._open[index]
            reward[index] = self._open[index]
            self._over[index] = terminated[index] or truncated[index]
        self._draw()
        return self._result

    def caption(self, index: int, start: State) -> str:
        """Describe the last two messages, and the changes of position and keys since `start`."""
        now = self.states[index]
        return (
            f'Messages: "{self._previous_messages[index]}" then "{now.message}"\n'
            f"Position: {_change(start.position, now.position)}\n"
            f"Keys: {_change(start.num_keys, now.num_keys)}"
        )

    def screen(self, index: int) -> Screen:
        """Draw the message, the corridor between its walls, and a status line on 24 x 80 cells."""
        chars = np.full((24, 80), ord(" "), np.uint8)
        colors = np.full((24, 80), 7, np.int8)
        state, cells = self.states[index], self.observation["cells"][index]
        end = 1 + len(cells)
        chars[10, :end] = chars[12, :end] = ord("-")
        chars[11, 0] = ord("|")
        chars[11, 1:end] = _SYMBOLS[cells]
        colors[11, 1:end] = _COLORS[cells]
        _write(chars[0], state.message)
        _write(chars[23], f"Step:{state.step} Keys:{state.num_keys}")
        return Screen(chars, colors, (11, 1 + state.position))

    def truth(self, index: int) -> Truth:
        """Tell where the key lies, which the hero does not know, and whether the door is open."""
        key = int(self._key_positions[index])
        return Truth(bool(self._open[index]), int(self._num_keys[index]), key if key >= 0 else None)

    def close(self) -> None:
        """Free nothing: a corridor holds no resources."""

    def _check(self, index: int, action: int) -> None:
        if self._over[index]:
            raise WorldError(
                f"game {index} has ended, or was never reset",
                where="CorridorWorld.step",
                expected=f"action {IDLE}, or reset([{index}]) first",
            )
        if action >= len(ACTION_NAMES):
            raise WorldError(
                f"action {action} of game {index}",
                where="CorridorWorld.step",
                expected=f"0 to {len(ACTION_NAMES) - 1}, or {IDLE} to leave it alone",
            )

    def _act(self, index: int, action: int, slips: bool) -> str:
        """Do one action and say what came of it."""
        at_door = self._positions[index] == self.options.length - 2
        if action == WAIT:
            return "You wait."
        if action == OPEN:
            if not at_door:
                return "There is no door here."
            if self._num_keys[index] == 0:
                return "The door is locked."
            self._open[index] = True
            return "You unlock the door. It opens."
        if action == EAST and at_door:
            return "A locked door is in your way."
        if action == WEST and self._positions[index] == 0:
            return "You bump into a wall."
        if slips:
            return "You slip."
        self._positions[index] += 1 if action == EAST else -1
        if self._positions[index] == self._key_positions[index]:
            self._key_positions[index] = -1
            self._num_keys[index] += 1
            return "You pick up a key."
        return f"You walk {ACTION_NAMES[action]}."

    def _state(self, index: int, step: int, message: str) -> State:
        position, length = int(self._positions[index]), self.options.length
        return State(
            step=step,
            turn=step,
            position=position,
            length=length,
            at_door=position == length - 2,
            num_keys=int(self._num_keys[index]),
            door_open=bool(self._open[index]),
            message=message,
        )

    def _draw(self) -> None:
        """Write what the agent sees into the observation, for all games at once."""
        cells, games = self.observation["cells"], np.arange(self.num_games)
        cells[:] = FLOOR
        with_key = self._key_positions >= 0
        cells[games[with_key], self._key_positions[with_key]] = KEY
        cells[:, -1] = np.where(self._open, OPEN_DOOR, DOOR)
        cells[games, self._positions] = HERO
        self.observation["num_keys"][:, 0] = self._num_keys


def make_world(num_games: int, **options: Any) -> CorridorWorld:
    """Make `num_games` corridors; `options` are the fields of `CorridorOptions`.

    Raises WorldError for an unknown option or a value out of range.
    """
    try:
        return CorridorWorld(num_games, CorridorOptions(**options))
    except pydantic.ValidationError as error:
        fault = error.errors()[0]
        raise WorldError(
            f"option {'.'.join(map(str, fault['loc']))} is {fault['input']!r}: {fault['msg']}",
            where="maestro.envs.corridor.make_world",
            expected=f"one of {', '.join(CorridorOptions.model_fields)}",
        ) from None


class ReferencePolicy:
    """Hand-written controllers of the corridor's three skills: each is one action, repeated."""

    name = "reference"
    _ACTION_OF = {"keyfinder": WEST, "eastwalker": EAST, "opener": OPEN}

    def reset(self, index: int, seed: int) -> None:
        """Do nothing: these controllers remember nothing and draw no random numbers."""

    def act(self, world: CorridorWorld, skills: Sequence[str | None]) -> list[int]:
        """Give each game its skill's action; raises UnknownNameError for a skill without a controller."""
        for skill in skills:
            if skill is not None and skill not in self._ACTION_OF:
                raise UnknownNameError("skill of the corridor's reference policy", skill, self._ACTION_OF)
        return [IDLE if skill is None else self._ACTION_OF[skill] for skill in skills]


class RandomPolicy:
    """Draws every action uniformly, whatever skill runs: the floor."""

    name = "random"

    def __init__(self, num_games: int) -> None:
        self._generators = [np.random.default_rng() for _ in range(num_games)]

    def reset(self, index: int, seed: int) -> None:
        """Start the random numbers of game `index` anew."""
        self._generators[index] = np.random.default_rng(seed)

    def act(self, world: CorridorWorld, skills: Sequence[str | None]) -> list[int]:
        """Draw one action for each game that plays."""
        return [
            IDLE if skill is None else int(self._generators[index].integers(len(ACTION_NAMES)))
            for index, skill in enumerate(skills)
        ]


def make_reference_policy(num_games: int) -> ReferencePolicy:
    """Make the hand-written controllers."""
    return ReferencePolicy()


def make_random_policy(num_games: int) -> RandomPolicy:
    """Make the policy that draws its actions."""
    return RandomPolicy(num_games)


class CellFeatures:
    """What a network sees of the corridor: see `maestro.envs.world.Features`. It remembers nothing.

    `vector` float32 (N, 5 * length + 5): a one-hot of each cell's symbol, whether the hero has a key, and a one-hot of
    what the message says.
    """

    version = 1

    def __init__(self, world: CorridorWorld, name: str) -> None:
        self.name = name
        self._world = world
        size = len(_SYMBOLS) * world.options.length + 1 + len(_NEWS)
        self.arrays: dict[str, np.ndarray] = {"vector": np.zeros((world.num_games, size), np.float32)}

    def begin(self, indices: Sequence[int]) -> None:
        """Fill the rows of these games."""
        self.update(indices)

    def update(self, indices: Sequence[int]) -> None:
        """Fill the rows of these games."""
        rows, seen, vector = list(indices), self._world.observation, self.arrays["vector"]
        cells = seen["cells"][rows]
        symbols = cells.shape[1] * len(_SYMBOLS)
        vector[rows, :symbols] = np.eye(len(_SYMBOLS), dtype=np.float32)[cells].reshape(len(rows), symbols)
        vector[rows, symbols] = seen["num_keys"][rows, 0] > 0
        for index in rows:
            vector[index, symbols + 1 :] = [news in self._world.states[index].message for news in _NEWS]


FEATURE_SETS: dict[str, str] = {
    "compass": "every cell as a one-hot, the keys, and what the message says",
    "paper": "the same as compass: the corridor has one set",
}
"""Name of a feature set to one line of text."""


def make_features(world: CorridorWorld, name: str) -> CellFeatures:
    """Make the feature set `name`; raises UnknownNameError for one that does not exist."""
    if name not in FEATURE_SETS:
        raise UnknownNameError("feature set of corridor", name, FEATURE_SETS)
    return CellFeatures(world, name)


class DoorOpened:
    """Succeeds when the door is really open."""

    kind: ClassVar[Literal["rate", "count"]] = "rate"

    def start(self, world: CorridorWorld, index: int) -> None:
        """Begin with a closed door."""
        self.value, self.done = 0.0, False

    def update(self, world: CorridorWorld, index: int) -> None:
        """Look at the door."""
        if self._succeeded(world, index):
            self.value, self.done = 1.0, True

    def _succeeded(self, world: CorridorWorld, index: int) -> bool:
        return world.truth(index).door_open


class DoorMessage(DoorOpened):
    """Succeeds when the message says that the door opened: what can be scored without knowing the engine."""

    def _succeeded(self, world: CorridorWorld, index: int) -> bool:
        return "opens" in world.states[index].message


SUCCESS_TESTS = {"door_opened": DoorOpened, "door_message": DoorMessage}
"""The success tests by the names task.toml uses."""


def _change(before: int, after: int) -> str:
    return "same" if before == after else f"from {before} to {after}"


def _write(row: np.ndarray, text: str) -> None:
    """Put `text` at the start of one row of the screen."""
    encoded = np.frombuffer(text.encode("latin-1")[: len(row)], np.uint8)
    row[: len(encoded)] = encoded
