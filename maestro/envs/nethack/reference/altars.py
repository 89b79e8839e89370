"""Learn from an altar which belongings are cursed: stand on it, lay them down one by one, take them up again."""

from maestro.envs.nethack.reference import actions as A
from maestro.envs.nethack.reference.exploration import Explorer
from maestro.envs.nethack.reference.movement import Mover
from maestro.envs.nethack.reference.senses import Senses


class Worshipper:
    """Use the altars of one game."""

    def __init__(self, senses: Senses, mover: Mover, explorer: Explorer) -> None:
        self.senses, self.mover, self.explorer = senses, mover, explorer
        self.drops = 0
        self.picking_up = False

    def act(self) -> int:
        """Return the next action at the altar; of leaving once everything was laid down."""
        s = self.senses
        level = s.level
        num_items = s.state.num_items
        if s.new_level:
            self.drops, self.picking_up = 0, False
        altars = level.altars & ~level.forbidden
        on_altar = bool(altars >> s.cell & 1)
        if self.picking_up and on_altar:
            self.picking_up = False
            level.altar_done = num_items
        if not altars or num_items <= level.altar_done or self.drops > 80:
            return self._away()
        if on_altar:
            if num_items:
                self.drops += 1
                return A.DROP
            return self._away()
        action = self.mover.go(altars) or self.mover.go(altars, traps=True)
        return self._away() if action is None else action

    def _away(self) -> int:
        action = self.explorer.step(collect=False)
        return self.explorer.wander(self.senses.turn) if action is None else action
