"""A simulated hero on simulated levels: everything about the toy game that a State is made of."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from maestro.envs.nethack.scenarios.plan import DOOM, MINES, Place, Plan
from maestro.envs.nethack.state import State

_EXPERIENCE = (20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10_000)
"""Experience points at which the hero rises to level 2, 3, ...; as in the real game."""
_MONSTERS = {
    DOOM: ("newt", "jackal", "sewer rat", "kobold", "gecko", "hill orc", "giant beetle", "soldier ant"),
    MINES: ("gnome", "gnome", "gnome lord", "dwarf", "hill orc", "dwarf lord", "gnome king", "soldier ant"),
}
_PRAYER_RESTS = 1000
"""Turns after which the god helps again."""


@dataclass
class Level:
    """What the hero knows of one level. `hidden` says how much has to be explored until each thing is found."""

    hidden: dict[str, float]
    explored: float = 0.0
    found: set[str] = field(default_factory=set)
    gold: int = 3
    """Piles of gold left."""
    items: int = 4
    """Things worth carrying away that are left."""
    unsalable: int = 0
    """Things carried that the shopkeeper here does not want."""

    def explore(self, amount: float) -> None:
        """See more of the level; what lies in the part seen is found."""
        self.explored = min(1.0, self.explored + amount)
        self.found.update(thing for thing, depth in self.hidden.items() if depth <= self.explored)


class Hero:
    """The hero and all levels seen so far. `luck` decides everything."""

    def __init__(self, plan: Plan, luck: random.Random) -> None:
        self.plan = plan
        self.luck = luck
        self.place: Place = (DOOM, 1)
        self.levels: dict[Place, Level] = {}
        self.step, self.turn = 0, 1
        self.max_depth = 1
        self.branch_depth: int | None = None
        self.max_hp = self.hp = luck.randint(12, 16)
        self.energy = luck.randint(2, 9)
        self.experience_level, self.experience_points = 1, 0
        self.gold = 0
        self.nutrition, self.food = 900, luck.randint(7, 11)
        self.num_items = 0
        self.kills = self.sold = self.prices = self.checks = self.meals = 0
        self.monster = ""
        self.near = ""
        """What special thing the hero stands by: "shop", "altar", the name of a staircase, or nothing."""
        self.message, self.prompt = "", ""
        self.blind_until = self.hallucinating_until = 0
        self.prayed = 0
        self.has_fallen = False
        self.times_down = 0
        """How often one of two staircases down was taken."""
        self.over = ""
        self.arrive((DOOM, 1), "")

    @property
    def level(self) -> Level:
        """Give the level the hero is on."""
        return self.levels[self.place]

    @property
    def depth(self) -> int:
        """Tell how far below the surface the hero is."""
        return self.plan.depth(self.place)

    @property
    def hunger(self) -> str:
        """Name the hunger that the stomach's content means."""
        for least, name in ((1000, "Satiated"), (150, "Not hungry"), (50, "Hungry"), (0, "Weak")):
            if self.nutrition > least:
                return name
        return "Fainting"

    def arrive(self, place: Place, stairs: str) -> None:
        """Put the hero on a level, on the staircase `stairs`, which thereby is known."""
        self.place = place
        if place not in self.levels:
            self.levels[place] = self._new_level(place)
        self.max_depth = max(self.max_depth, self.depth)
        self.near, self.monster = stairs, ""
        if stairs:
            self.level.found.add(stairs)
        if place[0] == MINES:
            self.branch_depth = self.plan.branch_depth

    def look(self) -> None:
        """Notice what the found things mean: two staircases down on one level tell where the Mines are."""
        if self.place == (DOOM, self.plan.branch_depth) and {"down main", "down branch"} <= self.level.found:
            self.branch_depth = self.depth

    def gain(self, points: int) -> None:
        """Gain experience, and rise where it is enough."""
        self.experience_points += points
        while self.experience_level <= len(_EXPERIENCE) and (
            self.experience_points >= _EXPERIENCE[self.experience_level - 1]
        ):
            self.experience_level += 1
            more = self.luck.randint(2, 8)
            self.max_hp += more
            self.hp += more
            self.say(f"Welcome to experience level {self.experience_level}.")

    def hurt(self, damage: int, by: str) -> None:
        """Lose hit points; the god helps once in a while, and otherwise the hero may die."""
        self.hp -= damage
        if self.hp < max(6, self.max_hp // 7) and self.turn >= self.prayed + (
            _PRAYER_RESTS if self.prayed else 300
        ):
            self.prayed = self.turn
            self.hp = self.max_hp
            self.say("You begin praying. You feel much better.")
        if self.hp <= 0:
            self.hp = 0
            self.over = f"the hero was killed by a {by} at depth {self.depth} ({self.place[0]})"
            self.say("You die...")

    def say(self, text: str) -> None:
        """Add a sentence to this step's message."""
        self.message = f"{self.message} {text}".strip()

    def draw_monster(self) -> str:
        """Draw a monster fit for the place: the deeper, the worse."""
        kinds = _MONSTERS.get(self.place[0], _MONSTERS[DOOM])
        worst = min(len(kinds), 2 + self.depth)
        return kinds[self.luck.randrange(worst // 3, worst)]

    def pass_time(self, turns: int, steps: int) -> None:
        """Let time pass: digest, heal, get well."""
        self.step += steps
        self.turn += turns
        before = self.hunger
        self.nutrition -= turns
        if self.hunger != before and self.hunger in ("Hungry", "Weak"):
            self.say(f"You are beginning to feel {self.hunger.lower()}.")
        if self.nutrition < -150:
            self.hp, self.over = 0, "the hero starved"
            self.say("You die from starvation.")
        heal = turns * (2 + self.experience_level) // 20
        self.hp = min(self.max_hp, self.hp + heal) if self.hp > 0 else 0

    def state(self) -> State:
        """Make the State of this moment."""
        in_view, nearby = self._names()
        return State(
            step=self.step,
            turn=self.turn,
            depth=self.depth,
            max_depth=self.max_depth,
            dungeon=self.place[0],
            level=self.place[1],
            branch_depth=self.branch_depth,
            hp=self.hp,
            max_hp=self.max_hp,
            energy=self.energy,
            max_energy=self.energy,
            armor_class=4,
            experience_level=self.experience_level,
            experience_points=self.experience_points,
            score=4 * self.experience_points + self.gold + 50 * (self.max_depth - 1),
            gold=self.gold,
            hunger=self.hunger,
            encumbrance=1 if self.num_items > 14 else 0,
            num_items=self.num_items,
            nearby=nearby,
            in_view=in_view,
            message=self.message,
            prompt=self.prompt,
            num_kills=self.kills,
            num_items_sold=self.sold,
            num_prices_identified=self.prices,
            num_curse_checks=self.checks,
            num_meals=self.meals,
            num_levels_visited=len(self.levels),
            blind=self.turn < self.blind_until,
            confused=False,
            stunned=False,
            hallucinating=self.turn < self.hallucinating_until,
        )

    def _names(self) -> tuple[frozenset[str], frozenset[str]]:
        seen = {_NAMES[thing] for thing in self.level.found if thing in _NAMES}
        close = {_NAMES[self.near]} if self.near in _NAMES else set()
        if self.monster and self.turn >= self.blind_until:
            close.add(self.monster)
        if self.near == "shop":
            close.add("shopkeeper")
        if self.place == self.plan.minetown:
            seen.add("watchman")
        return frozenset(seen | close), frozenset(close)

    def _new_level(self, place: Place) -> Level:
        luck, plan = self.luck, self.plan
        hidden = {f"down {way}": luck.uniform(0.1, 0.9) for way in plan.ways_down(place)}
        hidden |= {f"up {way}": luck.uniform(0.0, 0.9) for way in plan.ways_up(place)}
        if place == (DOOM, 1):
            hidden["up main"] = 0.0  # the hero begins on it
        if plan.mishap == "hidden" and "down branch" in hidden:
            hidden["down branch"] = 0.97
        if place in plan.shops:
            hidden["shop"] = luck.uniform(0.2, 0.8)
        if place in plan.altars:
            hidden["altar"] = luck.uniform(0.2, 0.8)
        return Level(hidden, gold=luck.randint(1, 5), items=luck.randint(1, 6))


_NAMES = {
    "altar": "altar",
    "up main": "staircase up",
    "up branch": "staircase up",
    "down main": "staircase down",
    "down branch": "staircase down",
}
