"""Names of what a glyph shows, as NetHack's players call it.

Names come from glyphs alone, so a shopkeeper is one because the game draws a shopkeeper, not because of a letter and
a colour that many humans share. Floor, walls, corridors and blank rock have no name.
"""

from __future__ import annotations

import numpy as np

from maestro.envs.nethack.native import nethack

_CLASS_NAMES = {
    "ILLOBJ_CLASS": "strange object",
    "WEAPON_CLASS": "weapon",
    "ARMOR_CLASS": "armor",
    "RING_CLASS": "ring",
    "AMULET_CLASS": "amulet",
    "TOOL_CLASS": "tool",
    "FOOD_CLASS": "food",
    "POTION_CLASS": "potion",
    "SCROLL_CLASS": "scroll",
    "SPBOOK_CLASS": "spellbook",
    "WAND_CLASS": "wand",
    "COIN_CLASS": "gold piece",
    "GEM_CLASS": "gem",
    "ROCK_CLASS": "boulder",
    "BALL_CLASS": "iron ball",
    "CHAIN_CLASS": "iron chain",
    "VENOM_CLASS": "venom",
}

_MAP_NAMES = {
    "broken wall": None,
    "open door": "open door",
    "closed door": "closed door",
    "iron bars": "iron bars",
    "tree": "tree",
    "staircase up": "staircase up",
    "staircase down": "staircase down",
    "ladder up": "ladder up",
    "ladder down": "ladder down",
    "altar": "altar",
    "grave": "grave",
    "opulent throne": "throne",
    "sink": "sink",
    "fountain": "fountain",
    "water": "water",
    "ice": "ice",
    "molten lava": "lava",
    "lowered drawbridge": "drawbridge",
    "raised drawbridge": "drawbridge",
}


def _objects() -> dict[int, str]:
    """Name the object glyphs by their class (appearances are shuffled); gold and boulders by what they are."""
    class_of = {
        chr(getattr(nethack, key)): name for key, name in _CLASS_NAMES.items() if hasattr(nethack, key)
    }
    names = {}
    for number in range(nethack.NUM_OBJECTS):
        kind = nethack.objclass(number)
        actual = nethack.OBJ_NAME(kind)
        name = class_of.get(kind.oc_class, "object")
        names[nethack.GLYPH_OBJ_OFF + number] = "statue" if actual == "statue" else name
    return names


def _map_symbols() -> dict[int, str]:
    names = {}
    texts = [nethack.symdef.from_idx(number).explanation for number in range(nethack.MAXPCHARS)]
    first_trap, last_trap = texts.index("arrow trap"), texts.index("polymorph trap")
    for number, text in enumerate(texts):
        is_trap = first_trap <= number <= last_trap
        name = text if is_trap else _MAP_NAMES.get(text)
        if name:
            names[nethack.GLYPH_CMAP_OFF + number] = name
    return names


def _build() -> dict[int, str]:
    names = _objects() | _map_symbols()
    for number in range(nethack.NUMMONS):
        monster = nethack.permonst(number).mname
        names[nethack.GLYPH_MON_OFF + number] = monster
        names[nethack.GLYPH_PET_OFF + number] = f"tame {monster}"
        names[nethack.GLYPH_DETECT_OFF + number] = monster
        names[nethack.GLYPH_RIDDEN_OFF + number] = monster
        names[nethack.GLYPH_BODY_OFF + number] = f"{monster} corpse"
        if hasattr(nethack, "GLYPH_STATUE_OFF"):
            names[nethack.GLYPH_STATUE_OFF + number] = "statue"
    names[nethack.GLYPH_INVIS_OFF] = "unseen monster"
    return names


GLYPH_NAMES: dict[int, str] = _build()
"""Glyph number to name, for the glyphs that have one."""

HAS_NAME: np.ndarray = np.zeros(nethack.MAX_GLYPH + 1, dtype=bool)
"""bool (MAX_GLYPH + 1,): whether a glyph has a name; a table to index with a glyph array."""
HAS_NAME[list(GLYPH_NAMES)] = True

STAIRCASE_DOWN: int = next(glyph for glyph, name in GLYPH_NAMES.items() if name == "staircase down")
