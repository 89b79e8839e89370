"""Bitboards against a naive search on sets of squares."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro.envs.nethack.reference import bitboard as bb

SQUARES = [(y, x) for y in range(bb.ROWS) for x in range(bb.COLUMNS)]


def mask(squares) -> int:
    return sum(1 << bb.cell_of(y, x) for y, x in squares)


@st.composite
def boards(draw):
    """Draw a connected-ish small region somewhere on the map (edges included), with doors in it, and a start."""
    top, left = draw(st.integers(0, bb.ROWS - 6)), draw(st.integers(0, bb.COLUMNS - 9))
    region = [(y, x) for y in range(top, top + 6) for x in range(left, left + 9)]
    free = draw(st.sets(st.sampled_from(region), min_size=1))
    doors = draw(st.sets(st.sampled_from(sorted(free))))
    return sorted(free), doors, draw(st.sampled_from(sorted(free)))


def naive_distances(free, doors, start):
    distances, queue, free = {start: 0}, deque([start]), set(free)
    while queue:
        y, x = queue.popleft()
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                there = (y + dy, x + dx)
                slanted = dy and dx
                if there not in free or there in distances or slanted and ((y, x) in doors or there in doors):
                    continue
                distances[there] = distances[y, x] + 1
                queue.append(there)
    return distances


@settings(max_examples=150, deadline=None)
@given(boards())
def test_waves_are_the_naive_distances(board):
    free, doors, start = board
    rings = bb.waves(1 << bb.cell_of(*start), mask(free), mask(doors))
    found = {divmod(c, bb.STRIDE): k for k, ring in enumerate(rings) for c in bb.cells(ring)}
    assert found == naive_distances(free, doors, start)


@settings(max_examples=150, deadline=None)
@given(boards(), st.data())
def test_find_path_is_shortest_and_legal(board, data):
    free, doors, start = board
    goal = data.draw(st.sampled_from(free))
    distances = naive_distances(free, doors, start)
    path = bb.find_path(bb.cell_of(*start), mask(free), mask(doors), 1 << bb.cell_of(*goal))
    if goal not in distances:
        assert path is None
        return
    assert path is not None
    assert len(path) == distances[goal]
    here = start
    for cell in path:
        there = divmod(cell, bb.STRIDE)
        dy, dx = there[0] - here[0], there[1] - here[1]
        assert max(abs(dy), abs(dx)) == 1
        assert there in set(free)
        assert not (dy and dx and (here in doors or there in doors))
        here = there
    assert here == goal


def test_nothing_wraps_round_the_edges():
    for y, x in SQUARES:
        expected = {
            (y + dy, x + dx)
            for dy in (-1, 0, 1)
            for dx in (-1, 0, 1)
            if 0 <= y + dy < bb.ROWS and 0 <= x + dx < bb.COLUMNS
        }
        cell = bb.cell_of(y, x)
        assert {divmod(c, bb.STRIDE) for c in bb.cells(bb.dilate(1 << cell))} == expected
        assert bb.neighbours(cell) == mask(expected - {(y, x)})


def test_path_is_straight_where_it_can_be():
    path = bb.find_path(bb.cell_of(5, 5), bb.FULL, 0, 1 << bb.cell_of(5, 12))
    assert path == [bb.cell_of(5, x) for x in range(6, 13)]


def test_waves_stop_at_goals_and_limits():
    start = 1 << bb.cell_of(10, 40)
    assert len(bb.waves(start, bb.FULL, 0, limit=3)) == 4
    rings = bb.waves(start, bb.FULL, 0, 1 << bb.cell_of(10, 45))
    assert len(rings) == 6
    assert bb.find_path(bb.cell_of(10, 40), bb.FULL, 0, start) == []


@pytest.mark.parametrize("count", [1, 3, 17])
def test_from_planes_reads_rows(count):
    planes = np.random.default_rng(count).integers(0, 2, (count, bb.NUM_CELLS)).astype(np.uint8)
    masks = bb.from_planes(planes)
    assert [[m >> c & 1 for c in range(bb.NUM_CELLS)] for m in masks] == planes.tolist()


def test_distance_and_disc_agree():
    here = bb.cell_of(3, 70)
    for there in bb.cells(bb.disc(here, 4)):
        assert bb.distance(here, there) <= 4
    assert bb.disc(here, 4).bit_count() == 8 * 9
    assert bb.flood(1 << here, bb.disc(here, 2), 0) == bb.disc(here, 2)
