"""NetHack's scenarios: a toy dungeon for policies over skills, and recorded games for initiations and terminations."""

from maestro.envs.nethack.scenarios.facts import FACTS, FIRST_STATE, HELPERS, TITLE, VALUES
from maestro.envs.nethack.scenarios.goals import GOALS
from maestro.envs.nethack.scenarios.predicates import (
    INITIATION_MAY_BE_CONSTANT,
    initiation_cases,
    show_case,
    termination_cases,
)
from maestro.envs.nethack.scenarios.recorded import Moment, recorded_moments, recorded_provenance
from maestro.envs.nethack.scenarios.simulation import (
    DungeonSimulation,
    SimulatedSkill,
    place_name,
    progress,
)

make_simulation = DungeonSimulation

__all__ = [
    "FACTS",
    "FIRST_STATE",
    "GOALS",
    "HELPERS",
    "INITIATION_MAY_BE_CONSTANT",
    "TITLE",
    "VALUES",
    "DungeonSimulation",
    "Moment",
    "SimulatedSkill",
    "initiation_cases",
    "make_simulation",
    "place_name",
    "progress",
    "recorded_moments",
    "recorded_provenance",
    "show_case",
    "termination_cases",
]
