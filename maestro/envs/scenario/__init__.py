"""Scenarios: what generated code is tried on before it meets a real game. Every world may publish its own.

A policy over skills plays a `Simulation` (a toy of the world, in choices instead of steps) through a `Session`; the
`Trace` is judged by rules and shown to the model. Initiation and termination functions are asked `Case`s.
"""

from maestro.envs.scenario.cases import Case, CasesReport, ask_initiation, ask_termination, judge_predicate
from maestro.envs.scenario.find import Helper, Scenarios, StateFact, load_scenarios, state_facts
from maestro.envs.scenario.judge import Goal, Trial, judge
from maestro.envs.scenario.real import RealGame
from maestro.envs.scenario.session import (
    Question,
    Session,
    Simulation,
    SkillLike,
    play,
    question_to_json,
    state_from_json,
    state_to_json,
)
from maestro.envs.scenario.trace import Choice, Trace

__all__ = [
    "Case",
    "CasesReport",
    "Choice",
    "Goal",
    "Helper",
    "Question",
    "RealGame",
    "Scenarios",
    "Session",
    "Simulation",
    "SkillLike",
    "StateFact",
    "Trace",
    "Trial",
    "ask_initiation",
    "ask_termination",
    "judge",
    "judge_predicate",
    "load_scenarios",
    "play",
    "question_to_json",
    "state_facts",
    "state_from_json",
    "state_to_json",
]
