"""Crops, words, numbers of messages and status, against plain Python and against the terminal."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro.envs import make_features, make_world
from maestro.envs.nethack import make_random_policy
from maestro.envs.nethack.features.compass import news_of, prompt_kind
from maestro.envs.nethack.features.memory import SAYS_ANYTHING, SAYS_DOWN, SAYS_PICKED
from maestro.envs.nethack.features.names import (
    CENTRE,
    COMPASS_DOCS,
    COMPASS_ENTRIES,
    COMPASS_TARGETS,
    CROP,
    NUM_WORDS,
    PAPER_STATUS,
    PAPER_VECTOR_NAMES,
    PLACE,
    PROMPT_KINDS,
    VECTOR_NAMES,
)
from maestro.envs.nethack.features.paper import fill_message
from maestro.envs.nethack.features.status import fill_crop, fill_words
from maestro.envs.nethack.features.tables import CHARS, COLORS, TABLES
from maestro.envs.nethack.native import nethack
from maestro.envs.nethack.reference.glyphs import EXPLODE, SWALLOW, ZAP, is_swallowed

_WORD = re.compile(r"[a-z0']+|[^a-z0' ]")


def fnv(text: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


def plain_words(text: bytes) -> list[int]:
    lowered = bytes(b + 32 if 65 <= b <= 90 else 48 if 48 <= b <= 57 else b for b in text)
    found = _WORD.findall(lowered.decode("latin-1"))
    return ([1 + (fnv(word.encode("latin-1")) >> 8) % 4095 for word in found] + [0] * NUM_WORDS)[:NUM_WORDS]


def plain_crop(glyphs: np.ndarray, x: int, y: int) -> tuple[np.ndarray, np.ndarray]:
    chars, colors = np.full((CROP, CROP), ord(" "), np.uint8), np.zeros((CROP, CROP), np.uint8)
    for row in range(21):
        for column in range(79):
            to_row, to_column = row - y + CENTRE, column - x + CENTRE
            if 0 <= to_row < CROP and 0 <= to_column < CROP:
                chars[to_row, to_column] = CHARS[glyphs[row, column]]
                colors[to_row, to_column] = COLORS[glyphs[row, column]]
    return chars, colors


def hashed(text: bytes) -> list[int]:
    words = np.full(NUM_WORDS, 7, np.int16)
    fill_words(words, np.frombuffer(text[:256].ljust(256, b"\0"), np.uint8))
    return words.tolist()


@pytest.mark.parametrize("x", [0, 3, 40, 72, 73, 78])
@pytest.mark.parametrize("y", [0, 5, 6, 15, 16, 20])
def test_crop_is_centred_and_blank_outside(x, y):
    glyphs = np.random.default_rng(x * 31 + y).integers(0, nethack.MAX_GLYPH, (21, 79)).astype(np.int16)
    chars, colors = np.full((2, CROP, CROP), 99, np.uint8)
    fill_crop(chars, colors, glyphs, x, y, CHARS, COLORS)
    expected = plain_crop(glyphs, x, y)
    assert (chars == expected[0]).all() and (colors == expected[1]).all()
    assert chars[CENTRE, CENTRE] == CHARS[glyphs[y, x]]


def around_hero(world, game):
    """Return glyphs, and characters of the terminal, of the square that the crop shows; None where it leaves the map."""
    y, x = int(world.observation["blstats"][game, 1]), int(world.observation["blstats"][game, 0])
    if not (CENTRE <= y <= 20 - CENTRE + 1 and CENTRE <= x <= 78 - CENTRE + 1):
        return None
    square = slice(y - CENTRE, y + CENTRE), slice(x - CENTRE, x + CENTRE)
    return world.observation["glyphs"][game][square], world.screen(game).chars[1:22, :79][square]


@pytest.mark.parametrize("name", ["compass", "paper"])
@pytest.mark.parametrize(("seed", "engulfed"), [(5, False), (57, True)], ids=["plain", "engulfed"])
def test_crop_is_what_the_terminal_shows(name, seed, engulfed):
    world = make_world("nethack", 2, render=True)
    begun = 0

    def begin(games):
        nonlocal begun
        for game in games:
            world.seed(game, 1000 * seed + begun, 1000 * seed + begun)
            begun += 1
        world.reset(games)
        features.begin(games)

    features, policy = make_features(world, name), make_random_policy(2)
    begin([0, 1])
    compared = inside = 0
    for _ in range(250):
        begin([game for game in range(2) if world.games[game].is_over])
        world.step(policy.act(world, ["any", "any"]))
        features.update([0, 1])
        for game in range(2):
            if world.states[game].prompt or world.games[game].is_over:
                continue
            shown = around_hero(world, game)
            if shown is None or shown[0][CENTRE, CENTRE] >= nethack.GLYPH_PET_OFF:
                continue
            assert (features.arrays["chars"][game] == shown[1]).all()
            assert features.arrays["chars"][game, CENTRE, CENTRE] == ord("@")
            compared += 1
            inside += bool(is_swallowed(int(shown[0][CENTRE - 1, CENTRE])))
    world.close()
    assert compared > 50
    assert bool(inside) == engulfed


def test_rays_and_explosions_have_symbols():
    assert bytes(CHARS[ZAP : ZAP + 8]) == b"|-\\/|-\\/"
    assert bytes(CHARS[EXPLODE : EXPLODE + 9]) == b"/-\\| |\\-/"
    assert bytes(CHARS[SWALLOW : SWALLOW + 8]) == b"/-\\||\\-/"
    assert COLORS[SWALLOW] == COLORS[0] and COLORS[SWALLOW + 8] == COLORS[1]
    assert COLORS[EXPLODE + 5 * 9] == 9


def test_colors_do_not_tell_what_looks_hide():
    for name in ("POTION", "RING", "WAND", "SCROLL", "SPBOOK"):
        kinds = [
            number
            for number in range(nethack.NUM_OBJECTS)
            if ord(nethack.objclass(number).oc_class) == getattr(nethack, f"{name}_CLASS")
        ]
        assert len(kinds) > 5
        assert len({int(COLORS[nethack.GLYPH_OBJ_OFF + number]) for number in kinds}) == 1


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"You kill the newt!",
        b"It's 12 o'clock -- really?  Yes.",
        b"x" * 300,
        b". " * 40,
        b"\xff\x01A",
        b"a " * 99,
    ],
)
def test_words_of_texts(text):
    assert hashed(text) == plain_words(text[:256])


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=256).map(lambda text: text.replace(b"\0", b"")))
def test_words_of_any_bytes(text):
    assert hashed(text) == plain_words(text)


def test_words_ignore_case_and_numbers():
    assert hashed(b"You have 17 gold pieces.") == hashed(b"you HAVE 42 gold pieces.")
    assert hashed(b"a") != hashed(b"b")
    assert hashed(b"You hit it.")[3] != 0 == hashed(b"You hit it.")[4]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=256))
def test_message_numbers(text):
    copy = np.full(256, 5, np.uint8)
    number = fill_message(copy, np.frombuffer(text.ljust(256, b"\0"), np.uint8))
    shown = text.split(b"\0")[0]
    assert copy.tobytes() == shown.ljust(256, b"\0")
    assert number == (max(fnv(shown) >> 2, 1) if shown else 0)
    assert 0 <= number < 2**62


def test_paper_rows(replay):
    world = replay()
    features = make_features(world, "paper")
    names = PAPER_VECTOR_NAMES

    def watch(moment):
        for game in (*moment.stepped, *moment.begun):
            row, vector = world.observation["blstats"][game], features.arrays["vector"][game]
            for name, place, factor in PAPER_STATUS:
                if factor:
                    expected = np.clip(row[place] * factor, -5, 5)
                    assert vector[names.index(name)] == pytest.approx(expected, abs=1e-6)
            food = (world.observation["inv_oclasses"][game] == 7).sum()
            assert vector[names.index("items_food")] == pytest.approx(np.log2(1 + food) / 4)

    world.run(features, watch, world.moments[::7])


def test_compass_status(replay):
    world = replay()
    features = make_features(world, "compass")

    def watch(moment):
        assert np.isfinite(features.arrays["vector"]).all()
        for game in moment.stepped:
            state, vector = world.states[game], features.arrays["vector"][game]
            assert vector[PLACE["hp_ratio"]] == pytest.approx(state.hp / max(state.max_hp, 1))
            assert vector[PLACE["depth"]] == pytest.approx(state.depth / 10)
            assert vector[PLACE["has_goods"]] == (state.num_items > 0)
            assert vector[PLACE["is_blind"]] == state.blind
            hunger = state.hunger.lower().replace(" ", "_")
            assert vector[PLACE[f"hunger_{hunger}"]] == 1
            start = PLACE["prompt_none"]
            assert vector[start : start + len(PROMPT_KINDS)].sum() == 1
            assert vector[PLACE["prompt_none"]] == (state.prompt == "")
            start = PLACE["did_more"]
            assert vector[start : start + 28].argmax() == world.last_action(game)
            start = PLACE["hunger_satiated"]
            assert vector[start : start + 7].sum() == 1

    world.run(features, watch)


def test_every_number_has_a_name(replay):
    features = make_features(replay(), "compass")
    assert features.arrays["vector"].shape[1] == len(VECTOR_NAMES) == len(set(VECTOR_NAMES))
    assert features.arrays["compass"].shape[1:] == (len(COMPASS_TARGETS), len(COMPASS_ENTRIES))
    assert set(COMPASS_DOCS) == set(COMPASS_TARGETS)
    assert all(len(table) == nethack.MAX_GLYPH + 1 for table in TABLES)


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("", "none"),
        ("Really attack the gnome?", "attack"),
        ("In what direction? [hykulnjb><]", "direction"),
        ("There is a newt corpse here; eat it? [ynq] (n)", "eat_here"),
        ("What do you want to eat? [dfg or ?*]", "eat"),
        ("Sell it? [ynaq] (y)", "sell"),
        ("Asidonhopo offers 4 gold pieces for your leather gloves.  Sell them? [ynaq] (y)", "sell"),
        ("Are you sure you want to pray? [yn] (n)", "pray"),
        ("What do you want to drink? [j or ?*]", "drink"),
        ("Drink from the fountain? [yn] (n)", "drink_here"),
        ("What do you want to drop? [a-f or ?*]", "drop"),
        ("What is this?", "other"),
    ],
)
def test_prompts(prompt, kind):
    assert PROMPT_KINDS[prompt_kind(prompt)] == kind


def test_news():
    assert news_of("") == 0
    assert news_of("There is a staircase down here.  You see here a dart.") & SAYS_DOWN
    assert news_of("$ - 12 gold pieces.") == SAYS_ANYTHING | SAYS_PICKED
    assert news_of("You hit the newt.") == SAYS_ANYTHING
