"""`Truth`: facts of a running game, read from its own copy of the engine. For success tests and measuring
only.

Nothing here may reach a state, an observation or a caption: an agent sees what a player sees. So only
`maestro.envs.nethack.tasks` and the measuring code import this module (and the world, to hand it out); a test
checks it.

Reading never changes the game. Most reads are one machine word through an object made beforehand: well under
a microsecond. Lists (inventory, floor) are walked when asked for: about 3 microseconds an object.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

from maestro.envs.nethack import layout
from maestro.envs.nethack.belongings import Belongings
from maestro.envs.nethack.layout import pair, pointer
from maestro.errors import EngineError, WorldError

_DUNGEON_NAMES = ("The Dungeons of Doom", "Gehennom", "The Gnomish Mines")


class Place(NamedTuple):
    """A level, by its dungeon's number (0 the Dungeons of Doom) and its number within it, from 1."""

    dungeon: int
    level: int


class _Released(dict[str, int]):
    """Stands in for the engine's variables once they are gone."""

    def __missing__(self, name: str) -> int:
        raise self._gone(name)

    @property
    def value(self) -> int:
        raise self._gone("a fact")

    @staticmethod
    def _gone(what: str) -> EngineError:
        return EngineError(
            f"{what} was asked of a game that was reset or closed",
            where="maestro.envs.nethack.engine.Truth",
            hint="ask the world for the game's truth again: world.truth(index)",
        )


class Truth(Belongings):
    """What the engine knows of one game between one reset and the next; read anew whenever asked for.

    `release()` must be called before that game is reset or closed, because the addresses go with it. After
    that every question raises EngineError.
    """

    def __init__(
        self, library_path: str, blstats: np.ndarray | None = None, *, overview: bool = True
    ) -> None:
        """Find the running game's variables and check that they make sense.

        `overview`: whether this engine keeps what `levels_in_overview` reads.

        `blstats`, int64 (27,): the game's status line, for that check; None: checked without. It is looked at on the
        first turn only, because later, in the middle of things, it can lag behind the engine.

        Raises EngineError where no game has loaded the library, or it is not the engine whose layout is
        known.
        """
        self._keeps_overview = overview
        self._symbols: dict[str, int] = layout.find_symbols(library_path)
        hero = self._symbols["u"]
        self._read_x = ctypes.c_byte.from_address(hero + layout.U_X)
        self._read_y = ctypes.c_byte.from_address(hero + layout.U_Y)
        self._read_dungeon = ctypes.c_byte.from_address(hero + layout.U_PLACE)
        self._read_level = ctypes.c_byte.from_address(hero + layout.U_PLACE + 1)
        self._read_experience = ctypes.c_int.from_address(hero + layout.U_LEVEL)
        self._read_hunger = ctypes.c_int.from_address(hero + layout.U_HUNGER_STATE)
        self._read_hp = ctypes.c_int.from_address(hero + layout.U_HP)
        self._read_meals = ctypes.c_long.from_address(hero + layout.U_MEALS)
        self._read_kills = ctypes.c_long.from_address(hero + layout.U_KILLS)
        self._read_shop = ctypes.c_ubyte.from_address(hero + layout.U_SHOPS)
        self._read_is_over = ctypes.c_int.from_address(self._symbols["program_state"])
        self._special_levels: dict[str, Place] = {}
        self._check(blstats)

    def release(self) -> None:
        """Forget the engine; every later question raises EngineError. Harmless when called twice."""
        gone: Any = _Released()
        for name in [name for name in self.__dict__ if name.startswith("_read_")]:
            setattr(self, name, gone)
        self._symbols = gone
        self._special_levels = {}

    def _check(self, blstats: np.ndarray | None) -> None:
        """Raise EngineError unless what is read makes sense, that is, unless the layout is this engine's."""
        name = self.dungeon_name(0)
        if name != _DUNGEON_NAMES[0] or self.dungeon_name(self.mines) != _DUNGEON_NAMES[2]:
            raise layout.foreign_engine(f"its first dungeon is called {name!r}")
        for level, lowest, highest in (("oracle", 5, 9), ("minetn", 3, 4)):
            place = self.special_levels.get(level)
            if place is None or not lowest <= place.level <= highest:
                raise layout.foreign_engine(f"its level {level!r} is at {place}")
        if self.branch_depth not in (2, 3, 4):
            raise layout.foreign_engine(f"its Gnomish Mines branch off at depth {self.branch_depth}")
        if blstats is not None and blstats[20] == 1 and not self.is_over:
            shown = tuple(int(blstats[column]) for column in (18, 21, 23, 24))
            read = (self.experience_level, self.hunger, *self.place)
            if shown != read:
                raise layout.foreign_engine(
                    f"level, hunger, dungeon and level in it are {read}, the status line says {shown}"
                )

    # --- the hero -------------------------------------------------------------------------------------------

    @property
    def place(self) -> Place:
        """The level the hero is on."""
        return Place(self._read_dungeon.value, self._read_level.value)

    @property
    def experience_level(self) -> int:
        """From 1."""
        return self._read_experience.value

    @property
    def hunger(self) -> int:
        """0 satiated, 1 not hungry, 2 hungry, 3 weak, 4 fainting, 5 fainted, 6 starved."""
        return self._read_hunger.value

    @property
    def hp(self) -> int:
        """Hit points; 0 or less for a dead hero."""
        return self._read_hp.value

    @property
    def kills(self) -> int:
        """Monsters the hero has killed, whether or not a message said so."""
        return self._read_kills.value

    @property
    def meals(self) -> int:
        """Meals the hero has begun; resuming one does not count, a tin counts when it is eaten."""
        return self._read_meals.value

    @property
    def is_on_altar(self) -> bool:
        """Whether the hero's square is an altar."""
        square = (self._read_x.value * layout.ROWS + self._read_y.value) * layout.SQUARE_SIZE
        address = self._symbols["level"] + square + layout.SQUARE_TERRAIN
        return ctypes.c_byte.from_address(address).value == layout.TERRAIN_ALTAR

    @property
    def stairs_up(self) -> tuple[int, int]:
        """Position of the level's staircase up (on level 1 it leads out of the dungeon); (0, 0): there is none."""
        found = pair(self._symbols["upstair"])
        # Leaving level 1 upwards is going to another dungeon (the Planes): the engine keeps that one apart.
        return found if any(found) or not self._branch_leads_up else self.branch_stairs

    @property
    def is_on_stairs_up(self) -> bool:
        """Whether the hero stands on a staircase up, within this dungeon or out of it."""
        here = self.position
        return here == self.stairs_up or (self._branch_leads_up and here == self.branch_stairs)

    @property
    def stairs_down(self) -> tuple[int, int]:
        """Position of the level's staircase down; (0, 0) if it has none."""
        return pair(self._symbols["dnstair"])

    @property
    def branch_stairs(self) -> tuple[int, int]:
        """Position of the level's staircase to another dungeon; (0, 0) if it has none."""
        return pair(self._symbols["sstairs"])

    @property
    def _branch_leads_up(self) -> bool:
        return ctypes.c_byte.from_address(self._symbols["sstairs"] + layout.STAIRS_LEAD_UP).value != 0

    # --- the dungeon ----------------------------------------------------------------------------------------

    @property
    def special_levels(self) -> dict[str, Place]:
        """Where the named levels are: "oracle", "minetn", "bigrm" if there is one, ... Fixed for a game."""
        if not self._special_levels:
            found, address = {}, pointer(self._symbols["sp_levchn"])
            while address and len(found) < layout.LONGEST_LIST:
                name = layout.text(address + layout.SPECIAL_NAME, 15)
                found[name] = Place(*pair(address + layout.SPECIAL_PLACE))
                address = pointer(address)
            self._special_levels = found
        return self._special_levels

    @property
    def mines(self) -> int:
        """The number of the Gnomish Mines among the dungeons: 2."""
        return ctypes.c_byte.from_address(self._symbols["dungeon_topology"] + layout.TOPOLOGY_MINES).value

    @property
    def branch_depth(self) -> int:
        """Depth of the level from which the Gnomish Mines branch off: 2, 3 or 4."""
        return self._dungeon_fact(self.mines, layout.DUNGEON_DEPTH) - 1

    def dungeon_name(self, dungeon: int) -> str:
        """Return the engine's name of a dungeon."""
        return layout.text(
            self._symbols["dungeons"] + dungeon * layout.DUNGEON_SIZE + layout.DUNGEON_NAME, 24
        )

    def depth(self, place: Place) -> int:
        """Return how far below the surface a level is; 1 for the first."""
        return self._dungeon_fact(place.dungeon, layout.DUNGEON_DEPTH) + place.level - 1

    def deepest_reached(self, dungeon: int) -> int:
        """Return the number within `dungeon` of its deepest level the hero has been on; 0 for none."""
        address = self._symbols["dungeons"] + dungeon * layout.DUNGEON_SIZE
        return ctypes.c_byte.from_address(address + layout.DUNGEON_REACHED).value

    def levels_in_overview(self) -> list[Place]:
        """Return the levels that the command #overview would list now.

        Source: nle 1.0.0 `src/dungeon.c` interest_mapseen(); what it says of Sokoban and the Planes is left
        out. Raises WorldError in a world without `overview`, whose engine does not keep it.
        """
        if not self._keeps_overview:
            raise WorldError(
                "this world's engine keeps no overview of the dungeon",
                where="Truth.levels_in_overview",
                expected="a world made with overview=True",
            )
        here, found = self.place, []
        address = pointer(self._symbols["mapseenchn"])
        while address and len(found) < 200:
            if self._is_in_overview(address, here):
                found.append(Place(*pair(address + layout.SEEN_PLACE)))
            address = pointer(address)
        return found

    def _is_in_overview(self, address: int, here: Place) -> bool:
        place = Place(*pair(address + layout.SEEN_PLACE))
        if place == here:
            return True
        flags = ctypes.c_uint32.from_address(address + layout.SEEN_FLAGS).value
        if flags & layout.SEEN_UNREACHABLE_OR_FORGOTTEN:
            return False
        features = ctypes.c_uint32.from_address(address + layout.SEEN_FEATURES).value
        return bool(
            flags & layout.SEEN_NAMED
            or features & layout.SEEN_FEATURE_BITS
            or pointer(address + layout.SEEN_BRANCH)
            or place.level == self.deepest_reached(place.dungeon)
        )

    def _dungeon_fact(self, dungeon: int, offset: int) -> int:
        address = self._symbols["dungeons"] + dungeon * layout.DUNGEON_SIZE + offset
        return ctypes.c_int.from_address(address).value
