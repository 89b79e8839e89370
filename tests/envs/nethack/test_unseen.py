"""Games that nobody watches are the same as those drawn on a terminal."""

from pathlib import Path

import numpy as np
import pytest

from maestro.envs import make_world
from maestro.envs.nethack.native import ENGINE_PATH
from maestro.envs.nethack.unseen import FOR_EYES_ONLY, draw_nothing
from maestro.errors import EngineError

NUM_GAMES, STEPS = 8, 1_500


def test_the_functions_are_changed_and_nothing_else():
    original = Path(ENGINE_PATH).read_bytes()
    patched = draw_nothing(original)
    assert len(patched) == len(original)
    changed = [i for i, (a, b) in enumerate(zip(original, patched, strict=True)) if a != b]
    assert len(FOR_EYES_ONLY) <= len(changed) <= 8 * len(FOR_EYES_ONLY)


def test_a_library_without_them_is_refused():
    with pytest.raises(EngineError, match="missing"):
        draw_nothing(Path(ENGINE_PATH).read_bytes().replace(b"recalc_mapseen", b"recalc_mapsawn"))


def test_all_that_a_program_reads_is_the_same():
    worlds = [make_world("nethack", NUM_GAMES, render=render) for render in (False, True)]
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
