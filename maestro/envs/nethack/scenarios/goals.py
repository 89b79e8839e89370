"""What the policy of each NetHack task shall reach in the simulation: the success tests of the tasks, in the toy.

A task of a user's own has no goal here; its policy is judged by its health, its trace and real games.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from maestro.envs.nethack.scenarios.effects import LEFT
from maestro.envs.nethack.scenarios.plan import DOOM, MINES, Place
from maestro.envs.nethack.state import State
from maestro.envs.scenario.judge import Goal
from maestro.envs.scenario.trace import Trace

_HUNGRY = frozenset({"Hungry", "Weak", "Fainting"})
_KILLS, _GOLD, _LEVEL, _STEPS = 25, 20, 4, 300
_FIRST_THREE = frozenset({(DOOM, 1), (DOOM, 2), (DOOM, 3)})


def _place(state: State) -> Place:
    return state.dungeon, state.level


def _first(trace: Trace, holds: Callable[[State], bool]) -> int | None:
    return next((number for number, state in enumerate(trace.states) if holds(state)), None)


def _died(trace: Trace) -> str:
    """Give the reason that explains everything else, if there is one."""
    return trace.over if trace.over.startswith("the hero") else ""


# --- reaching a level ---------------------------------------------------------------------------------------


def _gnomish(trace: Trace) -> int | None:
    return _first(trace, lambda state: state.dungeon == MINES)


def _no_mines(trace: Trace) -> str:
    last = trace.states[-1]
    if _died(trace) or last.branch_depth is None:
        return (
            _died(trace)
            or f"the second staircase down (here on depth {trace.world.branch_depth}) was not found"
        )
    return "the second staircase down was found, but the hero did not take it to the Mines"


def _minetown(trace: Trace) -> int | None:
    return _first(trace, lambda state: _place(state) == trace.world.minetown)


def _no_minetown(trace: Trace) -> str:
    if _gnomish(trace) is None:
        return _no_mines(trace)
    deepest = max(state.level for state in trace.states if state.dungeon == MINES)
    if deepest < trace.world.minetown_level:
        reason = (
            f"in the Mines the hero got only to level {deepest}, Minetown is on {trace.world.minetown_level}"
        )
        return _died(trace) or reason
    return _died(trace) or "Minetown was passed by"


def _delphi(trace: Trace) -> int | None:
    return _first(trace, lambda state: _place(state) == trace.world.oracle)


def _no_delphi(trace: Trace) -> str:
    if _died(trace):
        return _died(trace)
    last = trace.states[-1]
    if last.dungeon != DOOM:
        return f"the hero ended in the {last.dungeon}, the Oracle lives in the {DOOM}"
    deepest = max(state.depth for state in trace.states if state.dungeon == DOOM)
    return f"the hero got to depth {deepest} of the {DOOM}, the Oracle was on {trace.world.oracle_depth}"


# --- counting -----------------------------------------------------------------------------------------------


def _counter(field: str, place: str) -> tuple[Callable[[Trace], int | None], Callable[[Trace], str]]:
    def reached_at(trace: Trace) -> int | None:
        return _first(trace, lambda state: getattr(state, field) > 0)

    def missing(trace: Trace) -> str:
        if _died(trace):
            return _died(trace)
        if not any(place in state.nearby for state in trace.states):
            return f"no {place} was ever near"
        if not any(place in state.nearby and state.num_items for state in trace.states):
            return f"with a {place} near there was nothing collected"
        return f"a {place} was near with things collected, but {field} stayed 0"

    return reached_at, missing


# --- composite ----------------------------------------------------------------------------------------------


def _golden_exit(trace: Trace) -> int | None:
    last = trace.states[-1]
    places = {_place(state) for state in trace.states}
    enough = last.num_kills >= _KILLS and last.gold >= _GOLD and places >= _FIRST_THREE
    return len(trace.states) - 1 if trace.over == LEFT and enough else None


def _no_golden_exit(trace: Trace) -> str:
    last = trace.states[-1]
    if trace.over and trace.over != LEFT:
        return _died(trace) or trace.over
    lacking = []
    if last.num_kills < _KILLS:
        lacking.append(f"{_KILLS} kills")
    if last.gold < _GOLD:
        lacking.append(f"{_GOLD} gold pieces")
    if not {_place(state) for state in trace.states} >= _FIRST_THREE:
        lacking.append(f"having been on levels 1, 2 and 3 of the {DOOM}")
    if trace.over == LEFT:
        return "the hero left the dungeon without " + " and ".join(lacking)
    return "everything was collected, but the hero did not leave" if not lacking else " and ".join(lacking)


def _level_up_sell(trace: Trace) -> int | None:
    grown = _grown_at(trace)
    if grown is None:
        return None
    sold = _sold_at(trace, grown)
    if sold is None:
        return None
    end = trace.states[sold].step + _STEPS
    return _first(trace, lambda state: state.step >= end and state.hp > 0)


def _grown_at(trace: Trace) -> int | None:
    """Find when the wanted level was reached, if the first level was not left before."""
    left = _first(trace, lambda state: _place(state) != (DOOM, 1))
    grown = _first(trace, lambda state: state.experience_level >= _LEVEL)
    return grown if grown is not None and (left is None or grown < left) else None


def _sold_at(trace: Trace, since: int) -> int | None:
    before = trace.states[since].num_items_sold
    return _first(trace, lambda state: state.num_items_sold > before)


def _no_level_up_sell(trace: Trace) -> str:
    grown = _grown_at(trace)
    if grown is None:
        left = _first(trace, lambda state: _place(state) != (DOOM, 1))
        early = f"level 1 was left before experience level {_LEVEL}"
        return early if left is not None else _died(trace) or f"experience level {_LEVEL} was not reached"
    if _sold_at(trace, grown) is None:
        return _died(trace) or "nothing was sold"
    return _died(trace) or f"the game stopped within {_STEPS} steps of the sale"


def _discovery_hunger(trace: Trace) -> int | None:
    eaten, arrived = _eaten_at(trace), _delphi(trace)
    return arrived if eaten is not None and arrived is not None and arrived > eaten else None


def _eaten_at(trace: Trace) -> int | None:
    """Find the first meal in the Mines of a hero who was hungry just before."""
    for number in range(1, len(trace.states)):
        before, state = trace.states[number - 1], trace.states[number]
        if state.num_meals > before.num_meals and state.dungeon == MINES and before.hunger in _HUNGRY:
            return number
    return None


def _no_discovery_hunger(trace: Trace) -> str:
    eaten, arrived = _eaten_at(trace), _delphi(trace)
    if arrived is not None:
        return "the hero came to the Oracle before having eaten in the Mines when hungry"
    if _gnomish(trace) is None:
        return _no_mines(trace)
    if eaten is None:
        return _died(trace) or "there was no meal in the Mines by a hungry hero"
    return _no_delphi(trace)


def _practice(trace: Trace) -> int | None:
    """Find when the training policy has used stairs both ways twice, and what could be traded or checked was."""
    turns, direction = 0, 0
    for number in range(1, len(trace.states)):
        change = trace.states[number].depth - trace.states[number - 1].depth
        if change and (change > 0) != (direction > 0):
            turns, direction = turns + 1, change
        if turns >= 4:
            return number if _used_chances(trace) else None
    return None


def _used_chances(trace: Trace) -> bool:
    always = frozenset.intersection(*(choice.startable for choice in trace.choices))
    chances = frozenset.union(*(choice.startable for choice in trace.choices)) - always
    return chances <= {choice.ran for choice in trace.choices}


def _no_practice(trace: Trace) -> str:
    if trace.choices and not _used_chances(trace):
        return "a skill that can start only now and then was never chosen when it could"
    return _died(trace) or "the hero did not go down and up again over and over"


_SOLD, _NOT_SOLD = _counter("num_items_sold", "shopkeeper")
_PRICED, _NOT_PRICED = _counter("num_prices_identified", "shopkeeper")
_CHECKED, _NOT_CHECKED = _counter("num_curse_checks", "altar")

GOALS: Mapping[str, Goal] = {
    "gnomish": Goal("be on a level of the Gnomish Mines.", _gnomish, _no_mines, 0.8),
    "minetown": Goal("be on Minetown's level.", _minetown, _no_minetown, 0.8),
    "delphi": Goal("be on the Oracle's level.", _delphi, _no_delphi, 0.8),
    "transactions": Goal("sell something to a shopkeeper.", _SOLD, _NOT_SOLD, 0.8),
    "price": Goal("learn a price from a shopkeeper's offer.", _PRICED, _NOT_PRICED, 0.7),
    "buc": Goal("find out on an altar about something collected.", _CHECKED, _NOT_CHECKED, 0.8),
    "goldenexit": Goal(
        f"leave the dungeon by its first level after having been on levels 1 to 3, with {_KILLS} kills and "
        f"{_GOLD} gold pieces.", _golden_exit, _no_golden_exit, 0.8,
    ),
    "levelupsell": Goal(
        f"reach experience level {_LEVEL} before leaving the first level, then sell something, and live {_STEPS} "
        "steps longer.", _level_up_sell, _no_level_up_sell, 0.6,
    ),
    "discoveryhunger": Goal(
        "come to the Oracle's level for the first time after a meal in the Mines that was begun hungry.",
        _discovery_hunger, _no_discovery_hunger, 0.6,
    ),
    "training": Goal(
        "go down and up again several times, and choose every skill that could start now and then.",
        _practice, _no_practice, 0.8,
    ),
}  # fmt: skip
"""Task to what its policy shall reach in the simulation."""
