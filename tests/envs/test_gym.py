"""The Gymnasium faces."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from maestro.envs.gym import Env, VectorEnv
from maestro.errors import UnknownNameError, WorldError

CORRIDOR = "maestro/Corridor-v0"
NETHACK = "maestro/NetHack-v0"


def same(left, right):
    return left.keys() == right.keys() and all(np.array_equal(left[key], right[key]) for key in left)


@pytest.mark.parametrize("name", [CORRIDOR, NETHACK])
@pytest.mark.filterwarnings("error::UserWarning")
def test_gymnasium_finds_no_fault(name):
    env = gymnasium.make(name, render_mode="ansi")
    check_env(env.unwrapped)
    env.close()


def test_the_names_are_known_without_importing_maestro():
    program = (
        "import gymnasium, sys; env = gymnasium.make('maestro/Corridor-v0');"
        "assert env.reset(seed=1)[1]['state'].step == 0; print(sorted(n for n in gymnasium.registry if 'maestro' in n))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout == f"{[CORRIDOR, NETHACK]}\n", result.stderr


def test_importing_gymnasium_does_not_import_a_world():
    program = (
        "import gymnasium, sys; print([n for n in sys.modules if n.startswith(('nle', 'maestro.envs.'))])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout == "[]\n", result.stderr


@pytest.mark.parametrize("name", [CORRIDOR, NETHACK])
def test_seeds_decide_all_coming_episodes_and_others_differ(name):
    def episodes(seed):
        env = gymnasium.make(name, max_steps=5)
        found = []
        for start in (seed, None, None):
            observation, _ = env.reset(seed=start)
            found.append(observation)
            while True:
                observation, _, terminated, truncated, _ = env.step(1)
                found.append(observation)
                if terminated or truncated:
                    break
        env.close()
        return found

    first = episodes(3)
    assert len(first) == 18
    assert all(same(a, b) for a, b in zip(first, episodes(3), strict=True))
    assert not all(same(a, b) for a, b in zip(first, episodes(4), strict=True))


def test_core_and_disp_can_be_given():
    env = Env("corridor")
    first, _ = env.reset(options={"core": 4, "disp": 1})
    keys = {int(np.flatnonzero(env.reset(options={"core": core})[0]["cells"] == 1)[0]) for core in range(30)}
    assert len(keys) > 1
    assert same(first, env.reset(options={"core": 4})[0])
    with pytest.raises(WorldError, match="unknown option 'cor'"):
        env.reset(options={"cor": 4})


def test_observations_may_be_kept():
    env = Env("corridor", slip=0.0)
    first, _ = env.reset(seed=1)
    kept = {key: array.copy() for key, array in first.items()}
    env.step(1)
    assert same(first, kept)


def test_the_step_limit_truncates():
    env = gymnasium.make(CORRIDOR, max_steps=2)
    env.reset(seed=1)
    assert env.step(3)[2:4] == (False, False)
    assert env.step(3)[2:4] == (False, True)
    with pytest.raises(WorldError, match="has ended"):
        env.step(3)


def test_rendering_is_text():
    env = gymnasium.make(CORRIDOR, render_mode="ansi")
    env.reset(seed=1)
    screen = env.render()
    assert isinstance(screen, str)
    assert screen.splitlines()[0] == "You stand in a corridor."
    assert "@" in screen
    with pytest.raises(WorldError, match="render_mode"):
        Env("corridor", render_mode="human")


def test_unknown_worlds_and_options():
    with pytest.raises(UnknownNameError):
        Env("chess")
    with pytest.raises(WorldError, match="lenght"):
        gymnasium.make(CORRIDOR, lenght=3)


@pytest.mark.parametrize("world", ["corridor", "nethack"])
def test_a_vector_plays_what_single_games_play(world):
    vector = VectorEnv(world, 3, max_steps=6)
    singles = [Env(world, max_steps=6) for _ in range(3)]
    observation, infos = vector.reset(seed=10)
    for index, single in enumerate(singles):
        expected, info = single.reset(seed=10 + index)
        assert same({key: array[index] for key, array in observation.items()}, expected)
        assert infos["state"][index] == info["state"]
    generator = np.random.default_rng(0)
    for _ in range(20):
        actions = generator.integers(0, 3, 3)
        observation, reward, terminated, truncated, infos = vector.step(actions)
        assert vector.observation_space.contains(observation)
        for index, single in enumerate(singles):
            last, single_reward, *ends, info = single.step(actions[index])
            assert (reward[index], terminated[index], truncated[index]) == (single_reward, *ends)
            if any(ends):
                assert same(infos["final_observation"][index], last)
                assert infos["final_info"][index] == info
                last, info = single.reset()
            assert same({key: array[index] for key, array in observation.items()}, last)
            assert infos["state"][index] == info["state"]
    vector.close()
    for single in singles:
        single.close()


def test_make_vec_makes_the_batched_world():
    vector = gymnasium.make_vec(
        CORRIDOR, num_envs=4, vectorization_mode="custom", vector_kwargs={"length": 20}
    )
    assert isinstance(vector, VectorEnv)
    observation, _ = vector.reset(seed=[1, 2, 3, None])
    assert observation["cells"].shape == (4, 20)
    vector.close()
    vector.close()


def test_without_copies_the_arrays_are_the_worlds():
    vector = VectorEnv("corridor", 2, copy=False)
    observation, _ = vector.reset(seed=1)
    assert observation["cells"] is vector.world.observation["cells"]
    assert VectorEnv("corridor", 2).reset(seed=1)[0]["cells"] is not vector.world.observation["cells"]
