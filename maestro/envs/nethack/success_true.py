"""The tests `<task>_true`: whether what the task's text says has happened, by the engine's own facts.

The state only says when to ask; what decides is `engine.Truth`, so there are no false alarms.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from maestro.envs.nethack.dealings import Dealings
from maestro.envs.nethack.engine import Place
from maestro.envs.nethack.state import State
from maestro.envs.nethack.success_base import CountWatch, SuccessWatch

_DOOM = 0
_FIRST_LEVEL = Place(_DOOM, 1)
_FIRST_THREE = frozenset({1, 2, 3})
KILLS_WANTED, GOLD_WANTED, LEVEL_WANTED, STEPS_TO_SURVIVE = 25, 20, 4, 300
LEAVING_ASKED = "Still climb?"
_HUNGRY = frozenset({"Hungry", "Weak", "Fainting", "Fainted"})


# --- true: reaching a level ---------------------------------------------------------------------------------


class _Arrival(SuccessWatch):
    """Succeed when the hero is on a level that `_is_there` accepts; asked on every change of level."""

    def _begin(self, state: State) -> None:
        self._level, self._dungeon = 0, ""

    def _look(self, state: State, world: Any, index: int) -> None:
        if state.level != self._level or state.dungeon != self._dungeon:
            self._level, self._dungeon = state.level, state.dungeon
            if self._is_there(self._truth.place):
                self._succeed()

    @abstractmethod
    def _is_there(self, place: Place) -> bool:
        """Say whether the level is one that was to be reached."""


class GnomishTrue(_Arrival):
    """The hero is on a level of the Gnomish Mines."""

    def _is_there(self, place: Place) -> bool:
        return place.dungeon == self._truth.mines


class DelphiTrue(_Arrival):
    """The hero is on the Oracle's level."""

    def _is_there(self, place: Place) -> bool:
        return place == self._truth.special_levels["oracle"]


class MinetownTrue(_Arrival):
    """The hero is on Minetown's level."""

    def _is_there(self, place: Place) -> bool:
        return place == self._truth.special_levels["minetn"]


# --- true: counting -----------------------------------------------------------------------------------------


class TransactionsTrue(CountWatch):
    """Sales: an object of the hero's passed to a shopkeeper, whose gold (or credit) passed to the hero.

    A stack sold at once is one sale. See `Dealings` for how the engine shows one.
    """

    def _begin(self, state: State) -> None:
        self._dealings = Dealings(self._truth)

    def _look(self, state: State, world: Any, index: int) -> None:
        self.value += len(self._dealings.sales(state))


class PriceTrue(CountWatch):
    """Kinds of objects whose base price an offer narrowed while the hero did not know what they were.

    Counted once for each kind, at the offer, whether or not the sale follows: a kind hides behind an
    appearance that several kinds of different prices could have; the amount is exactly what the engine's own
    rule makes of its base price (so it is not all the keeper had left); and the kinds that could have drawn
    it are fewer than all.
    """

    def _begin(self, state: State) -> None:
        self._dealings = Dealings(self._truth)
        self._kinds: set[int] = set()

    def _look(self, state: State, world: Any, index: int) -> None:
        self._dealings.sales(state)
        kind = self._dealings.kind_priced
        if kind is not None:
            self._kinds.add(kind)
            self.value = float(len(self._kinds))


class BucTrue(CountWatch):
    """Objects (a stack is one) of unknown status dropped on an altar, their status known thereafter."""

    def _begin(self, state: State) -> None:
        self._level, self._dungeon = 0, ""
        self._altars: set[tuple[int, int]] = set()
        self._unknown: set[int] = set()

    def _look(self, state: State, world: Any, index: int) -> None:
        truth = self._truth
        if state.level != self._level or state.dungeon != self._dungeon:
            self._level, self._dungeon = state.level, state.dungeon
            self._altars = set(truth.altars())
            self._unknown.clear()
        if not self._altars:
            return
        if truth.position not in self._altars:
            self._unknown.clear()
            return
        inventory = truth.inventory()
        carried = {item.id for item in inventory}
        dropped = self._unknown - carried
        if dropped:
            self.value += sum(item.id in dropped and item.is_status_known for item in truth.floor())
        self._unknown = {item.id for item in inventory if not item.is_status_known}


# --- true: composite ----------------------------------------------------------------------------------------


class GoldenExitTrue(_Arrival):
    """On the stairs out, asked whether to leave, after levels 1 to 3 and 25 kills, with 20 gold pieces."""

    def _begin(self, state: State) -> None:
        super()._begin(state)
        self._levels: set[int] = set()

    def _look(self, state: State, world: Any, index: int) -> None:
        super()._look(state, world, index)
        if state.message and LEAVING_ASKED in state.message and self._may_leave():
            self._succeed()

    def _may_leave(self) -> bool:
        truth = self._truth
        return (
            truth.place == _FIRST_LEVEL
            and truth.is_on_stairs_up
            and self._levels >= _FIRST_THREE
            and truth.kills >= KILLS_WANTED
            and truth.gold >= GOLD_WANTED
        )

    def _is_there(self, place: Place) -> bool:
        if place.dungeon == _DOOM:
            self._levels.add(place.level)
        return False


class LevelUpSellTrue(SuccessWatch):
    """Experience level 4 before level 1 is left; then a sale of something collected; then 300 steps."""

    def _begin(self, state: State) -> None:
        self._has_level = False
        self._sold_at: int | None = None
        self._dealings = Dealings(self._truth)
        self._from_the_start = {item.id for item in self._truth.inventory()}

    def _look(self, state: State, world: Any, index: int) -> None:
        if not self._has_level:
            if state.experience_level >= LEVEL_WANTED and self._truth.experience_level >= LEVEL_WANTED:
                self._has_level = True
            elif state.level != 1 or self._truth.place != _FIRST_LEVEL:
                self._fail()
        elif self._sold_at is None:
            if any(item.id not in self._from_the_start for item in self._dealings.sales(state)):
                self._sold_at = state.step
        elif state.step - self._sold_at >= STEPS_TO_SURVIVE and self._truth.hp > 0:
            self._succeed()


class DiscoveryHungerTrue(_Arrival):
    """The Oracle's level, first entered after a meal begun in the Gnomish Mines by a hungry hero."""

    def _begin(self, state: State) -> None:
        super()._begin(state)
        self._has_eaten = False
        self._was_hungry = False
        self._meals = 0

    def _look(self, state: State, world: Any, index: int) -> None:
        super()._look(
            state, world, index
        )  # on arrival it takes note of the meals so far: those were eaten elsewhere
        if not self._has_eaten and state.dungeon == "Gnomish Mines":
            meals = self._truth.meals
            if meals > self._meals and self._was_hungry and self._truth.place.dungeon == self._truth.mines:
                self._has_eaten = True
            self._meals = meals
        self._was_hungry = state.hunger in _HUNGRY

    def _is_there(self, place: Place) -> bool:
        self._meals = self._truth.meals
        if place != self._truth.special_levels["oracle"]:
            return False
        if not self._has_eaten:
            self._fail()  # too early, and the first time cannot be had again
        return self._has_eaten
