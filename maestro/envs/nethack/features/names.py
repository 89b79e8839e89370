"""What every number of the feature arrays means: the names and the order of targets and of vector entries.

The kernel reads its places from here, so that this table and what the network sees cannot disagree.
"""

from __future__ import annotations

from maestro.envs.nethack.keys import ACTION_NAMES
from maestro.envs.nethack.state import HUNGER

DIRECTIONS = ACTION_NAMES[1:9]
"""North, east, south, west, then the four diagonals: the order of the actions that step."""

CROP, CENTRE = 12, 6
"""Side of the square around the hero, and the row and column of it in which the hero stands."""
NUM_WORDS, NUM_HASHES = 16, 4096

COMPASS_ENTRIES = (*DIRECTIONS, "closeness", "adjacent")
"""For each target: the first step as a one-hot (all zero: none known, or the hero stands on it), 1 / (1 + steps)
(0: none known), and whether it is one step away."""

_TARGETS: dict[str, str] = {
    "staircase_down": "nearest of the staircases down taken least often; ladders too, also when something hides them",
    "staircase_down_other": "nearest of the other staircases down (on depths 2 to 4: one leads to the Mines)",
    "staircase_up": "nearest of the staircases up taken least often",
    "hole": "nearest hole or trap door",
    "frontier": "nearest ground or closed door beside the unknown that was never stood on; not in shops",
    "treasure": "nearest coins, potion, scroll, wand or lasting food that walking picks up; not in shops, not left lying",
    "object": "nearest other object never stood on: a staircase may lie under it",
    "fresh_corpse": "nearest corpse, safe to eat, of a monster that stood there within the last 30 turns",
    "closed_door": "nearest closed door that is not known to be hopeless",
    "boulder": "nearest boulder beside reachable ground",
    "hostile": "nearest monster to fight, by king's moves: not tame, peaceful, untouchable or better left alone",
    "hostile_2": "second nearest of them",
    "left_alone": "nearest monster that should not be struck by hand: peaceful, tame, cockatrice, floating eye, mold",
    "shopkeeper": "where a shopkeeper was last seen",
    "counter": "nearest floor of a shop where goods can be offered: bare, not the keeper's post; 0 steps: drop here",
    "way_out": "inside a shop: nearest ground outside of it",
    "altar": "nearest altar",
    "search_spot": "where searching finds most for the turns it takes, once no frontier can be reached; 0 steps: search",
    "narrow_place": "nearest door or corridor square with at most three ways out, within 5 steps, to fight many",
}
COMPASS_TARGETS: tuple[str, ...] = tuple(_TARGETS)
"""The targets in the order of the second axis of `compass`."""
COMPASS_DOCS: dict[str, str] = dict(_TARGETS)
"""Target to one line of text. Ways lead over known ground and through hostile monsters; across traps only where nothing
else leads, and after that past boulders and monsters that should not be struck. No diagonal steps through doors."""

PROMPTS: tuple[tuple[str, str], ...] = (
    ("attack", "Really attack"),
    ("sell", "Sell"),  # before "eat": leather can be sold
    ("direction", "direction?"),
    ("stop_eating", "Stop eating"),
    ("eat_here", "eat it?"),
    ("eat_here", "eat one?"),
    ("drink_here", "Drink from"),
    ("drop", "drop?"),
    ("pray", "pray?"),
    ("drink", "drink?"),
    ("eat", "eat"),
)
"""Kind of an open question and a text that tells it; the first that fits counts."""
PROMPT_KINDS: tuple[str, ...] = ("none", *dict.fromkeys(kind for kind, _ in PROMPTS), "other")

ITEM_CLASSES: tuple[str, ...] = (
    "strange", "weapon", "armor", "ring", "amulet", "tool", "food", "potion", "scroll",
    "spellbook", "wand", "coins", "gem", "rock", "ball", "chain", "venom",
)  # fmt: skip
"""NetHack's object classes from 1 on, as `inv_oclasses` numbers them."""

CONDITIONS: tuple[str, ...] = (
    "stoned", "slimed", "strangled", "food_poisoned", "ill", "blind", "deaf", "stunned",
    "confused", "hallucinating", "levitating", "flying", "riding",
)  # fmt: skip
"""Bits of the condition mask, lowest first. Source: BL_MASK_* of NetHack 3.6.6, include/botl.h."""

BRANCHES: tuple[str, ...] = ("doom", "gehennom", "mines", "quest", "sokoban", "ludios", "vlad", "planes")


def _hero_docs() -> dict[str, str]:
    """Name what `vector` tells of the hero."""
    return {
        "hp_ratio": "hit points / most hit points",
        "hp": "log of hit points",
        "max_hp": "log of most hit points",
        "hp_change": "change of hit points in the last step / most hit points",
        "energy_ratio": "energy / most energy",
        "energy": "energy / 10, at most 5: a spell of level 1 costs 5 points",
        "armor_class": "armor class / 10",
        "experience_level": "experience level / 10",
        "experience": "log of experience points",
        "gold": "log of gold carried",
        "gold_change": "1 if gold rose in the last step, -1 if it fell",
        "depth": "depth / 10",
        "level": "number of the level in its branch / 10",
        "turn": "log of the turn",
        "x": "hero's column / 79",
        "y": "hero's row / 21",
        **{f"branch_{name}": f"1 in this branch: {name}" for name in BRANCHES},
        **{f"hunger_{name.lower().replace(' ', '_')}": f"1 if {name}" for name in HUNGER},
        "burdened": "1 if burdened or worse",
        "burden": "encumbrance / 5",
        **{f"is_{name}": f"1 if {name}" for name in CONDITIONS},
        **{f"items_{name}": f"log2(1 + slots of {name} carried) / 4" for name in ITEM_CLASSES},
        "goods": "log2(1 + items to sell or lay on an altar) / 4",
        "has_goods": "1 if there are any",
    }


def _doing_docs() -> dict[str, str]:
    """Name what `vector` tells of what was asked and done."""
    return {
        **{f"prompt_{kind}": f"1 if the open question is of kind {kind}" for kind in PROMPT_KINDS},
        **{f"did_{action}": f"1 if the last action was {action}" for action in ACTION_NAMES},
        "moved": "1 if the last step changed the hero's square",
        "arrived": "1 if the last step changed the level",
        "turns_passed": "log2(1 + turns of the last step) / 4",
        "prayed": "1 if the hero has prayed in this episode",
        "since_prayer": "log of turns since the last prayer, since the beginning if there was none",
        "searched_here": "log2(1 + searches on this square) / 4",
        "searched_level": "log of searches on this level",
        "search_rounds": "log of search spots worked through on this level",
        "stuck": "log2(1 + steps without a change of turn, square or level) / 4",
        "steps_on_level": "log of steps on this level, all visits together",
    }


def _place_docs() -> dict[str, str]:
    """Name what `vector` tells of the square, the level and its inhabitants."""
    return {
        "on_staircase_down": "1 if the hero stands on a staircase (or ladder) down",
        "on_staircase_up": "1 if the hero stands on a staircase up",
        "on_altar": "1 on an altar",
        "on_object": "1 if something is known to lie under the hero",
        "on_door": "1 in a doorway: no diagonal steps",
        "on_trap": "1 on a known trap",
        "in_shop": "1 on the floor of a shop",
        "on_frontier": "1 if ground beside the hero is still unknown",
        "stairs_down_known": "staircases down known on this level / 2",
        "stairs_up_known": "staircases up known on this level / 2",
        "stairs_down_used": "log2(1 + times the nearest least used staircase down was taken) / 4",
        "stairs_up_used": "the same of the staircase up",
        "altar_known": "1 if this level has an altar the hero saw",
        "shop_known": "1 if a shopkeeper was seen on this level",
        "priest_known": "1 if a priest was seen on this level",
        "watch_known": "1 if a watchman was seen on this level: kick no doors",
        "peaceful_known": "peaceful monsters known on this level / 4",
        "door_locked": "1 if an adjacent door was found locked",
        "frontier_size": "log of frontier squares that can be reached",
        "reachable": "log of squares that can be reached",
        "treasures": "log2(1 + things to pick up that can be reached) / 4",
        "hostiles_1": "hostile monsters within 1 square / 4",
        "hostiles_3": "hostile monsters within 3 squares / 4",
        "hostiles": "log2(1 + hostile monsters in view) / 4",
        "hostile_level": "level of the nearest hostile / 10",
        "hostile_levels": "sum of (1 + level) of hostiles within 3 squares / 10",
        "hostile_sluggish": "1 if the nearest hostile is slow enough to walk away from",
        "hostile_unseen": "1 if the nearest hostile is remembered or warned of, not seen",
        "swallowed": "1 inside a monster",
        **{f"step_{name}": f"1 if the square {name} may be entered now" for name in DIRECTIONS},
        **{f"strike_{name}": f"1 if a hostile monster stands {name}" for name in DIRECTIONS},
        **{f"spare_{name}": f"1 if a monster better not struck stands {name}" for name in DIRECTIONS},
        **{f"door_{name}": f"1 if a closed door is {name}" for name in DIRECTIONS},
        **{
            f"run_{target}": f"straight part of the way to {target} / 8 (at most 1) where a far move keeps to it"
            for target in COMPASS_TARGETS
        },
    }


VECTOR_DOCS: dict[str, str] = {**_hero_docs(), **_doing_docs(), **_place_docs()}
"""Entry of the compass set's `vector` to one line of text; the order of the keys is that of the numbers.

log(x) stands for log1p(x) / 8, which is 1 at about 3000.
"""
VECTOR_NAMES: tuple[str, ...] = tuple(VECTOR_DOCS)
PLACE: dict[str, int] = {name: place for place, name in enumerate(VECTOR_NAMES)}

PAPER_STATUS: tuple[tuple[str, int, float], ...] = (
    ("x", 0, 1 / 79), ("y", 1, 1 / 21), ("strength_percent", 2, 0.0), ("strength", 3, 1 / 10), ("dexterity", 4, 1 / 10),
    ("constitution", 5, 1 / 10), ("intelligence", 6, 1 / 10), ("wisdom", 7, 1 / 10), ("charisma", 8, 1 / 10),
    ("score", 9, 0.0), ("hp", 10, 1 / 10), ("max_hp", 11, 1 / 10), ("depth", 12, 0.0), ("gold", 13, 1 / 1000),
    ("energy", 14, 1 / 10), ("max_energy", 15, 1 / 10), ("armor_class", 16, 1 / 10), ("monster_level", 17, 0.0),
    ("experience_level", 18, 1 / 10), ("experience", 19, 1 / 100), ("turn", 20, 1 / 1000), ("hunger", 21, 1.0),
    ("burden", 22, 1 / 10), ("branch", 23, 1.0), ("level", 24, 0.0), ("condition", 25, 1.0), ("alignment", 26, 0.0),
)  # fmt: skip
"""Name, place among the 27 blstats and factor. Source: the factors of Motif, with MaestroMotif's 1 for branch and
condition; the products are clipped to +-5."""
PAPER_VECTOR_NAMES: tuple[str, ...] = (
    *(name for name, _, factor in PAPER_STATUS if factor),
    *(f"items_{name}" for name in ITEM_CLASSES),
)
