"""What a world publishes for those who write code for it, and where that is found."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, cast

from maestro.envs import load_world_module
from maestro.envs.scenario.cases import Case
from maestro.envs.scenario.judge import Goal
from maestro.envs.scenario.session import Simulation, SkillLike
from maestro.errors import WorldError


class Helper(NamedTuple):
    """A method that the training policy offers to the policies of tasks."""

    name: str
    text: str
    """What it is to do, for the prompt."""


class StateFact(NamedTuple):
    """One field of a world's State, as prompts and contracts describe it."""

    name: str
    type: str
    """Its annotation as text."""
    doc: str
    default: Any
    """Its value in a first moment of a game."""
    values: tuple[str, ...]
    """All texts it can be, where these are known; empty otherwise."""


class Scenarios(Protocol):
    """The names a world's scenarios module defines; the module itself is the object."""

    TITLE: str
    """What the world is called in prompts."""
    FACTS: tuple[str, ...]
    """What authors of code have to know beside the fields; fields stand in backquotes, skills are not named."""
    HELPERS: tuple[Helper, ...]
    VALUES: Mapping[str, tuple[str, ...]]
    """Fields of text that have a few known values."""
    FIRST_STATE: Any
    GOALS: Mapping[str, Goal]
    """By the name of a task; tasks of a user's own have none."""
    INITIATION_MAY_BE_CONSTANT: frozenset[bool]

    make_simulation: Callable[[Iterable[str | SkillLike], int], Simulation]
    """Make the game of a seed, with skills given by name or with their functions."""
    progress: Callable[[Any], tuple]
    initiation_cases: Callable[[str, Iterable[str]], list[Case]]
    """List what `can_initiate` of a skill is asked, given the names of all skills."""
    termination_cases: Callable[[str, Iterable[str]], list[Case]]
    show_case: Callable[[Case], str]


def load_scenarios(world: str) -> Scenarios:
    """Import a world's scenarios: `<world>/scenarios` in its folder, or `<world>_scenarios.py` beside its file.

    Raises UnknownNameError for an unknown world and WorldError for one without scenarios.
    """
    module = load_world_module(world)
    name = f"{module.__name__}.scenarios" if hasattr(module, "__path__") else f"{module.__name__}_scenarios"
    if importlib.util.find_spec(name) is None:
        raise WorldError(
            f"the world {world!r} has no scenarios",
            where=name,
            expected="a module that defines what maestro.envs.scenario.find.Scenarios lists",
            hint="write one; maestro/envs/corridor_scenarios.py is a short example",
        )
    return cast(Scenarios, importlib.import_module(name))


def state_facts(world: str) -> tuple[StateFact, ...]:
    """Describe the fields of a world's State in their order; raises what `load_scenarios` raises."""
    module, scenarios = load_world_module(world), load_scenarios(world)
    types = {
        name: getattr(kind, "__forward_arg__", kind) for name, kind in module.State.__annotations__.items()
    }
    return tuple(
        StateFact(
            name,
            str(types[name]),
            module.FIELD_DOCS[name],
            getattr(scenarios.FIRST_STATE, name),
            tuple(scenarios.VALUES.get(name, ())),
        )
        for name in module.State._fields
    )
