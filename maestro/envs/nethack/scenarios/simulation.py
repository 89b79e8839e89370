"""A toy NetHack that is played in choices of skills, to see within milliseconds what a policy over skills does."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from maestro.envs.nethack.scenarios.effects import tick
from maestro.envs.nethack.scenarios.hero import Hero
from maestro.envs.nethack.scenarios.plan import DOOM, MINES, Plan, draw_plan
from maestro.envs.nethack.state import State
from maestro.envs.scenario.session import SkillLike
from maestro.envs.scenario.trace import Column

MAX_STEPS = 10_000
_PATIENCE_TURNS = 600
"""Turns after which a skill without a limit of its own ends here."""


@dataclass(frozen=True)
class SimulatedSkill:
    """A skill with the simulation's own idea of when it starts and ends, where its code is not written yet."""

    name: str
    max_turns: int | None = _PATIENCE_TURNS
    max_steps: int | None = None

    def can_initiate(self, state: State) -> bool:
        """Ask for what the skill works with, close by; a skill the simulation does not know may start anywhere."""
        needed = NEEDED.get(self.name)
        return needed is None or (state.num_items > 0 and needed in state.nearby)

    def should_terminate(self, state: State, start: State, startable: frozenset[str]) -> bool:
        """End on another level, when there is nothing left to do, and when a chance comes by that was not there."""
        if (state.dungeon, state.level) != (start.dungeon, start.level):
            return True
        needed = NEEDED.get(self.name)
        if needed is not None:
            done = state.num_items == 0 or needed not in state.nearby
            return done or (state.turn - start.turn >= 120 and state.num_items == start.num_items)
        if self.name == "discoverer" and state.branch_depth != start.branch_depth:
            return True
        return any(need in state.nearby - start.nearby for need in NEEDED.values()) and state.num_items > 0


NEEDED = {"merchant": "shopkeeper", "worshipper": "altar"}
"""Skill to what must be near for it to start, besides something collected."""
_LIMITS = {"discoverer": 100, "worshipper": 200, "merchant": 400}


class DungeonSimulation:
    """One simulated game. `start` begins it; `choose` runs a skill until it ends.

    Everything follows from the seed and the choices. Depth, branches, time, hunger, wounds and counters behave as in
    the real game; maps, fights and trade are dice.
    """

    def __init__(
        self,
        skills: Iterable[str | SkillLike],
        seed: int,
        *,
        plan: Plan | None = None,
        max_steps: int = MAX_STEPS,
    ) -> None:
        """Prepare the game of `seed`.

        A skill given by its name starts and ends as the simulation thinks best; one given with functions is asked
        when it may start and shall end. `plan` takes the place of the dungeon drawn from the seed.
        """
        self._skills: dict[str, SkillLike] = {}
        for skill in skills:
            each = (
                SimulatedSkill(skill, _LIMITS.get(skill, _PATIENCE_TURNS))
                if isinstance(skill, str)
                else skill
            )
            self._skills[each.name] = each
        self.skills = tuple(self._skills)
        self.world: Any = plan or draw_plan(random.Random(f"{seed}/plan"))
        self.columns: Sequence[Column] = COLUMNS
        self.startable: frozenset[str] = frozenset()
        self.ended = ""
        self.over = ""
        self._seed, self._max_steps = seed, max_steps
        self._hero = Hero(self.world, random.Random(f"{seed}/luck"))
        self._state = self._hero.state()

    def start(self) -> State:
        """Begin the game anew and return its first state."""
        self._hero = Hero(self.world, random.Random(f"{self._seed}/luck"))
        self._hero.say("Hello Agent, welcome to NetHack! You are a neutral male human Monk.")
        self._state = self._hero.state()
        self.ended = self.over = ""
        self._ask_initiations()
        return self._state

    def choose(self, skill: str) -> list[State]:
        """Run `skill` until it ends or the game does; return the states it went through, one for every few steps.

        Raises KeyError for an unknown skill and ValueError after the end of the game.
        """
        if self.over:
            raise ValueError(f"the game is over: {self.over}")
        running, start, states = self._skills[skill], self._state, []
        self.ended = ""
        while not self.ended:
            tick(self._hero, skill)
            self._state = state = self._hero.state()
            states.append(state)
            self._ask_initiations()
            self.over = self._hero.over or ("the steps were used up" if state.step >= self._max_steps else "")
            self.ended = self._why_ended(running, start, state)
        return states

    def _ask_initiations(self) -> None:
        self.startable = frozenset(
            name for name, skill in self._skills.items() if skill.can_initiate(self._state)
        )

    def _why_ended(self, skill: SkillLike, start: State, state: State) -> str:
        if self.over:
            return "the game ended"
        if skill.should_terminate(state, start, self.startable):
            if (state.dungeon, state.level) != (start.dungeon, start.level):
                return f"came to {place_name(state)}"
            return _news(start, state) or "its termination"
        if state.turn - start.turn >= (skill.max_turns or _PATIENCE_TURNS):
            return "turn limit"
        if skill.max_steps is not None and state.step - start.step >= skill.max_steps:
            return "step limit"
        return ""


def place_name(state: State) -> str:
    """Say shortly where the hero is: "Doom 3" or "Mines 1"."""
    short = {DOOM: "Doom", MINES: "Mines"}.get(state.dungeon, state.dungeon)
    return f"{short} {state.level}"


def progress(state: State) -> tuple:
    """Tell what counts as getting on; a policy that changes none of it for long is stuck.

    Kills, experience and meals do not count: they come to a hero that only runs up and down stairs as well.
    """
    return (
        state.num_levels_visited,
        state.branch_depth,
        state.gold,
        state.num_items,
        state.num_items_sold,
        state.num_prices_identified,
        state.num_curse_checks,
    )


def _news(start: State, state: State) -> str:
    """Say what is new, as a reason for having ended."""
    if state.branch_depth != start.branch_depth:
        return "saw a second staircase down"
    for name in NEEDED.values():
        if name in state.nearby - start.nearby:
            return f"came by: {name}"
    return "nothing left to do" if state.num_items == 0 and start.num_items else ""


def _branch(state: State) -> str:
    return "?" if state.branch_depth is None else str(state.branch_depth)


COLUMNS: tuple[Column, ...] = (
    ("turn", lambda state: state.turn),
    ("place", place_name),
    ("depth", lambda state: state.depth),
    ("branch", _branch),
    ("hp", lambda state: f"{state.hp}/{state.max_hp}"),
    ("xl", lambda state: state.experience_level),
    ("gold", lambda state: state.gold),
    ("kills", lambda state: state.num_kills),
    ("items", lambda state: state.num_items),
    ("sold/priced/checked", lambda s: f"{s.num_items_sold}/{s.num_prices_identified}/{s.num_curse_checks}"),
    ("hunger", lambda state: state.hunger.replace("Not hungry", "-")),
    ("meals", lambda state: state.num_meals),
)
"""What of a state stands in a trace."""
