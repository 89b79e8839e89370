"""What is remembered of each game, as arrays that the compiled functions fill: one row per game, one slot per level.

A square's number is (row + 1) * 80 + column + 1 here: with a border all around, no neighbour is ever outside the array.
It is the cell number of `reference.bitboard` plus 81.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maestro.envs.nethack.features.names import COMPASS_TARGETS
from maestro.envs.nethack.reference.glyphs import BIT

ROWS, COLUMNS, STRIDE = 21, 79, 80
BORDER = STRIDE + 1
SIZE = 23 * STRIDE + 8
STEPS = (-STRIDE, 1, STRIDE, -1, 1 - STRIDE, 1 + STRIDE, STRIDE - 1, -1 - STRIDE)
"""What to add to a square for one step, in the order of `names.DIRECTIONS`."""

# What a glyph shows now; the numbers are those of `reference.glyphs.CLASS_OF`.
FLOOR, OPENED, CLOSED, WALL = BIT["floor"], BIT["open_door"], BIT["closed_door"], BIT["wall"]
STONE, BOULDER, TRAP, MONSTER = BIT["stone"], BIT["boulder"], BIT["trap"], BIT["monster"]
OBJECT, DOWN, UP, ALTAR = BIT["object"], BIT["down"], BIT["up"], BIT["altar"]
LIQUID, HOLE, WANTED, CORRIDOR = BIT["liquid"], BIT["hole"], BIT["wanted"], BIT["corridor"]
SPOILING = BIT["spoiling"]
# What is remembered beyond it.
WALK, DOOR, VISITED, NEAR, TAKEN, FORBIDDEN, SHOP, LOCKED, AVOIDED, BLOCKED = (1 << n for n in range(17, 27))
KEPT = (
    WALK | DOOR | VISITED | NEAR | TAKEN | FORBIDDEN | SHOP | LOCKED
    | TRAP | HOLE | LIQUID | ALTAR | CORRIDOR | DOWN | UP
)  # fmt: skip
SHOWN = (
    CLOSED | WALL | STONE | BOULDER | OBJECT | WANTED | SPOILING | MONSTER
    | TRAP | HOLE | LIQUID | ALTAR | CORRIDOR | DOWN | UP
)  # fmt: skip

# Kinds of monsters: bits of `tables.KINDS`.
TAME, UNTOUCHABLE, PASSIVE, PETRIFYING, SLUGGISH, KEEPER, PRIEST, WATCH, UNSEEN, ENGULFS = (
    1 << n for n in range(10)
)
SPARED_KINDS = TAME | UNTOUCHABLE | PASSIVE | PETRIFYING

# What messages tell: bits of `compass.news_of`.
SAYS_DOWN, SAYS_UP, SAYS_CLOSED, SAYS_LOCKED, SAYS_WHAMM = (1 << n for n in range(5))
SAYS_OBJECT, SAYS_PICKED, SAYS_SOLID, SAYS_HIT, SAYS_ANYTHING, SAYS_PRAYED, SAYS_ALTAR = (
    1 << n for n in range(5, 12)
)
SAYS_NOT_DOWN, SAYS_NOT_UP = 1 << 12, 1 << 13

MOST_LEVELS = 24
"""Levels remembered per game; beyond that the one not visited for longest is forgotten."""
MOST_STAIRS, MOST_MARKS, MOST_MONSTERS, MOST_CORPSES, MOST_BLOCKED = 8, 24, 96, 8, 16

# Numbers of one level: places in `Memory.levels`.
(
    L_KEY,
    L_USED,
    L_SEARCHES,
    L_ROUNDS,
    L_SPOT,
    L_LEFT,
    L_STEPS,
    L_STAIRS,
    L_MARKS,
    L_KEEPER,
    L_PRIEST,
    L_WATCH,
) = range(12)
NUM_LEVEL_NUMBERS = 12
# Numbers of one game: places in `Memory.numbers`.
(G_SLOT, G_LEVELS, G_TICK, G_HERO, G_TURN, G_HP, G_GOLD, G_PRAYER, G_PRAYED, G_STUCK, G_MONSTERS, G_UNDER,
 G_FAILED, G_FAILURES, G_CORPSES, G_BLOCKED, G_SWALLOWED, G_ASKED, G_KICKED) = range(19)  # fmt: skip
NUM_GAME_NUMBERS = 19


class Memory(NamedTuple):
    """Arrays of N games. About 300 kB a game when all 24 levels are in use; levels not visited take no memory."""

    glyphs: np.ndarray
    """int16 (N, 21, 79): the map as it was looked at last."""
    cells: np.ndarray
    """int32 (N, levels, SIZE): bits of each square."""
    tried: np.ndarray
    """uint8 (N, levels, SIZE): searches beside a wall or rock; kicks at a door."""
    searched: np.ndarray
    """uint8 (N, levels, SIZE): searches on a square."""
    levels: np.ndarray
    """int64 (N, levels, L_...)"""
    stairs: np.ndarray
    """int16 (N, levels, MOST_STAIRS, 3): square, direction (0 down, 1 up), times taken."""
    marks: np.ndarray
    """int16 (N, levels, MOST_MARKS, 2): squares and glyphs of monsters known to be peaceful."""
    monsters: np.ndarray
    """int16 (N, MOST_MONSTERS, 2): squares and glyphs of the monsters shown, without the hero."""
    corpses: np.ndarray
    """int32 (N, MOST_CORPSES, 2): squares and turns of deaths on this level."""
    blocked: np.ndarray
    """int32 (N, MOST_BLOCKED, 3): squares that could not be entered, the turn until which, and how often."""
    numbers: np.ndarray
    """int64 (N, G_...)"""


class Told(NamedTuple):
    """What the world's Python objects say, one number per game."""

    prompt: np.ndarray
    """int64 (N,): place in PROMPT_KINDS."""
    goods: np.ndarray
    """int64 (N,): things to sell."""
    action: np.ndarray
    """int64 (N,): the last action."""
    news: np.ndarray
    """int64 (N,): SAYS_... of the message."""


class Scratch(NamedTuple):
    """Room to work in, shared by all games; nothing in it lasts from one game to the next."""

    ranks: np.ndarray
    """int16 (SIZE,): steps from the hero, and in which phase a square was reached (`ways.PHASE`); -1: not at all."""
    queue: np.ndarray
    """int16 (SIZE,)"""
    later: np.ndarray
    """int16 (3, SIZE): squares put off to a later phase."""
    codes: np.ndarray
    """uint8 (SIZE,): what `ways.digest` says of each square."""
    ends: np.ndarray
    """int64 (4,): how many squares are in the queue and in each row of `later`."""
    best: np.ndarray
    """int64 (targets, 3): square, steps, phase of the nearest target of each kind; square -1 where there is none."""
    deep: np.ndarray
    """int32 (SIZE,): sums of unknown squares far from all that is known."""
    sums: np.ndarray
    """float64 (16,): what a search of the level counted."""


def make_memory(num_games: int) -> Memory:
    """Make an empty memory; pages are taken from the system as levels are visited."""
    shape = (num_games, MOST_LEVELS)
    return Memory(
        glyphs=np.full((num_games, ROWS, COLUMNS), -1, np.int16),
        cells=np.zeros((*shape, SIZE), np.int32),
        tried=np.zeros((*shape, SIZE), np.uint8),
        searched=np.zeros((*shape, SIZE), np.uint8),
        levels=np.zeros((*shape, NUM_LEVEL_NUMBERS), np.int64),
        stairs=np.zeros((*shape, MOST_STAIRS, 3), np.int16),
        marks=np.zeros((*shape, MOST_MARKS, 2), np.int16),
        monsters=np.zeros((num_games, MOST_MONSTERS, 2), np.int16),
        corpses=np.zeros((num_games, MOST_CORPSES, 2), np.int32),
        blocked=np.zeros((num_games, MOST_BLOCKED, 3), np.int32),
        numbers=np.zeros((num_games, NUM_GAME_NUMBERS), np.int64),
    )


def make_scratch() -> Scratch:
    """Make room for one call at a time."""
    return Scratch(
        ranks=np.zeros(SIZE, np.int16),
        queue=np.zeros(SIZE, np.int16),
        later=np.zeros((3, SIZE), np.int16),
        codes=np.zeros(SIZE, np.uint8),
        ends=np.zeros(4, np.int64),
        best=np.zeros((len(COMPASS_TARGETS), 3), np.int64),
        deep=np.zeros(SIZE, np.int32),
        sums=np.zeros(16, np.float64),
    )
