"""What is remembered of a level."""

import numpy as np

from maestro.envs.nethack.reference import glyphs as G
from maestro.envs.nethack.reference.bitboard import cell_of
from maestro.envs.nethack.reference.memory import AVOID_TURNS, LevelMemory
from maestro.envs.nethack.reference.senses import Senses


def look(level: LevelMemory, squares: dict, here=(1, 1), sees: bool = True) -> None:
    glyphs = np.full((21, 79), G.CMAP, np.int16)
    for (y, x), symbol in squares.items():
        glyphs[y, x] = symbol
    level.look(G.masks_of(glyphs), cell_of(*here), sees)


def test_ground_under_objects_and_a_door_under_a_monster_are_kept():
    level = LevelMemory((0, 1), 1)
    look(level, {(1, 2): G.CMAP + 13, (1, 3): G.CMAP + 19})
    look(level, {(1, 2): G.MONSTER_INDEX["newt"], (1, 3): G.OBJECT + 5})
    assert level.doors == 1 << cell_of(1, 2)
    assert level.walk >> cell_of(1, 3) & 1
    look(level, {(1, 2): G.CMAP + 12})  # broken: diagonal steps are possible again
    assert level.doors == 0


def test_a_trap_under_an_object_stays_a_trap():
    level = LevelMemory((0, 1), 1)
    look(level, {(1, 2): G.CMAP + 46})
    look(level, {(1, 2): G.OBJECT + 5})
    assert level.traps == 1 << cell_of(1, 2)
    assert not level.ground(1) >> cell_of(1, 2) & 1


def test_frontier_closes_when_the_hero_has_stood_there():
    level = LevelMemory((0, 1), 1)
    corridor = {(5, x): G.CMAP + 21 for x in range(10, 15)}
    look(level, corridor, here=(5, 10))
    assert level.frontier >> cell_of(5, 14) & 1
    for x in range(10, 15):
        look(level, corridor, here=(5, x))
    assert level.frontier == 0


def test_the_blind_learn_only_where_they_stand():
    level = LevelMemory((0, 1), 1)
    look(level, {}, here=(5, 5), sees=False)
    assert level.near == 1 << cell_of(5, 5)


def test_avoided_squares_come_back_later_each_time():
    level = LevelMemory((0, 1), 1)
    look(level, {(1, 2): G.CMAP + 19})
    cell = cell_of(1, 2)
    level.avoid(cell, 100)
    assert not level.ground(100) >> cell & 1
    first = level.blocked[cell]
    assert first >= 100 + AVOID_TURNS
    assert level.ground(first) >> cell & 1
    level.avoid(cell, first)
    assert level.blocked[cell] - first > first - 100


def test_marks_of_peaceful_monsters_walk_along(painted):
    senses = Senses()
    gnome = G.MONSTER_INDEX["gnome"]
    painted.paint("--------", "|@...g.|", "--------", names={"g": gnome})
    senses.update(painted, 0)
    senses.level.peaceful[cell_of(1, 5)] = gnome
    painted.paint("--------", "|@....g|", "--------", names={"g": gnome})
    senses.update(painted, 0)
    assert senses.peaceful_mask == 1 << cell_of(1, 6)
    assert senses.hostiles() == []
    painted.paint("--------", "|@g...g|", "--------", names={"g": gnome})
    senses.update(painted, 0)
    assert [cell for cell, _, _ in senses.hostiles()] == [cell_of(1, 2)]


def test_a_run_marks_the_squares_between(painted):
    senses = Senses()
    painted.paint("----------", "|@.......|", "----------")
    senses.update(painted, 0)
    start = senses.cell
    painted.paint("----------", "|.......@|", "----------")
    senses.update(painted, 0)
    senses.note_run(start, 1)
    assert senses.level.visited.bit_count() == 8


def test_levels_are_kept_apart(painted):
    senses = Senses()
    painted.paint("----", "|@>|", "----")
    senses.update(painted, 0)
    painted.set(level=2)
    painted.paint("----", "|@.|", "----")
    senses.update(painted, 0)
    assert senses.new_level
    assert senses.level.downs == {}
    painted.set(level=1)
    senses.update(painted, 0)
    assert list(senses.level.downs) == [cell_of(1, 2)]
