"""The corridor's own rules; what every world promises is checked in test_worlds.py."""

import time

import pytest

from maestro.content import Content
from maestro.envs import feature_sets, make_features
from maestro.envs.corridor import (
    ACTION,
    EAST,
    FEATURE_SETS,
    OPEN,
    SUCCESS_TESTS,
    WEST,
    make_random_policy,
    make_reference_policy,
    make_world,
)
from maestro.errors import UnknownNameError, WorldError
from maestro.options.executive import Executive
from maestro.options.load import load_options, load_policy


def corridor(**options):
    world = make_world(1, **{"slip": 0.0, **options})
    world.seed(0, core=1, disp=1)
    world.reset()
    return world


def do(world, *actions):
    for action in actions:
        result = world.step([action])
    return result, world.states[0]


def line(world):
    return bytes(world.screen(0).chars[11]).decode().rstrip()


def test_it_looks_as_documented():
    world = corridor()
    assert line(world).count("*") == 1
    assert line(world).startswith("|")
    assert line(world)[1 + 12 // 2] == "@"
    assert line(world).endswith("+")


def test_a_key_is_picked_up_where_it_lies():
    world = corridor()
    key = world.truth(0).key_position
    assert key is not None
    for _ in range(6 - key):
        assert world.states[0].num_keys == 0
        _, state = do(world, WEST)
    assert (state.num_keys, state.position, state.message) == (1, key, "You pick up a key.")
    assert world.truth(0).key_position is None
    assert "*" not in line(world)
    assert world.observation["num_keys"][0, 0] == 1


def test_the_walls_and_the_door_stop_the_hero():
    world = corridor()
    _, state = do(world, *[WEST] * 7)
    assert (state.position, state.message) == (0, "You bump into a wall.")
    _, state = do(world, *[EAST] * 11)
    assert (state.position, state.at_door, state.message) == (10, True, "A locked door is in your way.")


def test_the_door_needs_a_key_and_ends_the_episode():
    world = corridor()
    assert do(world, OPEN)[1].message == "There is no door here."
    assert do(world, *[EAST] * 4, OPEN)[1].message == "The door is locked."
    do(world, *[WEST] * 10, *[EAST] * 10)
    result, state = do(world, OPEN)
    assert (result.reward[0], result.terminated[0], result.truncated[0]) == (1, True, False)
    assert state.door_open
    assert line(world).endswith("'")
    with pytest.raises(WorldError, match="has ended"):
        world.step([OPEN])


def test_opening_on_the_last_step_terminates_rather_than_truncates():
    world = corridor(max_steps=17)
    key = world.truth(0).key_position
    do(world, *[WEST] * (6 - key), *[ACTION["wait"]] * (2 * key), *[EAST] * (10 - key))
    result, state = do(world, OPEN)
    assert state.step == 17
    assert (result.terminated[0], result.truncated[0]) == (True, False)


def test_a_world_that_was_never_reset_is_refused():
    with pytest.raises(WorldError, match="never reset"):
        make_world(1).step([WEST])


def test_slips_are_as_frequent_as_asked():
    world = make_world(200, slip=0.25, max_steps=50)
    for index in range(200):
        world.seed(index, core=index, disp=index)
    world.reset()
    num_slips = 0
    for step in range(50):
        world.step([WEST if step % 2 else EAST] * 200)
        num_slips += sum(state.message == "You slip." for state in world.states)
    assert 0.23 < num_slips / 10_000 < 0.27  # five standard deviations


def test_core_lays_the_key_and_disp_makes_the_slips():
    world = make_world(1)
    keys = set()
    for core in range(40):
        world.seed(0, core=core, disp=7)
        world.reset()
        keys.add(world.truth(0).key_position)
    assert keys == set(range(6))


def test_captions_name_what_changed_since_the_skill_began():
    world = corridor()
    start = world.states[0]
    do(world, EAST, EAST)
    assert world.caption(0, start) == (
        'Messages: "You walk east." then "You walk east."\nPosition: from 6 to 8\nKeys: same'
    )


def test_the_reference_policy_names_a_skill_it_cannot_play():
    with pytest.raises(UnknownNameError, match="did you mean 'opener'"):
        make_reference_policy(1).act(corridor(), ["openr"])


@pytest.mark.parametrize(
    ("maker", "low", "high"), [(make_reference_policy, 1.0, 1.0), (make_random_policy, 0.0, 0.2)]
)
def test_the_task_is_solved_by_the_reference_skills_and_not_by_chance(maker, low, high):
    num_games = 50
    content = Content.find()
    world, skills = make_world(num_games), maker(num_games)
    executive = Executive(
        load_options(content.skills("corridor")),
        load_policy(content.task("locked_door")),
        "eastwalker",
        num_games,
    )
    watches = [{name: test() for name, test in SUCCESS_TESTS.items()} for _ in range(num_games)]
    for index in range(num_games):
        world.seed(index, core=index, disp=index)
        skills.reset(index, index)
    world.reset()
    running = set(range(num_games))
    for index in running:
        executive.start(index, world.states[index], index)
        for watch in watches[index].values():
            watch.start(world, index)
    while running:
        names = [executive.running[i] if i in running else None for i in range(num_games)]
        result = world.step(skills.act(world, names))
        for index in sorted(running):
            for watch in watches[index].values():
                watch.update(world, index)
            if result.terminated[index] or result.truncated[index]:
                running.remove(index)
            else:
                executive.advance(index, world.states[index])
                assert executive.failure(index) is None
    for name in SUCCESS_TESTS:
        assert low <= sum(watch[name].value for watch in watches) / num_games <= high


def test_the_training_policy_gives_every_skill_its_turn():
    content = Content.find()
    world = make_world(1, slip=0.0)
    executive = Executive(
        load_options(content.skills("corridor")), load_policy(content.training("corridor")), "keyfinder", 1
    )
    world.reset()
    executive.start(0, world.states[0], 0)
    skills, ended = make_reference_policy(1), False
    while not ended:
        result = world.step(skills.act(world, list(executive.running)))
        ended = result.terminated[0] or result.truncated[0]
        if not ended:
            executive.advance(0, world.states[0])
    assert [switch.skill for switch in executive.switches(0)] == [
        "eastwalker",
        "keyfinder",
        "eastwalker",
        "opener",
    ]


def test_a_thousand_steps_take_milliseconds():
    world = make_world(16, max_steps=2_000)
    world.reset()
    start = time.perf_counter()
    for step in range(1_000):
        world.step([step % 2] * 16)
    assert time.perf_counter() - start < 5.0  # about 0.1 s when the machine is idle


@pytest.mark.parametrize("name", sorted(FEATURE_SETS))
def test_features_show_every_cell(name):
    world = make_world(3, length=6, slip=0.0)
    for game in range(3):
        world.seed(game, game, game)
    world.reset()
    features = make_features(world, name)
    assert features.name == name
    features.begin(range(3))
    vector = features.arrays["vector"]
    before = vector[1].copy()
    world.step([WEST, WEST, EAST])
    features.update([0, 2])
    assert (vector[1] == before).all()
    for game in (0, 2):
        cells = vector[game, :30].reshape(6, 5)
        assert (cells.argmax(axis=1) == world.observation["cells"][game]).all() and (
            cells.sum(axis=1) == 1
        ).all()
        assert vector[game, 30] == (world.states[game].num_keys > 0)
    world.step([ACTION["wait"], OPEN, EAST])
    features.update([2])
    assert (
        vector[2, 31:]
        == [
            "locked" in world.states[2].message and news == "locked"
            for news in ("bump", "slip", "locked", "pick up")
        ]
    ).all()
    features.update([])


def test_features_have_names():
    with pytest.raises(UnknownNameError, match="compas"):
        make_features(make_world(1), "compas")
    assert feature_sets("corridor") == FEATURE_SETS
