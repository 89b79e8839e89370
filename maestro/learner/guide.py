"""A guide: the reference policy plays an episode's beginning, up to a skill that is seldom started.

What a skill that needs a rare place has to learn is out of reach as long as nobody gets there. The guide's steps are
neither seen by the learner, nor paid, nor counted.

Source: jump-start reinforcement learning, Uchendu et al. 2023.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from maestro.envs import load_world_module
from maestro.envs.world import World
from maestro.errors import UnknownNameError
from maestro.options.executive import Executive


class GuideConfig(BaseModel):
    """Whether, and how far, the reference policy leads the way."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    skills: tuple[str, ...] = ()
    """The guide plays until the training policy starts one of these; empty: there is no guide."""
    share: float = Field(default=1.0, gt=0, le=1)
    """Share of the episodes that it begins."""
    max_steps: int = Field(default=300, ge=1)
    """Steps after which the learner takes over wherever the game is."""


class Guide:
    """Plays the beginnings of episodes in a world, under its executive."""

    def __init__(self, config: GuideConfig, world: World, executive: Executive) -> None:
        """Make the reference policy; raises UnknownNameError where a skill is none of the executive's."""
        for skill in config.skills:
            if skill not in executive.skills:
                raise UnknownNameError("skill", skill, executive.skills, where="games.guide.skills")
        self.config = config
        self._world = world
        self._executive = executive
        self._policy = load_world_module(world.name).make_reference_policy(world.num_games)

    def lead(self, seeds: Mapping[int, int]) -> None:
        """Play on in these games, whose episodes have begun; each one's seed fixes what the guide draws at random.

        Where the episode ends on the way, nothing runs afterwards: `executive.running` is None.
        """
        world, executive = self._world, self._executive
        for index, seed in seeds.items():
            self._policy.reset(index, seed)
        leading = list(seeds)
        for _ in range(self.config.max_steps):
            leading = [index for index in leading if self._is_on_the_way(index)]
            if not leading:
                return
            skills: list[str | None] = [None] * world.num_games
            for index in leading:
                skills[index] = executive.running[index]
            result = world.step(self._policy.act(world, skills))
            for index in leading:
                if result.terminated[index] or result.truncated[index]:
                    executive.finish(index, world.states[index])
                else:
                    executive.advance(index, world.states[index])

    def _is_on_the_way(self, index: int) -> bool:
        skill = self._executive.running[index]
        return skill is not None and skill not in self.config.skills
