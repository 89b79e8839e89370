"""What a brain makes of steps that somebody else chose."""

import random

import pytest

from maestro.envs import make_world
from maestro.envs.nethack.reference import actions as A
from maestro.envs.nethack.reference import make_reference_policy
from maestro.envs.nethack.reference.controller import Brain
from maestro.envs.nethack.reference.overrule import overrule


@pytest.fixture
def brain() -> Brain:
    return Brain(0)


def test_a_step_not_taken_is_no_failed_step(painted, brain):
    painted.paint("------", "|@..>|", "|....|", "------")
    for turn in range(1, 8):
        painted.set(turn=turn)
        assert brain.act(painted, 0, "descender") in (A.EAST, A.EAST + A.FAR)
        overrule(brain, A.KICK)
    assert not brain.mover.failures and not brain.senses.level.blocked


def test_without_word_of_it_the_way_is_given_up(painted, brain):
    painted.paint("------", "|@..>|", "|....|", "------")
    for _ in range(4):
        brain.act(painted, 0, "descender")
    assert brain.senses.level.blocked


def test_searches_count_for_who_searched(painted, brain):
    painted.paint("---", "|@|", "---")
    assert brain.act(painted, 0, "discoverer") == A.SEARCH
    here = brain.senses.cell
    overrule(brain, A.NORTH)
    assert brain.senses.level.searched[here] == 0
    assert not any(brain.senses.level.searched_next_to.values())
    assert brain.act(painted, 0, "discoverer") == A.SEARCH
    overrule(brain, A.SEARCH)
    assert brain.senses.level.searched[here] == 1


def test_a_prayer_not_said_may_still_be_said(painted, brain):
    painted.paint("-----", "|@..|", "-----")
    painted.set(hp=2, turn=400)
    assert brain.act(painted, 0, "discoverer") == A.PRAY
    overrule(brain, A.SEARCH)
    assert brain.survivor.may_pray()
    brain.act(painted, 0, "discoverer")
    overrule(brain, A.PRAY)
    assert not brain.survivor.may_pray()


def test_stairs_taken_by_another_are_linked(painted, brain):
    painted.paint("-----", "|@<.|", "-----")
    painted.paint("-----", "|.@.|", "-----")
    brain.act(painted, 0, "discoverer")
    painted.paint("-----", "|.<@|", "-----")
    brain.act(painted, 0, "ascender")
    painted.paint("-----", "|.@.|", "-----")
    brain.act(painted, 0, "discoverer")
    overrule(brain, A.UP)
    old = brain.senses.level
    painted.set(level=2)
    painted.paint("-----", "|.@.|", "-----")
    brain.act(painted, 0, "discoverer")
    assert brain.senses.cell in brain.senses.level.downs and old.used


def test_labels_stay_good_when_chance_plays_half_of_the_time():
    """A brain that is overruled at every other step must still reach new levels nearly as often as it could."""
    games = 8
    world = make_world("nethack", games, max_steps=4_000)
    policy = make_reference_policy(games)
    chance = random.Random(0)
    for index in range(games):
        world.seed(index, 90 + index, 90 + index)
        policy.reset(index, index)
    world.reset()
    over = [False] * games
    moves = range(A.NORTH, A.NORTHWEST + 1)
    for _ in range(1_000):
        actions = policy.act(world, [None if done else "descender" for done in over])
        for index, action in enumerate(actions):
            if action >= 0 and not world.states[index].prompt and chance.random() < 0.5:
                actions[index] = chance.choice(moves)
                policy.overrule(index, actions[index])
        result = world.step(actions)
        over = [
            done or bool(end) for done, end in zip(over, result.terminated | result.truncated, strict=True)
        ]
    depths = [state.max_depth for state in world.states]
    world.close()
    assert sum(depth >= 2 for depth in depths) >= games // 2, depths
