"""What initiation and termination functions of NetHack's skills are asked, and what they must answer.

The moments are of real games (see `recorded`) and of simulated ones. An answer is expected only where any sound
function gives it; of a user's own skill nothing is expected but that its answers are not always the same.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterable

from maestro.envs.nethack.scenarios.recorded import recorded_moments
from maestro.envs.nethack.scenarios.simulation import NEEDED, DungeonSimulation, SimulatedSkill
from maestro.envs.nethack.state import State
from maestro.envs.scenario.cases import Case

INITIATION_MAY_BE_CONSTANT = frozenset({True})
"""A skill that may start anywhere is a skill; one that may start nowhere is none."""
_SIMULATED_GAMES, _CHOICES = 4, 40
_SHOWN = ("turn", "dungeon", "level", "depth", "hp", "max_hp", "num_items", "hunger", "message", "nearby")

JUST_BEGUN = "the skill has only just begun and what it works with is there"
DEEPER = "the hero got deeper than where the skill began"
HIGHER = "the hero got higher than where the skill began"
NOTHING_LEFT = "nothing is left to work with and what the skill needs has been out of sight for 200 turns"
POSSIBLE = "a healthy hero has something collected, and what the skill works with is near"
IMPOSSIBLE = "nothing is collected, or what the skill works with is not to be seen"
ANYWHERE = "a healthy hero can begin this in such a place"


def initiation_cases(skill: str, skills: Iterable[str]) -> list[Case]:
    """List what `can_initiate` of `skill` is asked; `skills` are all there are."""
    names = tuple(skills)
    moments = [(each.state, each.startable) for each in recorded_moments()]
    moments += [(state, startable) for state, _, startable in _simulated_moments(skill, names)]
    seen = dict.fromkeys(moments)
    return [Case(state, state, startable, *_initiation_expected(skill, state)) for state, startable in seen]


def termination_cases(skill: str, skills: Iterable[str]) -> list[Case]:
    """List what `should_terminate` of `skill` is asked; of real games the moments in which it ran, if there are any."""
    names = tuple(skills)
    recorded = [each for each in recorded_moments() if each.skill == skill] or list(recorded_moments())
    moments = [(each.state, each.start, each.startable) for each in recorded]
    moments += _simulated_moments(skill, names)
    cases = [Case(*moment, *_termination_expected(skill, *moment[:2])) for moment in moments]
    return cases + [_just_begun(skill, start, names) for _, start, _ in moments if _may_begin(skill, start)]


def show_case(case: Case) -> str:
    """Print of a case what an author has to know: where things stand, and what has changed since the start."""
    facts = [f"{name}={_shown(getattr(case.state, name))}" for name in _SHOWN]
    changed = [
        f"{name} {_shown(before)} -> {_shown(now)}"
        for name, before, now in zip(State._fields, case.start, case.state, strict=True)
        if before != now and name not in ("in_view", "nearby", "message", "prompt")
    ]
    since = f"; since the start: {', '.join(changed)}" if changed else ""
    return f"{', '.join(facts)}; startable: {', '.join(sorted(case.startable))}{since}"


def _initiation_expected(skill: str, state: State) -> tuple[bool | None, str]:
    needed = NEEDED.get(skill)
    if needed is not None:
        if state.num_items == 0 or needed not in state.in_view | state.nearby:
            return False, IMPOSSIBLE
        return (True, POSSIBLE) if needed in state.nearby and _is_healthy(state) else (None, "")
    if not _is_healthy(state) or state.dungeon not in ("Dungeons of Doom", "Gnomish Mines"):
        return None, ""
    if skill == "discoverer" or (skill == "descender" and state.level < 8):
        return True, ANYWHERE
    return (True, ANYWHERE) if skill == "ascender" and state.depth > 1 else (None, "")


def _termination_expected(skill: str, state: State, start: State) -> tuple[bool | None, str]:
    if skill == "descender" and state.depth > start.depth:
        return True, DEEPER
    if skill == "ascender" and state.depth < start.depth:
        return True, HIGHER
    needed = NEEDED.get(skill)
    gone = needed is not None and needed not in state.in_view and state.num_items == 0
    if gone and state.turn - start.turn >= 200:
        return True, NOTHING_LEFT
    return None, ""


def _just_begun(skill: str, start: State, skills: tuple[str, ...]) -> Case:
    """Make the moment one uneventful turn after a skill began."""
    state = start._replace(step=start.step + 1, turn=start.turn + 1, message="", prompt="")
    return Case(state, start, _startable(state, skills), False, JUST_BEGUN)


def _startable(state: State, skills: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name for name in skills if SimulatedSkill(name).can_initiate(state))


def _may_begin(skill: str, start: State) -> bool:
    """Tell whether there is no reason at all to end a skill right after it began in `start`.

    Near a shop or an altar there may be one for all skills but the one that works there: the wish to choose anew.
    """
    if not _is_healthy(start):
        return False
    chances = {name for name, needed in NEEDED.items() if needed in start.nearby}
    return chances == {skill} and start.num_items > 0 if skill in NEEDED else not chances


def _is_healthy(state: State) -> bool:
    """Tell whether nothing about the hero himself could be a reason against anything."""
    ailing = state.blind or state.confused or state.stunned or state.hallucinating or state.encumbrance
    return not ailing and state.hp * 2 > state.max_hp and state.hunger == "Not hungry" and not state.prompt


@functools.cache
def _simulated_moments(skill: str, skills: tuple[str, ...]) -> list[tuple[State, State, frozenset[str]]]:
    """Play a few simulated games with skills drawn at random and keep moments in which `skill` ran."""
    moments = []
    names = skills if skill in skills else (*skills, skill)
    for seed in range(_SIMULATED_GAMES):
        luck = random.Random(f"{seed}/{skill}")
        game = DungeonSimulation(names, seed)
        state = game.start()
        for _ in range(_CHOICES):
            wanted = skill if skill in game.startable else luck.choice(sorted(game.startable))
            chosen = wanted if luck.random() < 0.6 else luck.choice(sorted(game.startable))
            if chosen == "ascender" and state.depth == 1:
                chosen = "descender" if "descender" in names else skill
            start, states = state, game.choose(chosen)
            state = states[-1]
            if chosen == skill:
                moments += [(states[0], start, _startable(states[0], names)), (state, start, game.startable)]
            if game.over:
                break
    return moments


def _shown(value: object) -> str:
    return "{" + ", ".join(sorted(value)) + "}" if isinstance(value, frozenset) else repr(value)
