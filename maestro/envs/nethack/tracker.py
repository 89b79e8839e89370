"""Per-episode memory that turns one game's status line, message and map names into a `State`."""

from __future__ import annotations

from maestro.envs.nethack import messages
from maestro.envs.nethack.state import (
    BLIND,
    CONFUSED,
    DUNGEONS,
    HALLUCINATING,
    HUNGER,
    STUNNED,
    State,
)

_DOOM, _MINES = 0, 2
_BRANCH_DEPTHS = range(2, 5)
_MAKE = State._make


class Tracker:
    """What one episode has shown so far: counters, levels visited, where the branch staircase is."""

    __slots__ = (
        "step",
        "max_depth",
        "branch_depth",
        "kills",
        "sales",
        "price_kinds",
        "curse_checks",
        "meals",
        "_levels",
        "_place",
        "_stairs_down",
        "previous_message",
        "message",
    )

    def __init__(self) -> None:
        self.step = -1
        self.max_depth = 0
        self.branch_depth: int | None = None
        self.kills = self.sales = self.curse_checks = self.meals = 0
        self.price_kinds: set[str] = set()
        self._levels: set[tuple[int, int]] = set()
        self._place = (-1, -1)
        self._stairs_down: dict[tuple[int, int], set[int]] = {}
        self.previous_message = self.message = ""

    def see_stairs_down(self, row: list[int], cell: int) -> None:
        """Note a staircase down on the map. Two on one level of the Dungeons of Doom: there the Mines branch off.

        `cell` is its position in the flattened map. Source: MaestroMotif finds the branch by the same sign.
        """
        if row[23] != _DOOM or row[12] not in _BRANCH_DEPTHS or self.branch_depth is not None:
            return
        seen = self._stairs_down.setdefault((row[23], row[24]), set())
        seen.add(cell)
        if len(seen) > 1:
            self.branch_depth = row[12]

    def update(
        self,
        row: list[int],
        message: str,
        prompt: str,
        num_items: int,
        nearby: frozenset[str],
        in_view: frozenset[str],
    ) -> State:
        """Count one step and return the state after it. `row` holds the 27 blstats as plain integers."""
        self.step += 1
        self.previous_message, self.message = self.message, message
        if message:
            self._count(message)
        depth, dungeon, level = row[12], row[23], row[24]
        place = (dungeon, level)
        if place != self._place:
            self._arrive(place, depth)
        condition = row[25]
        return _MAKE(
            (
                self.step,
                row[20],
                depth,
                self.max_depth,
                DUNGEONS[dungeon],
                level,
                self.branch_depth,
                row[10],
                row[11],
                row[14],
                row[15],
                row[16],
                row[18],
                row[19],
                row[9],
                row[13],
                HUNGER[row[21]],
                row[22],
                num_items,
                nearby,
                in_view,
                message,
                prompt,
                self.kills,
                self.sales,
                len(self.price_kinds),
                self.curse_checks,
                self.meals,
                len(self._levels),
                condition & BLIND != 0,
                condition & CONFUSED != 0,
                condition & STUNNED != 0,
                condition & HALLUCINATING != 0,
            )
        )

    def _arrive(self, place: tuple[int, int], depth: int) -> None:
        """Note a change of level. The Mines' first level lies one below the branch, so arriving there tells it."""
        self._place = place
        self._levels.add(place)
        self.max_depth = max(self.max_depth, depth)
        if place[0] == _MINES:
            self.branch_depth = depth - place[1]

    def _count(self, message: str) -> None:
        events = messages.parse(message)
        self.kills += events.kills
        self.sales += events.items_sold
        self.price_kinds.update(events.price_kinds)
        self.curse_checks += events.curse_checks
        self.meals += events.meals
