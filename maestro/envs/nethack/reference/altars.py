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

    def act(self) -> int:
        """Return the next action at the altar; of leaving once everything was laid down."""
        s = self.senses
        level = s.level
        if s.new_level:
            self.drops = 0
        altars = level.altars & ~level.forbidden
        if not altars or s.state.num_items <= level.altar_done and level.altar_pile < 0 or self.drops > 80:
            return self._away()
        if altars >> s.cell & 1:
            if not s.state.num_items:
                return self._away()
            level.altar_done = level.altar_done + 1 if level.altar_pile == s.cell else 1
            level.altar_pile = s.cell
            self.drops += 1
            return A.DROP
        action = self.mover.go(altars) or self.mover.go(altars, traps=True)
        return self._away() if action is None else action

    def take_up(self) -> None:
        """Once off the altar, make what lies there a thing to collect again."""
        level, cell = self.senses.level, self.senses.cell
        if level.altar_pile not in (-1, cell):
            level.taken &= ~(1 << level.altar_pile)
            level.altar_pile = -1

    def _away(self) -> int:
        action = self.explorer.step(collect=False)
        return self.explorer.wander(self.senses.turn) if action is None else action
