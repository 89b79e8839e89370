"""Fight with bare hands: whom to strike, whom to leave alone, when to step back."""

from maestro.envs.nethack.reference import actions as A
from maestro.envs.nethack.reference import glyphs as G
from maestro.envs.nethack.reference.bitboard import NEIGHBOURS, cells, waves
from maestro.envs.nethack.reference.movement import Mover
from maestro.envs.nethack.reference.senses import HALLUCINATING, Senses

RETREAT = 5  # steps to a narrow place that are worth going
RETREATS = 8  # in a row; who does not follow is not worth running from
APPROACH = 6  # squares from which a skill that fights goes to meet an enemy


class Fighter:
    """Decide the blows of one game."""

    def __init__(self, senses: Senses, mover: Mover) -> None:
        self.senses, self.mover = senses, mover
        self.struck = -1  # square of the last blow
        self.struck_glyph = -1
        self.retreats = 0  # steps of retreat in short order, and the turn of the last one
        self.retreated = -100
        self.old_pile = False  # whether objects lay under it, whose age nobody knows
        self.kills: dict[int, tuple[int, int]] = {}  # square -> turn and monster of a kill there
        self.chases: dict[int, int] = {}

    def learn(self) -> None:
        """Draw conclusions from the last blow and from blows taken."""
        s = self.senses
        if s.new_level:
            self.kills.clear()
            self.chases.clear()
        killed = self.struck >= 0 and ("You kill" in s.message or "You destroy" in s.message)
        if killed and not self.old_pile:
            self.kills[self.struck] = (s.turn, G.monster_of(self.struck_glyph))
        if s.level.peaceful and (" hits!" in s.message or " bites!" in s.message or " misses" in s.message):
            # Someone strikes: a mark may be wrong. Asking again costs a step, being wrong costs hit points.
            for cell, _, near in self._marked():
                if near <= 1:
                    name = G.MONSTER_NAMES[G.monster_of(s.level.peaceful[cell])]
                    if f"The {name} " in s.message:
                        del s.level.peaceful[cell]
        self.struck = -1

    def _marked(self) -> list[tuple[int, int, int]]:
        s = self.senses
        return [
            (cell, glyph, max(abs(cell // 80 - s.cell // 80), abs(cell % 80 - s.cell % 80)))
            for cell, glyph in s.level.peaceful.items()
            if G.monster_of(glyph) >= 0
        ]

    def strike(self) -> int | None:
        """Return a blow at an adjacent enemy, or None when there is none to strike."""
        s = self.senses
        if s.swallowed:
            return A.NORTH
        if s.condition & HALLUCINATING and s.level.has_company:
            return None  # whoever stands there may be the priest
        best, best_rank = -1, 99
        for cell, kind, near in s.hostiles():
            if near > 1:
                break
            if kind in G.UNTOUCHED_BY_HAND or kind in G.PETRIFYING and not s.is_gloved():
                continue
            if kind < 0 and s.level.has_company and " It " not in f" {s.message}":
                continue  # unseen, and not known to be an enemy
            rank = 2 if kind < 0 else 1 if kind in G.SLUGGISH else 0
            if rank < best_rank:
                best, best_rank = cell, rank
        if best < 0:
            return None
        self.struck, self.struck_glyph = best, s.glyph_at(best)
        self.old_pile = bool(s.level.piles >> best & 1)
        return self.mover.attack(best)

    def flee(self) -> int | None:
        """Return a step away from what must not be touched without gloves, or None."""
        s = self.senses
        threats = sum(1 << cell for cell, kind, near in s.hostiles() if near <= 2 and kind in G.PETRIFYING)
        return self.mover.step_away(threats) if threats and not s.is_gloved() else None

    def retreat(self) -> int | None:
        """Return a step towards a narrow place when several enemies close in, or None."""
        s = self.senses
        if self.retreats >= RETREATS and s.turn < self.retreated + 60:
            return None
        level, near = s.level, [item for item in s.hostiles() if item[2] <= 3 and item[1] not in G.SLUGGISH]
        if (
            len(near) < 2
            or sum(1 + max(0, G.MONSTER_LEVELS[kind]) for _, kind, _ in near) < s.experience_level
        ):
            return None
        ground = level.walk | level.closed
        if (NEIGHBOURS[s.cell] & ground).bit_count() <= 3:
            return None
        enemies = sum(1 << cell for cell, _, _ in near)
        free = self.mover.free() & ~enemies
        rings = waves(1 << s.cell, free, level.doors, 0, RETREAT)
        for ring in rings[1:]:
            for cell in cells(ring & (level.doors | level.corridors)):
                if (NEIGHBOURS[cell] & ground).bit_count() <= 3:
                    path = self.mover.path(1 << cell)
                    if path and not enemies >> path[0] & 1:
                        self.retreats = self.retreats + 1 if s.turn < self.retreated + 60 else 1
                        self.retreated = s.turn
                        return self.mover.follow(path[:1])
        return None

    def approach(self) -> int | None:
        """Return a step towards an enemy in sight that is worth meeting, or None."""
        s = self.senses
        if s.hp * 2 < s.max_hp:
            return None
        for cell, kind, near in s.hostiles():
            if near > APPROACH:
                break
            if kind < 0 or kind in G.UNTOUCHED_BY_HAND or s.level.shop >> cell & 1:
                continue
            if (
                kind in G.NOT_CHASED
                or kind in G.PETRIFYING
                or G.MONSTER_LEVELS[kind] > s.experience_level + 2
            ):
                continue
            if self.chases.get(kind, 0) > 60:
                continue
            path = self.mover.path(1 << cell)
            if path and len(path) <= near + 4:
                self.chases[kind] = self.chases.get(kind, 0) + 1
                if len(path) == 2 and kind not in G.SLUGGISH:
                    return A.SEARCH  # let it come: the first blow is ours
                return self.mover.follow(path)
        return None

    def mark_peaceful(self) -> None:
        """Remember that what was just struck at is peaceful."""
        if self.struck >= 0:
            self.senses.level.peaceful[self.struck] = self.struck_glyph
            self.senses.sort_out()
