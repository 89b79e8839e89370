"""Compiled: the one call that fills the rows of all games that were stepped."""

from __future__ import annotations

from maestro.envs.nethack.features.company import (
    doubt_peaceful,
    follow_peaceful,
    learn_of_doors,
    learn_of_failure,
    mark,
    mark_peaceful,
    note_company,
    unmark,
)
from maestro.envs.nethack.features.compass_rows import fill_ways
from maestro.envs.nethack.features.compiled import compiled
from maestro.envs.nethack.features.look import (
    arrive,
    forget_stairs,
    know_stairs,
    remember,
    run_past,
    see_map,
    stand,
)
from maestro.envs.nethack.features.memory import (
    ALTAR,
    BORDER,
    COLUMNS,
    ENGULFS,
    G_ASKED,
    G_BLOCKED,
    G_CORPSES,
    G_FAILED,
    G_GOLD,
    G_HERO,
    G_HP,
    G_KICKED,
    G_PRAYED,
    G_PRAYER,
    G_SLOT,
    G_STUCK,
    G_SWALLOWED,
    G_TICK,
    G_TURN,
    G_UNDER,
    L_KEY,
    L_STEPS,
    L_USED,
    OBJECT,
    ROWS,
    SAYS_ALTAR,
    SAYS_CLOSED,
    SAYS_DOWN,
    SAYS_HIT,
    SAYS_NOT_DOWN,
    SAYS_NOT_UP,
    SAYS_OBJECT,
    SAYS_PICKED,
    SAYS_PRAYED,
    SAYS_UP,
    SAYS_WHAMM,
    STEPS,
    STRIDE,
)
from maestro.envs.nethack.features.names import PROMPT_KINDS
from maestro.envs.nethack.features.spots import count_search
from maestro.envs.nethack.features.status import fill_crop, fill_status, fill_words
from maestro.envs.nethack.features.ways import search_ways
from maestro.envs.nethack.keys import ACTION

_SEARCH = ACTION["search"]
_ATTACK_PROMPT, _DIRECTION_PROMPT = PROMPT_KINDS.index("attack"), PROMPT_KINDS.index("direction")
_LASTING = (
    SAYS_DOWN
    | SAYS_UP
    | SAYS_NOT_DOWN
    | SAYS_NOT_UP
    | SAYS_CLOSED
    | SAYS_WHAMM
    | SAYS_OBJECT
    | SAYS_PICKED
    | SAYS_HIT
    | SAYS_ALTAR
)
_BLIND = 0x20


@compiled
def direction_of(action):
    """Return the direction of an action that steps (1 to 8) or runs (9 to 16); -1 for any other."""
    return (action - 1) % 8 if 1 <= action <= 16 else -1


@compiled
def notice(game, begins, seen, told, memory, tables):
    """Find out where the hero is and what he did.

    Returns the slot of the level, the hero's square, whether he changed level, whether he moved on it, and the action:
    -1 if it needs no second look (a question was answered, or it was no step, search or kick).
    """
    numbers, row = memory.numbers[game], seen.blstats[game]
    x, y = min(max(row[0], 0), COLUMNS - 1), min(max(row[1], 0), ROWS - 1)
    hero = y * STRIDE + x + BORDER
    key = row[23] * 1000 + row[24]
    slot, action = numbers[G_SLOT], told.action[game]
    if not begins:
        unmark(memory, game, slot)
    arrived = begins or memory.levels[game, slot, L_KEY] != key
    moved = not arrived and hero != numbers[G_HERO]
    if arrived:
        slot = arrive(memory, game, key, hero, action, begins)
    numbers[G_TICK] += 1
    memory.levels[game, slot, L_USED] = numbers[G_TICK]
    memory.levels[game, slot, L_STEPS] += 1
    if moved or arrived:
        numbers[G_UNDER] = (memory.cells[game, slot, hero] & OBJECT) != 0
    news = told.news[game]
    if news & SAYS_PICKED:
        numbers[G_UNDER] = 0
    if news & SAYS_OBJECT:
        numbers[G_UNDER] = 1
    numbers[G_KICKED] = direction_of(action) if numbers[G_ASKED] == _DIRECTION_PROMPT else -1
    if begins or numbers[G_ASKED] or not (1 <= action <= 16 or action == _SEARCH):
        action = -1
    return slot, hero, arrived, moved, action


@compiled
def is_inside(glyphs, hero, kinds):
    """Say whether the inside of a monster is drawn around the hero."""
    row, column = hero // STRIDE - 1, hero % STRIDE - 1
    for y in range(max(row - 1, 0), min(row + 2, ROWS)):
        for x in range(max(column - 1, 0), min(column + 2, COLUMNS)):
            if kinds[glyphs[y, x]] & ENGULFS:
                return True
    return False


@compiled
def look_around(game, slot, hero, arrived, moved, action, seen, told, memory, tables, scratch):
    """Take in the map and what the last step taught; returns whether any square changed."""
    numbers, cells, glyphs = memory.numbers[game], memory.cells[game, slot], seen.glyphs[game]
    news, before, row = told.news[game], numbers[G_HERO], seen.blstats[game]
    changed = see_map(memory, game, slot, glyphs, row[20], hero, tables.classes, tables.species, arrived)
    if moved:
        shown = glyphs[before // STRIDE - 1, before % STRIDE - 1]
        cells[before] = remember(cells[before], tables.classes[shown], False)
    stand(memory, game, slot, hero, not row[25] & _BLIND)
    if news & SAYS_DOWN:
        know_stairs(memory, game, slot, hero, 0)
    if news & SAYS_UP:
        know_stairs(memory, game, slot, hero, 1)
    if news & (SAYS_NOT_DOWN | SAYS_NOT_UP):
        forget_stairs(memory, game, slot, hero, 1 if news & SAYS_NOT_UP else 0)
    if news & SAYS_ALTAR:
        cells[hero] |= ALTAR
    direction = direction_of(action)
    learn_of_doors(memory, game, slot, hero, direction, news)
    if not arrived:
        if moved and action > 8 and direction >= 0:
            run_past(memory, game, slot, before, hero, direction)
        elif not moved and action == _SEARCH:
            count_search(memory, game, slot, hero)
        elif moved:
            numbers[G_FAILED] = -1
        elif direction >= 0 and told.prompt[game] == 0:
            learn_of_failure(memory, game, slot, hero, direction, news)
    if changed:
        follow_peaceful(memory, game, slot, hero)
        note_company(memory, game, slot, tables.kinds, scratch)
        numbers[G_SWALLOWED] = is_inside(glyphs, hero, tables.kinds)
    if direction >= 0 and told.prompt[game] == _ATTACK_PROMPT:
        mark_peaceful(memory, game, slot, hero + STEPS[direction])
    elif news & SAYS_HIT and row[10] < numbers[G_HP]:
        doubt_peaceful(memory, game, slot, hero, tables.kinds)
    return changed


@compiled
def update_games(games, begins, seen, told, memory, tables, scratch, arrays):
    """Fill the rows of `games`; `begins` says that their episodes have just begun.

    `seen` and `arrays` are `compass.Seen` and `compass.Rows`: what the world shows, and what is to be written.
    """
    for place in range(len(games)):
        game = games[place]
        if begins:
            memory.numbers[game] = 0
            memory.numbers[game, G_HERO] = -1
        slot, hero, arrived, moved, action = notice(game, begins, seen, told, memory, tables)
        numbers, level, row = memory.numbers[game], memory.levels[game, slot], seen.blstats[game]
        changed = look_around(game, slot, hero, arrived, moved, action, seen, told, memory, tables, scratch)
        if changed or moved:
            x, y = hero % STRIDE - 1, hero // STRIDE - 1
            fill_crop(
                arrays.chars[game], arrays.colors[game], seen.glyphs[game], x, y, tables.chars, tables.colors
            )
        passed = 0 if begins else row[20] - numbers[G_TURN]
        numbers[G_TURN] = row[20]
        if begins:
            numbers[G_HP], numbers[G_GOLD] = row[10], row[13]
        news = told.news[game]
        if news & SAYS_PRAYED:
            numbers[G_PRAYER], numbers[G_PRAYED] = row[20], 1
        numbers[G_STUCK] = 0 if begins or moved or arrived or passed else numbers[G_STUCK] + 1
        mark(memory, game, slot, tables.kinds)
        if changed or moved or action >= 0 or numbers[G_CORPSES] or numbers[G_BLOCKED] or news & _LASTING:
            search_ways(memory.cells[game, slot], hero, scratch)
            fill_ways(
                memory, game, slot, hero, row[25], tables, scratch, arrays.vector[game], arrays.compass[game]
            )
        fill_words(arrays.words[game], seen.message[game])
        searched = memory.searched[game, slot, hero]
        fill_status(
            arrays.vector[game], row, seen.inv_oclasses[game], told.prompt[game], told.goods[game],
            told.action[game], numbers, level, searched, moved, arrived, passed,
        )  # fmt: skip
        numbers[G_HP], numbers[G_GOLD], numbers[G_HERO] = row[10], row[13], hero
        numbers[G_ASKED] = told.prompt[game]
