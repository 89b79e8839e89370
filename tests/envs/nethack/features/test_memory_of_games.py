"""What is remembered when and of whom: episodes, batches, levels left and come back to, sick heroes, any bytes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from maestro.envs import make_features, make_world
from maestro.envs.nethack import ACTION, situations
from maestro.envs.nethack.features import memory as M
from maestro.envs.nethack.features.look import know_stairs
from maestro.envs.nethack.features.names import COMPASS_TARGETS, PLACE
from maestro.envs.nethack.native import nethack
from maestro.errors import UnknownNameError

SETS = ("compass", "paper")


def copies(features):
    return {name: array.copy() for name, array in features.arrays.items()}


def same(one, other):
    return all((one[name] == other[name]).all() for name in one)


def compass_of(features, target, game=0):
    return features.arrays["compass"][game, COMPASS_TARGETS.index(target)]


@pytest.mark.parametrize("name", SETS)
def test_rows_do_not_depend_on_other_games(replay, name):
    world = replay()
    features = make_features(world, name)
    history = []
    world.run(features, lambda moment: history.append(copies(features)))
    for game in range(world.num_games):
        alone = replay([game])
        mine = make_features(alone, name)
        steps = iter(history)

        def check(moment, game=game, mine=mine, steps=steps):
            together = next(steps)
            for key, array in mine.arrays.items():
                assert (array[0] == together[key][game]).all(), key

        alone.run(mine, check)


@pytest.mark.parametrize("name", SETS)
def test_nothing_leaks_between_episodes(replay, name):
    world = replay()
    used, fresh = make_features(world, name), make_features(world, name)
    world.run(used)
    world.show(world.moments[0])
    used.begin(range(world.num_games))
    fresh.begin(range(world.num_games))
    assert same(used.arrays, fresh.arrays)
    for moment in world.moments[1:80]:
        mine = world.show(moment)
        for features in (used, fresh):
            features.update(mine.stepped)
            features.begin(mine.begun)
        assert same(used.arrays, fresh.arrays)


@pytest.mark.parametrize("name", SETS)
def test_only_the_rows_asked_for_are_written(replay, name):
    world = replay()
    features = make_features(world, name)
    features.begin(range(world.num_games))
    before = copies(features)
    world.show(world.moments[30])
    features.update([2])
    features.update([])
    for key, array in features.arrays.items():
        assert (array[[0, 1, 3]] == before[key][[0, 1, 3]]).all()
        assert array.flags.c_contiguous
    assert not (features.arrays["vector"][2] == before["vector"][2]).all()


def test_arrays_are_made_once(replay):
    world = replay()
    features = make_features(world, "compass")
    arrays = dict(features.arrays)
    world.run(features, moments=world.moments[:20])
    assert all(features.arrays[name] is array for name, array in arrays.items())


@pytest.fixture
def walker():
    """One game in debug mode with features that follow it."""
    world = situations.make_wizard_world()
    features = make_features(world, "compass")
    vector = features.arrays["vector"][0]
    for seed in range(12, 60):
        world.seed(0, seed, seed)
        world.reset()
        features.begin([0])
        if vector[PLACE["step_west"]] and vector[PLACE["step_east"]] and not vector[PLACE["hostiles"]]:
            break

    def act(*names):
        for name in names:
            world.step([ACTION[name]])
            features.update([0])

    def keys(sent):
        world.send_keys(0, sent)
        features.update([0])

    yield SimpleNamespace(world=world, features=features, act=act, keys=keys)
    world.close()


def test_a_staircase_that_is_none_is_forgotten_when_the_game_says_so(walker):
    features = walker.features
    walker.act("west", "east", "west")
    vector, known = features.arrays["vector"][0], PLACE["stairs_up_known"]
    assert vector[PLACE["on_staircase_up"]] == 0
    before = vector[known]
    memory, numbers = features._memory, features._memory.numbers[0]
    know_stairs(memory, 0, int(numbers[M.G_SLOT]), int(numbers[M.G_HERO]), 1)
    walker.act("search")
    assert vector[PLACE["on_staircase_up"]] == 1 and vector[known] > before
    walker.act("up")
    assert walker.world.states[0].message == "You can't go up here."
    assert vector[PLACE["on_staircase_up"]] == 0 and vector[known] == before
    row = compass_of(features, "staircase_up")
    assert row[9] == 1 and row[:8].sum() == 1  # the real one, a step away


def test_staircases_are_remembered_under_objects_and_across_levels(walker):
    world, features = walker.world, walker.features
    walker.act("west", "east")  # there and back: every game begins on one
    assert features.arrays["vector"][0, PLACE["on_staircase_up"]] == 1
    walker.keys(b"\x17dagger\r")
    letter = world.states[0].message[0]
    walker.keys(f"d{letter}")
    for name in ("east", "west", "north", "south", "northeast", "southwest"):
        walker.act(name)
        vector = features.arrays["vector"][0]
        if vector[PLACE["moved"]]:
            break
    assert vector[PLACE["moved"]] == 1 and vector[PLACE["on_staircase_up"]] == 0
    row = compass_of(features, "staircase_up").copy()
    assert row[8] == 0.5 and row[9] == 1 and row[:8].sum() == 1
    y, x = world.observation["blstats"][0, 1], world.observation["blstats"][0, 0]
    direction = int(row[:8].argmax())
    square = (y + 1) * 80 + x + 1 + M.STEPS[direction]
    glyph = world.observation["glyphs"][0, square // 80 - 1, square % 80 - 1]
    assert nethack.GLYPH_OBJ_OFF <= glyph < nethack.GLYPH_CMAP_OFF  # the dagger hides the staircase
    walker.keys(b"\x165\r")
    assert features.arrays["vector"][0, PLACE["arrived"]] == 1
    elsewhere = vector[PLACE["stairs_up_known"]] + vector[PLACE["stairs_down_known"]]
    walker.keys(b"\x161\r")
    assert vector[PLACE["arrived"]] == 1 and vector[PLACE["depth"]] == pytest.approx(0.1)
    assert vector[PLACE["stairs_up_known"]] == 0.5
    memory = features._memory
    slot = memory.numbers[0, M.G_SLOT]
    assert memory.cells[0, slot, square] & M.UP and memory.stairs[0, slot, 0].tolist() == [square, 1, 0]
    walker.keys(b"\x165\r")
    assert vector[PLACE["stairs_up_known"]] + vector[PLACE["stairs_down_known"]] >= elsewhere
    walker.world.reset()
    features.begin([0])
    assert features._memory.numbers[0, M.G_LEVELS] == 1


def test_levels_beyond_the_room_there_is_are_forgotten_oldest_first(walker):
    memory = walker.features._memory
    for depth in range(1, 29):
        walker.keys(b"\x16" + str(depth).encode() + b"\r")
    assert memory.numbers[0, M.G_LEVELS] <= M.MOST_LEVELS
    keys = memory.levels[0, : memory.numbers[0, M.G_LEVELS], M.L_KEY]
    assert len(set(keys.tolist())) == len(keys)
    row = walker.world.observation["blstats"][0]
    assert row[23] * 1000 + row[24] in keys


def test_altars_and_shops(walker):
    world, features = walker.world, walker.features
    for seed in range(20, 60):
        world.seed(0, seed, seed)
        world.reset()
        features.begin([0])
        situations.visit(world, 0, "minetn")
        features.update([0])
        if world.truth(0).altars() and any(shop.kind == 0 for shop in world.truth(0).shops()):
            break
    situations.step_on_altar(world, 0)
    features.update([0])
    vector = features.arrays["vector"][0]
    walker.keys(b":")  # look what is here
    assert "altar" in world.states[0].message
    assert vector[PLACE["on_altar"]] == 1 and compass_of(features, "altar")[8] == 1
    situations.enter_shop(world, 0)
    features.update([0])
    walker.act("search")
    assert (
        vector[PLACE["shop_known"]] == 1 and vector[PLACE["in_shop"]] == 1 and vector[PLACE["on_altar"]] == 0
    )
    assert compass_of(features, "shopkeeper")[8] > 0 and compass_of(features, "left_alone")[8] > 0
    assert compass_of(features, "counter")[8] > 0
    world.reset()
    features.begin([0])
    assert vector[PLACE["shop_known"]] == 0 and not compass_of(features, "altar").any()


@pytest.mark.parametrize("potion", ["hallucination", "blindness", "confusion", "levitation"])
def test_sick_heroes(walker, potion):
    walker.keys(f"\x17cursed potion of {potion}\r")
    walker.keys(f"q{walker.world.states[0].message[0]}")
    generator = np.random.default_rng(3)
    names = list(ACTION)
    for _ in range(150):
        if walker.world.games[0].is_over:
            walker.world.reset()
            walker.features.begin([0])
        walker.act(names[generator.integers(len(names))])
        for array in walker.features.arrays.values():
            assert np.isfinite(array).all()


@pytest.mark.parametrize("name", SETS)
def test_anything_that_arrays_can_hold(name):
    """Neither maps, messages nor status lines that no game shows may crash or write out of bounds."""
    generator = np.random.default_rng(5)
    state = SimpleNamespace(message="", prompt="", num_items=0)
    num_games = 3
    world = SimpleNamespace(name="nethack", num_games=num_games, states=[state] * num_games)
    world.observation = {
        "glyphs": np.zeros((num_games, 21, 79), np.int16),
        "blstats": np.zeros((num_games, 27), np.int64),
        "message": np.zeros((num_games, 256), np.uint8),
        "inv_oclasses": np.zeros((num_games, 55), np.uint8),
    }
    world.last_action = lambda index: int(generator.integers(28))
    features = make_features(world, name)
    odd = np.array([0, nethack.GLYPH_CMAP_OFF + 12, nethack.GLYPH_CMAP_OFF + 15, nethack.GLYPH_CMAP_OFF + 24])
    for step in range(300):
        seen = world.observation
        if step % 3:
            seen["glyphs"][:] = generator.choice(odd, (num_games, 21, 79))
        else:
            seen["glyphs"][:] = generator.integers(0, nethack.MAX_GLYPH, (num_games, 21, 79))
        seen["message"][:] = generator.integers(0, 256, (num_games, 256))
        seen["inv_oclasses"][:] = generator.integers(0, 256, (num_games, 55))
        seen["blstats"][:] = generator.integers(-(2**20), 2**20, (num_games, 27))
        seen["blstats"][:, 0] = generator.integers(0, 79, num_games)
        seen["blstats"][:, 1] = generator.integers(0, 21, num_games)
        seen["blstats"][:, 23] = generator.integers(0, 8, num_games)
        messages = ["", "You see here a dagger.", "There is a staircase down here.", "WHAMM!!", "It hits!"]
        prompts = ["", "Really attack?", "In what direction?"]
        world.states = [
            SimpleNamespace(
                message=messages[generator.integers(5)], prompt=prompts[generator.integers(3)], num_items=3
            )
            for _ in range(num_games)
        ]
        (features.begin if step % 50 == 0 else features.update)(range(num_games))
        assert all(np.isfinite(array).all() for array in features.arrays.values())


def test_peaceful_monsters_are_spared_after_the_question(walker):
    vector = walker.features.arrays["vector"][0]
    walker.keys(b"\x07peaceful gnome\r")
    strikes = vector[PLACE["strike_north"] : PLACE["strike_north"] + 8]
    spares = vector[PLACE["spare_north"] : PLACE["spare_north"] + 8]
    assert strikes.sum() == 1 and spares.sum() == 0  # it looks like any gnome
    direction = int(strikes.argmax())
    walker.act(list(ACTION)[1 + direction])
    assert walker.world.states[0].prompt.startswith("Really attack") and vector[PLACE["prompt_attack"]] == 1
    assert strikes.sum() == 0 and spares[direction] == 1
    walker.act("southeast")  # no
    assert strikes.sum() == 0 and compass_of(walker.features, "left_alone")[8] > 0
    walker.world.reset()
    walker.features.begin([0])
    assert vector[PLACE["peaceful_known"]] == 0


def test_small_worlds_and_wrong_names():
    world = make_world("nethack", 1, inventory_shown=False)
    world.reset()
    with pytest.raises(UnknownNameError, match="compas"):
        make_features(world, "compas")
    world.close()
