"""Compiled: turn what the search for ways found into `compass` and into the second part of `vector`."""

from __future__ import annotations

from maestro.envs.nethack.features.company import apart, is_spared
from maestro.envs.nethack.features.compiled import compiled
from maestro.envs.nethack.features.memory import (
    ALTAR,
    BORDER,
    BOULDER,
    CLOSED,
    DOOR,
    G_CORPSES,
    G_MONSTERS,
    G_SWALLOWED,
    G_TURN,
    G_UNDER,
    L_KEEPER,
    L_MARKS,
    L_PRIEST,
    L_STAIRS,
    L_WATCH,
    LIQUID,
    LOCKED,
    MONSTER,
    MOST_CORPSES,
    SHOP,
    SLUGGISH,
    STEPS,
    STONE,
    STRIDE,
    TRAP,
    UNSEEN,
    WALK,
    WALL,
    WANTED,
)
from maestro.envs.nethack.features.names import COMPASS_TARGETS, PLACE
from maestro.envs.nethack.features.spots import keep_spot
from maestro.envs.nethack.features.status import STATUS_END, log2_of, log_of
from maestro.envs.nethack.features.ways import (
    S_FRONTIER,
    S_OPEN_HERE,
    S_REACHED,
    S_TREASURES,
    T_ALTAR,
    T_CORPSE,
    T_DOWN,
    T_DOWN_2,
    T_FRONTIER,
    T_HOSTILE,
    T_HOSTILE_2,
    T_KEEPER,
    T_SPARED,
    T_SPOT,
    T_UP,
    may_step,
    offer,
    offer_reached,
    phase_of,
    way_to,
)

_ON_DOWN, _ON_UP, _ON_ALTAR, _ON_OBJECT, _ON_DOOR, _ON_TRAP, _IN_SHOP, _ON_FRONTIER = (
    PLACE[n]
    for n in (
        "on_staircase_down", "on_staircase_up", "on_altar", "on_object", "on_door", "on_trap", "in_shop", "on_frontier",
    )
)  # fmt: skip
_DOWNS, _UPS, _DOWN_USED, _UP_USED = (
    PLACE[n] for n in ("stairs_down_known", "stairs_up_known", "stairs_down_used", "stairs_up_used")
)
_ALTAR, _SHOP, _PRIEST, _WATCH, _PEACEFUL, _LOCKED = (
    PLACE[n]
    for n in ("altar_known", "shop_known", "priest_known", "watch_known", "peaceful_known", "door_locked")
)
_FRONTIER, _REACHABLE, _TREASURES = (PLACE[n] for n in ("frontier_size", "reachable", "treasures"))
_NEAR_1, _NEAR_3, _HOSTILES, _LEVEL, _LEVELS, _SLUGGISH, _UNSEEN, _SWALLOWED = (
    PLACE[n]
    for n in (
        "hostiles_1", "hostiles_3", "hostiles", "hostile_level", "hostile_levels", "hostile_sluggish",
        "hostile_unseen", "swallowed",
    )
)  # fmt: skip
_STEP, _STRIKE, _SPARE, _DOOR_AT, _RUN = (
    PLACE[n] for n in ("step_north", "strike_north", "spare_north", "door_north", f"run_{COMPASS_TARGETS[0]}")
)
_NUM_TARGETS = len(COMPASS_TARGETS)
_FRESH = 30
_UNSTEADY = 0x80 | 0x100  # stunned, confused: a run goes astray
_BARS_RUNS = TRAP | LIQUID | SHOP | BOULDER | CLOSED | WANTED


@compiled
def bearing(start, end):
    """Return the direction that points from one square to another, by the signs of the differences; -1 for itself."""
    down = end // STRIDE - start // STRIDE
    right = end % STRIDE - start % STRIDE
    step = ((down > 0) - (down < 0)) * STRIDE + (right > 0) - (right < 0)
    for direction in range(8):
        if STEPS[direction] == step:
            return direction
    return -1


@compiled
def overruns(cells, start, direction, straight):
    """Say whether a far move would not stop where the straight part of the way ends."""
    step = STEPS[direction]
    beyond = start + straight * step
    for _ in range(4):
        beyond += step
        if beyond < BORDER or beyond >= 22 * STRIDE or beyond % STRIDE == 0:
            return False
        word = cells[beyond]
        if not word & (WALK | _BARS_RUNS):
            return not word & (WALL | STONE)
        if word & _BARS_RUNS:
            return True
    return True


@compiled
def find_stairs(memory, game, slot, scratch, vector, hero):
    """Choose among the known staircases: those taken least often first, then the nearest."""
    stairs, best = memory.stairs[game, slot], scratch.best
    count = memory.levels[game, slot, L_STAIRS]
    for way in range(2):
        least, known = 32_000, 0
        for place in range(count):
            if stairs[place, 1] == way:
                known += 1
                least = min(least, stairs[place, 2])
                if stairs[place, 0] == hero:
                    vector[_ON_UP if way else _ON_DOWN] = 1
        vector[_UPS if way else _DOWNS] = known / 2
        if known:
            vector[_UP_USED if way else _DOWN_USED] = log2_of(least)
        first = T_UP if way else T_DOWN
        for place in range(count):
            square = stairs[place, 0]
            if stairs[place, 1] == way and stairs[place, 2] == least:
                offer_reached(scratch, first, square)
        if way == 0:
            for place in range(count):
                square = stairs[place, 0]
                if stairs[place, 1] == 0 and square != best[T_DOWN, 0]:
                    offer_reached(scratch, T_DOWN_2, square)


@compiled
def find_others(memory, game, slot, hero, scratch):
    """Choose the fresh corpse, the shopkeeper and, where no frontier can be reached, the spot to search at."""
    best, numbers = scratch.best, memory.numbers[game]
    for place in range(min(numbers[G_CORPSES], MOST_CORPSES)):
        square = memory.corpses[game, place, 0]
        if numbers[G_TURN] - memory.corpses[game, place, 1] <= _FRESH:
            offer_reached(scratch, T_CORPSE, square)
    keeper = memory.levels[game, slot, L_KEEPER]
    if keeper > 0 and keeper != hero:
        offer_reached(scratch, T_KEEPER, keeper)
    if best[T_FRONTIER, 0] < 0 or best[T_FRONTIER, 2] == 3:
        spot = keep_spot(memory, game, slot, hero, scratch)
        offer(best, T_SPOT, spot, scratch.ranks[spot], 0)


@compiled
def find_monsters(memory, game, slot, hero, tables, scratch, vector):
    """Choose the two nearest enemies and the nearest monster to leave alone; count the enemies."""
    best, monsters = scratch.best, memory.monsters[game]
    first = -1
    near_1 = near_3 = enemies = 0
    for place in range(memory.numbers[game, G_MONSTERS]):
        square, glyph = monsters[place, 0], monsters[place, 1]
        distance = apart(square, hero)
        if is_spared(memory, game, slot, square, glyph, tables.kinds):
            offer(best, T_SPARED, square, distance, 0)
            if distance == 1:
                vector[_SPARE + bearing(hero, square)] = 1
            continue
        enemies += 1
        if distance <= 3:
            near_3 += 1
            vector[_LEVELS] += (1 + tables.levels[glyph]) / 10
        if distance == 1:
            near_1 += 1
            vector[_STRIKE + bearing(hero, square)] = 1
        if (
            first < 0
            or distance < best[T_HOSTILE, 1]
            or distance == best[T_HOSTILE, 1]
            and square < best[T_HOSTILE, 0]
        ):
            if first >= 0:
                best[T_HOSTILE_2] = best[T_HOSTILE]
            best[T_HOSTILE, 0], best[T_HOSTILE, 1], best[T_HOSTILE, 2] = square, distance, 0
            first = glyph
        else:
            offer(best, T_HOSTILE_2, square, distance, 0)
    vector[_NEAR_1], vector[_NEAR_3], vector[_HOSTILES] = near_1 / 4, near_3 / 4, log2_of(enemies)
    if first >= 0:
        vector[_LEVEL] = tables.levels[first] / 10
        vector[_SLUGGISH] = (tables.kinds[first] & SLUGGISH) != 0
        vector[_UNSEEN] = (tables.kinds[first] & UNSEEN) != 0


@compiled
def fill_here(memory, game, slot, hero, scratch, vector):
    """Write what is known of the hero's square, of those around it and of the level."""
    cells, level, numbers, sums = (
        memory.cells[game, slot], memory.levels[game, slot], memory.numbers[game], scratch.sums,
    )  # fmt: skip
    word = cells[hero]
    vector[_ON_ALTAR], vector[_ON_DOOR] = (word & ALTAR) != 0, (word & DOOR) != 0
    vector[_ON_TRAP], vector[_IN_SHOP] = (word & TRAP) != 0, (word & SHOP) != 0
    vector[_ON_OBJECT], vector[_ON_FRONTIER] = numbers[G_UNDER], sums[S_OPEN_HERE]
    vector[_ALTAR] = scratch.best[T_ALTAR, 0] >= 0
    vector[_SHOP], vector[_PRIEST] = level[L_KEEPER] > 0, level[L_PRIEST]
    vector[_WATCH], vector[_PEACEFUL] = level[L_WATCH], level[L_MARKS] / 4
    vector[_FRONTIER], vector[_REACHABLE] = log_of(sums[S_FRONTIER]), log_of(sums[S_REACHED])
    vector[_TREASURES], vector[_SWALLOWED] = log2_of(sums[S_TREASURES]), numbers[G_SWALLOWED]
    in_shop = (word & SHOP) != 0
    for direction in range(8):
        other = hero + STEPS[direction]
        around = cells[other]
        free = phase_of(around, in_shop) <= 2 and not around & MONSTER
        vector[_STEP + direction] = free and may_step(cells, hero, other)
        if around & CLOSED:
            vector[_DOOR_AT + direction] = 1
            if around & LOCKED:
                vector[_LOCKED] = 1


@compiled
def fill_ways(memory, game, slot, hero, condition, tables, scratch, vector, compass):
    """Write `compass` and the second part of `vector`; the search for ways must have run."""
    vector[STATUS_END:] = 0
    compass[:] = 0
    find_stairs(memory, game, slot, scratch, vector, hero)
    find_others(memory, game, slot, hero, scratch)
    find_monsters(memory, game, slot, hero, tables, scratch, vector)
    fill_here(memory, game, slot, hero, scratch, vector)
    cells, best, codes, ranks = memory.cells[game, slot], scratch.best, scratch.codes, scratch.ranks
    steady = memory.numbers[game, G_MONSTERS] == 0 and not condition & _UNSTEADY
    for target in range(_NUM_TARGETS):
        square = best[target, 0]
        if square < 0:
            continue
        away, straight = best[target, 1], 0
        beside = apart(square, hero) == 1
        if T_HOSTILE <= target <= T_SPARED and (beside or ranks[square] < 0):
            direction = bearing(hero, square)
        else:
            direction, straight = way_to(codes, ranks, square)
        if direction >= 0:
            compass[target, direction] = 1
            compass[target, 9] = away == 1
        compass[target, 8] = 1.0 / (1.0 + away)
        if straight >= 3 and steady and not overruns(cells, hero, direction, straight):
            vector[_RUN + target] = min(straight / 8, 1.0)
