"""Compiled: where to search for hidden doors and passages. The rule is that of `reference.exploration`."""

from __future__ import annotations

import numpy as np

from maestro.envs.nethack.features.compiled import compiled
from maestro.envs.nethack.features.memory import (
    BOULDER,
    CLOSED,
    COLUMNS,
    CORRIDOR,
    DOOR,
    L_LEFT,
    L_ROUNDS,
    L_SEARCHES,
    L_SPOT,
    ROWS,
    STEPS,
    STONE,
    STRIDE,
    WALK,
    WALL,
)
from maestro.envs.nethack.features.ways import PHASE

SEARCH_TURNS = 8
"""Searches on a spot before another one is chosen."""
_STALE = np.array([(6 / 7) ** count for count in range(256)])
"""Chance that what is hidden beside the hero was not found by so many searches."""
_RISING = (-STRIDE - 1, -STRIDE, -STRIDE + 1, -1, 1, STRIDE - 1, STRIDE, STRIDE + 1)
_GROUND = WALK | CLOSED | BOULDER
_ALONE, _STRAIGHT_ON = 3.0, 0.08
_VIEW = 6


@compiled
def count_search(memory, game, slot, hero):
    """Note one turn of searching where the hero stands."""
    cells, tried = memory.cells[game, slot], memory.tried[game, slot]
    searched, level = memory.searched[game, slot], memory.levels[game, slot]
    searched[hero] = min(searched[hero] + 1, 255)
    for step in STEPS:
        if not cells[hero + step] & (WALK | CLOSED):
            tried[hero + step] = min(tried[hero + step] + 1, 255)
    level[L_SEARCHES] += 1
    if level[L_SPOT] == hero:
        level[L_LEFT] -= 1


@compiled
def is_dark(cells, square):
    """Say whether a square inside the map's edge is blank rock."""
    row, column = square // STRIDE, square % STRIDE
    if row <= 1 or row >= ROWS or column <= 1 or column >= COLUMNS:
        return False
    return cells[square] & STONE and not cells[square] & _GROUND


@compiled
def is_deep(cells, square):
    """Say whether a square is blank rock with nothing known beside it."""
    if not is_dark(cells, square):
        return False
    for step in STEPS:  # noqa: SIM110 - numba knows no generators
        if cells[square + step] & _GROUND:
            return False
    return True


@compiled
def find_deep(cells, deep, sums):
    """Mark the deep squares, and fill sums[square] with how many lie above and to the left of it, itself included."""
    deep[:] = 0
    sums[:] = 0
    for row in range(1, ROWS + 1):
        in_row = 0
        for column in range(1, COLUMNS + 1):
            square = row * STRIDE + column
            if is_deep(cells, square):
                deep[square] = 1
                in_row += 1
            sums[square] = sums[square - STRIDE] + in_row


@compiled
def space_around(sums, square):
    """Return how many deep squares lie within `_VIEW` squares."""
    row, column = square // STRIDE, square % STRIDE
    top, bottom = max(row - _VIEW, 1), min(row + _VIEW, ROWS)
    left, right = max(column - _VIEW, 1), min(column + _VIEW, COLUMNS)
    inside = sums[bottom * STRIDE + right] - sums[(top - 1) * STRIDE + right]
    return inside - sums[bottom * STRIDE + left - 1] + sums[(top - 1) * STRIDE + left - 1]


@compiled
def is_dead_end(cells, square):
    """Say whether a corridor or door leads to a square and not on."""
    if not cells[square] & (CORRIDOR | DOOR):
        return False
    count = first = second = 0
    for step in _RISING:
        if cells[square + step] & _GROUND:
            count += 1
            if count == 1:
                first = step
            else:
                second = step
    return count <= 1 or count == 2 and (second - first == 1 or second - first == STRIDE)


@compiled
def chance_at(cells, tried, deep, square):
    """Return how much may be hidden around a square: walls before blank rock, rock beside corridors and doors."""
    chance = 0.0
    rocks = False
    for step in _RISING:
        other = square + step
        if cells[other] & WALL:
            row, column = other // STRIDE, other % STRIDE
            if row <= 1 or row >= ROWS or column <= 1 or column >= COLUMNS:
                continue
            for further in STEPS:
                beyond = other + further
                if deep[beyond]:
                    chance += _STALE[tried[other]]
                    break
        elif is_dark(cells, other):
            rocks = True
    if not rocks:
        return chance
    weight = _ALONE if is_dead_end(cells, square) else _STRAIGHT_ON
    for step in _RISING:
        other = square + step
        if is_dark(cells, other):
            for further in STEPS:
                if cells[other + further] & (CORRIDOR | DOOR):
                    chance += weight * _STALE[tried[other]]
                    break
    return chance


@compiled
def best_spot(cells, tried, hero, scratch):
    """Return the reachable square with the best chance of a find for the turns it costs."""
    sums, steps = scratch.deep, scratch.ranks
    deep = scratch.queue  # the search for ways is over: its queue is free
    find_deep(cells, deep, sums)
    best, best_value = hero, 0.0
    for square in range(STRIDE + 1, (ROWS + 1) * STRIDE):
        if steps[square] < 0 or steps[square] >= PHASE:
            continue
        chance = chance_at(cells, tried, deep, square)
        if chance == 0.0:
            continue
        value = chance * (10 + space_around(sums, square)) / (steps[square] + 2 * SEARCH_TURNS)
        if value > best_value or value == best_value and steps[square] < steps[best]:
            best, best_value = square, value
    return best


@compiled
def keep_spot(memory, game, slot, hero, scratch):
    """Return the square to search at: the one chosen before as long as it is good, else the best one now."""
    level = memory.levels[game, slot]
    spot = level[L_SPOT]
    if spot >= 0 and level[L_LEFT] > 0 and 0 <= scratch.ranks[spot] < PHASE:
        return spot
    spot = best_spot(memory.cells[game, slot], memory.tried[game, slot], hero, scratch)
    level[L_SPOT], level[L_LEFT] = spot, SEARCH_TURNS
    level[L_ROUNDS] += 1
    return spot
