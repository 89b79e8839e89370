"""`State`: the documented facts about a game that generated code may read, and nothing else.

All of it is what a player at the terminal could know. Prompts are written from `FIELD_DOCS` and the validator accepts
exactly these names, so a field is called what a language model guesses right.
"""

from __future__ import annotations

from typing import NamedTuple

STATE_VERSION = 1
"""Raised whenever a field changes its name, type or meaning; provenance of generated code records it."""


class State(NamedTuple):
    """What the player knows after a step. Immutable: a new one replaces it every step."""

    step: int
    turn: int
    depth: int
    max_depth: int
    dungeon: str
    level: int
    branch_depth: int | None
    hp: int
    max_hp: int
    energy: int
    max_energy: int
    armor_class: int
    experience_level: int
    experience_points: int
    score: int
    gold: int
    hunger: str
    encumbrance: int
    num_items: int
    nearby: frozenset[str]
    in_view: frozenset[str]
    message: str
    prompt: str
    num_kills: int
    num_items_sold: int
    num_prices_identified: int
    num_curse_checks: int
    num_meals: int
    num_levels_visited: int
    blind: bool
    confused: bool
    stunned: bool
    hallucinating: bool


FIELD_DOCS: dict[str, str] = {
    "step": "Decisions of the agent since the episode began; 0 at its start.",
    "turn": "NetHack's own clock; 1 at the start. Several steps can share a turn, one step can take many turns.",
    "depth": "How far below the surface the hero is, in levels; 1 at the start.",
    "max_depth": "The greatest depth reached in this episode.",
    "dungeon": "Name of the dungeon branch: 'Dungeons of Doom', 'Gnomish Mines', 'Sokoban', 'The Quest', "
    "'Fort Ludios', 'Gehennom', \"Vlad's Tower\" or 'Elemental Planes'.",
    "level": "Number of the level within its dungeon branch, from 1; in the Dungeons of Doom equal to the depth.",
    "branch_depth": "Depth of the level with the second staircase down, which leads to the Gnomish Mines (2, 3 or 4); "
    "None until that level has been recognised.",
    "hp": "Hit points.",
    "max_hp": "Most hit points the hero can have now.",
    "energy": "Spell energy.",
    "max_energy": "Most spell energy the hero can have now.",
    "armor_class": "Protection; lower is better.",
    "experience_level": "Experience level, from 1.",
    "experience_points": "Experience points.",
    "score": "NetHack's running score.",
    "gold": "Gold pieces carried.",
    "hunger": "One of 'Satiated', 'Not hungry', 'Hungry', 'Weak', 'Fainting', 'Fainted', 'Starved'.",
    "encumbrance": "0 unburdened, 1 burdened, 2 stressed, 3 strained, 4 overtaxed, 5 overloaded.",
    "num_items": "Inventory slots the hero carries that were not there at the start, without food and gold: "
    "what there is to sell or to lay on an altar.",
    "nearby": "Names of what is within 3 squares in every direction, such as 'shopkeeper', 'altar', 'staircase down', "
    "'gnome lord', 'gold piece', 'boulder', 'closed door', 'newt corpse'; floor and walls have no name.",
    "in_view": "The same for all of the map that is on the screen, remembered parts included.",
    "message": "What the game said during this step, all pages joined by spaces; empty if it said nothing.",
    "prompt": "The question the game is waiting to have answered; empty if there is none.",
    "num_kills": "Monsters the hero killed in this episode.",
    "num_items_sold": "Sales to shopkeepers in this episode.",
    "num_prices_identified": "Kinds of items whose base price an offer or a quoted price has given away in this episode.",
    "num_curse_checks": "Items laid on an altar in this episode whose status was unknown until then.",
    "num_meals": "Meals begun in this episode, whether or not they were finished.",
    "num_levels_visited": "Different levels the hero has been on in this episode, from 1.",
    "blind": "Whether the hero cannot see.",
    "confused": "Whether the hero is confused.",
    "stunned": "Whether the hero is stunned.",
    "hallucinating": "Whether the hero hallucinates: names of monsters and objects are then wrong.",
}
"""Field name to one line of text with unit and range, for prompts, errors and docs."""

DUNGEONS: tuple[str, ...] = (
    "Dungeons of Doom",
    "Gehennom",
    "Gnomish Mines",
    "The Quest",
    "Sokoban",
    "Fort Ludios",
    "Vlad's Tower",
    "Elemental Planes",
)
"""Dungeon number (blstats 23) to name."""

HUNGER: tuple[str, ...] = ("Satiated", "Not hungry", "Hungry", "Weak", "Fainting", "Fainted", "Starved")
"""Hunger state (blstats 21) to name."""

BLIND, STUNNED, CONFUSED, HALLUCINATING = 0x020, 0x080, 0x100, 0x200
"""Bits of the condition mask (blstats 25). Source: BL_MASK_* of NetHack 3.6.6, include/botl.h."""
