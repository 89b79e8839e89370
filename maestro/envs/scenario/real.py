"""A simulation that is the world itself, played by its reference skills: for worlds that cost next to nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from maestro.envs import load_world_module
from maestro.envs.scenario.session import SkillLike
from maestro.envs.scenario.trace import Column

_PATIENCE_STEPS = 200
"""Steps after which a skill without a limit of its own ends here."""


class RealGame:
    """One game of a world as a `Simulation`: skills are chosen, the reference controllers carry them out."""

    def __init__(self, world: str, skills: Iterable[SkillLike], seed: int, columns: Sequence[Column]) -> None:
        """Prepare the game of `seed`; every skill needs a reference controller."""
        module = load_world_module(world)
        self._skills = {skill.name: skill for skill in skills}
        self.skills = tuple(self._skills)
        self.columns = columns
        self.startable: frozenset[str] = frozenset()
        self.ended = self.over = ""
        self._seed = seed
        self._game = module.make_world(1)
        self._controllers = module.make_reference_policy(1)
        self._state: Any = None
        self.world: Any = self._game

    def start(self) -> Any:
        """Begin the game anew and return its first state."""
        self._game.seed(0, self._seed, self._seed)
        self._game.reset([0])
        self._controllers.reset(0, self._seed)
        self._state = self._game.states[0]
        self.ended = self.over = ""
        self._ask_initiations()
        return self._state

    def choose(self, skill: str) -> list[Any]:
        """Run `skill` until it ends or the game does; return the state after each step.

        Raises KeyError for an unknown skill and ValueError after the end of the game.
        """
        if self.over:
            raise ValueError(f"the game is over: {self.over}")
        running, start, states = self._skills[skill], self._state, []
        self.ended = ""
        while not self.ended:
            result = self._game.step(self._controllers.act(self._game, [skill]))
            self._state = state = self._game.states[0]
            states.append(state)
            self._ask_initiations()
            if result.terminated[0]:
                self.over = "the episode came to its end"
            elif result.truncated[0]:
                self.over = "the steps were used up"
            self.ended = self._why_ended(running, start, state)
        return states

    def _ask_initiations(self) -> None:
        state = self._state
        self.startable = frozenset(name for name, skill in self._skills.items() if skill.can_initiate(state))

    def _why_ended(self, skill: SkillLike, start: Any, state: Any) -> str:
        if self.over:
            return "the game ended"
        if skill.should_terminate(state, start, self.startable):
            return "its termination"
        if skill.max_turns is not None and state.turn - start.turn >= skill.max_turns:
            return "turn limit"
        return "step limit" if state.step - start.step >= (skill.max_steps or _PATIENCE_STEPS) else ""
