"""Sell to shopkeepers: enter the shop, lay goods down on bare floor, accept the offers, leave unpaid things be."""

from maestro.envs.nethack.reference import actions as A
from maestro.envs.nethack.reference.bitboard import ORTHOGONAL, cells, dilate_orthogonal
from maestro.envs.nethack.reference.exploration import Explorer
from maestro.envs.nethack.reference.movement import Mover
from maestro.envs.nethack.reference.senses import Senses

REFUSALS = 3  # after as many the rest is kept for another shop
PATIENCE = 25  # turns to wait for a shopkeeper who stands in the way


class Merchant:
    """Sell what one game's hero collected."""

    def __init__(self, senses: Senses, mover: Mover, explorer: Explorer) -> None:
        self.senses, self.mover, self.explorer = senses, mover, explorer
        self.waited = 0
        self.drops = 0
        self.refused = 0  # things in a row that the keeper does not trade in

    def act(self) -> int:
        """Return the next action of selling; of leaving when nothing is left to sell."""
        s = self.senses
        level = s.level
        if s.new_level:
            self.waited = self.drops = self.refused = 0
        if "uninterested" in s.message:
            self.refused += 1
        elif "You sold" in s.message or "offers" in s.message:
            self.refused = 0
        if not level.keepers or not s.state.num_items or self.drops > 60 or self.refused >= REFUSALS:
            return self._leave()
        spots = self._counter_spots()
        if spots >> s.cell & 1:
            self.drops += 1
            self.waited = 0
            return A.DROP
        action = self.mover.go(spots, shop=True)
        if action is not None and self.waited <= PATIENCE:
            return action
        if self.waited <= PATIENCE:
            self.waited += 1
            doors = level.doors & dilate_orthogonal(level.shop)
            if doors and not doors >> s.cell & 1:
                action = self.mover.go(doors)
                if action is not None:
                    return action
            return A.SEARCH
        return self._leave()

    def _counter_spots(self) -> int:
        """Return the squares of shops where goods can be offered: bare floor, but not the keeper's post."""
        s = self.senses
        level = s.level
        posts = 0
        for door in cells(level.doors & dilate_orthogonal(level.shop)):
            posts |= ORTHOGONAL[door]
        bare = level.shop & ~posts & ~s.peaceful_mask & ~level.traps
        mine = 1 << s.cell & bare
        empty = bare & ~level.objects
        return empty | mine or bare & ~level.wanted

    def _leave(self) -> int:
        action = self.leave_shop()
        if action is not None:
            return action
        action = self.explorer.step(collect=False)
        return self.explorer.wander(self.senses.turn) if action is None else action

    def leave_shop(self) -> int | None:
        """Return a step out of the shop the hero stands in, or None when outside."""
        s = self.senses
        level = s.level
        if not level.shop >> s.cell & 1:
            return None
        outside = level.walk & ~level.shop & ~level.doors
        return self.mover.go(outside, shop=True) or self.mover.go(outside, shop=True, traps=True) or A.SEARCH
