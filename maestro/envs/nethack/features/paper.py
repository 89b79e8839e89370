"""The feature set "paper": crop, message and status as the agents of Motif and MaestroMotif saw them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maestro.envs.nethack.features.compiled import compiled
from maestro.envs.nethack.features.names import CROP, ITEM_CLASSES, PAPER_STATUS, PAPER_VECTOR_NAMES
from maestro.envs.nethack.features.status import fill_crop, log2_of
from maestro.envs.nethack.features.tables import CHARS, COLORS

_USED = tuple((place, factor) for _, place, factor in PAPER_STATUS if factor)
_PLACES = np.array([place for place, _ in _USED])
_FACTORS = np.array([factor for _, factor in _USED])
_NUM_USED, _NUM_CLASSES = len(_USED), len(ITEM_CLASSES)
_FNV_START, _FNV_STEP = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_LIMIT = 5.0


class _Rows(NamedTuple):
    chars: np.ndarray
    colors: np.ndarray
    message: np.ndarray
    message_id: np.ndarray
    vector: np.ndarray


@compiled
def fill_message(copy, message):
    """Copy a message, zeros behind its end, and return its number: 62 bits of its FNV-1a hash, 0 for the empty one."""
    copy[:] = 0
    value = _FNV_START
    for place in range(len(message)):
        char = message[place]
        if char == 0:
            break
        copy[place] = char
        value = (value ^ np.uint64(char)) * _FNV_STEP
    if copy[0] == 0:
        return np.int64(0)
    return max(np.int64(value >> np.uint64(2)), np.int64(1))


@compiled
def fill_paper(games, glyphs, blstats, messages, classes, char_of, color_of, rows):
    """Fill the rows of `games`."""
    for place in range(len(games)):
        game = games[place]
        row, vector = blstats[game], rows.vector[game]
        fill_crop(rows.chars[game], rows.colors[game], glyphs[game], row[0], row[1], char_of, color_of)
        rows.message_id[game, 0] = fill_message(rows.message[game], messages[game])
        for entry in range(_NUM_USED):
            vector[entry] = min(max(row[_PLACES[entry]] * _FACTORS[entry], -_LIMIT), _LIMIT)
        vector[_NUM_USED:] = 0
        for slot in range(classes.shape[1]):
            if 1 <= classes[game, slot] <= _NUM_CLASSES:
                vector[_NUM_USED - 1 + classes[game, slot]] += 1
        for entry in range(_NUM_USED, _NUM_USED + _NUM_CLASSES):
            vector[entry] = log2_of(vector[entry])


class PaperFeatures:
    """See `maestro.envs.world.Features`. It remembers nothing: every row follows from the observation alone."""

    name = "paper"
    version = 1

    def __init__(self, world: Any) -> None:
        num_games = world.num_games
        self._seen = tuple(
            world.observation[name] for name in ("glyphs", "blstats", "message", "inv_oclasses")
        )
        self._rows = _Rows(
            chars=np.full((num_games, CROP, CROP), ord(" "), np.uint8),
            colors=np.zeros((num_games, CROP, CROP), np.uint8),
            message=np.zeros((num_games, 256), np.uint8),
            message_id=np.zeros((num_games, 1), np.int64),
            vector=np.zeros((num_games, len(PAPER_VECTOR_NAMES)), np.float32),
        )
        self.arrays: dict[str, np.ndarray] = self._rows._asdict()

    def begin(self, indices: Sequence[int]) -> None:
        """Fill the rows of these games."""
        self.update(indices)

    def update(self, indices: Sequence[int]) -> None:
        """Fill the rows of these games."""
        games = np.array(indices, np.int64)
        if games.size:
            glyphs, blstats, messages, classes = self._seen
            fill_paper(games, glyphs, blstats, messages, classes, CHARS, COLORS, self._rows)
