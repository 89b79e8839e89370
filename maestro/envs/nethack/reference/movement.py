"""Turn paths into moves: doors, kicks, boulders, runs, and what to do when a move fails."""

from maestro.envs.nethack.reference import actions as A
from maestro.envs.nethack.reference import glyphs as G
from maestro.envs.nethack.reference.bitboard import (
    DIRECTION_OF,
    NEIGHBOURS,
    NUM_CELLS,
    OFFSETS,
    cells,
    find_path,
    path_back,
    waves,
)
from maestro.envs.nethack.reference.memory import GIVE_UP_KICKS
from maestro.envs.nethack.reference.senses import CONFUSED, MINES, STUNNED, Senses

EYE_WAITS = 60  # rests of up to 25 turns before a floating eye in the way is struck after all
_HELD = ("pit", "trap", "stuck", "web", "crawl", "climb", "You are held", "escape", "vault")


class Mover:
    """Move one game's hero along paths and learn from moves that fail."""

    def __init__(self, senses: Senses) -> None:
        self.senses = senses
        self.pending: list[int] = []  # actions that must follow the last one
        self.target = -1  # the square the last action was to reach or open
        self.origin = -1
        self.ran = -1  # direction of the last run
        self.kicked = -1
        self.failures: dict[int, int] = {}
        self.pushes: dict[tuple[int, int], int] = {}

    # ---- learning from the last step

    def learn(self) -> None:
        """Compare the last move with its outcome; call once a step, before choosing."""
        s = self.senses
        level, message = s.level, s.message
        if s.new_level:
            self.failures.clear()
            self.pushes.clear()
        elif self.ran >= 0 and s.moved:
            s.note_run(self.origin, OFFSETS[self.ran])
        elif self.target >= 0 and not s.moved:
            self._failed(message)
        elif s.moved:
            self.failures.clear()
        if "losed for inventory" in message:
            level.forbidden |= NEIGHBOURS[s.cell] & level.closed
        if self.kicked >= 0:
            if "WHAMM" in message or "Whamm" in message:
                level.locked[self.kicked] = level.locked.get(self.kicked, 0) + 1
                if level.locked[self.kicked] > GIVE_UP_KICKS:
                    level.forbidden |= 1 << self.kicked
            self.kicked = -1
        self.target = self.ran = -1

    def _failed(self, message: str) -> None:
        s, target = self.senses, self.target
        level = s.level
        if "This door is locked" in message or "door is locked" in message:
            level.locked.setdefault(target, 0)
            return
        if "door opens" in message or "stuck" in message or any(word in message for word in _HELD):
            return
        if "boulder" in message and ("in vain" in message or "However" in message or "try to" in message):
            self.pushes[(self.origin, target)] = 99
            return
        if s.turn == s.last_turn or "solid" in message or not message:
            count = self.failures[target] = self.failures.get(target, 0) + 1
            if count < 2:
                return
            offset = abs(target - self.origin)
            if offset not in (1, 80) and not (level.doors >> target & 1 and level.doors >> self.origin & 1):
                level.doors |= 1 << target if level.objects >> target & 1 else 1 << self.origin | 1 << target
            else:
                level.avoid(target, s.turn)
            del self.failures[target]

    # ---- choosing

    def free(
        self, *, traps: bool = False, shop: bool = False, boulders: bool = False, dangers: bool = False
    ) -> int:
        """Return the squares a path may use now; monsters that must not be fought are left out."""
        s = self.senses
        level = s.level
        mask = level.ground(s.turn)
        if traps:
            mask |= level.traps & ~level.holes & ~level.barred
        if boulders:
            mask |= level.boulders & ~level.forbidden & ~level.barred
        if shop or level.shop >> s.cell & 1:
            mask |= level.shop & ~(level.objects & level.wanted) & ~level.barred
        return mask & ~s.peaceful_mask & ~(s.danger_mask & ~self._beatable() if dangers else s.danger_mask)

    def _beatable(self) -> int:
        """Return the squares of monsters whose answer to a blow the hero would survive."""
        s = self.senses
        mask = 0
        need = 1.0 if s.level.rounds < 60 else 0.6  # who is stuck for long takes a risk
        for cell, (kind, _) in s.level.sessile.items():
            if s.hp > need * G.BACKLASH[kind]:
                mask |= 1 << cell
        return mask

    def go(self, goals: int, **options: bool) -> int | None:
        """Return the action of the next step towards the nearest goal, or None where none can be reached.

        Must not be called when the hero already stands on a goal.
        """
        path = self.path(goals, **options)
        return self.follow(path) if path else None

    def path(self, goals: int, **options: bool) -> list[int] | None:
        """Return the cells of a shortest way to the nearest of the goals, or None."""
        s = self.senses
        if not goals:
            return None
        free = self.free(**options) | goals & s.level.holes
        return find_path(s.cell, free, s.level.doors, goals & ~(1 << s.cell))

    def follow(self, path: list[int]) -> int:
        """Return the action that makes the first step of a path, or runs its first straight part."""
        s = self.senses
        level, step = s.level, path[0]
        if level.closed >> step & 1 and step in level.locked:
            if s.key[0] == MINES or level.watched or level.shop >> s.cell & 1:
                level.forbidden |= 1 << step
                return A.SEARCH
            return self.kick(step)
        direction = DIRECTION_OF[step - s.cell]
        if any(cell == step for cell, _ in s.monsters):
            if step in s.level.sessile and s.level.sessile[step][0] == G.FLOATING_EYE:
                s.level.eye_waits += 1
                in_company = any(kind not in G.PASSIVE for _, kind, _ in s.hostiles())
                if s.level.eye_waits < (3 * EYE_WAITS if in_company else EYE_WAITS):
                    return A.WAIT  # it drifts off, given time; its gaze is worse than the delay
            return A.NORTH + direction
        self.target, self.origin = step, s.cell
        if level.boulders >> step & 1:
            key = (s.cell, step)
            self.pushes[key] = self.pushes.get(key, 0) + 1
            if self.pushes[key] > 3:
                level.forbidden |= 1 << step
            return A.NORTH + direction
        length = self._run_length(path, direction)
        if length >= 3:
            self.ran = direction
            return A.NORTH + A.FAR + direction
        return A.NORTH + direction

    def _run_length(self, path: list[int], direction: int) -> int:
        """Return how many squares a run follows the path, 0 when it would overrun it."""
        s = self.senses
        level, offset = s.level, OFFSETS[direction]
        if len(path) < 3 or s.monsters or s.condition & (STUNNED | CONFUSED):
            return 0
        cell, length = s.cell, 0
        for step in path:
            if step - cell != offset:
                break
            cell, length = step, length + 1
        if length < 3:
            return 0
        beyond = cell + offset
        bad = level.traps | level.liquid | level.shop | level.boulders | level.closed | level.wanted
        ground = level.walk | bad
        for _ in range(4):
            if not 0 <= beyond < NUM_CELLS:
                return length
            if not ground >> beyond & 1:
                return length if (level.walls | level.stone) >> beyond & 1 else 0
            if bad >> beyond & 1:
                return 0
            beyond += offset
        return 0

    def kick(self, cell: int) -> int:
        """Return the first of the two actions that kick an adjacent square."""
        self.kicked = cell
        self.pending = [A.NORTH + self.senses.direction_to(cell)]
        return A.KICK

    def attack(self, cell: int) -> int:
        """Return the action that strikes at an adjacent square."""
        return A.NORTH + self.senses.direction_to(cell)

    def step_away(self, threats: int) -> int | None:
        """Return a step to the free neighbour farthest from all threats, or None when none is better."""
        s = self.senses
        here = 1 << s.cell
        rings = waves(threats, self.free() | threats | here, s.level.doors, 0, 30)
        depth = {}
        for index, ring in enumerate(rings):
            for cell in cells(ring & (NEIGHBOURS[s.cell] | here)):
                depth[cell] = index
        best = max((c for c in depth if c != s.cell), key=lambda c: depth[c], default=None)
        if best is None or depth[best] <= depth.get(s.cell, 0):
            return None
        path = path_back(waves(here, self.free(), s.level.doors, 1 << best, 1), best, s.level.doors)
        if len(path) != 1 or path[0] - s.cell not in DIRECTION_OF:
            return None
        self.target, self.origin = path[0], s.cell
        return A.NORTH + DIRECTION_OF[path[0] - s.cell]
