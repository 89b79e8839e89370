"""Compiled: who else is on the level: peaceful monsters, shopkeepers and their rooms, squares that could not be entered."""

from __future__ import annotations

from maestro.envs.nethack.features.compiled import compiled
from maestro.envs.nethack.features.memory import (
    AVOIDED,
    BLOCKED,
    CLOSED,
    CORRIDOR,
    DOOR,
    FORBIDDEN,
    G_BLOCKED,
    G_FAILED,
    G_FAILURES,
    G_KICKED,
    G_MONSTERS,
    G_TURN,
    KEEPER,
    L_KEEPER,
    L_MARKS,
    L_PRIEST,
    L_WATCH,
    LOCKED,
    MOST_BLOCKED,
    MOST_MARKS,
    OBJECT,
    PRIEST,
    SAYS_ANYTHING,
    SAYS_CLOSED,
    SAYS_LOCKED,
    SAYS_SOLID,
    SAYS_WHAMM,
    SHOP,
    SPARED_KINDS,
    STEPS,
    STRIDE,
    WALK,
    WATCH,
)

_LARGEST_SHOP, _NARROW_VIEW = 120, 3
_GIVE_UP_KICKS = 40
_AVOID_TURNS = 60


@compiled
def apart(one, other):
    """Return the king's moves between two squares."""
    return max(abs(one // STRIDE - other // STRIDE), abs(one % STRIDE - other % STRIDE))


@compiled
def is_spared(memory, game, slot, square, glyph, kinds):
    """Say whether a monster should not be struck by hand: because of its kind, or known to be peaceful."""
    if kinds[glyph] & SPARED_KINDS:
        return True
    marks = memory.marks[game, slot]
    for place in range(memory.levels[game, slot, L_MARKS]):
        if marks[place, 0] == square and marks[place, 1] == glyph:
            return True
    return False


@compiled
def unmark(memory, game, slot):
    """Take the temporary bits off the squares of monsters and blocked squares, before the map is looked at."""
    numbers, cells = memory.numbers[game], memory.cells[game, slot]
    for place in range(numbers[G_MONSTERS]):
        cells[memory.monsters[game, place, 0]] &= ~AVOIDED
    blocked = memory.blocked[game]
    for place in range(numbers[G_BLOCKED]):
        cells[blocked[place, 0]] &= ~BLOCKED


@compiled
def mark(memory, game, slot, kinds):
    """Put the temporary bits on: monsters that should not be struck, squares that could not be entered."""
    numbers, cells = memory.numbers[game], memory.cells[game, slot]
    monsters = memory.monsters[game]
    for place in range(numbers[G_MONSTERS]):
        if is_spared(memory, game, slot, monsters[place, 0], monsters[place, 1], kinds):
            cells[monsters[place, 0]] |= AVOIDED
    blocked = memory.blocked[game]
    for place in range(numbers[G_BLOCKED]):
        if blocked[place, 1] > numbers[G_TURN]:
            cells[blocked[place, 0]] |= BLOCKED


@compiled
def mark_peaceful(memory, game, slot, square):
    """Remember that the monster on a square is peaceful: the game asked whether it should really be attacked."""
    monsters, marks, level = memory.monsters[game], memory.marks[game, slot], memory.levels[game, slot]
    for place in range(memory.numbers[game, G_MONSTERS]):
        if monsters[place, 0] == square:
            glyph = monsters[place, 1]
            count = level[L_MARKS]
            for known in range(count):
                if marks[known, 0] == square and marks[known, 1] == glyph:
                    return
            if count < MOST_MARKS:
                marks[count, 0], marks[count, 1] = square, glyph
                level[L_MARKS] = count + 1
            return


@compiled
def follow_peaceful(memory, game, slot, hero):
    """Carry the marks of peaceful monsters along with their small steps; drop those that are surely gone."""
    marks, level, monsters = memory.marks[game, slot], memory.levels[game, slot], memory.monsters[game]
    count, shown = level[L_MARKS], memory.numbers[game, G_MONSTERS]
    kept = 0
    for place in range(count):
        square, glyph = marks[place, 0], marks[place, 1]
        best, best_distance = -1, 3
        for other in range(shown):
            if monsters[other, 1] != glyph:
                continue
            where = monsters[other, 0]
            distance = apart(where, square)
            if distance >= best_distance:
                continue
            taken = False
            for mine in range(count):  # another mark stands there, moved already or not yet
                if mine != place and marks[mine, 0] == where and marks[mine, 1] == glyph:
                    taken = taken or mine < kept or mine > place
            if not taken:
                best, best_distance = where, distance
        if best < 0 and apart(square, hero) > 2:
            best = square  # out of sight, not gone
        if best >= 0:
            marks[kept, 0], marks[kept, 1] = best, glyph
            kept += 1
    level[L_MARKS] = kept


@compiled
def doubt_peaceful(memory, game, slot, hero, kinds):
    """Forget the marks beside the hero if somebody struck him and no known enemy is near."""
    monsters, marks, level = memory.monsters[game], memory.marks[game, slot], memory.levels[game, slot]
    for place in range(memory.numbers[game, G_MONSTERS]):
        square, glyph = monsters[place, 0], monsters[place, 1]
        if apart(square, hero) == 1 and not is_spared(memory, game, slot, square, glyph, kinds):
            return
    kept = 0
    for place in range(level[L_MARKS]):
        if apart(marks[place, 0], hero) > 1:
            marks[kept, 0], marks[kept, 1] = marks[place, 0], marks[place, 1]
            kept += 1
    level[L_MARKS] = kept


@compiled
def flood_room(cells, start, scratch, radius):
    """Put the ground that joins `start` without doors and corridors into the queue; return how many squares it is."""
    reached, room = scratch.ranks, scratch.queue
    reached[:] = -1
    reached[start] = 0
    room[0] = start
    count, head = 1, 0
    while head < count:
        here = room[head]
        head += 1
        for step in STEPS:
            other = here + step
            if reached[other] < 0 and cells[other] & WALK and not cells[other] & (DOOR | CORRIDOR):
                reached[other] = 0
                if apart(other, start) <= radius:
                    room[count] = other
                    count += 1
    return count


@compiled
def know_shop(cells, keeper, scratch):
    """Mark the room around a shopkeeper as a shop; only what is close to him where the outline cannot be trusted."""
    count = flood_room(cells, keeper, scratch, STRIDE)
    if count > _LARGEST_SHOP:
        count = flood_room(cells, keeper, scratch, _NARROW_VIEW)
    for place in range(count):
        cells[scratch.queue[place]] |= SHOP


@compiled
def note_company(memory, game, slot, kinds, scratch):
    """Note shopkeepers (and their rooms), priests and watchmen among the monsters shown."""
    monsters, level = memory.monsters[game], memory.levels[game, slot]
    for place in range(memory.numbers[game, G_MONSTERS]):
        square, kind = monsters[place, 0], kinds[monsters[place, 1]]
        if kind & KEEPER:
            level[L_KEEPER] = square
            know_shop(memory.cells[game, slot], square, scratch)
        elif kind & PRIEST:
            level[L_PRIEST] = 1
        elif kind & WATCH:
            level[L_WATCH] = 1


@compiled
def learn_of_doors(memory, game, slot, hero, direction, news):
    """Take from messages which doors are locked, hopeless, or of closed shops."""
    cells, tried, numbers = memory.cells[game, slot], memory.tried[game, slot], memory.numbers[game]
    if news & SAYS_CLOSED:
        for step in STEPS:
            if cells[hero + step] & CLOSED:
                cells[hero + step] |= FORBIDDEN
    if news & SAYS_LOCKED and direction >= 0 and cells[hero + STEPS[direction]] & CLOSED:
        cells[hero + STEPS[direction]] |= LOCKED
    if news & SAYS_WHAMM and numbers[G_KICKED] >= 0:
        door = hero + STEPS[numbers[G_KICKED]]
        if cells[door] & CLOSED:
            cells[door] |= LOCKED
            tried[door] = min(tried[door] + 1, 255)
            if tried[door] > _GIVE_UP_KICKS:
                cells[door] |= FORBIDDEN


@compiled
def learn_of_failure(memory, game, slot, hero, direction, news):
    """After a step that led nowhere in no time: twice is a door that must be there, or a square to be left alone."""
    numbers, cells = memory.numbers[game], memory.cells[game, slot]
    target = hero + STEPS[direction]
    if news & SAYS_ANYTHING and not news & SAYS_SOLID or not cells[target] & (WALK | CLOSED):
        return
    if numbers[G_FAILED] != target:
        numbers[G_FAILED], numbers[G_FAILURES] = target, 0
    numbers[G_FAILURES] += 1
    if numbers[G_FAILURES] < 2:
        return
    numbers[G_FAILED], numbers[G_FAILURES] = -1, 0
    if direction > 3 and not (cells[target] & DOOR and cells[hero] & DOOR):
        cells[target] |= DOOR
        if not cells[target] & OBJECT:
            cells[hero] |= DOOR
        return
    blocked, count = memory.blocked[game], numbers[G_BLOCKED]
    place = 0
    while place < count and blocked[place, 0] != target:
        place += 1
    if place == MOST_BLOCKED:
        place = 0
        cells[blocked[0, 0]] &= ~BLOCKED
    if place >= count or blocked[place, 0] != target:
        blocked[place, 0], blocked[place, 2] = target, 0
        numbers[G_BLOCKED] = max(count, place + 1)
    blocked[place, 2] = min(blocked[place, 2] + 1, 6)
    blocked[place, 1] = numbers[G_TURN] + _AVOID_TURNS * 4 ** blocked[place, 2]
