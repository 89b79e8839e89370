"""Classify NetHack's glyph numbers: what can be walked on, fought, collected or fallen into.

Everything here is made once at import from the tables that nle publishes.
"""

import numpy as np

from maestro.envs.nethack.native import nethack
from maestro.envs.nethack.reference.bitboard import COLUMNS, NUM_CELLS, ROWS, STRIDE, from_planes

# One bit of a class word each; a glyph may have several.
PLANES = (
    "floor", "open_door", "closed_door", "wall", "stone", "boulder", "trap", "monster",
    "object", "down", "up", "altar", "liquid", "hole", "wanted", "corridor",
    "spoiling",
)  # fmt: skip
BIT = {name: 1 << index for index, name in enumerate(PLANES)}

CMAP, OBJECT, BODY = nethack.GLYPH_CMAP_OFF, nethack.GLYPH_OBJ_OFF, nethack.GLYPH_BODY_OFF
STATUE, SWALLOW, EXPLODE = nethack.GLYPH_STATUE_OFF, nethack.GLYPH_SWALLOW_OFF, nethack.GLYPH_EXPLODE_OFF
WARNING, INVISIBLE, PET = nethack.GLYPH_WARNING_OFF, nethack.GLYPH_INVISIBLE, nethack.GLYPH_PET_OFF
DETECTED, RIDDEN, ZAP = nethack.GLYPH_DETECT_OFF, nethack.GLYPH_RIDDEN_OFF, nethack.GLYPH_ZAP_OFF
NUM_MONSTERS = nethack.NUMMONS

# Positions in NetHack's default symbol table (rm.h).
S_STONE, S_DOORWAY, S_TREE = 0, 12, 18
S_UP, S_DOWN, S_UP_LADDER, S_DOWN_LADDER, S_ALTAR = 23, 24, 25, 26, 27
S_POOL, S_LAVA, S_RAISED_BRIDGES = 32, 34, (37, 38)
S_WATER, S_FIRST_TRAP, S_HOLE, S_TRAP_DOOR, S_LAST_TRAP = 41, 42, 54, 55, 64

FOOD, COINS, POTION, SCROLL, WAND = 7, 12, 8, 9, 11
PICKED_UP = frozenset((COINS, POTION, SCROLL, WAND, FOOD))
BARS = 17


def _cmap_class(symbol: int) -> int:
    if symbol == S_STONE:
        return BIT["stone"]
    if symbol < S_DOORWAY or symbol in (BARS, S_TREE) or symbol in S_RAISED_BRIDGES:
        return BIT["wall"]
    if symbol in (13, 14):
        return BIT["floor"] | BIT["open_door"]
    if symbol in (15, 16):
        return BIT["closed_door"]
    if symbol in (S_POOL, S_LAVA, S_WATER):
        return BIT["liquid"]
    if symbol in (S_HOLE, S_TRAP_DOOR):
        return BIT["hole"] | BIT["trap"]
    if S_FIRST_TRAP <= symbol <= S_LAST_TRAP:
        return BIT["trap"]
    extra = {S_UP: "up", S_UP_LADDER: "up", S_DOWN: "down", S_DOWN_LADDER: "down", S_ALTAR: "altar"}
    word = BIT["floor"]
    if symbol in extra:
        word |= BIT[extra[symbol]]
    if symbol in (21, 22):
        word |= BIT["corridor"]
    return word


def _monster_names() -> list[str]:
    return [nethack.permonst(index).mname for index in range(NUM_MONSTERS)]


MONSTER_NAMES = _monster_names()
MONSTER_LEVELS = [nethack.permonst(index).mlevel for index in range(NUM_MONSTERS)]
MONSTER_INDEX = {name: index for index, name in enumerate(MONSTER_NAMES)}


def monster_of(glyph: int) -> int:
    """Return the monster's index, or -1 for what is no named monster (remembered, warned of, unseen)."""
    if glyph < PET:
        return glyph
    if glyph < INVISIBLE:
        return glyph - PET
    if DETECTED <= glyph < BODY:
        return glyph - DETECTED
    if RIDDEN <= glyph < OBJECT:
        return glyph - RIDDEN
    return -1


def is_swallowed(glyph: int) -> bool:
    """Tell whether the glyph is the inside of a monster that has engulfed the hero."""
    return SWALLOW <= glyph < WARNING


def corpse_of(glyph: int) -> int:
    """Return the index of the monster whose corpse the glyph shows, or -1."""
    return glyph - BODY if BODY <= glyph < BODY + NUM_MONSTERS else -1


def _indices(names: str) -> frozenset[int]:
    return frozenset(MONSTER_INDEX[name.strip()] for name in names.split(","))


# Never attacked: their anger ends games.
UNTOUCHABLE = _indices(
    "shopkeeper, guard, watchman, watch captain, Oracle, aligned priest, high priest, prisoner"
)
SHOPKEEPER = MONSTER_INDEX["shopkeeper"]
PRIESTS = _indices("aligned priest, high priest")
PETRIFYING = _indices("cockatrice, chickatrice")
NOT_CHASED = _indices("white unicorn, black unicorn, gray unicorn, leprechaun, nurse, floating eye")
WATCH = _indices("watchman, watch captain")
GAS_SPORE = MONSTER_INDEX["gas spore"]
FLOATING_EYE = MONSTER_INDEX["floating eye"]
# Not attacked with bare hands unless they bar the only way, because the answer is paralysis, acid, cold,
# fire or a blast; none of them follows. The number is the hit points the answer can take at worst.
BACKLASH = {
    MONSTER_INDEX[name]: cost
    for name, cost in {
        "floating eye": 0, "gelatinous cube": 999, "gas spore": 24, "yellow mold": 12, "green mold": 26,
        "red mold": 22, "brown mold": 28, "blue jelly": 36, "spotted jelly": 36,
    }.items()
}  # fmt: skip
UNTOUCHED_BY_HAND = PASSIVE = frozenset(BACKLASH)
# Slow enough that walking away works.
SLUGGISH = _indices("lichen, violet fungus, acid blob, gray ooze") | PASSIVE
# Corpses that neither poison nor harm a human who eats them fresh.
SAFE_CORPSES = _indices(
    "newt, gecko, iguana, baby crocodile, crocodile, jackal, fox, coyote, wolf, winter wolf cub, sewer rat,"
    " giant rat, woodchuck, rothe, rock piercer, gnome, gnome lord, gnome king, gnomish wizard, dwarf,"
    " dwarf lord, dwarf king, hobbit, goblin, hill orc, Mordor orc, Uruk-hai, orc shaman, orc-captain,"
    " giant ant, fire ant, lichen, lynx, jaguar, panther, imp, pony, horse, bugbear, cave spider,"
    " garter snake, hill giant, stone giant, ape, owlbear, yeti, mumak, rock mole, acid blob, floating eye"
)
# Corpses that the options pick up although they rot.
SPOILING = _indices("newt, floating eye")


def _class_table() -> np.ndarray:
    table = np.zeros(nethack.MAX_GLYPH + 1, np.uint32)
    for glyph in range(nethack.MAX_GLYPH):
        if nethack.glyph_is_monster(glyph) or glyph == INVISIBLE or WARNING <= glyph < STATUE:
            table[glyph] = BIT["monster"]
        elif BODY <= glyph < BODY + NUM_MONSTERS or glyph >= STATUE:
            table[glyph] = BIT["object"] | BIT["floor"]
            if glyph - BODY in SPOILING:
                table[glyph] |= BIT["spoiling"]
        elif OBJECT <= glyph < CMAP:
            kind = nethack.objclass(glyph - OBJECT)
            if nethack.OBJ_NAME(kind) == "boulder":
                table[glyph] = BIT["boulder"]
                continue
            table[glyph] = BIT["object"] | BIT["floor"]
            name = nethack.OBJ_NAME(kind) or ""
            if name.startswith("glob of"):
                table[glyph] |= BIT["spoiling"]
            elif ord(kind.oc_class) in PICKED_UP and name not in ("tin", "corpse"):
                table[glyph] |= BIT["wanted"]
        elif CMAP <= glyph < EXPLODE:
            symbol = glyph - CMAP
            # Symbols past the traps are zaps and flashes that hide the square for a moment.
            table[glyph] = _cmap_class(symbol) if symbol <= S_LAST_TRAP else 0
    return table


CLASS_OF = _class_table()


def masks_of(glyphs: np.ndarray) -> list[int]:
    """Return one mask per name of `PLANES` from a glyph map, int16 (21, 79)."""
    words = np.zeros((ROWS, STRIDE), np.uint32)
    words[:, :COLUMNS] = CLASS_OF[glyphs]
    bits = np.unpackbits(words.view(np.uint8).reshape(NUM_CELLS, 4), axis=1, bitorder="little")
    return from_planes(np.ascontiguousarray(bits[:, : len(PLANES)].T))
