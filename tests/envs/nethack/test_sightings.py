"""The names found for a batch are those found square by square."""

from __future__ import annotations

import numpy as np

from maestro.envs import make_world
from maestro.envs.nethack.names import GLYPH_NAMES, STAIRCASE_DOWN
from maestro.envs.nethack.sightings import NEARBY_SQUARES, Lookout
from maestro.envs.world import IDLE


def square_by_square(glyphs: np.ndarray, hero_x: int, hero_y: int) -> tuple[frozenset[str], frozenset[str]]:
    in_view, nearby = set(), set()
    for y, row in enumerate(glyphs.tolist()):
        for x, glyph in enumerate(row):
            distance = max(abs(x - hero_x), abs(y - hero_y))
            if glyph in GLYPH_NAMES and distance > 0:
                in_view.add(GLYPH_NAMES[glyph])
                if distance <= NEARBY_SQUARES:
                    nearby.add(GLYPH_NAMES[glyph])
    return frozenset(in_view), frozenset(nearby)


def test_real_maps_in_play():
    world = make_world("nethack", 4)
    for index in range(4):
        world.seed(index, index, index)
    world.reset()
    actions = np.random.default_rng(0).integers(0, 28, (120, 4)).tolist()
    compared = 0
    for row in actions:
        world.step([IDLE if world.games[i].is_over else a for i, a in enumerate(row)])
        for index, state in enumerate(world.states):
            if not world.games[index].is_over:
                x, y = world.observation["blstats"][index, :2].tolist()
                wanted = square_by_square(world.observation["glyphs"][index], x, y)
                assert (state.in_view, state.nearby) == wanted
                compared += 1
    world.close()
    assert compared > 300


def test_any_glyphs_at_any_place():
    random = np.random.default_rng(1)
    glyphs = np.full((5, 21, 79), 2359, np.int16)
    blstats = np.zeros((5, 27), np.int64)
    lookout = Lookout(glyphs, blstats)
    for step in range(40):
        for index in random.choice(5, size=step % 6, replace=False):
            glyphs[index] = random.integers(0, 5976, (21, 79))
            blstats[index, :2] = random.integers(0, (79, 21))
        in_view, nearby = lookout.look()
        for index in range(5):
            x, y = blstats[index, :2].tolist()
            assert (in_view[index], nearby[index]) == square_by_square(glyphs[index], x, y)


def test_stairs_are_found_by_their_cell():
    glyphs = np.full((2, 21, 79), 2359, np.int16)
    glyphs[1, 3, 5] = glyphs[1, 20, 78] = STAIRCASE_DOWN
    lookout = Lookout(glyphs, np.zeros((2, 27), np.int64))
    assert lookout.stairs_down(0) == []
    assert lookout.stairs_down(1) == [3 * 79 + 5, 21 * 79 - 1]
