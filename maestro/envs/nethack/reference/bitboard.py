"""Represent sets of map squares as Python integers and search them wave by wave.

A map is 21 rows of 80 bits: 79 columns and one pad column that is always empty, so that a shift by one
never carries a square from one row into the next. The square (y, x) is bit ``y * 80 + x``: its *cell*.
A breadth-first search widens the whole wave with a few shifts, about one microsecond a ring.
"""

from collections.abc import Iterator

import numpy as np

ROWS, COLUMNS, STRIDE = 21, 79, 80
NUM_CELLS = ROWS * STRIDE
FULL = sum(((1 << COLUMNS) - 1) << (row * STRIDE) for row in range(ROWS))

# Compass order of the action names: north, east, south, west, northeast, southeast, southwest, northwest.
OFFSETS = (-STRIDE, 1, STRIDE, -1, 1 - STRIDE, 1 + STRIDE, STRIDE - 1, -1 - STRIDE)
DIRECTION_OF = {offset: index for index, offset in enumerate(OFFSETS)}


def cell_of(y: int, x: int) -> int:
    """Return the cell of a square."""
    return y * STRIDE + x


def neighbours(cell: int) -> int:
    """Return the up to eight squares around a cell."""
    return NEIGHBOURS[cell]


def dilate(mask: int) -> int:
    """Return the mask together with every square that touches it, diagonals included."""
    row = mask | mask << 1 | mask >> 1
    return (row | row << STRIDE | row >> STRIDE) & FULL


def dilate_orthogonal(mask: int) -> int:
    """Return the mask together with every square that shares an edge with it."""
    return (mask | mask << 1 | mask >> 1 | mask << STRIDE | mask >> STRIDE) & FULL


NEIGHBOURS = tuple(dilate(1 << cell & FULL) & ~(1 << cell) for cell in range(NUM_CELLS))
ORTHOGONAL = tuple(dilate_orthogonal(1 << cell & FULL) & ~(1 << cell) for cell in range(NUM_CELLS))


def cells(mask: int) -> Iterator[int]:
    """Yield the cells of a mask in rising order."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def distance(a: int, b: int) -> int:
    """Return the number of king's moves between two cells."""
    ay, ax = divmod(a, STRIDE)
    by, bx = divmod(b, STRIDE)
    return max(abs(ay - by), abs(ax - bx))


def disc(cell: int, radius: int) -> int:
    """Return all squares within `radius` king's moves of a cell, itself included."""
    mask = 1 << cell
    for _ in range(radius):
        mask = dilate(mask)
    return mask


def from_planes(planes: np.ndarray) -> list[int]:
    """Turn a bool or 0/1 array (P, NUM_CELLS) into P masks."""
    packed = np.packbits(planes, axis=1, bitorder="little").tobytes()
    width = NUM_CELLS // 8
    return [int.from_bytes(packed[k : k + width], "little") for k in range(0, len(packed), width)]


def waves(start: int, free: int, doors: int, goals: int = 0, limit: int = 400) -> list[int]:
    """Search breadth first from the mask `start` and return the rings, the first being `start` itself.

    Diagonal steps neither begin nor end on a square of `doors`. The search stops with the first ring
    that meets `goals` (only squares of `free` are ever entered, so goals outside it are never met),
    when nothing is left, or after `limit` rings. The last ring is never empty.
    """
    rings = [start]
    wave = start
    free &= ~start
    open_floor = ~doors
    while len(rings) <= limit:
        if wave & goals:
            break
        column = wave << STRIDE | wave >> STRIDE
        slanted = wave & open_floor
        slanted = slanted << STRIDE | slanted >> STRIDE
        wave = (wave << 1 | wave >> 1 | column | (slanted << 1 | slanted >> 1) & open_floor) & free
        if not wave:
            break
        free ^= wave
        rings.append(wave)
    return rings


def path_back(rings: list[int], goal: int, doors: int) -> list[int]:
    """Walk the rings backwards and return the cells from the first step to `goal`.

    `goal` must lie in the last ring. Where several ways are equally short the straightest is taken, so
    that running moves pay. The path is empty when the goal is where the search began.
    """
    path = [goal]
    cell = goal
    step = 0
    for ring in reversed(rings[:-1]):
        previous = cell - step
        if not (step and previous >= 0 and ring >> previous & 1 and _may_step(previous, cell, doors)):
            around = (ORTHOGONAL[cell] if doors >> cell & 1 else NEIGHBOURS[cell]) & ring
            straight = around & ORTHOGONAL[cell]
            slanted = around & ~doors
            pick = straight or slanted
            previous = (pick & -pick).bit_length() - 1
            step = cell - previous
        cell = previous
        path.append(cell)
    path.pop()
    path.reverse()
    return path


def _may_step(a: int, b: int, doors: int) -> bool:
    return abs(b - a) in (1, STRIDE) or not (doors >> a | doors >> b) & 1


def find_path(start: int, free: int, doors: int, goals: int, limit: int = 400) -> list[int] | None:
    """Return the cells of a shortest path from the cell `start` to any goal, or None where there is none.

    An empty list means that `start` is itself a goal.
    """
    rings = waves(1 << start, free, doors, goals, limit)
    reached = rings[-1] & goals
    if not reached:
        return None
    return path_back(rings, (reached & -reached).bit_length() - 1, doors)


def flood(start: int, free: int, doors: int) -> int:
    """Return every square that can be reached from the mask `start`, itself included."""
    reached = 0
    for ring in waves(start, free, doors):
        reached |= ring
    return reached
