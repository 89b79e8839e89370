"""Memory and ways on real games, against the slow and short ones of the hand-written controllers."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from maestro.envs import make_features
from maestro.envs.nethack.features import memory as M
from maestro.envs.nethack.features.names import COMPASS_TARGETS, DIRECTIONS, PLACE
from maestro.envs.nethack.reference.bitboard import (
    COLUMNS,
    DIRECTION_OF,
    NUM_CELLS,
    OFFSETS,
    STRIDE,
    cells,
    distance,
    find_path,
)
from maestro.envs.nethack.reference.exploration import Explorer
from maestro.envs.nethack.reference.senses import Senses

_FIELDS = {
    "walk": M.WALK, "closed": M.CLOSED, "visited": M.VISITED, "near": M.NEAR, "taken": M.TAKEN, "traps": M.TRAP,
    "holes": M.HOLE, "boulders": M.BOULDER, "stone": M.STONE, "liquid": M.LIQUID, "altars": M.ALTAR,
    "corridors": M.CORRIDOR, "objects": M.OBJECT, "wanted": M.WANTED, "walls": M.WALL, "shop": M.SHOP,
}  # fmt: skip


class Peer:
    """The senses of the hand-written controllers beside one game of the features."""

    def __init__(self, world, features, game):
        self.world, self.features, self.game = world, features, game
        self.senses = Senses()

    def begin(self):
        self.senses = Senses()
        self.look()

    def look(self):
        world, senses = self.world, self.senses
        inventory = np.zeros((world.num_games, 55, 80), np.uint8)
        seen = {**world.observation, "inv_strs": inventory}
        senses.update(SimpleNamespace(observation=seen, states=world.states), self.game)
        action = world.last_action(self.game)
        if 9 <= action <= 16 and senses.moved and not senses.new_level:
            self.pass_line(OFFSETS[action - 9])
        memory = self.features._memory
        self.slot = int(memory.numbers[self.game, M.G_SLOT])
        self.words = memory.cells[self.game, self.slot]

    def pass_line(self, offset):
        mask, cell = 0, self.senses.last_cell
        while 0 <= cell < NUM_CELLS and cell % STRIDE < COLUMNS:
            if cell == self.senses.cell:
                self.senses.level.passed(mask)
                return
            mask |= 1 << cell
            cell += offset

    def mask(self, bit):
        squares = np.nonzero(self.words & bit)[0] - M.BORDER
        return sum(1 << int(cell) for cell in squares if 0 <= cell < NUM_CELLS and cell % STRIDE < COLUMNS)

    def free(self):
        """What is good ground, from the controllers' memory; what messages and failures taught, from the features'."""
        level = self.senses.level
        free = (level.walk | level.closed) & ~(level.traps | level.spoiling)
        free &= ~(self.mask(M.AVOIDED) | self.mask(M.FORBIDDEN) | self.mask(M.BLOCKED))
        in_shop = level.shop >> self.senses.cell & 1
        return free & ~(level.shop & level.wanted) if in_shop else free & ~level.shop

    def row(self, target):
        return self.features.arrays["compass"][self.game, COMPASS_TARGETS.index(target)]


def goals_of(peer):
    level, here = peer.senses.level, 1 << peer.senses.cell
    treasure = level.wanted & ~level.taken & ~level.shop & ~here
    goals = {
        "frontier": level.frontier & ~(level.shop | peer.mask(M.FORBIDDEN) | level.boulders | here),
        "treasure": treasure,
        "object": level.objects
        & level.walk
        & ~(level.visited | level.shop | level.spoiling | treasure | here),
        "altar": level.altars,
        "closed_door": level.closed,
    }
    for name, known in (("staircase_up", level.ups), ("staircase_down", level.downs)):
        if len(known) == 1:
            goals[name] = sum(1 << cell for cell in known)
    return goals


@pytest.fixture
def played(replay):
    """Play the recording, calling `check(peer)` for every game after every step."""

    def play(check):
        world = replay()
        features = make_features(world, "compass")
        peers = [Peer(world, features, game) for game in range(world.num_games)]

        def watch(moment):
            for game in moment.begun:
                peers[game].begin()
            for game in moment.stepped:
                peers[game].look()
                check(peers[game])

        world.run(features, watch)

    return play


def test_memory_of_levels(played):
    seen = Counter()

    def check(peer):
        for name, bit in _FIELDS.items():
            expected = getattr(peer.senses.level, name)
            if name == "objects":
                expected &= ~(1 << peer.senses.cell)
            assert peer.mask(bit) == expected, name
            seen[name] += expected != 0
        assert peer.senses.level.doors & ~peer.mask(M.DOOR) == 0

    played(check)
    assert all(
        seen[name] > 20 for name in ("walk", "visited", "closed", "objects", "wanted", "corridors", "walls")
    )


def test_first_steps_are_those_of_shortest_paths(played):
    checked = Counter()

    def check(peer):
        free, doors = peer.free(), peer.mask(M.DOOR)
        for target, goals in goals_of(peer).items():
            path = find_path(peer.senses.cell, free, doors, goals) if goals else None
            row = peer.row(target)
            if not goals:
                assert not row.any(), target
            if path is None:
                continue
            assert row[8] == pytest.approx(1 / (1 + len(path))), target
            if path:
                assert row[:8].tolist().index(1) == DIRECTION_OF[path[0] - peer.senses.cell], target
            assert row[:8].sum() == bool(path) and row[9] == (len(path) == 1)
            checked[target] += 1

    played(check)
    assert all(checked[name] > 50 for name in ("frontier", "object", "staircase_up", "staircase_down")), (
        checked
    )


def test_spots_to_search(played):
    chosen, checked = {}, Counter()

    def check(peer):
        memory, game, senses = peer.features._memory, peer.game, peer.senses
        level = memory.levels[game, peer.slot]
        rounds = (game, id(senses), peer.slot), int(level[M.L_ROUNDS])
        is_new = chosen.get(rounds[0]) != rounds[1]
        chosen[rounds[0]] = rounds[1]
        if not peer.row("search_spot")[8] or not is_new or level[M.L_LEFT] < 8:
            return
        tried, free = memory.tried[game, peer.slot], peer.free() | 1 << senses.cell
        senses.level.searched_next_to = {
            int(square) - M.BORDER: int(tried[square]) for square in np.nonzero(tried)[0]
        }
        senses.level.doors |= peer.mask(M.DOOR)
        mover = type("Mover", (), {"free": lambda _: free})()
        assert Explorer(senses, mover)._best_spot() == level[M.L_SPOT] - M.BORDER
        checked["spots"] += 1

    played(check)
    assert checked["spots"] > 5


def test_monsters(played):
    seen = Counter()

    def check(peer):
        senses, vector = peer.senses, peer.features.arrays["vector"][peer.game]
        shown = {cell for cell, _ in senses.monsters}
        spared = set(cells(peer.mask(M.AVOIDED))) & shown
        near = sorted(distance(cell, senses.cell) for cell in shown - spared)
        for target, place in (("hostile", 0), ("hostile_2", 1)):
            expected = 1 / (1 + near[place]) if len(near) > place else 0
            assert peer.row(target)[8] == pytest.approx(expected)
        for direction, name in enumerate(DIRECTIONS):
            there = senses.cell + OFFSETS[direction]
            assert vector[PLACE[f"strike_{name}"]] == (there in shown - spared)
            assert vector[PLACE[f"spare_{name}"]] == (there in spared)
            seen["strike"] += there in shown - spared
        seen["two"] += len(near) > 1

    played(check)
    assert seen["strike"] > 20 and seen["two"] > 20
