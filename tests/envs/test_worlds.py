"""The contract of `maestro.envs.world`, checked on every world there is; a new world needs no new test here."""

import copy

import numpy as np
import pytest

from maestro.content import Content
from maestro.envs import load_world_module, make_world, success_tests, world_names
from maestro.envs.world import IDLE, SkillPolicy, World
from maestro.errors import MaestroError, UnknownNameError, WorldError

NUM_GAMES = 3


@pytest.fixture(params=world_names())
def name(request):
    return request.param


@pytest.fixture
def world(name):
    world = make_world(name, NUM_GAMES, max_steps=30, render=True)
    for index in range(NUM_GAMES):
        world.seed(index, core=index, disp=index + 100)
    world.reset()
    yield world
    world.close()


def play(world, seed, num_steps=25):
    """Play all games that are not over by a random policy and collect all there is to see."""
    policy = load_world_module(world.name).make_random_policy(world.num_games)
    seen, over = [], np.zeros(world.num_games, bool)
    for index in range(world.num_games):
        policy.reset(index, seed + index)
    for _ in range(num_steps):
        result = world.step(policy.act(world, [None if ended else "any" for ended in over]))
        over |= result.terminated | result.truncated
        observation = {key: array.copy() for key, array in world.observation.items()}
        seen.append((result.reward.tolist(), list(world.states), observation))
    return seen


def equal(left, right):
    return all(
        a[:2] == b[:2] and all(np.array_equal(a[2][key], b[2][key]) for key in a[2])
        for a, b in zip(left, right, strict=True)
    )


def test_it_says_what_it_is(world, name):
    assert isinstance(world, World)
    assert world.name == name
    assert world.num_games == len(world.states) == NUM_GAMES
    assert len(set(world.action_names)) == len(world.action_names)
    assert all(array.shape[0] == NUM_GAMES for array in world.observation.values())


def test_every_field_of_state_is_documented(world, name):
    module = load_world_module(name)
    assert set(module.FIELD_DOCS) == set(module.State._fields)
    assert all(text.strip() for text in module.FIELD_DOCS.values())
    assert isinstance(world.states[0], module.State)
    assert world.states[0].step == 0


def test_the_same_seeds_play_the_same_games_and_others_do_not(name, world):
    first = play(world, seed=5)
    world.reset()  # without seeds: whatever comes, the next games do not depend on it
    for index in range(NUM_GAMES):
        world.seed(index, core=index, disp=index + 100)
    world.reset()
    assert equal(first, play(world, seed=5))
    for index in range(NUM_GAMES):
        world.seed(index, core=index + 1_000, disp=index + 1_100)
    world.reset()
    assert not equal(first, play(world, seed=5))


def test_kept_states_do_not_change_and_arrays_stay_in_place(world):
    arrays = {key: id(array) for key, array in world.observation.items()}
    kept = list(world.states)
    copies = copy.deepcopy(kept)
    play(world, seed=1)
    assert kept == copies
    assert {key: id(array) for key, array in world.observation.items()} == arrays
    with pytest.raises(AttributeError):
        world.states[0].step = 7


def test_idle_games_stay_as_they_are(world):
    before = world.states[0]
    rows = {key: array[0].copy() for key, array in world.observation.items()}
    result = world.step([IDLE, 1, 1])
    assert world.states[0] is before
    assert all(np.array_equal(rows[key], array[0]) for key, array in world.observation.items())
    assert not result.terminated[0]
    assert not result.truncated[0]
    assert result.reward[0] == 0
    assert [state.step for state in world.states] == [0, 1, 1]


def test_a_step_gives_arrays_of_the_documented_types(world):
    result = world.step([1] * NUM_GAMES)
    assert [array.dtype for array in result] == [np.float32, np.bool_, np.bool_]
    assert all(array.shape == (NUM_GAMES,) for array in result)


def test_the_step_limit_truncates_and_never_terminates(name):
    world = make_world(name, 1, max_steps=4)
    world.seed(0, core=3, disp=3)
    world.reset()
    ends = [world.step([world.action_names.index("wait")]) for _ in range(3)]
    assert not any(result.truncated[0] for result in ends)
    last = world.step([world.action_names.index("wait")])
    assert last.truncated[0]
    assert not last.terminated[0]
    world.close()


def test_one_game_can_be_reset_alone(world):
    play(world, seed=2, num_steps=3)
    other = world.states[2]
    world.reset([1])
    assert world.states[1].step == 0
    assert world.states[2] is other


def test_actions_that_do_not_exist_are_refused(world):
    with pytest.raises(WorldError, match="action"):
        world.step([len(world.action_names), IDLE, IDLE])


def test_unknown_options_and_bad_values_are_refused(name):
    with pytest.raises(WorldError, match="lenght"):
        make_world(name, 1, lenght=3)
    with pytest.raises(WorldError, match="max_steps"):
        make_world(name, 1, max_steps=0)
    with pytest.raises(WorldError, match="num_games"):
        make_world(name, 0)


def test_captions_describe_the_step_since_the_start(world):
    start = world.states[0]
    world.step([1] * NUM_GAMES)
    caption = world.caption(0, start)
    assert world.states[0].message in caption
    assert start.message in caption


def test_screens_are_copies(world):
    screen = world.screen(0)
    assert screen.chars.shape == screen.colors.shape == (24, 80)
    before = screen.chars.copy()
    play(world, seed=3)
    assert np.array_equal(screen.chars, before)
    row, column = screen.cursor
    assert 0 <= row < 24
    assert 0 <= column < 80


def test_policies_act_for_running_games_only(world, name):
    skills = list(Content.find().skills(name))
    for make in ("make_reference_policy", "make_random_policy"):
        policy: SkillPolicy = getattr(load_world_module(name), make)(NUM_GAMES)
        for index in range(NUM_GAMES):
            policy.reset(index, seed=index)
        actions = policy.act(world, [skills[0], None, skills[-1]])
        assert actions[1] == IDLE
        assert all(0 <= actions[index] < len(world.action_names) for index in (0, 2))


def test_success_tests_start_undecided(world, name):
    for test in success_tests(name).values():
        watch = test()
        assert watch.kind in ("rate", "count")
        watch.start(world, 0)
        assert watch.value == 0
        assert not watch.done


def test_closing_twice_is_harmless(world):
    world.close()
    world.close()


def test_an_unknown_world_is_answered_with_suggestions():
    with pytest.raises(UnknownNameError, match="did you mean 'corridor'"):
        make_world("coridor", 1)
    assert issubclass(UnknownNameError, MaestroError)
