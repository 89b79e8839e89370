"""What each glyph number means to the features, as tables to index: symbol, colour, kind of square, kind of monster.

Objects whose appearance differs from game to game have one colour a class: the glyph number tells the engine's kind,
which no player knows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maestro.envs.nethack.features import memory as M
from maestro.envs.nethack.native import nethack
from maestro.envs.nethack.reference import glyphs as G
from maestro.envs.nethack.reference.glyphs import BIT

NUM_GLYPHS = nethack.MAX_GLYPH + 1
_SHUFFLED_CLASSES: dict[int, Any] = {
    getattr(nethack, f"{name}_CLASS"): color
    for name, color in (
        ("RING", 3),
        ("AMULET", 6),
        ("POTION", 13),
        ("SCROLL", 15),
        ("SPBOOK", 5),
        ("WAND", 7),
    )
}
_SHUFFLED_GEMS = ("turquoise", "aquamarine", "fluorite")
_BLACK, _DARK_GREY, _GREEN, _BROWN, _WHITE = 0, 8, 2, 3, 15
_WARNING_COLORS = (15, 1, 1, 1, 5, 13)
# Magic missile, fire, frost, sleep, death, lightning, poison gas, acid; dark, noxious, muddy, wet, magical, fiery, frosty.
_ZAP_COLORS = (12, 9, 15, 12, 0, 15, 11, 2)
_EXPLOSION_COLORS = (0, 2, 3, 4, 5, 9, 15)
# Positions in NetHack's default symbol table (rm.h).
_FIRST_BEAM, _FIRST_SWALLOW, _FIRST_EXPLOSION = 65, 79, 87
_BEAMS, _SIDES = 4, 8


def _object_color(kind: Any) -> int:
    """Return the colour of an object that does not depend on the game, one for all whose looks are shuffled."""
    number = ord(kind.oc_class)
    if number == nethack.ARMOR_CLASS and nethack.OBJ_DESCR(kind):
        return _BROWN
    if nethack.OBJ_NAME(kind) in _SHUFFLED_GEMS:
        return _GREEN
    return _SHUFFLED_CLASSES.get(number, kind.oc_color)


def _around_hero(glyph: int) -> tuple[int, int]:
    """Return the symbol's position and the colour of an explosion, a ray, or the inside of a monster."""
    if glyph < G.ZAP:
        kind, part = divmod(glyph - G.EXPLODE, nethack.MAXEXPCHARS)
        return _FIRST_EXPLOSION + part, _EXPLOSION_COLORS[kind]
    if glyph < G.SWALLOW:
        kind, part = divmod(glyph - G.ZAP, _BEAMS)
        return _FIRST_BEAM + part, _ZAP_COLORS[kind]
    monster, part = divmod(glyph - G.SWALLOW, _SIDES)
    return _FIRST_SWALLOW + part, nethack.permonst(monster).mcolor


def _symbols() -> tuple[np.ndarray, np.ndarray]:
    chars = np.full(NUM_GLYPHS, ord(" "), np.uint8)
    colors = np.zeros(NUM_GLYPHS, np.uint8)
    for number in range(nethack.NUMMONS):
        monster = nethack.permonst(number)
        symbol = ord(nethack.class_sym.from_mlet(monster.mlet).sym)
        for first in (nethack.GLYPH_MON_OFF, G.PET, G.DETECTED, G.RIDDEN, G.STATUE):
            chars[first + number], colors[first + number] = symbol, monster.mcolor
        colors[G.STATUE + number] = _WHITE
        chars[G.BODY + number], colors[G.BODY + number] = ord("%"), monster.mcolor
    for number in range(nethack.NUM_OBJECTS):
        kind = nethack.objclass(number)
        glyph = G.OBJECT + number
        chars[glyph] = ord(nethack.class_sym.from_oc_class(kind.oc_class).sym)
        colors[glyph] = _object_color(kind)
    for number in range(nethack.MAXPCHARS):
        if G.CMAP + number < G.EXPLODE:
            symbol = nethack.symdef.from_idx(number)
            chars[G.CMAP + number], colors[G.CMAP + number] = symbol.sym, symbol.color
    for glyph in range(G.EXPLODE, G.WARNING):
        symbol, colors[glyph] = _around_hero(glyph)
        chars[glyph] = nethack.symdef.from_idx(symbol).sym
    chars[G.INVISIBLE], colors[G.INVISIBLE] = ord("I"), _WHITE
    for level, color in enumerate(_WARNING_COLORS):
        chars[G.WARNING + level], colors[G.WARNING + level] = ord("0") + level, color
    colors[(colors == _BLACK) & (chars != ord(" "))] = _DARK_GREY  # as terminals show it
    return chars, colors


CHARS, COLORS = _symbols()
"""uint8 (glyphs,): the character that shows a glyph, and its colour from 0 to 15."""

CLASSES: np.ndarray = G.CLASS_OF.astype(np.int32)
"""int32 (glyphs,): bits of what a glyph shows, as in `reference.glyphs.PLANES`."""


def _species() -> np.ndarray:
    table = np.full(NUM_GLYPHS, -1, np.int16)
    for glyph in range(NUM_GLYPHS):
        if CLASSES[glyph] & BIT["monster"]:
            table[glyph] = G.monster_of(glyph)
        elif G.corpse_of(glyph) in G.SAFE_CORPSES:
            table[glyph] = -2 - G.corpse_of(glyph)
    return table


SPECIES: np.ndarray = _species()
"""int16 (glyphs,): number of the monster shown; -2 - number for its corpse where that is safe to eat; else -1."""


def _kinds() -> np.ndarray:
    table = np.zeros(NUM_GLYPHS, np.int32)
    for glyph in range(NUM_GLYPHS):
        if G.is_swallowed(glyph):
            table[glyph] = M.ENGULFS
        if not CLASSES[glyph] & BIT["monster"]:
            continue
        number = int(SPECIES[glyph])
        tests = (
            (M.TAME, nethack.glyph_is_pet(glyph)),
            (M.UNTOUCHABLE, number in G.UNTOUCHABLE),
            (M.PASSIVE, number in G.PASSIVE),
            (M.PETRIFYING, number in G.PETRIFYING),
            (M.SLUGGISH, number in G.SLUGGISH),
            (M.KEEPER, number == G.SHOPKEEPER),
            (M.PRIEST, number in G.PRIESTS),
            (M.WATCH, number in G.WATCH),
            (M.UNSEEN, number < 0),
        )
        table[glyph] = sum(bit for bit, holds in tests if holds)
    return table


KINDS: np.ndarray = _kinds()
"""int32 (glyphs,): bits TAME, UNTOUCHABLE, ... of `memory` for glyphs of monsters."""

MONSTER_LEVELS: np.ndarray = np.array(
    [G.MONSTER_LEVELS[number] if number >= 0 else 3 for number in SPECIES], np.int16
)
"""int16 (glyphs,): level of the monster shown; 3 for what is not seen."""


class Tables(NamedTuple):
    """All tables together, for the compiled functions."""

    chars: np.ndarray
    colors: np.ndarray
    classes: np.ndarray
    species: np.ndarray
    kinds: np.ndarray
    levels: np.ndarray


TABLES = Tables(CHARS, COLORS, CLASSES, SPECIES, KINDS, MONSTER_LEVELS)
