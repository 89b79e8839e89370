"""Compiled: crops, words, and the entries of `vector` that follow from the status lines and the last step."""

from __future__ import annotations

import math

import numpy as np

from maestro.envs.nethack.features.compiled import compiled
from maestro.envs.nethack.features.memory import (
    COLUMNS,
    G_GOLD,
    G_HP,
    G_PRAYED,
    G_PRAYER,
    G_STUCK,
    L_ROUNDS,
    L_SEARCHES,
    L_STEPS,
    ROWS,
)
from maestro.envs.nethack.features.names import (
    BRANCHES,
    CENTRE,
    CONDITIONS,
    CROP,
    ITEM_CLASSES,
    NUM_HASHES,
    NUM_WORDS,
    PLACE,
)
from maestro.envs.nethack.state import HUNGER

_HP_RATIO, _HP, _MAX_HP, _HP_CHANGE = (PLACE[n] for n in ("hp_ratio", "hp", "max_hp", "hp_change"))
_ENERGY_RATIO, _ENERGY, _ARMOR = (PLACE[n] for n in ("energy_ratio", "energy", "armor_class"))
_LEVEL, _EXPERIENCE, _GOLD, _GOLD_CHANGE = (
    PLACE[n] for n in ("experience_level", "experience", "gold", "gold_change")
)
_DEPTH, _NUMBER, _TURN, _X, _Y = (PLACE[n] for n in ("depth", "level", "turn", "x", "y"))
_BRANCH, _HUNGER, _BURDENED, _BURDEN = (
    PLACE[n] for n in ("branch_doom", "hunger_satiated", "burdened", "burden")
)
_IS, _ITEMS, _GOODS, _HAS_GOODS = (PLACE[n] for n in ("is_stoned", "items_strange", "goods", "has_goods"))
_PROMPT, _DID, _MOVED, _ARRIVED, _PASSED = (
    PLACE[n] for n in ("prompt_none", "did_more", "moved", "arrived", "turns_passed")
)
_PRAYED, _SINCE_PRAYER, _SEARCHED, _SEARCHED_LEVEL, _ROUNDS, _STUCK, _STEPS = (
    PLACE[n]
    for n in (
        "prayed",
        "since_prayer",
        "searched_here",
        "searched_level",
        "search_rounds",
        "stuck",
        "steps_on_level",
    )
)
STATUS_END = PLACE["on_staircase_down"]
"""The entries before this one are written every step, those from here on when map or memory changed."""
_NUM_BRANCHES, _NUM_HUNGER, _NUM_CONDITIONS, _NUM_CLASSES = (
    len(names) for names in (BRANCHES, HUNGER, CONDITIONS, ITEM_CLASSES)
)
_FNV_START, _FNV_STEP = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_BLANK = ord(" ")


@compiled
def log_of(count):
    """Squeeze a count from 0 up: 1 at about 3000."""
    return math.log1p(max(count, 0)) / 8.0


@compiled
def log2_of(count):
    """Squeeze a small count: 1/4 at 1, 1 at 15."""
    return math.log2(1.0 + max(count, 0)) / 4.0


@compiled
def fill_status(
    vector, row, classes, prompt, goods, action, numbers, level, searched, moved, arrived, passed
):
    """Write the first part of `vector`; `row` holds the blstats, `numbers` what was true before this step."""
    vector[:STATUS_END] = 0
    most, hp = max(row[11], 1), row[10]
    vector[_HP_RATIO], vector[_HP], vector[_MAX_HP] = hp / most, log_of(hp), log_of(most)
    vector[_HP_CHANGE] = (hp - numbers[G_HP]) / most
    vector[_ENERGY_RATIO] = row[14] / max(row[15], 1)
    vector[_ENERGY] = min(row[14] / 10, 5.0)
    vector[_ARMOR], vector[_LEVEL] = row[16] / 10, row[18] / 10
    vector[_EXPERIENCE], vector[_GOLD] = log_of(row[19]), log_of(row[13])
    vector[_GOLD_CHANGE] = (row[13] > numbers[G_GOLD]) - (row[13] < numbers[G_GOLD])
    vector[_DEPTH], vector[_NUMBER], vector[_TURN] = row[12] / 10, row[24] / 10, log_of(row[20])
    vector[_X], vector[_Y] = row[0] / COLUMNS, row[1] / ROWS
    vector[_BRANCH + min(max(row[23], 0), _NUM_BRANCHES - 1)] = 1
    vector[_HUNGER + min(max(row[21], 0), _NUM_HUNGER - 1)] = 1
    vector[_BURDENED], vector[_BURDEN] = row[22] > 0, row[22] / 5
    for bit in range(_NUM_CONDITIONS):
        vector[_IS + bit] = row[25] >> bit & 1
    for slot in range(len(classes)):
        kind = classes[slot]
        if 1 <= kind <= _NUM_CLASSES:
            vector[_ITEMS + kind - 1] += 1
    for kind in range(_NUM_CLASSES):
        if vector[_ITEMS + kind]:
            vector[_ITEMS + kind] = log2_of(vector[_ITEMS + kind])
    vector[_GOODS], vector[_HAS_GOODS] = log2_of(goods), goods > 0
    vector[_PROMPT + prompt] = 1
    vector[_DID + action] = 1
    vector[_MOVED], vector[_ARRIVED] = moved, arrived
    vector[_PASSED] = log2_of(passed)
    vector[_PRAYED] = numbers[G_PRAYED]
    vector[_SINCE_PRAYER] = log_of(row[20] - numbers[G_PRAYER])
    vector[_SEARCHED], vector[_SEARCHED_LEVEL] = log2_of(searched), log_of(level[L_SEARCHES])
    vector[_ROUNDS], vector[_STUCK] = log_of(level[L_ROUNDS]), log2_of(numbers[G_STUCK])
    vector[_STEPS] = log_of(level[L_STEPS])


@compiled
def fill_crop(chars, colors, glyphs, x, y, char_of, color_of):
    """Cut symbols and colours around the hero; blank outside of the map."""
    for row in range(CROP):
        for column in range(CROP):
            map_row, map_column = y + row - CENTRE, x + column - CENTRE
            if 0 <= map_row < ROWS and 0 <= map_column < COLUMNS:
                glyph = glyphs[map_row, map_column]
                chars[row, column], colors[row, column] = char_of[glyph], color_of[glyph]
            else:
                chars[row, column], colors[row, column] = _BLANK, 0


@compiled
def fill_words(words, message):
    """Hash the first words of a message; letters and digits join, every other character is a word of its own.

    Lower case; digits count as 0; an apostrophe is a letter.
    """
    words[:] = 0
    count, inside = 0, False
    value = _FNV_START
    for place in range(len(message)):
        char = message[place]
        if 65 <= char <= 90:
            char += 32
        elif 48 <= char <= 57:
            char = 48
        if 97 <= char <= 122 or char == 48 or char == 39:
            value = (value ^ np.uint64(char)) * _FNV_STEP
            inside = True
            continue
        if inside:
            words[count] = 1 + np.int64((value >> np.uint64(8)) % np.uint64(NUM_HASHES - 1))
            count += 1
            value, inside = _FNV_START, False
        if char == 0 or count == NUM_WORDS:
            return
        if char != _BLANK:
            value = (_FNV_START ^ np.uint64(char)) * _FNV_STEP
            words[count] = 1 + np.int64((value >> np.uint64(8)) % np.uint64(NUM_HASHES - 1))
            value = _FNV_START
            count += 1
            if count == NUM_WORDS:
                return
    if inside:
        words[count] = 1 + np.int64((value >> np.uint64(8)) % np.uint64(NUM_HASHES - 1))
