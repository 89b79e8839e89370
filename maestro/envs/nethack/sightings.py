"""What stands where, by name, for a whole batch of maps at once."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from maestro.envs.nethack.names import GLYPH_NAMES, HAS_NAME, STAIRCASE_DOWN
from maestro.envs.nethack.native import nethack

NEARBY_SQUARES = 3
"""How far `State.nearby` reaches, in every direction. Source: MaestroMotif's 7 by 7 window."""

_ROWS, _COLUMNS = 21, 79
_CELLS = _ROWS * _COLUMNS
_FEW = 8
"""Up to so many changed maps are looked at one by one."""
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
    """Finds the names on the maps of N games; a map that did not change is not looked at again.

    Keeps scratch arrays, so that looking allocates next to nothing.
    """

    def __init__(self, glyphs: np.ndarray, blstats: np.ndarray):
        """Look at these arrays from now on.

        Args:
            glyphs: int16 (N, 21, 79), filled by the engines.
            blstats: int64 (N, 27), of which column and row of the hero (0, 1) are read.
        """
        num_games = len(glyphs)
        self._maps = glyphs.reshape(num_games, _CELLS)
        self._hero_x, self._hero_y = blstats[:, 0], blstats[:, 1]
        self._views = [row.data for row in glyphs]
        self._last = [b""] * num_games
        self._in_view = [_NOTHING] * num_games
        self._nearby = [_NOTHING] * num_games
        self._chosen = np.empty((num_games, _CELLS), np.int16)
        self._shifted = np.empty(num_games * _CELLS, np.uint16)
        self._plain = np.empty(num_games * _CELLS, bool)
        self._plain_too = np.empty(num_games * _CELLS, bool)
        cells = np.arange(num_games * _CELLS)
        self._game = (cells // _CELLS).astype(np.int64)
        self._row = (cells % _CELLS // _COLUMNS).astype(np.int64)
        self._column = (cells % _COLUMNS).astype(np.int64)
        self._bounds = np.arange(num_games + 1)

    def look(self) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
        """Return per game the names on the map and those within NEARBY_SQUARES; the hero's own square is left out.

        The two lists are valid until the next look.
        """
        last, changed = self._last, []
        for index, view in enumerate(self._views):
            shown = bytes(view)  # the hero is part of the map, so equal maps have him in the same place
            if shown != last[index]:
                last[index] = shown
                changed.append(index)
        if len(changed) <= _FEW:
            for index in changed:
                self._look_at_one(index)
        else:
            in_view, nearby = self._look_at(changed)
            for place, index in enumerate(changed):
                self._in_view[index], self._nearby[index] = in_view[place], nearby[place]
        return self._in_view, self._nearby

    def _look_at_one(self, index: int) -> None:
        """Find the names on one map: for a few maps this costs less than the calls that do many at once."""
        row = self._maps[index]
        where = HAS_NAME.take(row).nonzero()[0]
        glyphs, cells = row.take(where), where.tolist()
        x, y = int(self._hero_x[index]), int(self._hero_y[index])
        hero = y * _COLUMNS + x
        data = glyphs.tobytes()
        if hero in cells:
            place = 2 * cells.index(hero)
            data = data[:place] + data[place + 2 :]
        self._in_view[index] = (_NAMES.get(data) or _remember(data)) if data else _NOTHING
        low = bisect_left(cells, (y - NEARBY_SQUARES) * _COLUMNS)
        high = bisect_left(cells, (y + NEARBY_SQUARES + 1) * _COLUMNS)
        near = [
            glyph
            for cell, glyph in zip(cells[low:high], glyphs[low:high].tolist(), strict=True)
            if -NEARBY_SQUARES <= cell % _COLUMNS - x <= NEARBY_SQUARES and cell != hero
        ]
        self._nearby[index] = frozenset([GLYPH_NAMES[glyph] for glyph in near]) if near else _NOTHING

    def _look_at(self, changed: list[int]) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
        """Find the names on some maps, one entry of the two lists for each."""
        maps, hero_x, hero_y = self._maps, self._hero_x, self._hero_y
        if len(changed) < len(maps):
            maps = maps.take(changed, axis=0, out=self._chosen[: len(changed)], mode="clip")
            hero_x, hero_y = hero_x.take(changed), hero_y.take(changed)
        flat = maps.reshape(-1)
        where = self._candidates(flat)
        found = flat.take(where)
        game = self._game.take(where)
        rows_off = self._row.take(where) - hero_y.take(game)
        columns_off = self._column.take(where) - hero_x.take(game)
        distance = np.maximum(np.abs(rows_off), np.abs(columns_off))
        others = ((distance > 0) & HAS_NAME.take(found)).nonzero()[0]
        found, game, distance = found.take(others), game.take(others), distance.take(others)
        near = (distance <= NEARBY_SQUARES).nonzero()[0]
        num_games = len(changed)
        return self._by_game(found, game, num_games), self._by_game(found[near], game[near], num_games)

    def stairs_down(self, index: int) -> list[int]:
        """Return the cells of game `index`'s flattened map that show a staircase down."""
        return np.flatnonzero(self._maps[index] == STAIRCASE_DOWN).tolist()

    def _candidates(self, flat: np.ndarray) -> np.ndarray:
        """Return the cells whose glyph may have a name: all but plain rock, walls, floors and corridors."""
        (low, high), (low_too, high_too) = _PLAIN_RANGES
        size = flat.size
        shifted, plain, plain_too = self._shifted[:size], self._plain[:size], self._plain_too[:size]
        np.subtract(flat.view(np.uint16), np.uint16(low), out=shifted)
        np.greater(shifted, np.uint16(high - low), out=plain)
        np.subtract(shifted, np.uint16(low_too - low), out=shifted)
        np.greater(shifted, np.uint16(high_too - low_too), out=plain_too)
        np.logical_and(plain, plain_too, out=plain)
        return plain.nonzero()[0]

    def _by_game(self, glyphs: np.ndarray, game: np.ndarray, num_games: int) -> list[frozenset[str]]:
        """Group glyphs (sorted by their game) into one set of names per game."""
        if not glyphs.size:
            return [_NOTHING] * num_games
        ends = game.searchsorted(self._bounds[: num_games + 1]).tolist()
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
