"""What stands where, by name, for a whole batch of maps at once."""

from __future__ import annotations

import numpy as np

from maestro.envs.nethack.names import GLYPH_NAMES, HAS_NAME, STAIRCASE_DOWN
from maestro.envs.nethack.native import nethack

NEARBY_SQUARES = 3
"""How far `State.nearby` reaches, in every direction. Source: MaestroMotif's 7 by 7 window."""

_ROWS, _COLUMNS = 21, 79
_CELLS = _ROWS * _COLUMNS
_MOST_CACHED = 4_096


def _plain_ranges() -> list[tuple[int, int]]:
    """Return the two stretches of map symbols (first glyph, last glyph) that hold nearly all nameless glyphs."""
    first = nethack.GLYPH_CMAP_OFF
    plain = [first + n for n in range(nethack.MAXPCHARS) if not HAS_NAME[first + n]]
    ranges: list[list[int]] = []
    for glyph in plain:
        if ranges and ranges[-1][1] == glyph - 1:
            ranges[-1][1] = glyph
        else:
            ranges.append([glyph, glyph])
    return [(low, high) for low, high in ranges[:2]]  # rock and walls; floors and corridors


_PLAIN_RANGES = _plain_ranges()


class Lookout:
    """Finds the names on the maps of N games. Keeps scratch arrays, so that looking allocates next to nothing."""

    def __init__(self, glyphs: np.ndarray, blstats: np.ndarray):
        """Look at these arrays from now on.

        Args:
            glyphs: int16 (N, 21, 79), filled by the engines.
            blstats: int64 (N, 27), of which column and row of the hero (0, 1) are read.
        """
        num_games = len(glyphs)
        self._num_games = num_games
        self._glyphs = glyphs.reshape(-1)
        self._codes = self._glyphs.view(np.uint16)
        self._hero_x, self._hero_y = blstats[:, 0], blstats[:, 1]
        self._shifted = np.empty(num_games * _CELLS, np.uint16)
        self._plain = np.empty(num_games * _CELLS, bool)
        self._plain_too = np.empty(num_games * _CELLS, bool)
        cells = np.arange(num_games * _CELLS)
        self._game = (cells // _CELLS).astype(np.int64)
        self._row = (cells % _CELLS // _COLUMNS).astype(np.int64)
        self._column = (cells % _COLUMNS).astype(np.int64)
        self._starts = np.arange(num_games) * _CELLS
        self._bounds = np.arange(num_games + 1)

    def look(self) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
        """Return per game the names on the map and those within NEARBY_SQUARES; the hero's own square is left out."""
        where = self._candidates()
        hero = self._starts + self._hero_y * _COLUMNS + self._hero_x
        game = self._game.take(where)
        others = (where != hero.take(game)) & HAS_NAME.take(self._glyphs.take(where))
        where, game = where[others], game[others]
        found = self._glyphs.take(where)
        rows_off = self._row.take(where) - self._hero_y.take(game)
        columns_off = self._column.take(where) - self._hero_x.take(game)
        near = np.maximum(np.abs(rows_off), np.abs(columns_off)) <= NEARBY_SQUARES
        return self._by_game(found, game), self._by_game(found[near], game[near])

    def stairs_down(self, index: int) -> list[int]:
        """Return the cells of game `index`'s flattened map that show a staircase down."""
        flat = self._glyphs[index * _CELLS : (index + 1) * _CELLS]
        return np.flatnonzero(flat == STAIRCASE_DOWN).tolist()

    def _candidates(self) -> np.ndarray:
        """Return the cells whose glyph may have a name: all but plain rock, walls, floors and corridors."""
        (low, high), (low_too, high_too) = _PLAIN_RANGES
        shifted, plain, plain_too = self._shifted, self._plain, self._plain_too
        np.subtract(self._codes, np.uint16(low), out=shifted)
        np.greater(shifted, np.uint16(high - low), out=plain)
        np.subtract(shifted, np.uint16(low_too - low), out=shifted)
        np.greater(shifted, np.uint16(high_too - low_too), out=plain_too)
        np.logical_and(plain, plain_too, out=plain)
        return plain.nonzero()[0]

    def _by_game(self, glyphs: np.ndarray, game: np.ndarray) -> list[frozenset[str]]:
        """Group glyphs (sorted by their game) into one set of names per game."""
        if not glyphs.size:
            return [_NOTHING] * self._num_games
        ends = game.searchsorted(self._bounds).tolist()
        data = glyphs.tobytes()
        names, low = [], ends[0]
        for high in ends[1:]:
            if high == low:
                names.append(_NOTHING)
                continue
            key = data[2 * low : 2 * high]
            names.append(_NAMES.get(key) or _remember(key))
            low = high
        return names


def _remember(key: bytes) -> frozenset[str]:
    """Turn the bytes of some int16 glyphs into names and keep the answer: the same groups come again and again."""
    if len(_NAMES) >= _MOST_CACHED:
        _NAMES.clear()
    names = frozenset(GLYPH_NAMES[glyph] for glyph in np.frombuffer(key, np.int16).tolist())
    _NAMES[key] = names
    return names


_NOTHING: frozenset[str] = frozenset()
_NAMES: dict[bytes, frozenset[str]] = {}
