"""Real games with fixed seeds: the skills do what they are for, fast enough, and never hurt the peaceful."""

import time

import pytest

from maestro.envs.nethack import make_world
from maestro.envs.nethack.keys import ACTION
from maestro.envs.nethack.reference import make_random_policy, make_reference_policy
from maestro.envs.nethack.yardstick import Yardstick

NUM_GAMES = 8


def play(skill: str, num_steps: int, watch=None, policy=None, first_seed: int = 0):
    """Play eight seeded games with one skill and return (last states, seconds of processor time per game step)."""
    world = make_world(NUM_GAMES, max_steps=num_steps)
    policy = policy or make_reference_policy(NUM_GAMES)
    for index in range(NUM_GAMES):
        world.seed(index, first_seed + index, first_seed + index)
        policy.reset(index, index)
    world.reset()
    over, steps, began = [False] * NUM_GAMES, 0, time.process_time()
    while not all(over):
        actions = policy.act(world, [None if done else skill for done in over])
        before = list(world.states)
        result = world.step(actions)
        for index in range(NUM_GAMES):
            if not over[index]:
                steps += 1
                if watch:
                    watch(before[index], actions[index], world.states[index])
                over[index] = bool(result.terminated[index] or result.truncated[index])
    seconds = (time.process_time() - began) / steps
    states = list(world.states)
    world.close()
    return states, seconds


def test_descender_goes_down():
    states, _ = play("descender", 1000)
    assert sum(state.max_depth >= 3 for state in states) >= 6


def test_descender_beats_chance():
    states, _ = play("descender", 1000, policy=make_random_policy(NUM_GAMES))
    assert sum(state.max_depth >= 3 for state in states) <= 1


def test_discoverer_stays_explores_and_collects():
    taken = []

    def watch(before, action, after):
        if action == ACTION["down"] or (action == ACTION["up"] and not before.prompt):
            taken.append(before.step)

    states, _ = play("discoverer", 600, watch)
    assert taken == []
    assert sum(state.num_kills for state in states) >= 40
    assert sum(state.num_items > 0 or state.gold > 0 for state in states) >= 6


def test_ascender_comes_to_the_way_out():
    asked = set()

    def watch(before, action, after):
        if "Still climb?" in after.message:
            asked.add(after.max_depth)

    play("ascender", 300, watch)
    assert asked == {1}


def test_never_attacks_the_peaceful():
    offences, questions = [], []

    def watch(before, action, after):
        if "Really attack" in before.prompt:
            questions.append(action)
            if action == ACTION["northwest"]:
                offences.append(before.prompt)
        if "You murderer" in after.message or "You hear the shrieks" in after.message:
            offences.append(after.message)

    for seed in (0, 100):
        play("descender", 1500, watch, first_seed=seed)
    assert questions, "no peaceful monster was met: the seeds test nothing"
    assert offences == []


def test_episodes_repeat_exactly():
    first, _ = play("descender", 400)
    second, _ = play("descender", 400)
    assert first == second


@pytest.mark.slow
def test_a_step_costs_at_most_ten_of_bare_nethack():
    """Three to five on the machine of docs/benchmarks.md (6,300 to 7,300 steps/s); both in processor time."""
    yardstick, ratios = Yardstick(), []
    for seed in (0, 8, 16):
        began = time.process_time()
        yardstick.measure(10_000)
        bare = (time.process_time() - began) / 10_000
        ratios.append(play("descender", 1000, first_seed=seed)[1] / bare)
    yardstick.close()
    print(f"{[round(ratio, 1) for ratio in ratios]} times a step of bare NetHack")
    assert min(ratios) <= 10
