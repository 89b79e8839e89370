"""Every world's scenarios: what they publish, what the shipped content does in them, and how they are found."""

from __future__ import annotations

import sys
import types

import pytest

import maestro.envs
from maestro.content import Content
from maestro.envs import load_world_module, world_names
from maestro.envs.scenario import (
    Session,
    ask_initiation,
    ask_termination,
    judge,
    judge_predicate,
    load_scenarios,
    play,
    state_facts,
)
from maestro.errors import UnknownNameError, WorldError
from maestro.options.load import load_options, load_policy

CONTENT = Content.find()


@pytest.fixture(params=world_names())
def world(request):
    return request.param


def test_scenarios_publish_what_prompts_need(world):
    scenarios, module = load_scenarios(world), load_world_module(world)
    assert type(scenarios.FIRST_STATE) is module.State
    assert scenarios.TITLE
    assert scenarios.FACTS
    named = {word for fact in scenarios.FACTS for word in fact.split("`")[1::2]}
    assert named <= set(module.State._fields)
    skills = set(CONTENT.skills(world))
    assert not any(skill in fact for fact in scenarios.FACTS for skill in skills)
    assert {task.name for task in CONTENT.tasks(world).values()} | {CONTENT.training(world).name} == set(
        scenarios.GOALS
    )


def test_facts_of_the_state_have_types_documents_and_defaults(world):
    module = load_world_module(world)
    facts = state_facts(world)
    assert tuple(fact.name for fact in facts) == module.State._fields
    for fact in facts:
        assert fact.doc == module.FIELD_DOCS[fact.name]
        if "|" not in fact.type:
            assert type(fact.default).__name__ == fact.type.split("[")[0]
        assert not fact.values or fact.default in fact.values


def test_shipped_policies_reach_their_goals_with_shipped_and_with_toy_skills(world):
    scenarios = load_scenarios(world)
    options = load_options(CONTENT.skills(world))
    training = CONTENT.training(world)
    task = next(iter(CONTENT.tasks(world).values()))
    for policy in (training, task):
        make = load_policy(policy)
        for skills in (options, [option.name for option in options]):
            traces = []
            for seed in range(6):
                game = scenarios.make_simulation(skills, seed)
                traces.append(play(make(seed), Session(game, fallback=policy.spec.fallback)))
            trial = judge(traces, goal=scenarios.GOALS[policy.name], progress=scenarios.progress)
            assert trial.passed, trial.summary()


def test_shipped_predicates_pass_and_constant_ones_do_not(world):
    scenarios = load_scenarios(world)
    options = load_options(CONTENT.skills(world))
    names = [option.name for option in options]
    for option in options:
        cases = scenarios.initiation_cases(option.name, names)
        constants = scenarios.INITIATION_MAY_BE_CONSTANT
        answers = ask_initiation(option.can_initiate, cases)
        assert judge_predicate("can_initiate", cases, answers, may_be_constant=constants).passed
        assert not judge_predicate("f", cases, [False] * len(cases), may_be_constant=constants).passed
        cases = scenarios.termination_cases(option.name, names)
        assert judge_predicate("f", cases, ask_termination(option.should_terminate, cases)).passed
        assert not judge_predicate("f", cases, [True] * len(cases)).passed
        assert scenarios.show_case(cases[0])


def test_a_game_is_determined_by_its_seed_and_can_be_begun_again(world):
    scenarios = load_scenarios(world)
    names = list(CONTENT.skills(world))

    def states(game):
        found = [game.start()]
        while len(found) < 60 and not game.over:
            found += game.choose(sorted(game.startable)[len(found) % len(game.startable)])
        return found

    game = scenarios.make_simulation(names, 5)
    first = states(game)
    assert states(game) == first
    assert states(scenarios.make_simulation(names, 5)) == first


def test_worlds_without_scenarios_and_unknown_worlds_are_named(monkeypatch):
    with pytest.raises(UnknownNameError, match="unknown world 'nethak'"):
        load_scenarios("nethak")
    monkeypatch.setitem(sys.modules, "maestro.envs.bare", types.ModuleType("maestro.envs.bare"))
    monkeypatch.setattr(maestro.envs, "world_names", lambda: ["bare"])
    with pytest.raises(WorldError, match=r"the world 'bare' has no scenarios.*corridor_scenarios\.py"):
        load_scenarios("bare")


def test_scenario_files_are_no_worlds():
    assert not any(name.endswith("_scenarios") or name == "scenario" for name in world_names())
