"""The corridor's scenarios: what code for it is told, and tried on. An example for worlds of your own."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

from maestro.envs.corridor import State
from maestro.envs.scenario.cases import Case
from maestro.envs.scenario.find import Helper
from maestro.envs.scenario.judge import Goal
from maestro.envs.scenario.real import RealGame
from maestro.envs.scenario.session import SkillLike
from maestro.envs.scenario.trace import Trace

TITLE = "the corridor, a small game on one row of cells"

FACTS: tuple[str, ...] = (
    "The hero starts in the middle of the corridor. A key lies in some cell of its western half, and walking over it picks "
    "it up. At the eastern end is a locked door, which only opens to a hero with a key; then the episode ends.",
    "The floor is slippery: a step may fail and leave the hero where he was.",
    "`position` grows to the east. Whether the key lies further west is not known; at `position` 0 there is no more west.",
)

HELPERS: tuple[Helper, ...] = ()
VALUES: dict[str, tuple[str, ...]] = {}
FIRST_STATE = State(
    step=0, turn=0, position=6, length=12, at_door=False, num_keys=0, door_open=False, message=""
)
INITIATION_MAY_BE_CONSTANT = frozenset({True})


@dataclass(frozen=True)
class CorridorSkill:
    """A skill as the scenarios think best, where its code is not written yet."""

    name: str
    max_turns: int | None = None
    max_steps: int | None = 40

    def can_initiate(self, state: State) -> bool:
        """Ask for the key before the door and for the door before its opening."""
        if self.name == "opener":
            return state.at_door and state.num_keys > 0
        return not state.at_door if self.name == "eastwalker" else state.num_keys == 0

    def should_terminate(self, state: State, start: State, startable: frozenset[str]) -> bool:
        """End at the end of the corridor and with a new key."""
        if self.name == "keyfinder":
            return state.num_keys > start.num_keys or state.position == 0
        return state.at_door


def make_simulation(skills: Iterable[str | SkillLike], seed: int) -> RealGame:
    """Make the game of `seed`: the corridor itself, walked by the reference skills."""
    made = [CorridorSkill(skill) if isinstance(skill, str) else skill for skill in skills]
    return RealGame("corridor", made, seed, COLUMNS)


def progress(state: State) -> tuple:
    """Tell what counts as getting on."""
    return state.num_keys, state.door_open


def initiation_cases(skill: str, skills: Iterable[str]) -> list[Case]:
    """List what `can_initiate` is asked; only of the opener something is expected."""
    cases = []
    for state, _, startable in _moments(tuple(skills)):
        expected = state.at_door and state.num_keys > 0 if skill == "opener" else None
        cases.append(Case(state, state, startable, expected, "a door opens to a hero beside it with a key"))
    return cases


def termination_cases(skill: str, skills: Iterable[str]) -> list[Case]:
    """List what `should_terminate` is asked."""
    return [Case(*moment, None, "") for moment in _moments(tuple(skills))] + [
        Case(FIRST_STATE._replace(step=1, turn=1, door_open=True, at_door=True, position=10), FIRST_STATE,
             frozenset(), True if skill == "opener" else None, "the door is open"),
    ]  # fmt: skip


def show_case(case: Case) -> str:
    """Print a case for an author."""
    return f"state={case.state}, start={case.start}, startable={sorted(case.startable)}"


def _moments(skills: tuple[str, ...]) -> list[tuple[State, State, frozenset[str]]]:
    moments = []
    for seed in range(6):
        luck, game = random.Random(seed), make_simulation(skills, seed)
        state = game.start()
        while not game.over and len(moments) < 60 * (seed + 1):
            if not game.startable:
                break
            start, states = state, game.choose(luck.choice(sorted(game.startable)))
            state = states[-1]
            moments += [(each, start, game.startable) for each in states]
    return moments


def _opened_at(trace: Trace) -> int | None:
    return next((number for number, state in enumerate(trace.states) if state.door_open), None)


def _missing(trace: Trace) -> str:
    return (
        "the hero had a key, but did not open the door"
        if trace.states[-1].num_keys
        else "the key was not found"
    )


def _all_chosen_at(trace: Trace) -> int | None:
    missing = set(frozenset.union(frozenset(), *(choice.startable for choice in trace.choices)))
    for choice in trace.choices:
        missing.discard(choice.ran)
        if not missing:
            return choice.end
    return None


GOALS = {
    "locked_door": Goal("open the door.", _opened_at, _missing, 0.8),
    "corridor_training": Goal(
        "choose every skill that could start.", _all_chosen_at, lambda trace: "a skill was never chosen", 0.8
    ),
}
COLUMNS = (
    ("step", lambda state: state.step),
    ("position", lambda state: state.position),
    ("keys", lambda state: state.num_keys),
    ("door open", lambda state: state.door_open),
)
