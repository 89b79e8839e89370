"""Stay alive: pray, drink, cast, eat, rest, and back off."""

from typing import Any

from maestro.envs.nethack.reference import actions as A
from maestro.envs.nethack.reference import glyphs as G
from maestro.envs.nethack.reference.combat import Fighter
from maestro.envs.nethack.reference.movement import Mover
from maestro.envs.nethack.reference.senses import BLIND, CONFUSED, DEADLY, HALLUCINATING, STUNNED, Senses

FIRST_PRAYER = 110  # turns: prayer timeout starts near 300 and may be 200 when dying
NEXT_PRAYER = 950
DESPERATE_PRAYER = 400
ANGRY_PRAYER = 1200
HUNGER_PRAYER = 850
PECKISH = 600  # turns until starvation below which a fresh corpse is welcome
HUNGRY, WEAK, FAINTING = 2, 3, 4
SPELL_ENERGY = 5
FRESH = 30  # turns a corpse is surely safe


class Survivor:
    """Keep one game's hero alive."""

    def __init__(self, senses: Senses, mover: Mover, fighter: Fighter) -> None:
        self.senses, self.mover, self.fighter = senses, mover, fighter
        self.last_prayer = -10_000
        self.fed_until = 900  # turn at which hunger would end all, by a cautious guess
        self.resting = False
        self.meal = ""  # the monster whose fresh corpse is to be eaten
        self.no_food_until = 0
        self.failed_quaffs = 0
        self.last_cast = -100
        self.spell = ""
        self.lulled: dict[int, int] = {}  # square -> turn a sleep ray went there
        self.sinned = False  # the gods were heard to be angry

    def may_pray(self, patience: int = NEXT_PRAYER) -> bool:
        """Tell whether the gods are likely to help by now."""
        turn = self.senses.turn
        if self.sinned:
            patience += ANGRY_PRAYER
        return turn >= FIRST_PRAYER and turn - self.last_prayer >= patience

    def pray(self) -> int:
        """Return the action that prays and note the turn."""
        self.last_prayer = self.senses.turn
        self.mover.pending = []
        return A.PRAY

    def learn(self, message: str) -> None:
        """Note how the gods took the last prayer."""
        if "is displeased" in message or "Thou hast" in message or "Thou must relearn" in message:
            self.sinned = True
        elif "You feel a hopeful feeling" in message or "well-pleased" in message:
            self.sinned = False
        if "Your stomach feels content" in message or "hits the spot" in message:
            self.fed_until = max(self.fed_until, self.senses.turn + 800)

    def emergency(self, world: Any, index: int) -> int | None:
        """Return what to do when death is near, or None when it is not."""
        s = self.senses
        dying = s.hp <= 5 or s.hp * 7 <= s.max_hp
        if (dying or s.condition & DEADLY) and self.may_pray():
            return self.pray()
        threatened = bool(s.hostiles()) and s.hostiles()[0][2] <= 2
        low = s.hp * 3 <= s.max_hp or s.hp <= 6
        if not low or not (threatened or dying):
            return None
        potion = self._first_text(world, index, G.POTION)
        # The first potion is the one that would be drunk; an unknown one is the last straw.
        if b"healing" in potion or dying and potion and self.failed_quaffs < 8:
            self.failed_quaffs += b"healing" not in potion
            return A.QUAFF
        if dying and self.may_pray(DESPERATE_PRAYER):
            return self.pray()
        return None

    def cast(self) -> int | None:
        """Return the casting of the spell known from the start where it helps, or None."""
        s = self.senses
        if (
            s.energy < SPELL_ENERGY
            or not self.spell
            or s.condition & (STUNNED | CONFUSED | BLIND)
            or s.swallowed
        ):
            return None
        if s.turn <= self.last_cast:
            return None
        near = [(cell, kind) for cell, kind, gap in s.hostiles() if gap == 1 and kind not in G.SLUGGISH]
        action = None
        if self.spell == "healing":
            action = A.CAST if s.hp * 2 <= s.max_hp and (near or s.hp * 3 <= s.max_hp) else None
        elif near and self._is_serious(near):
            if self.spell == "sleep" and not s.peaceful_mask:
                asleep = [cell for cell, _ in near if s.turn - self.lulled.get(cell, -99) < 8]
                if not asleep:
                    self.lulled = {cell: s.turn for cell, _ in near}
                    self.mover.pending = [A.NORTH + s.direction_to(near[0][0])]
                    action = A.CAST
            elif self.spell == "protection" and s.turn - self.last_cast > 20:
                action = A.CAST
        if action is not None:
            self.last_cast = s.turn
        return action

    def _is_serious(self, near: list[tuple[int, int]]) -> bool:
        """Tell whether the enemies beside the hero are worth a spell."""
        s = self.senses
        levels = [G.MONSTER_LEVELS[kind] if kind >= 0 else 3 for _, kind in near]
        return max(levels) >= max(2, s.experience_level - 1) or len(near) >= 3 or s.hp * 2 <= s.max_hp

    def read_inventory(self, world: Any, index: int) -> None:
        """Look at the start for the spell the hero knows: healing, protection or sleep."""
        text = world.observation["inv_strs"][index].tobytes()
        for spell in ("healing", "protection", "sleep"):
            if b"spellbook of " + spell.encode() in text:
                self.spell = spell

    def _first_text(self, world: Any, index: int, kind: int) -> bytes:
        """Return how the inventory words the first item of a class; empty where there is none."""
        found = (world.observation["inv_oclasses"][index] == kind).nonzero()[0]
        return world.observation["inv_strs"][index, found[0]].tobytes() if found.size else b""

    def hunger(self, world: Any, index: int) -> int | None:
        """Return what to do about hunger, or None when there is nothing to do."""
        s = self.senses
        if s.hunger < HUNGRY:
            return self._snack(world, index) if s.hunger == HUNGRY - 1 else None
        self.fed_until = min(self.fed_until, s.turn + 145 if s.hunger == HUNGRY else s.turn + 49)
        near_enemy = any(n <= 2 and k not in G.SLUGGISH for _, k, n in s.hostiles())
        if s.hunger < FAINTING and near_enemy:
            return None
        corpse = self._corpse() if s.turn < self.no_food_until or not near_enemy else None
        if corpse is not None:
            return corpse
        if s.turn >= self.no_food_until and self._has_safe_food(world, index):
            self.meal = ""
            self.no_food_until = s.turn + 3
            return A.EAT
        if s.hunger >= WEAK and self.may_pray(HUNGER_PRAYER):
            return self.pray()
        return None

    def _snack(self, world: Any, index: int) -> int | None:
        """Eat a fresh corpse before hunger comes, once nothing safe is carried any more."""
        s = self.senses
        if not self.fighter.kills or self.fed_until - s.turn > PECKISH or s.hostiles():
            return None
        if self._has_safe_food(world, index):
            return None
        action = self._corpse()
        if action == A.EAT:
            self.fed_until += 300
        return action

    def _has_safe_food(self, world: Any, index: int) -> bool:
        """Tell whether the food that the game offers first is no old corpse."""
        text = self._first_text(world, index, G.FOOD)
        if not text:
            return False
        rots = b" corpse" in text or b"glob" in text
        return not rots or b"lichen" in text or b"lizard" in text

    def _corpse(self) -> int | None:
        """Go to and eat a corpse of a monster killed a moment ago."""
        s, kills = self.senses, self.fighter.kills
        for cell, (turn, kind) in list(kills.items()):
            if s.turn - turn > FRESH or kind not in G.SAFE_CORPSES:
                del kills[cell]
            elif cell == s.cell:
                del kills[cell]
                self.meal = G.MONSTER_NAMES[kind]
                return A.EAT
            elif G.corpse_of(s.glyph_at(cell)) == kind:
                return self.mover.go(1 << cell)
        return None

    def rest(self) -> int | None:
        """Return a rest while hurt and unobserved, or None."""
        s = self.senses
        if s.hunger >= WEAK:
            return None
        if s.condition & (BLIND | STUNNED | CONFUSED) and not s.hostiles():
            return A.SEARCH if s.condition & BLIND else A.WAIT
        if s.condition & HALLUCINATING and s.level.has_company and s.hp * 2 > s.max_hp:
            return A.SEARCH  # until faces can be told apart
        if s.hp * 20 >= s.max_hp * 19:
            self.resting = False
        elif s.hp * 20 <= s.max_hp * 13:
            self.resting = True
        if not self.resting:
            return None
        if any(near <= 8 and kind not in G.PASSIVE for _, kind, near in s.hostiles()):
            return None
        return A.WAIT

    def answer(self, prompt: str) -> int | None:
        """Answer the questions about food, drink and prayer; None for any other."""
        if "Stop eating" in prompt:
            return A.YES
        if "eat it?" in prompt or "eat one?" in prompt:
            named = bool(self.meal) and f" {self.meal} corpse" in prompt
            return A.YES if named or "corpse" not in prompt and "glob" not in prompt else A.NO
        if "want to eat" in prompt:
            return A.MORE if self.meal else A.YES
        if "want to drink" in prompt:
            return A.YES
        if "Drink from" in prompt:
            return A.NO
        if "pray" in prompt:
            return A.YES
        return None
