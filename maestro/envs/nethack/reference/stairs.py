"""Take staircases: known ones first, those not yet taken before others, then holes, then explore."""

from maestro.envs.nethack.reference import actions as A
from maestro.envs.nethack.reference.exploration import Explorer
from maestro.envs.nethack.reference.memory import LevelKey
from maestro.envs.nethack.reference.movement import Mover
from maestro.envs.nethack.reference.senses import MINES, Senses

DETOUR_ROUNDS = 12  # spots searched for a way to a new staircase before the old one is taken again


class StairTaker:
    """Find and take the stairs of one direction, and remember where stairs lead."""

    def __init__(self, senses: Senses, mover: Mover, explorer: Explorer) -> None:
        self.senses, self.mover, self.explorer = senses, mover, explorer
        self.taking: tuple[LevelKey, int, int] | None = None  # level, staircase, action

    def note_arrival(self) -> None:
        """After a change of level, link the staircase taken with the one arrived on."""
        s = self.senses
        if self.taking is not None and s.new_level:
            key, stair, action = self.taking
            old = s.levels[key]
            if action == A.DOWN:
                old.downs[stair] = s.key
                s.level.ups[s.cell] = key
            else:
                old.ups[stair] = s.key
                s.level.downs[s.cell] = key
            old.used[stair] = old.used.get(stair, 0) + 1
        self.taking = None

    def descend(self) -> int:
        """Return the next action on the way down."""
        s, m = self.senses, self.mover
        level = s.level
        action = self._take(level.downs, A.DOWN)
        if action is None and level.holes:
            action = m.go(level.holes)
        return action if action is not None else self._look_for()

    def ascend(self) -> int:
        """Return the next action on the way up."""
        action = self._take(self.senses.level.ups, A.UP)
        return action if action is not None else self._look_for()

    def _take(self, known: dict[int, LevelKey | None], action: int) -> int | None:
        s, m = self.senses, self.mover
        level = s.level
        if not known:
            return None
        if action == A.DOWN and self._wants_another(known):
            return None
        least = min(level.used.get(cell, 0) for cell in known)
        preferred = [cell for cell in known if level.used.get(cell, 0) == least]
        if s.cell in preferred:
            self.taking = (s.key, s.cell, action)
            return action
        for group in (preferred, list(known)):
            mask = sum(1 << cell for cell in group if cell != s.cell)
            if not mask:
                continue
            step = m.go(mask) or m.go(mask, traps=True) or m.go(mask, traps=True, shop=True, dangers=True)
            if step is not None:
                return step
            if len(preferred) < len(known) and level.rounds < DETOUR_ROUNDS * (1 + sum(level.used.values())):
                return None  # a staircase taken less often has been seen: look for a way to it first
        if s.cell in known:
            self.taking = (s.key, s.cell, action)
            return action
        return None

    def _wants_another(self, known: dict[int, LevelKey | None]) -> bool:
        """Tell whether the only way down known leads to the Mines and was tried: then there must be another."""
        level = self.senses.level
        if self.senses.key[0] != 0 or any(goal is None or goal[0] != MINES for goal in known.values()):
            return False
        return level.rounds < 2 * DETOUR_ROUNDS * (1 + sum(level.used.values()))

    def _look_for(self) -> int:
        e = self.explorer
        action = e.step(collect=False)
        if action is None:
            action = e.uncover()
        if action is None:
            level = self.senses.level
            action = e.push_on() if level.rounds >= 2 and level.rounds % 3 == 2 else None
        return e.search() if action is None else action
