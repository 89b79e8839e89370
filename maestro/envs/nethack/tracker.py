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


class Tracker:
    """What one episode has shown so far: counters, levels visited, where the branch staircase is."""

    __slots__ = (
        "_levels",
        "_place",
        "_stairs_down",
        "branch_depth",
        "curse_checks",
        "kills",
        "max_depth",
        "meals",
        "message",
        "previous_message",
        "price_kinds",
        "sales",
        "step",
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

    def seeks_branch(self, row: list[int]) -> bool:
        """Say whether a second staircase on the present level would tell where the Mines branch off."""
        return self.branch_depth is None and row[23] == _DOOM and row[12] in _BRANCH_DEPTHS

    def see_stairs_down(self, row: list[int], cells: list[int]) -> None:
        """Note staircases down on the present level; two of them tell the depth of the branch.

        `cells` are positions in the flattened map. Something may stand on a staircase, so they are remembered.
        Source: MaestroMotif finds the branch by the same sign.
        """
        seen = self._stairs_down.setdefault((row[23], row[24]), set())
        seen.update(cells)
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
        return tuple.__new__(  # State(...) with 33 arguments takes three times as long
            State,
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
                *(_SOUND if not condition else _ailments(condition)),
            ),
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


_SOUND = (False, False, False, False)


def _ailments(condition: int) -> tuple[bool, bool, bool, bool]:
    """Read blind, confused, stunned and hallucinating off the condition mask."""
    return (
        condition & BLIND != 0,
        condition & CONFUSED != 0,
        condition & STUNNED != 0,
        condition & HALLUCINATING != 0,
    )
