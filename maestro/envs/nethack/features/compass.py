"""The feature set "compass": crop, words, status, and a memory of each level with the ways to what matters there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maestro.envs.nethack.features import memory as M
from maestro.envs.nethack.features.kernel import update_games
from maestro.envs.nethack.features.names import (
    COMPASS_ENTRIES,
    COMPASS_TARGETS,
    CROP,
    NUM_WORDS,
    PROMPT_KINDS,
    PROMPTS,
    VECTOR_NAMES,
)
from maestro.envs.nethack.features.tables import TABLES

_NEWS: tuple[tuple[int, re.Pattern[str]], ...] = (
    (M.SAYS_DOWN, re.compile(r"(staircase|ladder) down here")),
    (M.SAYS_UP, re.compile(r"(staircase|ladder) up here")),
    (M.SAYS_NOT_DOWN, re.compile("can't go down here")),
    (M.SAYS_NOT_UP, re.compile("can't go up here")),
    (M.SAYS_CLOSED, re.compile("losed for inventory")),
    (M.SAYS_LOCKED, re.compile("door is locked")),
    (M.SAYS_WHAMM, re.compile("WHAMM|Whamm")),
    (M.SAYS_OBJECT, re.compile("You (see|feel) here|(objects|things) here|You drop")),
    (M.SAYS_PICKED, re.compile(r"(^|[.!?] )[a-zA-Z$] - ")),
    (M.SAYS_SOLID, re.compile("solid")),
    (M.SAYS_HIT, re.compile(" hits!| bites!| misses")),
    (M.SAYS_ALTAR, re.compile("There is an altar.* here")),
    (M.SAYS_PRAYED, re.compile("You begin praying")),
)
_MOST_TEXTS = 16_384


class Seen(NamedTuple):
    """The world's own arrays, as far as these features read them."""

    glyphs: np.ndarray
    blstats: np.ndarray
    message: np.ndarray
    inv_oclasses: np.ndarray


class Rows(NamedTuple):
    """The arrays to be filled."""

    chars: np.ndarray
    colors: np.ndarray
    words: np.ndarray
    vector: np.ndarray
    compass: np.ndarray


def prompt_kind(prompt: str) -> int:
    """Return the place in PROMPT_KINDS of an open question; 0 for the empty one."""
    if not prompt:
        return 0
    for kind, text in PROMPTS:
        if text in prompt:
            return PROMPT_KINDS.index(kind)
    return len(PROMPT_KINDS) - 1


def news_of(message: str) -> int:
    """Return the bits SAYS_... that are true of a message; 0 for the empty one."""
    if not message:
        return 0
    return M.SAYS_ANYTHING | sum(bit for bit, pattern in _NEWS if pattern.search(message))


class CompassFeatures:
    """See `maestro.envs.world.Features`; `names` says what every number means.

    One instance is for one thread: the scratch arrays are shared by all of its games.
    """

    name = "compass"
    version = 1

    def __init__(self, world: Any) -> None:
        num_games = world.num_games
        self._world = world
        self._seen = Seen(*(world.observation[name] for name in Seen._fields))
        self._memory = M.make_memory(num_games)
        self._scratch = M.make_scratch()
        self._told = M.Told(*(np.zeros(num_games, np.int64) for _ in M.Told._fields))
        self._news: dict[str, int] = {"": 0}
        self._prompts: dict[str, int] = {"": 0}
        self._rows = Rows(
            chars=np.full((num_games, CROP, CROP), ord(" "), np.uint8),
            colors=np.zeros((num_games, CROP, CROP), np.uint8),
            words=np.zeros((num_games, NUM_WORDS), np.int16),
            vector=np.zeros((num_games, len(VECTOR_NAMES)), np.float32),
            compass=np.zeros((num_games, len(COMPASS_TARGETS), len(COMPASS_ENTRIES)), np.float32),
        )
        self.arrays: dict[str, np.ndarray] = self._rows._asdict()

    def begin(self, indices: Sequence[int]) -> None:
        """Forget these games and fill their rows."""
        self._fill(indices, begins=True)

    def update(self, indices: Sequence[int]) -> None:
        """Fill the rows of these games."""
        self._fill(indices, begins=False)

    def _fill(self, indices: Sequence[int], begins: bool) -> None:
        games = np.array(indices, np.int64)
        if not games.size:
            return
        self._listen(games.tolist())
        update_games(
            games, begins, self._seen, self._told, self._memory, TABLES, self._scratch, self._rows
        )  # fmt: skip

    def _listen(self, indices: list[int]) -> None:
        """Write down what the world's Python objects say of these games."""
        world, told, known, prompts = self._world, self._told, self._news, self._prompts
        states, last_action = world.states, world.last_action
        told_news, told_goods = told.news, told.goods
        told_prompt, told_action = told.prompt, told.action
        for index in indices:
            state = states[index]
            news = known.get(state.message)
            if news is None:
                if len(known) >= _MOST_TEXTS:
                    known.clear()
                    known[""] = 0
                news = known[state.message] = news_of(state.message)
            kind = prompts.get(state.prompt)
            if kind is None:
                if len(prompts) >= _MOST_TEXTS:
                    prompts.clear()
                    prompts[""] = 0
                kind = prompts[state.prompt] = prompt_kind(state.prompt)
            told_news[index] = news
            told_prompt[index] = kind
            told_goods[index] = state.num_items
            told_action[index] = last_action(index)
