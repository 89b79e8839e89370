"""The map of a simulated dungeon: where branches, special levels, shops and altars are."""

from __future__ import annotations

import random
from dataclasses import dataclass

DOOM, MINES, SOKOBAN = "Dungeons of Doom", "Gnomish Mines", "Sokoban"
LAST_LEVEL = 25
"""The simulation goes no deeper; nobody's skills do."""

MISHAPS = ("", "", "fall", "stubborn", "hidden")
"""What a game may hold in store to see whether a policy finds back: nothing; a fall through several levels; luck that
sends the hero down the same of two staircases three times; a second staircase that is found last of all."""

Place = tuple[str, int]
"""A dungeon's name and the number of a level in it."""


@dataclass(frozen=True)
class Plan:
    """Where things are in one dungeon. Source: dungeon.def of NetHack 3.6.6 for the ranges of the levels."""

    branch_depth: int
    """Depth of the level with the stairs to the Gnomish Mines, 2 to 4."""
    oracle_depth: int
    """5 to 9."""
    minetown_level: int
    """Level of the Mines, 3 or 4; it has shops and a temple."""
    mines_levels: int
    """8 or 9."""
    shops: frozenset[Place]
    altars: frozenset[Place]
    mishap: str = ""
    """One of MISHAPS."""
    mishap_turn: int = 0
    """When it happens, if it is one that happens."""
    mishap_way: str = "main"
    """The staircase that luck prefers, if it does."""

    @property
    def sokoban_depth(self) -> int:
        """Give the depth of the level with a second staircase up, which leads to Sokoban."""
        return self.oracle_depth + 1

    @property
    def minetown(self) -> Place:
        """Give the place of Minetown."""
        return MINES, self.minetown_level

    @property
    def oracle(self) -> Place:
        """Give the place of the Oracle."""
        return DOOM, self.oracle_depth

    def depth(self, place: Place) -> int:
        """Tell how far below the surface a place is."""
        dungeon, level = place
        if dungeon == MINES:
            return self.branch_depth + level
        if dungeon == SOKOBAN:
            return self.sokoban_depth - level
        return level

    def ways_down(self, place: Place) -> dict[str, Place]:
        """Name the staircases down of a level and where they lead."""
        dungeon, level = place
        ways = {}
        if dungeon == DOOM and level < LAST_LEVEL:
            ways["main"] = (DOOM, level + 1)
            if level == self.branch_depth:
                ways["branch"] = (MINES, 1)
        elif dungeon == MINES and level < self.mines_levels:
            ways["main"] = (MINES, level + 1)
        elif dungeon == SOKOBAN:
            ways["main"] = (DOOM, self.sokoban_depth) if level == 1 else (SOKOBAN, level - 1)
        return ways

    def ways_up(self, place: Place) -> dict[str, Place | None]:
        """Name the staircases up of a level and where they lead; None is out of the dungeon."""
        dungeon, level = place
        if dungeon == MINES:
            return {"main": (MINES, level - 1) if level > 1 else (DOOM, self.branch_depth)}
        if dungeon == SOKOBAN:
            return {}  # a puzzle lies before the next one
        ways: dict[str, Place | None] = {"main": (DOOM, level - 1) if level > 1 else None}
        if level == self.sokoban_depth:
            ways["branch"] = (SOKOBAN, 1)
        return ways


def draw_plan(luck: random.Random) -> Plan:
    """Draw a dungeon. Minetown always has shops and an altar; elsewhere they are as rare as in the real game."""
    minetown = luck.randint(3, 4)
    shops, altars = {(MINES, minetown)}, {(MINES, minetown)}
    for level in range(1, LAST_LEVEL + 1):
        if level > 1 and luck.random() < 0.2:
            shops.add((DOOM, level))
        if luck.random() < 0.1:
            altars.add((DOOM, level))
    return Plan(
        branch_depth=luck.randint(2, 4),
        oracle_depth=luck.randint(5, 9),
        minetown_level=minetown,
        mines_levels=luck.randint(8, 9),
        shops=frozenset(shops),
        altars=frozenset(altars),
        mishap=luck.choice(MISHAPS),
        mishap_turn=luck.randint(300, 1500),
        mishap_way=luck.choice(("main", "branch")),
    )
