"""The tests `<task>_compatible`: what MaestroMotif's code scores, proxies included, mended only where it
cannot work.

It types `#overview` into the game and searches the screen for words; here the same answer is computed from
what the overview would list, and nothing is typed.

Source: seed_systems.md MM29 to MM31, published_results.md 1.3.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from maestro.envs.nethack import keys
from maestro.envs.nethack.engine import Place
from maestro.envs.nethack.messages import parse
from maestro.envs.nethack.state import State
from maestro.envs.nethack.success_base import CountWatch, SuccessWatch
from maestro.envs.nethack.success_true import GOLD_WANTED, KILLS_WANTED, LEAVING_ASKED, STEPS_TO_SURVIVE

# --- compatible: what the overview would show ---------------------------------------------------------------


class _Overview(SuccessWatch):
    """Succeed when #overview would show what `_shows` looks for, asked after each descent by stairs.

    MaestroMotif's code asks only then, so a fall into the wanted level goes unnoticed until the next stairs
    down.
    """

    def _look(self, state: State, world: Any, index: int) -> None:
        if state.message and "You descend the stairs" in state.message and self._is_due() and self._shows():
            self._succeed()

    def _is_due(self) -> bool:
        return True

    @abstractmethod
    def _shows(self) -> bool:
        """Say whether the overview shows what the task wants."""


class GnomishCompatible(_Overview):
    """The overview has "Gnomish Mines" in it: a heading, or the stairs that led there once."""

    def _shows(self) -> bool:
        return any(place.dungeon == self._truth.mines for place in self._truth.levels_in_overview())


class DelphiCompatible(_Overview):
    """The overview has "Level 7" in it, in whatever dungeon: the average depth of the Oracle's level."""

    def _shows(self) -> bool:
        truth = self._truth
        return any(truth.depth(place) == 7 for place in truth.levels_in_overview())


class MinetownCompatible(_Overview):
    """The overview's heading says "The Gnomish Mines: levels 2 to 4", "3 to 5" or "4 to 6".

    The first cannot come up, and "5 to 7" (the Mines below level 4) is missing: kept, as the published row
    has it.
    """

    def _shows(self) -> bool:
        truth, mines = self._truth, self._truth.mines
        if not any(place.dungeon == mines for place in truth.levels_in_overview()):
            return False
        first, last = truth.depth(Place(mines, 1)), truth.depth(Place(mines, truth.deepest_reached(mines)))
        return (first, last) in ((2, 4), (3, 5), (4, 6))


# --- compatible: words in messages --------------------------------------------------------------------------


class TransactionsCompatible(CountWatch):
    """Steps whose message contains "sold". (Mended: the episode goes on after the first descent.)"""

    def _look(self, state: State, world: Any, index: int) -> None:
        if state.message and "sold" in state.message:
            self.value += 1


_PRICES_LOOKED_UP: dict[str, frozenset[int]] = {
    "potion": frozenset({50, 100, 150, 200, 250, 300}),
    "scroll": frozenset({20, 50, 60, 80, 100, 200, 300}),
    "ring": frozenset({100, 150, 200, 300}),
    "cloak": frozenset({50, 60}),
    "boots": frozenset({8, 30, 50}),
    "wand": frozenset({100, 150, 175, 200, 500}),
    "helmet": frozenset({10, 50}),
}
"""Class to the base prices MaestroMotif's table has; only an offer of exactly half of one is recognised."""


def is_in_price_table(amount: int, item: str) -> bool:
    """Whether MaestroMotif's table takes an offer of `amount` gold pieces for "your `item`" as identifying
    it.

    The class is the first word of a scroll's name and the last word of any other; plurals are in no class.
    """
    words = item.split()
    if not words:
        return False
    group = "scroll" if words[0] == "scroll" else words[-1]
    return 2 * amount in _PRICES_LOOKED_UP.get(group, ())


class PriceCompatible(CountWatch):
    """Sales whose last offer before them is in MaestroMotif's price table."""

    def _begin(self, state: State) -> None:
        self._is_identified = False

    def _look(self, state: State, world: Any, index: int) -> None:
        message = state.message
        if not message:
            return
        if "sold" in message:
            self.value += self._is_identified
            self._is_identified = False
        if "offers" in message:
            for offer in parse(message).offers:
                self._is_identified = is_in_price_table(offer.amount, offer.item)


class BucCompatible(CountWatch):
    """Drops whose message has "altar" in it and neither "cursed" (so neither "uncursed") nor "blessed"."""

    def _look(self, state: State, world: Any, index: int) -> None:
        message = state.message
        if message and "altar" in message and world.last_action(index) == keys.ACTION["drop"]:
            self.value += "cursed" not in message and "blessed" not in message


# --- compatible: composite ----------------------------------------------------------------------------------


class GoldenExitCompatible(SuccessWatch):
    """The question whether to leave, after 25 messages with "kill" or "destroy" and depth 3, with 20 gold."""

    def _begin(self, state: State) -> None:
        self._kills = 0

    def _look(self, state: State, world: Any, index: int) -> None:
        message = state.message
        if not message:
            return
        self._kills += "kill" in message or "destroy" in message
        if (
            LEAVING_ASKED in message
            and self._kills >= KILLS_WANTED
            and state.gold >= GOLD_WANTED
            and state.max_depth >= 3
        ):
            self._succeed()


class LevelUpSellCompatible(SuccessWatch):
    """More than 300 steps after the first message with "sold"; the experience level is not looked at."""

    def _begin(self, state: State) -> None:
        self._sold_at: int | None = None

    def _look(self, state: State, world: Any, index: int) -> None:
        if self._sold_at is None:
            if state.message and "sold" in state.message:
                self._sold_at = state.step
        elif state.step - self._sold_at > STEPS_TO_SURVIVE and state.hp > 0:
            self._succeed()


class DiscoveryHungerCompatible(DelphiCompatible):
    """Something eaten from the inventory in the Mines; then, after a descent, "Level 7" as for Delphi."""

    def _begin(self, state: State) -> None:
        self._has_eaten = False
        self._was_asked = False

    def _look(self, state: State, world: Any, index: int) -> None:
        if not self._has_eaten:
            chose = self._was_asked and world.last_action(index) == keys.YES
            self._has_eaten = chose and state.dungeon == "Gnomish Mines"
            self._was_asked = "want to eat?" in state.prompt
        super()._look(state, world, index)

    def _is_due(self) -> bool:
        return self._has_eaten
