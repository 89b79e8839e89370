"""Goals in the toy dungeon: shipped policies reach them, broken ones do not, and the reasons given are right."""

from __future__ import annotations

import pytest

from maestro.content import Content
from maestro.envs.nethack.scenarios import FIRST_STATE, GOALS, DungeonSimulation, progress
from maestro.envs.nethack.scenarios.effects import LEFT
from maestro.envs.nethack.scenarios.plan import DOOM, MINES, Plan
from maestro.envs.scenario import Session, Trace, judge, play
from maestro.options.load import load_options, load_policy

SKILLS = ("discoverer", "descender", "ascender", "worshipper", "merchant")
PLAN = Plan(2, 6, 3, 8, frozenset({(MINES, 3)}), frozenset({(MINES, 3)}))
CONTENT = Content.find()
TASKS = sorted(CONTENT.tasks("nethack"))


def trial(make_policy, task: str, num_games: int = 16, skills=SKILLS):
    traces = []
    for seed in range(num_games):
        session = Session(DungeonSimulation(skills, seed), fallback="discoverer")
        traces.append(play(make_policy(seed), session))
    return judge(traces, goal=GOALS[task], progress=progress)


def constant(skill: str):
    class Policy:
        def select_skill(self, state, finished, startable):
            return skill

    return lambda seed: Policy()


def test_every_shipped_task_has_a_goal():
    assert set(TASKS) | {"training"} == set(GOALS)


@pytest.mark.parametrize("task", [*TASKS, "training"])
def test_shipped_policies_reach_their_goals(task):
    policy = CONTENT.training() if task == "training" else CONTENT.task(task)
    result = trial(load_policy(policy), task)
    assert result.passed, result.summary()
    assert sum(result.reached) >= 0.7 * len(result.reached), result.summary()


@pytest.mark.parametrize("task", ["minetown", "goldenexit", "training"])
def test_shipped_policies_reach_their_goals_with_the_shipped_skills(task):
    policy = CONTENT.training() if task == "training" else CONTENT.task(task)
    result = trial(load_policy(policy), task, 10, load_options(CONTENT.skills("nethack")))
    assert result.passed, result.summary()


@pytest.mark.parametrize("task", [task for task in [*TASKS, "training"] if task != "buc"])
def test_a_policy_that_only_explores_fails(task):
    result = trial(constant("discoverer"), task, 12)
    assert not result.passed
    assert "the goal was reached in" in result.problems[-1]


def test_a_policy_that_only_climbs_leaves_the_dungeon_empty_handed():
    result = trial(constant("ascender"), "goldenexit", 8)
    assert sum(result.reached) == 0
    assert "the hero left the dungeon without 25 kills" in result.problems[-1]


def test_a_policy_that_never_comes_back_from_the_mines_fails():
    class Policy:
        def select_skill(self, state, finished, startable):
            if state.dungeon == MINES:
                return "discoverer"
            return "descender" if state.turn > 400 * state.depth else "discoverer"

    result = trial(lambda seed: Policy(), "delphi")
    assert not result.passed
    assert "the Oracle lives in the Dungeons of Doom" in result.problems[-1]


def test_a_policy_that_starts_what_may_not_start_is_told():
    result = trial(constant("merchant"), "transactions", 6)
    assert any("could not start (merchant" in problem for problem in result.problems)


def test_a_policy_that_runs_up_and_down_is_told():
    class Policy:
        def select_skill(self, state, finished, startable):
            return "descender" if state.depth == 1 else "ascender"

    result = trial(lambda seed: Policy(), "minetown", 8)
    stuck = [problem for problem in result.problems if "got stuck" in problem]
    assert "going round between" in stuck[0]
    assert "descender" in stuck[0]
    assert "ascender" in stuck[0]


def trace(*states, over: str = "") -> Trace:
    return Trace(PLAN, (), [FIRST_STATE, *states], over=over)


def at(dungeon: str, level: int, **others):
    return FIRST_STATE._replace(dungeon=dungeon, level=level, depth=PLAN.depth((dungeon, level)), **others)


@pytest.mark.parametrize(
    ("task", "made", "expected"),
    [
        ("gnomish", trace(at(DOOM, 2)), "second staircase down (here on depth 2) was not found"),
        ("gnomish", trace(at(DOOM, 2, branch_depth=2)), "did not take it"),
        ("minetown", trace(at(MINES, 2, branch_depth=2)), "only to level 2, Minetown is on 3"),
        ("delphi", trace(at(DOOM, 5)), "got to depth 5 of the Dungeons of Doom, the Oracle was on 6"),
        ("delphi", trace(at(DOOM, 5, hp=0), over="the hero starved"), "the hero starved"),
        ("transactions", trace(at(DOOM, 5)), "no shopkeeper was ever near"),
        ("transactions", trace(at(DOOM, 5, nearby=frozenset({"shopkeeper"}))), "nothing collected"),
        ("buc", trace(at(DOOM, 5, nearby=frozenset({"altar"}), num_items=2)), "num_curse_checks stayed 0"),
        (
            "goldenexit",
            trace(at(DOOM, 3, num_kills=30)),
            "20 gold pieces and having been on levels 1, 2 and 3",
        ),
        ("goldenexit", trace(at(DOOM, 1, gold=30), over=LEFT), "left the dungeon without 25 kills"),
        ("levelupsell", trace(at(DOOM, 2)), "level 1 was left before experience level 4"),
        ("levelupsell", trace(at(DOOM, 1, experience_level=4)), "nothing was sold"),
        ("discoveryhunger", trace(at(DOOM, 6)), "before having eaten"),
        ("discoveryhunger", trace(at(MINES, 1, branch_depth=2)), "no meal in the Mines"),
    ],
)
def test_what_is_lacking_is_said(task, made, expected):
    assert GOALS[task].reached_at(made) is None
    assert expected in GOALS[task].missing(made)


def test_composite_goals_are_reached_in_order():
    hungry = at(MINES, 1, branch_depth=2, hunger="Hungry")
    meal = hungry._replace(num_meals=1, hunger="Not hungry")
    assert GOALS["discoveryhunger"].reached_at(trace(hungry, meal, at(DOOM, 6))) == 3
    assert GOALS["discoveryhunger"].reached_at(trace(at(DOOM, 6), hungry, meal)) is None
    fed = hungry._replace(hunger="Not hungry")
    assert GOALS["discoveryhunger"].reached_at(trace(fed, fed._replace(num_meals=1), at(DOOM, 6))) is None
    grown = at(DOOM, 1, experience_level=4)
    sale = at(MINES, 3, num_items_sold=1, step=1000)
    assert GOALS["levelupsell"].reached_at(trace(grown, sale, sale._replace(step=1300))) == 3
    assert GOALS["levelupsell"].reached_at(trace(grown, sale, sale._replace(step=1299))) is None
    assert GOALS["levelupsell"].reached_at(trace(at(DOOM, 2), grown, sale, sale._replace(step=1400))) is None
    end = at(DOOM, 1, num_kills=25, gold=20)
    assert GOALS["goldenexit"].reached_at(trace(at(DOOM, 2), at(DOOM, 3), end, over=LEFT)) == 3
    assert GOALS["goldenexit"].reached_at(trace(at(DOOM, 2), at(DOOM, 3), end)) is None
