"""The class tables against nle's own."""

import numpy as np
import pytest
from nle import nethack

from maestro.envs.nethack.keys import ACTION_NAMES
from maestro.envs.nethack.reference import actions as A
from maestro.envs.nethack.reference import glyphs as G
from maestro.envs.nethack.reference.bitboard import cell_of


def object_glyph(name: str) -> int:
    kinds = [i for i in range(nethack.NUM_OBJECTS) if nethack.OBJ_NAME(nethack.objclass(i)) == name]
    return G.OBJECT + kinds[0]


def classes(glyph: int) -> set[str]:
    return {name for name in G.PLANES if G.CLASS_OF[glyph] & G.BIT[name]}


@pytest.mark.parametrize(
    ("glyph", "expected"),
    [
        (G.CMAP, {"stone"}),
        (G.CMAP + 1, {"wall"}),
        (G.CMAP + 12, {"floor"}),
        (G.CMAP + 13, {"floor", "open_door"}),
        (G.CMAP + 15, {"closed_door"}),
        (G.CMAP + 21, {"floor", "corridor"}),
        (G.CMAP + 23, {"floor", "up"}),
        (G.CMAP + 24, {"floor", "down"}),
        (G.CMAP + 27, {"floor", "altar"}),
        (G.CMAP + 32, {"liquid"}),
        (G.CMAP + 46, {"trap"}),
        (G.CMAP + 55, {"trap", "hole"}),
        (object_glyph("boulder"), {"boulder"}),
        (object_glyph("gold piece"), {"floor", "object", "wanted"}),
        (object_glyph("long sword"), {"floor", "object"}),
        (object_glyph("apple"), {"floor", "object", "wanted"}),
        (object_glyph("tin"), {"floor", "object"}),
        (object_glyph("glob of gray ooze"), {"floor", "object", "spoiling"}),
        (G.BODY + G.MONSTER_INDEX["newt"], {"floor", "object", "spoiling"}),
        (G.BODY + G.MONSTER_INDEX["gnome"], {"floor", "object"}),
        (G.MONSTER_INDEX["gnome lord"], {"monster"}),
        (G.INVISIBLE, {"monster"}),
        (G.SWALLOW, set()),
    ],
)
def test_classes(glyph, expected):
    assert classes(glyph) == expected


def test_every_monster_glyph_has_its_name():
    for glyph in range(nethack.MAX_GLYPH):
        kind = G.monster_of(glyph)
        named = nethack.glyph_is_monster(glyph)
        assert (kind >= 0) == bool(named)
        if named:
            assert kind == nethack.glyph_to_mon(glyph)
            assert "monster" in classes(glyph)


def test_masks_find_the_squares():
    glyphs = np.full((21, 79), G.CMAP, np.int16)
    glyphs[4, 7] = G.CMAP + 24
    glyphs[20, 78] = G.MONSTER_INDEX["newt"]
    glyphs[0, 0] = object_glyph("boulder")
    masks = dict(zip(G.PLANES, G.masks_of(glyphs), strict=True))
    assert masks["down"] == masks["floor"] == 1 << cell_of(4, 7)
    assert masks["monster"] == 1 << cell_of(20, 78)
    assert masks["boulder"] == 1 << cell_of(0, 0)
    assert masks["stone"].bit_count() == 21 * 79 - 3


def test_lists_of_monsters_keep_apart_what_must_be():
    assert not G.SAFE_CORPSES & (G.PETRIFYING | G.UNTOUCHABLE)
    assert not G.UNTOUCHABLE & G.PASSIVE
    assert G.MONSTER_INDEX["gnome zombie"] not in G.SAFE_CORPSES
    assert G.SPOILING <= G.SAFE_CORPSES  # good when fresh


def test_action_numbers_are_the_worlds():
    assert ACTION_NAMES[A.NORTHEAST] == "northeast"
    assert ACTION_NAMES[A.NORTH + A.FAR] == "far_north"
    assert ACTION_NAMES[A.NORTHWEST + A.FAR] == "far_northwest"
    named = (
        "UP",
        "DOWN",
        "WAIT",
        "KICK",
        "EAT",
        "SEARCH",
        "CAST",
        "ENHANCE",
        "PRAY",
        "QUAFF",
        "DROP",
        "MORE",
    )
    assert [ACTION_NAMES[getattr(A, name)] for name in named] == [name.lower() for name in named]
    assert len(ACTION_NAMES) == A.NUM_ACTIONS
