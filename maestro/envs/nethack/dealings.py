"""Follow the hero's dealings with shopkeepers in the engine: which objects were offered, sold, or given a
price.

An offer stands open as a question, and while it does the engine shows the object on the floor, the keeper's
gold and the hero's. When the question is gone, gold that moved from the keeper to the hero (or credit that
grew) is a sale. No message decides anything here: the question only says when to look, and its amount is
checked against the engine's rule.
"""

from __future__ import annotations

from typing import NamedTuple

from maestro.envs.nethack.engine import Truth
from maestro.envs.nethack.layout import Item
from maestro.envs.nethack.messages import parse
from maestro.envs.nethack.prices import base_prices_from_offer, narrows
from maestro.envs.nethack.state import State


class _Offer(NamedTuple):
    """The moment a shopkeeper asks whether to sell."""

    item: Item
    keeper_gold: int
    keeper_credit: int
    hero_gold: int


class Dealings:
    """The dealings of one episode; ask `sales` after every step."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._open: _Offer | None = None
        self.kind_priced: int | None = None
        """The object kind whose base price the last step's offer narrowed; None where it did not."""

    def sales(self, state: State) -> list[Item]:
        """Return what the hero sold in the step that led to `state`: nothing, one object, or (rarely) more.

        Sold without a question (an object that slipped from the hero's fingers in a shop, say) counts when
        the message says so and the hero's gold or credit agrees with it; `Item` is then the topmost object on
        the square.
        """
        self.kind_priced = None
        before, self._open = self._open, None
        asked = "Sell" in state.prompt or "in credit for" in state.prompt
        if before is None and not asked and not (state.message and "relinquish" in state.message):
            return []
        sold = []
        if before is not None and self._was_sold(before):
            sold.append(before.item)
        elif before is None and "relinquish" in state.message:
            sold += self._given_up(state)
        if asked:
            self._look_at_offer(state)
        return sold

    def _was_sold(self, offer: _Offer) -> bool:
        keeper = self._truth.shopkeeper()
        if keeper is None:
            return False
        paid = self._truth.gold - offer.hero_gold
        in_gold = paid > 0 and paid == offer.keeper_gold - keeper.gold
        in_credit = paid == 0 and keeper.credit > offer.keeper_credit
        is_gone = all(item.id != offer.item.id for item in self._truth.inventory())
        return is_gone and (in_gold or in_credit)

    def _given_up(self, state: State) -> list[Item]:
        events = parse(state.message)
        if self._truth.shopkeeper() is None or events.items_sold == 0:
            return []
        return self._truth.floor()[:1]

    def _look_at_offer(self, state: State) -> None:
        truth = self._truth
        keeper, floor = truth.shopkeeper(), truth.floor()
        if keeper is None or not floor:
            return
        item = floor[0]
        self._open = _Offer(item, keeper.gold, keeper.credit, truth.gold)
        offers = parse(state.prompt).offers
        kind = truth.hidden_kind(item.kind)
        if not offers or not kind:
            return
        amount = offers[-1].amount
        bases = base_prices_from_offer(kind, amount, item.quantity)
        is_the_rules = amount == truth.offer_for(item, keeper) and amount <= keeper.gold
        if is_the_rules and narrows(kind, bases) and truth.base_price(item.kind) in bases:
            self.kind_priced = item.kind
