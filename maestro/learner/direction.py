"""Who directs the games of a training: its policy over skills with all options, or one skill alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maestro.content import Content
from maestro.errors import ConfigError
from maestro.options.load import load_options, load_policy
from maestro.options.option import Option, PolicyOverSkills
from maestro.preferences.goals import find_goal


class _Alone:
    """The policy over skills where there is one skill only."""

    def __init__(self, skill: str) -> None:
        self._skill = skill

    def select_skill(self, state: Any, finished: str | None, startable: frozenset[str]) -> str:
        return self._skill


def direction(
    content: Content, world: str, training_name: str | None, alone: str | None
) -> tuple[tuple[Option, ...], Callable[[int], PolicyOverSkills], str]:
    """Give options, maker of policies and fallback: the training policy's, or those of the skill trained `alone`.

    Raises ContentError where content is missing or not signed, ConfigError for a skill of another world.
    """
    if alone is None:
        training = content.training(world, training_name)
        skills = content.skills(world)
        return load_options(skills), load_policy(training, skills), training.spec.fallback
    goal = find_goal(content, alone)
    if goal.world != world:
        raise ConfigError(
            f"{alone!r} is of the world {goal.world!r}",
            where="pay.skill",
            expected=f"one of {world!r}",
        )
    option = Option(alone, can_initiate=lambda state: True, should_terminate=lambda *_: False)
    return (option,), lambda seed: _Alone(alone), alone
