"""What the five skills do to a simulated hero in one tick of about ten turns. An unknown skill lets time pass."""

from __future__ import annotations

from collections.abc import Callable

from maestro.envs.nethack.scenarios.hero import Hero
from maestro.envs.nethack.scenarios.plan import DOOM

_CLIMB_QUESTION = "Beware, there will be no return!  Still climb? [yn] (n)"
LEFT = "the hero left the dungeon by the stairs up of its first level, which ends the game"


def tick(hero: Hero, skill: str) -> None:
    """Let `skill` act for some steps; afterwards `hero.state()` is what a policy would see."""
    luck = hero.luck
    hero.message = hero.prompt = ""
    hero.pass_time(luck.randint(6, 14), luck.randint(5, 14))
    if hero.over:
        return
    _meet_monsters(hero)
    if hero.over:
        return
    _eat(hero)
    _mishaps(hero)
    EFFECTS.get(skill, _wait)(hero)
    hero.look()


def _explore(hero: Hero) -> None:
    """Discover: see more of the level, pick things up, come by shops and altars, go on from them again."""
    luck, level = hero.luck, hero.level
    hero.near = ""
    level.explore(luck.uniform(0.01, 0.06))
    if level.gold and luck.random() < 0.08 + 0.1 * level.explored:
        level.gold -= 1
        amount = luck.randint(2, 12) * hero.depth
        hero.gold += amount
        hero.say(f"$ - {amount} gold pieces.")
    if level.items and luck.random() < 0.12:
        level.items -= 1
        hero.num_items += 1
        hero.say("You pick something up.")
    sights = sorted({"shop", "altar"} & level.found)
    if sights and luck.random() < 0.15:
        hero.near = luck.choice(sights)
        if hero.near == "shop":
            hero.say('"Hello, Agent! Welcome to my general store!"')


def _go_down(hero: Hero) -> None:
    ways = hero.plan.ways_down(hero.place)
    known = sorted(way for way in ways if f"down {way}" in hero.level.found)
    if not known:
        _search_stairs(hero)
        return
    way = hero.luck.choice(known)
    if len(known) > 1 and hero.plan.mishap == "stubborn" and hero.times_down < 3:
        way = hero.plan.mishap_way
    if hero.near != f"down {way}":
        hero.near = f"down {way}" if hero.luck.random() < 0.6 else ""
        return
    hero.times_down += len(known) > 1
    below = ways[way]
    back = {place: f"up {name}" for name, place in hero.plan.ways_up(below).items()}
    hero.arrive(below, back.get(hero.place, ""))
    hero.say("You descend the stairs.")


def _go_up(hero: Hero) -> None:
    ways = hero.plan.ways_up(hero.place)
    known = sorted(way for way in ways if f"up {way}" in hero.level.found)
    if not known:
        _search_stairs(hero)
        return
    way = hero.luck.choice(known)
    if hero.near != f"up {way}":
        hero.near = f"up {way}" if hero.luck.random() < 0.6 else ""
        return
    above = ways[way]
    if above is None:
        hero.message, hero.prompt = _CLIMB_QUESTION, _CLIMB_QUESTION
        hero.over = LEFT
        return
    back = {place: f"down {name}" for name, place in hero.plan.ways_down(above).items()}
    hero.arrive(above, back.get(hero.place, ""))
    hero.say("You climb up the stairs.")


def _search_stairs(hero: Hero) -> None:
    """Look for a way, which sees as much of the level as exploring it does, but only that."""
    hero.near = ""
    hero.level.explore(hero.luck.uniform(0.03, 0.10))


def _trade(hero: Hero) -> None:
    luck, level = hero.luck, hero.level
    if "shop" not in level.found:
        return
    hero.near = "shop"
    wanted = hero.num_items - level.unsalable
    if wanted <= 0 or luck.random() < 0.5:
        return
    if luck.random() < 0.3:
        level.unsalable += 1
        hero.say("The shopkeeper seems uninterested.")
        return
    offer = luck.choice((5, 10, 25, 30, 50, 75, 100, 150))
    hero.num_items -= 1
    hero.sold += 1
    hero.gold += offer
    hero.prices += luck.random() < 0.6
    hero.say(f"You sold something for {offer} gold pieces.")


def _use_altar(hero: Hero) -> None:
    if "altar" not in hero.level.found:
        return
    hero.near = "altar"
    if hero.num_items and hero.luck.random() < 0.5:
        hero.num_items -= 1
        hero.checks += 1
        hero.say("There is a black flash as something hits the altar.")


def _wait(hero: Hero) -> None:
    """Do nothing but let time pass."""


def _meet_monsters(hero: Hero) -> None:
    luck = hero.luck
    if not hero.monster:
        if luck.random() < 0.22:
            hero.monster = hero.draw_monster()
        return
    strength = 1 + hero.depth * 3 // 4
    if luck.random() < 0.7:
        hero.hurt(luck.randint(0, 2 + 2 * strength), hero.monster)
        if hero.over:
            return
    if luck.random() < max(0.1, 0.75 + 0.03 * hero.experience_level - 0.06 * hero.depth):
        hero.kills += 1
        hero.say(f"You kill the {hero.monster}!")
        hero.monster = ""
        hero.food += luck.random() < 0.2
        hero.gain(1 + strength * strength + luck.randint(0, 6))


def _eat(hero: Hero) -> None:
    if hero.nutrition < 150 and hero.food and hero.luck.random() < 0.3:
        hero.food -= 1
        hero.nutrition += hero.luck.choice((50, 80, 200, 400, 800))
        hero.meals += 1
        hero.say("That was delicious!")


def _mishaps(hero: Hero) -> None:
    """Let what is rare happen: a trap door, a flash of light, a strange potion."""
    luck, place = hero.luck, hero.place
    dungeon, level = place
    if (
        hero.plan.mishap == "fall"
        and not hero.has_fallen
        and hero.turn > hero.plan.mishap_turn
        and 1 < level < 5
    ):
        hero.has_fallen = True
        depth = level + luck.randint(2, 4)
        if dungeon == DOOM:
            hero.arrive((DOOM, depth), "")
            hero.say("A trap door opens up under you! You fall through...")
    elif luck.random() < 0.002 and (dungeon, level + 1) in hero.plan.ways_down(place).values():
        hero.arrive((dungeon, level + 1), "")
        hero.say("A trap door opens up under you!")
    elif luck.random() < 0.003:
        hero.blind_until = hero.turn + 40
        hero.say("You are blinded by a flash of light!")
    elif luck.random() < 0.001:
        hero.hallucinating_until = hero.turn + 100
        hero.say("Oh wow! Everything looks so cosmic!")


EFFECTS: dict[str, Callable[[Hero], None]] = {
    "discoverer": _explore,
    "descender": _go_down,
    "ascender": _go_up,
    "worshipper": _use_altar,
    "merchant": _trade,
}
"""Skill to what it does in a tick."""
