"""What an author of code for this world has to know and State's documentation does not say."""

from __future__ import annotations

from maestro.envs.nethack.state import DUNGEONS, HUNGER, State
from maestro.envs.scenario.find import Helper

TITLE = "NetHack"

FACTS: tuple[str, ...] = (
    "The hero is a human monk, alone, who starts on level 1 of the Dungeons of Doom. An episode ends with death, with "
    "leaving the dungeon, or when its steps are used up.",
    "Exactly one of the levels 2, 3 and 4 of the Dungeons of Doom has a second staircase down. It leads to the Gnomish "
    "Mines, whose first level is one deeper, so that in the Mines `depth` is `branch_depth` + `level`. `branch_depth` is "
    "None until both staircases were seen or the Mines were entered, which may take much exploring on each of those "
    "levels.",
    "Whoever goes down from the level at `branch_depth` takes either of its two staircases, each about half of the "
    "time. Only `dungeon` tells afterwards where the hero came to: the same `depth` exists in both dungeons. From the "
    "wrong one, the way is back up and down again, as often as it takes.",
    "Level 3 or level 4 of the Gnomish Mines is Minetown: always with shops and a temple with an altar, and guarded by "
    "watchmen, so 'watchman' in `in_view` is its sign. The Mines have eight or nine levels.",
    "The Oracle lives on one of the levels 5 to 9 of the Dungeons of Doom; no field says on which.",
    "The level after the Oracle's has a second staircase up, which leads to Sokoban. Sokoban lies above the level it is "
    "entered from: the way out of it is down.",
    "Taking the stairs up at `depth` 1 of the Dungeons of Doom leaves the dungeon and ends the game.",
    "A trap door can drop the hero to a deeper level at any time, whatever the hero was about.",
    "Shops (from level 2 on) and altars are rare. One is only found by exploring, and only near it can something be done "
    "there. It stays near until the hero walks away, so whatever can be started there can be started again at once, "
    "even when it was of no use: what has just been tried should rest for some dozens of turns.",
    "Things worth selling or laying on an altar (`num_items`), gold, experience and kills come from exploring levels. "
    "A level is known after 300 to 800 turns; then it yields little more than what wanders by.",
    "Turns and steps are two clocks: a far move or a rest is one step of many turns. A hundred turns of exploring take "
    "about 60 steps on a new level and 10 to 40 on a known one. Hunger, wandering monsters and the limits of skills go by "
    "turns, the end of the episode by steps, so a bound on waiting should hold in both.",
    "A staircase may be hard to find, or not to be found at all. Who looked for one in vain for hundreds of turns should "
    "explore for a while before the next try, and try another way after several.",
    "The hero becomes hungry around turn 900 and then eats by itself what it has, whichever skill runs; `num_meals` "
    "counts it.",
    "The deeper, the deadlier, and the Mines more than the rest: with `experience_level` below 5 a hero often dies "
    "below `depth` 4.",
)
"""In sentences; what stands in backquotes is a field of State. Source: dungeon.def of NetHack 3.6.6."""

HELPERS: tuple[Helper, ...] = (
    Helper(
        "reach_gnomish_mines",
        "choose so that the hero gets into the Gnomish Mines and goes on exploring there. Where the second staircase is "
        "not known yet, look for it on each of the levels that can have it; where the wrong one was taken, come back.",
    ),
    Helper(
        "reach_dungeons_of_doom",
        "choose so that the hero gets back to the Dungeons of Doom, or stays in them, and goes on exploring there; a "
        "hero who took the staircase to the Mines by mistake comes back.",
    ),
)
"""Methods that the training policy has and policies for tasks may call."""

VALUES: dict[str, tuple[str, ...]] = {"dungeon": DUNGEONS, "hunger": HUNGER}
"""Fields of text that have a few known values."""

FIRST_STATE = State(
    step=0, turn=1, depth=1, max_depth=1, dungeon="Dungeons of Doom", level=1, branch_depth=None,
    hp=14, max_hp=14, energy=4, max_energy=4, armor_class=4, experience_level=1, experience_points=0,
    score=0, gold=0, hunger="Not hungry", encumbrance=0, num_items=0,
    nearby=frozenset({"staircase up"}), in_view=frozenset({"staircase up"}), message="", prompt="",
    num_kills=0, num_items_sold=0, num_prices_identified=0, num_curse_checks=0, num_meals=0,
    num_levels_visited=1, blind=False, confused=False, stunned=False, hallucinating=False,
)  # fmt: skip
"""A first moment of a game: what a state made by a test is where the test does not say otherwise."""
