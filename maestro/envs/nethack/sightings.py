"""What stands where, by name, for a whole batch of maps at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maestro.envs.nethack.names import GLYPH_NAMES, HAS_NAME, STAIRCASE_DOWN

NEARBY_SQUARES = 3
"""How far `State.nearby` reaches, in every direction. Source: MaestroMotif's 7 by 7 window."""

_COLUMNS = 79
_CELLS = 21 * _COLUMNS
_MOST_CACHED = 50_000


class Sightings(NamedTuple):
    """Names seen in each of N games."""

    in_view: list[frozenset[str]]
    """Per game, the names of all on the map, the hero's own square left out."""
    nearby: list[frozenset[str]]
    """Per game, the names within NEARBY_SQUARES of the hero, likewise."""
    stairs_down: list[tuple[int, int]]
    """(game, cell of the flattened map) for every staircase down that is on a map."""


def look(glyphs: np.ndarray, blstats: np.ndarray) -> Sightings:
    """Find the names on every map.

    Args:
        glyphs: int16 (N, 21, 79).
        blstats: int64 (N, 27), of which column and row of the hero (0, 1) are read.
    """
    num_games = len(glyphs)
    flat = glyphs.reshape(-1)
    where = np.flatnonzero(HAS_NAME.take(flat))
    hero = np.arange(num_games) * _CELLS + blstats[:, 1] * _COLUMNS + blstats[:, 0]
    game = where // _CELLS
    is_other = where != hero.take(game)
    where, game = where[is_other], game[is_other]
    found = flat.take(where)
    cell = where - game * _CELLS
    row = cell // _COLUMNS
    column = cell - row * _COLUMNS
    rows_off = np.abs(row - blstats[:, 1].take(game))
    columns_off = np.abs(column - blstats[:, 0].take(game))
    is_near = np.maximum(rows_off, columns_off) <= NEARBY_SQUARES
    is_stairs = found == STAIRCASE_DOWN
    stairs = list(zip(game[is_stairs].tolist(), cell[is_stairs].tolist())) if is_stairs.any() else []
    return Sightings(
        _names_by_game(found, game, num_games),
        _names_by_game(found[is_near], game[is_near], num_games),
        stairs,
    )


def _names_by_game(glyphs: np.ndarray, game: np.ndarray, num_games: int) -> list[frozenset[str]]:
    """Group glyphs (sorted by their game) into one set of names per game."""
    bounds = np.searchsorted(game, np.arange(num_games + 1)).tolist()
    data = glyphs.tobytes()
    names = []
    for index in range(num_games):
        key = data[2 * bounds[index] : 2 * bounds[index + 1]]
        known = _NAMES.get(key)
        names.append(known if known is not None else _remember(key))
    return names


def _remember(key: bytes) -> frozenset[str]:
    """Turn the bytes of some int16 glyphs into names and keep the answer: the same groups come again and again."""
    if len(_NAMES) >= _MOST_CACHED:
        _NAMES.clear()
    names = frozenset(GLYPH_NAMES[glyph] for glyph in np.frombuffer(key, np.int16).tolist())
    _NAMES[key] = names
    return names


_NAMES: dict[bytes, frozenset[str]] = {}
