"""Games that nobody watches are the same as those drawn on a terminal."""

from pathlib import Path

import numpy as np
import pytest

from maestro.envs import make_world
from maestro.envs.nethack import situations
from maestro.envs.nethack.native import ENGINE_PATH
from maestro.envs.nethack.unseen import FOR_EYES_ONLY, FOR_THE_OVERVIEW, draw_nothing
from maestro.errors import EngineError, WorldError

NUM_GAMES, STEPS = 8, 1_500


def test_the_functions_are_changed_and_nothing_else():
    original = Path(ENGINE_PATH).read_bytes()
    for overview, functions in ((True, FOR_EYES_ONLY), (False, FOR_EYES_ONLY | FOR_THE_OVERVIEW)):
        patched = draw_nothing(original, overview=overview)
        assert len(patched) == len(original)
        changed = [i for i, (a, b) in enumerate(zip(original, patched, strict=True)) if a != b]
        assert len(functions) <= len(changed) <= 8 * len(functions)


def test_a_library_without_them_is_refused():
    with pytest.raises(EngineError, match="missing"):
        draw_nothing(
            Path(ENGINE_PATH).read_bytes().replace(b"recalc_mapseen", b"recalc_mapsawn"), overview=False
        )


def test_all_that_a_program_reads_is_the_same():
    worlds = [
        make_world("nethack", NUM_GAMES, render=render, overview=overview)
        for render, overview in ((False, False), (True, True))
    ]
    rng = np.random.default_rng(0)
    begun = 0

    def begin(indices):
        nonlocal begun
        for index in indices:
            begun += 1
            for world in worlds:
                world.seed(index, core=begun, disp=begun + 1)
        for world in worlds:
            world.reset(indices)

    begin(range(NUM_GAMES))
    for _ in range(STEPS):
        actions = rng.integers(len(worlds[0].action_names), size=NUM_GAMES).tolist()
        unseen, drawn = (world.step(actions) for world in worlds)
        for name, array in worlds[0]._arrays.items():
            assert np.array_equal(array, worlds[1]._arrays[name]), name
        assert np.array_equal(unseen.reward, drawn.reward)
        over = np.flatnonzero(unseen.terminated | unseen.truncated).tolist()
        assert over == np.flatnonzero(drawn.terminated | drawn.truncated).tolist()
        begin(over)
    assert begun > NUM_GAMES


def test_the_overview_is_kept_in_games_that_nobody_watches():
    drawn, unseen, without = (
        situations.make_wizard_world(render=render, overview=overview)
        for render, overview in ((True, True), (False, True), (False, False))
    )
    listed = []
    for world in (drawn, unseen, without):
        world.seed(0, 7, 7)
        world.reset()
    for place in (2, 5, 6, 7, 9, 1, 10, 3):
        for world in (drawn, unseen):
            situations.visit(world, 0, place)
        expected = drawn.truth(0).levels_in_overview()
        assert unseen.truth(0).levels_in_overview() == expected
        listed.append(len(expected))
    assert max(listed) > 1, "some level has something to list besides the one the hero is on"
    with pytest.raises(WorldError, match="overview=True"):
        without.truth(0).levels_in_overview()
    for world in (drawn, unseen, without):
        world.close()
