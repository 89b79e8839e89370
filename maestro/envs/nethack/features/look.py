"""Compiled: take in the map of one game and keep its memory of the level. The rules are those of
`reference.memory.LevelMemory.look`, square by square instead of with big integers."""

from __future__ import annotations

from maestro.envs.nethack.features.compiled import compiled
from maestro.envs.nethack.features.memory import (
    BOULDER,
    CLOSED,
    COLUMNS,
    CORRIDOR,
    DOOR,
    DOWN,
    FLOOR,
    G_BLOCKED,
    G_CORPSES,
    G_FAILED,
    G_FAILURES,
    G_HERO,
    G_KICKED,
    G_LEVELS,
    G_MONSTERS,
    G_SLOT,
    HOLE,
    KEPT,
    L_KEY,
    L_SPOT,
    L_STAIRS,
    L_USED,
    LIQUID,
    LOCKED,
    MONSTER,
    MOST_CORPSES,
    MOST_LEVELS,
    MOST_MONSTERS,
    MOST_STAIRS,
    NEAR,
    OBJECT,
    OPENED,
    ROWS,
    SHOWN,
    STEPS,
    STRIDE,
    TAKEN,
    TRAP,
    UP,
    VISITED,
    WALK,
    WALL,
)

_NEVER_WALKED = WALL | BOULDER | CLOSED | LIQUID


@compiled
def remember(word, shown, hero):
    """Return the bits of a square of which `word` was known, when a glyph of class `shown` is seen there."""
    bare = shown & FLOOR and not shown & OBJECT
    new = word & KEPT | shown & SHOWN
    if shown & FLOOR:
        new &= ~(LIQUID | LOCKED)
    if hero or shown & (FLOOR | TRAP | MONSTER):
        new |= WALK
    if new & _NEVER_WALKED:
        new &= ~WALK
    if bare:
        new &= ~(TRAP | HOLE)
    if shown & (OPENED | CLOSED):
        new |= DOOR
    elif bare:
        new &= ~DOOR
    if shown & CLOSED:
        new &= ~CORRIDOR
    if hero:
        new = (new | TAKEN) & ~MONSTER
    elif not shown & OBJECT:
        new &= ~TAKEN
    return new


@compiled
def find_slot(memory, game, key):
    """Return the slot of a level, an empty one (perhaps that of the level not seen for longest) if it is new."""
    numbers, levels = memory.numbers[game], memory.levels[game]
    oldest = 0
    for slot in range(numbers[G_LEVELS]):
        if levels[slot, L_KEY] == key:
            return slot
        if levels[slot, L_USED] < levels[oldest, L_USED]:
            oldest = slot
    if numbers[G_LEVELS] < MOST_LEVELS:
        slot = numbers[G_LEVELS]
        numbers[G_LEVELS] += 1
    else:
        slot = oldest
    memory.cells[game, slot] = 0
    memory.tried[game, slot] = 0
    memory.searched[game, slot] = 0
    levels[slot] = 0
    levels[slot, L_KEY] = key
    levels[slot, L_SPOT] = -1
    return slot


@compiled
def know_stairs(memory, game, slot, square, way):
    """Note a staircase (way 0 down, 1 up) and return its place in the list, -1 where the list is full."""
    stairs, levels = memory.stairs[game, slot], memory.levels[game, slot]
    count = levels[L_STAIRS]
    for place in range(count):
        if stairs[place, 0] == square and stairs[place, 1] == way:
            return place
    memory.cells[game, slot, square] |= UP if way else DOWN
    if count == MOST_STAIRS:
        return -1
    stairs[count, 0], stairs[count, 1], stairs[count, 2] = square, way, 0
    levels[L_STAIRS] = count + 1
    return count


@compiled
def forget_stairs(memory, game, slot, square, way):
    """Forget a staircase that is none: a monster on the real one had pushed the hero beside it when he arrived."""
    stairs, levels = memory.stairs[game, slot], memory.levels[game, slot]
    count = levels[L_STAIRS]
    for place in range(count):
        if stairs[place, 0] == square and stairs[place, 1] == way:
            memory.cells[game, slot, square] &= ~(UP if way else DOWN)
            stairs[place] = stairs[count - 1]
            levels[L_STAIRS] = count - 1
            return


@compiled
def arrive(memory, game, key, hero, action, first):
    """Change to the level `key`; link the staircases if one was taken. Returns the slot."""
    numbers = memory.numbers[game]
    old, came_from = numbers[G_SLOT], numbers[G_HERO]
    taken = 0
    if not first and (action == 17 or action == 18):
        stairs = memory.stairs[game, old]
        for place in range(memory.levels[game, old, L_STAIRS]):
            if stairs[place, 0] == came_from and stairs[place, 1] == 18 - action:
                stairs[place, 2] = min(stairs[place, 2] + 1, 1000)
                taken = action
    slot = find_slot(memory, game, key)
    numbers[G_SLOT] = slot
    numbers[G_MONSTERS] = numbers[G_CORPSES] = numbers[G_BLOCKED] = numbers[G_FAILURES] = 0
    numbers[G_FAILED] = numbers[G_KICKED] = -1
    if taken:
        know_stairs(memory, game, slot, hero, taken - 17)
    return slot


@compiled
def see_map(memory, game, slot, glyphs, turn, hero, classes, species, everything):
    """Take in all squares whose glyph changed (`everything`: all squares); returns whether any did.

    Updates the list of monsters, staircases and deaths on the way.
    """
    last, cells, numbers = memory.glyphs[game], memory.cells[game, slot], memory.numbers[game]
    monsters, corpses = memory.monsters[game], memory.corpses[game]
    any_changed = False
    for row in range(ROWS):
        difference = 0
        for column in range(COLUMNS):
            difference |= glyphs[row, column] ^ last[row, column]
        if difference == 0 and not everything:
            continue
        any_changed = True
        low = (row + 1) * STRIDE
        kept = 0
        for place in range(numbers[G_MONSTERS]):
            square = monsters[place, 0]
            if square < low or square >= low + STRIDE:
                monsters[kept, 0], monsters[kept, 1] = square, monsters[place, 1]
                kept += 1
        for column in range(COLUMNS):
            glyph = glyphs[row, column]
            before = last[row, column]
            shown = classes[glyph]
            square = low + column + 1
            if shown & MONSTER and square != hero and kept < MOST_MONSTERS:
                monsters[kept, 0], monsters[kept, 1] = square, glyph
                kept += 1
            if glyph == before and not everything:
                continue
            last[row, column] = glyph
            cells[square] = remember(cells[square], shown, square == hero)
            if shown & DOWN:
                know_stairs(memory, game, slot, square, 0)
            elif shown & UP:
                know_stairs(memory, game, slot, square, 1)
            elif (
                shown & OBJECT
                and not everything
                and species[glyph] < -1
                and species[before] == -2 - species[glyph]
            ):
                place = numbers[G_CORPSES] % MOST_CORPSES
                corpses[place, 0], corpses[place, 1] = square, turn
                numbers[G_CORPSES] += 1
        numbers[G_MONSTERS] = kept
    return any_changed


@compiled
def stand(memory, game, slot, hero, sees):
    """Note where the hero stands and what is next to him."""
    cells = memory.cells[game, slot]
    cells[hero] = remember(cells[hero], 0, True) | VISITED | NEAR
    if sees:
        for step in STEPS:
            cells[hero + step] |= NEAR


@compiled
def run_past(memory, game, slot, start, hero, direction):
    """Mark the squares between `start` and the hero, when they lie on the line of a far move."""
    cells, step = memory.cells[game, slot], STEPS[direction]
    square = start
    for _ in range(STRIDE):
        if square == hero:
            break
        square += step
        column = square % STRIDE
        if column == 0 or square < STRIDE or square >= 22 * STRIDE:
            return
    else:
        return
    square = start
    while square != hero:
        cells[square] |= VISITED | NEAR
        for offset in STEPS:
            cells[square + offset] |= NEAR
        square += step
