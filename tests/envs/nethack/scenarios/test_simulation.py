"""The toy dungeon: what holds in every dungeon for every way of choosing, and what the stairs do."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro.envs.nethack.scenarios import DungeonSimulation, SimulatedSkill, place_name
from maestro.envs.nethack.scenarios.effects import LEFT
from maestro.envs.nethack.scenarios.plan import DOOM, MINES, SOKOBAN, Plan, draw_plan
from maestro.envs.nethack.state import HUNGER, State

SKILLS = ("discoverer", "descender", "ascender", "worshipper", "merchant")
PLAN = Plan(3, 5, 4, 8, frozenset({(DOOM, 2), (MINES, 4)}), frozenset({(DOOM, 2), (MINES, 4)}))


def wander(seed: int, weights: tuple[int, ...], num_choices: int = 60, **options) -> list[State]:
    """Play with skills drawn at random by the weights, from those that may start."""
    luck = random.Random(seed)
    game = DungeonSimulation(SKILLS, seed, **options)
    states = [game.start()]
    for _ in range(num_choices):
        skills = sorted(game.startable)
        states += game.choose(luck.choices(skills, [weights[SKILLS.index(skill)] for skill in skills])[0])
        if game.over:
            break
    return states


def begin_at(
    game: DungeonSimulation, place: tuple[str, int], stairs: str, explored: float = 0.0, **facts
) -> State:
    """Begin a game elsewhere than on the first level, with a level seen in part and a hero of other facts."""
    game.start()
    hero = game._hero
    hero.arrive(place, stairs)
    hero.level.explore(explored)
    for name, value in facts.items():
        setattr(hero, name, value)
    game._state = hero.state()
    game._ask_initiations()
    return game._state


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), weights=st.tuples(*[st.integers(1, 9)] * 5))
def test_states_are_consistent_in_every_dungeon(seed, weights):
    plan = draw_plan(random.Random(f"{seed}/plan"))
    states = wander(seed, weights)
    places: set[tuple[str, int]] = set()
    for before, state in zip([None, *states], states, strict=False):
        places.add((state.dungeon, state.level))
        assert state.num_levels_visited == len(places)
        assert state.depth == plan.depth((state.dungeon, state.level))
        assert state.branch_depth in (None, plan.branch_depth)
        if state.dungeon == MINES:
            assert state.depth == state.branch_depth + state.level
        if state.dungeon == DOOM:
            assert state.depth == state.level
        assert 0 <= state.hp <= state.max_hp
        assert state.hunger in HUNGER
        assert state.nearby <= state.in_view
        assert min(state.gold, state.num_items, state.level, state.depth) >= 0
        assert ("watchman" in state.in_view) == ((state.dungeon, state.level) == plan.minetown)
        if before is None:
            assert (state.step, state.turn, state.depth, state.num_levels_visited) == (0, 1, 1, 1)
            continue
        assert state.step > before.step
        assert state.turn > before.turn
        assert state.max_depth == max(before.max_depth, state.depth)
        assert before.branch_depth is None or state.branch_depth == before.branch_depth
        assert abs(state.depth - before.depth) <= (4 if plan.mishap == "fall" else 1)
        for counter in ("kills", "items_sold", "prices_identified", "curse_checks", "meals"):
            assert getattr(state, f"num_{counter}") >= getattr(before, f"num_{counter}")
        assert state.num_prices_identified <= state.num_items_sold
        assert state.experience_level >= before.experience_level


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_seed_decides_everything(seed):
    assert wander(seed, (5, 3, 2, 1, 1)) == wander(seed, (5, 3, 2, 1, 1))


def test_starting_again_begins_the_same_game():
    game = DungeonSimulation(SKILLS, 4)
    first = [game.start(), *game.choose("discoverer")]
    assert [game.start(), *game.choose("discoverer")] == first


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_plans_have_the_ranges_of_the_real_game(seed):
    plan = draw_plan(random.Random(seed))
    assert plan.branch_depth in (2, 3, 4)
    assert plan.oracle_depth in range(5, 10)
    assert plan.depth(plan.minetown) in range(5, 9)
    assert plan.minetown in plan.shops & plan.altars
    doubled = [level for level in range(1, 25) if len(plan.ways_down((DOOM, level))) == 2]
    assert doubled == [plan.branch_depth]
    for level in range(1, plan.mines_levels + 1):
        assert plan.ways_up((MINES, level))["main"] in ((DOOM, plan.branch_depth), (MINES, level - 1))
    assert plan.ways_down((MINES, plan.mines_levels)) == {}


def test_each_of_two_staircases_is_taken_about_half_of_the_time():
    below = []
    for seed in range(300):
        game = DungeonSimulation(SKILLS, seed, plan=PLAN)
        begin_at(game, (DOOM, 3), "up main", 1.0)
        below.append(game.choose("descender")[-1])
    mines = [state for state in below if state.dungeon == MINES]
    doom = [state for state in below if (state.dungeon, state.level) == (DOOM, 4)]
    assert 100 < len(mines) < 200
    assert len(doom) + len(mines) > 290  # few die or fall on the way
    assert {state.branch_depth for state in mines} == {3}


def test_the_branch_is_known_once_both_staircases_were_seen():
    game = DungeonSimulation(SKILLS, 1, plan=PLAN)
    begin_at(game, (DOOM, 3), "up main")
    states = []
    while not states or states[-1].branch_depth is None:
        states += game.choose("discoverer")
    assert states[0].branch_depth is None
    assert states[-1].branch_depth == 3
    assert {"down main", "down branch"} <= game._hero.level.found


def test_climbing_out_of_the_first_level_ends_the_game():
    game = DungeonSimulation(SKILLS, 2)
    game.start()
    last = game.choose("ascender")[-1]
    assert game.over == LEFT
    assert "Still climb?" in last.prompt
    with pytest.raises(ValueError, match="left the dungeon"):
        game.choose("discoverer")


def test_sokoban_is_left_downwards():
    game = DungeonSimulation(SKILLS, 3, plan=PLAN)
    begin_at(game, (SOKOBAN, 1), "down main")
    state = game.choose("descender")[-1]
    assert (state.dungeon, state.depth) == (DOOM, PLAN.sokoban_depth)


def test_trade_and_altar_need_something_collected_close_by():
    game = DungeonSimulation(SKILLS, 5, plan=PLAN)
    state = begin_at(game, (DOOM, 2), "up main", 1.0, near="shop", num_items=3)
    assert "shopkeeper" in state.nearby
    assert "merchant" in game.startable
    assert "worshipper" not in game.startable
    sold = game.choose("merchant")[-1]
    assert sold.num_items_sold + sold.num_items == 3
    assert sold.num_items_sold > 0
    assert sold.gold > 0


def test_given_functions_decide_when_a_skill_starts_and_ends():
    class Reading:
        name, max_turns, max_steps = "reader", None, None

        def can_initiate(self, state):
            return state.turn > 50

        def should_terminate(self, state, start, startable):
            return state.turn >= start.turn + 30 and "reader" in startable

    game = DungeonSimulation([*SKILLS, Reading()], 6)
    game.start()
    assert "reader" not in game.startable
    game.choose("discoverer")
    assert "reader" in game.startable
    states = game.choose("reader")
    assert 2 <= len(states) <= 6
    assert game.ended in ("its termination", "came by: shopkeeper", "came by: altar")


def test_limits_end_what_would_not_end_by_itself():
    class Endless:
        name, max_turns, max_steps = "endless", None, 40

        def can_initiate(self, state):
            return True

        def should_terminate(self, state, start, startable):
            return False

    game = DungeonSimulation([Endless()], 7)
    game.start()
    states = game.choose("endless")
    assert game.ended == "step limit"
    assert 40 <= states[-1].step <= 60


def test_the_steps_run_out():
    states = wander(8, (5, 1, 1, 1, 1), num_choices=300, max_steps=500)
    assert 500 <= states[-1].step < 520 or states[-1].hp == 0


def test_a_skill_by_name_has_its_own_idea_of_ending():
    game = DungeonSimulation(SKILLS, 9)
    start = game.start()
    skill = SimulatedSkill("descender")
    assert skill.should_terminate(start._replace(level=2, depth=2), start, frozenset())
    assert not skill.should_terminate(start._replace(turn=40), start, frozenset())
    assert place_name(start._replace(dungeon=MINES, level=2)) == "Mines 2"


def test_mishaps_come_as_planned():
    below = []
    for seed in range(12):
        game = DungeonSimulation(SKILLS, seed, plan=replace(PLAN, mishap="stubborn", mishap_way="branch"))
        begin_at(game, (DOOM, 3), "up main", 1.0, max_hp=99, hp=99)
        below.append(game.choose("descender")[-1].dungeon)
    assert set(below) == {MINES}

    game = DungeonSimulation(SKILLS, 1, plan=replace(PLAN, mishap="fall", mishap_turn=200))
    begin_at(game, (DOOM, 3), "up main", turn=190, max_hp=99, hp=99)
    assert game.choose("discoverer")[-1].depth in (5, 6, 7)

    game = DungeonSimulation(SKILLS, 1, plan=replace(PLAN, mishap="hidden"))
    begin_at(game, (DOOM, 3), "up main", 0.95)
    assert "down branch" not in game._hero.level.found
