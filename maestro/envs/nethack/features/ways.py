"""Compiled: walk breadth first from the hero and note the nearest target of every kind.

The search has four phases: good ground; then shop floors; then traps and what would be picked up against the hero's
interest; last boulders and monsters that should not be struck. A square gets the steps of the first phase that reaches
it, so ways over good ground are exactly the shortest, and worse squares are used only where nothing else leads.
"""

from __future__ import annotations

from maestro.envs.nethack.features.compiled import compiled
from maestro.envs.nethack.features.memory import (
    ALTAR,
    AVOIDED,
    BLOCKED,
    BOULDER,
    CLOSED,
    CORRIDOR,
    DOOR,
    FORBIDDEN,
    HOLE,
    NEAR,
    OBJECT,
    SHOP,
    SIZE,
    SPOILING,
    STEPS,
    STONE,
    STRIDE,
    TAKEN,
    TRAP,
    VISITED,
    WALK,
    WANTED,
)
from maestro.envs.nethack.features.names import COMPASS_TARGETS

(
    T_DOWN, T_DOWN_2, T_UP, T_HOLE, T_FRONTIER, T_TREASURE, T_OBJECT, T_CORPSE, T_DOOR, T_BOULDER, T_HOSTILE,
    T_HOSTILE_2, T_SPARED, T_KEEPER, T_COUNTER, T_OUT, T_ALTAR, T_SPOT, T_NARROW,
) = range(len(COMPASS_TARGETS))  # fmt: skip

S_FRONTIER, S_REACHED, S_TREASURES, S_OPEN_HERE = range(4)
"""Places of what the search counts, in `Scratch.sums`."""

NEVER, OUTSIDE = 4, 5
"""Phases of squares that cannot be entered, and of those that are only goals: nobody walks on from a hole."""
PHASE, STEPS_PART = 4096, 4095
"""A square's rank is phase * PHASE + steps: equal to the steps where the way is good all along."""
_DONE, _DARK, _DOOR, _NOTED = 8, 16, 32, 64
_TURNS = (
    2,
    1,
    3,
    0,
    5,
    6,
    4,
    7,
)  # back to the square of the lowest number: north, west, east, south, then slanted
RETREAT = 5
_REMARKABLE = WANTED | OBJECT | CLOSED | ALTAR | SHOP | DOOR | CORRIDOR | BOULDER


@compiled
def offer(best, kind, square, steps, phase):
    """Take a square as the target of its kind if it is nearer; of equals the one with the lowest number."""
    if best[kind, 0] >= 0 and (
        best[kind, 2] < phase
        or best[kind, 2] == phase
        and (best[kind, 1] < steps or best[kind, 1] == steps and best[kind, 0] < square)
    ):
        return
    best[kind, 0], best[kind, 1], best[kind, 2] = square, steps, phase


@compiled
def phase_of(word, in_shop):
    """Return in which phase a square may be entered: 0 to 3, NEVER, or OUTSIDE for holes."""
    shop_phase = (2 if word & WANTED else 0) if in_shop else 1
    phase = shop_phase if word & SHOP else 0
    phase = 2 if word & (TRAP | SPOILING) else phase
    phase = OUTSIDE if word & HOLE else phase
    phase = 3 if word & (AVOIDED | BLOCKED) else phase
    phase = phase if word & (WALK | CLOSED) else NEVER
    phase = 3 if word & BOULDER else phase
    return NEVER if word & FORBIDDEN else phase


@compiled
def digest(cells, codes, in_shop):
    """Squeeze all that the search asks of a square into a byte: its phase, and the bits _DONE, _DARK, _DOOR and _NOTED.

    Without branches, so that the compiler does many squares at a time.
    """
    for square in range(SIZE):
        word = cells[square]
        phase = phase_of(word, in_shop)
        code = phase | (_DONE if phase == NEVER else 0)
        code |= _DARK if word & (STONE | NEAR | WALK) == STONE else 0
        code |= _NOTED if word & _REMARKABLE else 0
        codes[square] = code | (_DOOR if word & DOOR else 0)


@compiled
def is_post(cells, square):
    """Say whether a square of a shop is beside its door, where the keeper stands."""
    for direction in range(4):  # noqa: SIM110 - numba knows no generators
        if cells[square + STEPS[direction]] & DOOR:
            return True
    return False


@compiled
def count_exits(cells, square):
    """Return how many of the squares around are ground."""
    exits = 0
    for step in STEPS:
        if cells[square + step] & (WALK | CLOSED):
            exits += 1
    return exits


@compiled
def note_targets(cells, square, word, away, now, opens, in_shop, best, sums):
    """Offer a square that was reached for every kind of target that it is."""
    if opens:
        if away == 0:
            sums[S_OPEN_HERE] = 1
        elif not word & (VISITED | SHOP | BOULDER):
            sums[S_FRONTIER] += now < 3
            offer(best, T_FRONTIER, square, away, now)
    if in_shop and not word & (SHOP | DOOR) and word & WALK:
        offer(best, T_OUT, square, away, now)
    if not word & _REMARKABLE:
        return
    if word & BOULDER:
        offer(best, T_BOULDER, square, away, now)
        return
    if word & CLOSED:
        offer(best, T_DOOR, square, away, now)
    if word & ALTAR:
        offer(best, T_ALTAR, square, away, now)
    if word & (DOOR | CORRIDOR) and 0 < away <= RETREAT and count_exits(cells, square) <= 3:
        offer(best, T_NARROW, square, away, now)
    if word & SHOP:
        if not word & (TRAP | AVOIDED) and not word & WANTED and not is_post(cells, square):
            # Bare floor comes first; what lies there already is a place for more only when nothing else is left.
            crowded = word & OBJECT and away > 0
            offer(best, T_COUNTER, square, away, now + 4 if crowded else now)
    elif away > 0:
        if word & WANTED and not word & TAKEN:
            sums[S_TREASURES] += now < 3
            offer(best, T_TREASURE, square, away, now)
        elif word & OBJECT and not word & (VISITED | SPOILING):
            offer(best, T_OBJECT, square, away, now)


@compiled
def put_off(other, away, entered, now, later, ends, best, ranks):
    """Keep a square for the phase in which it may be entered; a hole is only a goal."""
    ranks[other] = entered * PHASE + away
    if entered == OUTSIDE:
        offer(best, T_HOLE, other, away, now)
        return
    later[entered - 1, ends[entered]] = other
    ends[entered] += 1


@compiled
def search_ways(cells, hero, scratch):
    """Fill ranks and best (what follows from squares alone) and the sums."""
    ranks, queue, later, codes = scratch.ranks, scratch.queue, scratch.later, scratch.codes
    ends, best, sums = scratch.ends, scratch.best, scratch.sums
    ranks[:] = -1
    best[:, 0] = -1
    sums[:] = 0
    ends[:] = 0
    in_shop = (cells[hero] & SHOP) != 0
    digest(cells, codes, in_shop)
    codes[hero] = codes[hero] & (_DOOR | _NOTED) | _DONE
    ranks[hero], queue[0] = 0, hero
    tail = 1
    head = now = waiting = waiting_end = reached = 0
    while True:
        # The next square is the nearer one of the queue's and of those that waited for this phase.
        if waiting < waiting_end and (
            head == tail or ranks[later[now - 1, waiting]] & STEPS_PART <= ranks[queue[head]] & STEPS_PART
        ):
            square = later[now - 1, waiting]
            waiting += 1
        elif head < tail:
            square = queue[head]
            head += 1
        else:
            now += 1
            if now == 4:
                sums[S_REACHED] = reached
                return
            waiting, waiting_end = 0, ends[now]
            continue
        away, code = (ranks[square] & STEPS_PART) + 1, codes[square]
        north, south, west, east = square - STRIDE, square + STRIDE, square - 1, square + 1
        n, s, w, e = codes[north], codes[south], codes[west], codes[east]
        nw, ne, sw, se = codes[north - 1], codes[north + 1], codes[south - 1], codes[south + 1]
        if not n & s & w & e & nw & ne & sw & se & _DONE:  # most squares lead nowhere new
            around = (north, west, east, south, north - 1, north + 1, south - 1, south + 1)
            for place in range(4 if code & _DOOR else 8):
                other = around[place]
                seen = codes[other]
                if seen & _DONE or place > 3 and seen & _DOOR:
                    continue
                codes[other] = seen | _DONE
                if seen & 7 <= now:
                    ranks[other] = now * PHASE + away
                    queue[tail] = other
                    tail += 1
                else:
                    put_off(other, away, seen & 7, now, later, ends, best, ranks)
        reached += now < 3
        opens = (n | s | w | e | nw | ne | sw | se) & _DARK
        if opens or in_shop or code & _NOTED:
            note_targets(cells, square, cells[square], away - 1, now, opens, in_shop, best, sums)


@compiled
def offer_reached(scratch, target, square):
    """Offer a square as a target if a way leads there."""
    rank = scratch.ranks[square]
    if rank >= 0:
        offer(scratch.best, target, square, rank & STEPS_PART, rank // PHASE)


@compiled
def may_step(cells, start, end):
    """Say whether a step from one square to its neighbour is not a diagonal one through a door."""
    length = abs(end - start)
    return length == 1 or length == STRIDE or not (cells[start] | cells[end]) & DOOR


@compiled
def comes_from(ranks, other, left, rank):
    """Say whether the way to a square of `rank` may come over `other`, from where `left` steps lead to the hero."""
    before = ranks[other]
    if before == left:
        return True
    return before >= PHASE and before & STEPS_PART == left and before // PHASE <= min(rank // PHASE, 3)


@compiled
def way_to(codes, ranks, goal):
    """Return direction of the first step to a square that was reached, and the length of the way's straight beginning.

    Of equally short ways the straightest: the rule of `reference.bitboard.path_back`.
    """
    square, direction, straight = goal, -1, 0
    for left in range((ranks[goal] & STEPS_PART) - 1, -1, -1):
        rank = ranks[square]
        through_door = codes[square] & _DOOR
        if direction >= 0:
            previous = square - STEPS[direction]
            if comes_from(ranks, previous, left, rank) and (
                direction < 4 or not (through_door or codes[previous] & _DOOR)
            ):
                square = previous
                straight += 1
                continue
        straight = 1
        for turn in _TURNS:
            previous = square - STEPS[turn]
            if comes_from(ranks, previous, left, rank) and (
                turn < 4 or not (through_door or codes[previous] & _DOOR)
            ):
                direction, square = turn, previous
                break
    return direction, straight
