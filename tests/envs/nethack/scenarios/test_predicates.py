"""What initiations and terminations are asked: shipped ones pass, lying ones are refused, and records are sound."""

from __future__ import annotations

from importlib import resources

import pytest

from maestro.content import Content
from maestro.envs.nethack import scenarios
from maestro.envs.nethack.scenarios import (
    INITIATION_MAY_BE_CONSTANT,
    initiation_cases,
    recorded_moments,
    recorded_provenance,
    show_case,
    termination_cases,
)
from maestro.envs.nethack.state import DUNGEONS, HUNGER, STATE_VERSION, State
from maestro.envs.scenario import ask_initiation, ask_termination, judge_predicate
from maestro.options.load import load_options

OPTIONS = {option.name: option for option in load_options(Content.find().skills("nethack"))}
SKILLS = tuple(OPTIONS)


def initiation(skill, function):
    cases = initiation_cases(skill, SKILLS)
    return judge_predicate(
        "can_initiate",
        cases,
        ask_initiation(function, cases),
        may_be_constant=INITIATION_MAY_BE_CONSTANT,
        show=show_case,
    )


def termination(skill, function):
    cases = termination_cases(skill, SKILLS)
    return judge_predicate("should_terminate", cases, ask_termination(function, cases), show=show_case)


def test_recorded_states_are_real_and_various():
    moments = recorded_moments()
    assert len(moments) >= 400
    assert {moment.skill for moment in moments} == set(SKILLS)
    assert {moment.ends for moment in moments} == {True, False}
    states = [moment.state for moment in moments]
    assert all(type(state) is State and type(state.nearby) is frozenset for state in states)
    assert {state.dungeon for state in states} >= {"Dungeons of Doom", "Gnomish Mines"}
    assert {state.hunger for state in states} >= {"Not hungry", "Hungry", "Weak"}
    assert all(state.dungeon in DUNGEONS and state.hunger in HUNGER for state in states)
    assert sum("shopkeeper" in state.nearby for state in states) > 20
    assert sum("altar" in state.nearby for state in states) > 20
    assert all(moment.start.step <= moment.state.step for moment in moments)


def test_records_say_where_they_come_from_and_are_small():
    provenance = recorded_provenance()
    assert provenance["state_version"] == STATE_VERSION
    assert provenance["steps_played"] > 0
    packed = resources.files(scenarios).joinpath("recorded_states.json.gz").read_bytes()
    assert len(packed) < 200_000


@pytest.mark.parametrize("skill", SKILLS)
def test_shipped_functions_pass(skill):
    assert initiation(skill, OPTIONS[skill].can_initiate).problems == ()
    assert termination(skill, OPTIONS[skill].should_terminate).problems == ()


@pytest.mark.parametrize("skill", SKILLS)
@pytest.mark.parametrize("answer", [True, False])
def test_constant_terminations_are_refused(skill, answer):
    report = termination(skill, lambda state, start, startable: answer)
    assert any("never changes its answer" in problem for problem in report.problems)


@pytest.mark.parametrize("skill", [*SKILLS, "prayer"])
def test_an_initiation_that_is_never_true_is_refused(skill):
    report = initiation(skill, lambda state: False)
    assert any("never changes its answer" in problem for problem in report.problems)


def test_a_skill_of_the_users_own_may_start_anywhere_or_in_some_states():
    assert initiation("prayer", lambda state: True).passed
    assert initiation("prayer", lambda state: state.hp * 7 < state.max_hp or state.hunger == "Weak").passed
    assert termination("prayer", lambda state, start, startable: state.turn - start.turn > 50).passed


@pytest.mark.parametrize(
    ("skill", "function", "why"),
    [
        ("merchant", lambda state: "shopkeeper" in state.nearby, "nothing is collected"),
        ("merchant", lambda state: state.num_items > 0, "not to be seen"),
        (
            "worshipper",
            lambda state: "shopkeeper" in state.nearby and state.num_items > 0,
            "what the skill works",
        ),
        ("worshipper", lambda state: "altar" in state.nearby and state.num_items > 40, "is near"),
        ("discoverer", lambda state: state.num_kills < 3, "healthy hero can begin"),
        ("ascender", lambda state: state.dungeon == "Gnomish Mines", "healthy hero can begin"),
    ],
)
def test_wrong_initiations_are_refused_with_an_example(skill, function, why):
    report = initiation(skill, function)
    assert any(why in problem and "num_items=" in problem for problem in report.problems), report.problems


@pytest.mark.parametrize(
    ("skill", "function", "why"),
    [
        ("descender", lambda state, start, startable: state.depth < start.depth, "got deeper"),
        ("descender", lambda state, start, startable: state.turn > start.turn, "only just begun"),
        ("ascender", lambda state, start, startable: state.depth > start.depth, "got higher"),
        ("merchant", lambda state, start, startable: "merchant" in startable, "only just begun"),
        ("discoverer", lambda state, start, startable: "discoverer" in startable, "only just begun"),
    ],
)
def test_wrong_terminations_are_refused(skill, function, why):
    report = termination(skill, function)
    assert any(why in problem for problem in report.problems), report.problems


def test_a_case_shows_what_changed():
    case = next(
        each for each in termination_cases("descender", SKILLS) if each.state.depth > each.start.depth
    )
    assert f"depth {case.start.depth} -> {case.state.depth}" in show_case(case)
    assert "startable: " in show_case(case)


def test_facts_name_fields_only():
    named = {word for fact in scenarios.FACTS for word in fact.split("`")[1::2]}
    assert named <= set(State._fields)
    assert not any(skill in fact for fact in scenarios.FACTS for skill in SKILLS)
    assert set(scenarios.VALUES) <= set(State._fields)
