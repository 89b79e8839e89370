"""Gymnasium's faces over any world: `Env` for one game, `VectorEnv` for many.

    gymnasium.make("maestro/NetHack-v0", character="val-hum-law-fem")
    gymnasium.make_vec("maestro/Corridor-v0", num_envs=16, vectorization_mode="custom")

The names are known as soon as maestro is installed; every world has one. Keyword arguments are the world's options.
`info["state"]` is the State that generated code reads; it may be kept. A seed fixes all coming episodes of a game:
game i of a vector seeded with s plays what a single game seeded with s + i plays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding

from maestro.envs import make_world, register_envs
from maestro.envs.world import Screen, World
from maestro.errors import WorldError


class Env(gymnasium.Env):
    """One game of a world. Observations are copies and may be kept.

    Time limits are the world's own (its option `max_steps`) and truncate.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 10}

    def __init__(self, world: str, *, render_mode: str | None = None, **options: Any) -> None:
        """Make the game; raises UnknownNameError for an unknown world and WorldError for unknown options."""
        _check_render_mode(render_mode)
        self.render_mode = render_mode
        self.world: World = make_world(world, 1, **_render_option(render_mode, options))
        self.observation_space = _observation_space(self.world)
        self.action_space = spaces.Discrete(len(self.world.action_names))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Start an episode; `seed` fixes it and all that follow.

        `options` may hold `core` and `disp`, which fix just this episode by the world's own seeds.
        """
        super().reset(seed=seed)
        _seed_game(self.world, 0, self.np_random, options)
        self.world.reset()
        return _copy_row(self.world, 0), {"state": self.world.states[0]}

    def step(self, action: int) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        """Apply one action; raises WorldError for an episode that has ended."""
        _refuse_idle([int(action)])
        result = self.world.step([int(action)])
        return (
            _copy_row(self.world, 0),
            float(result.reward[0]),
            bool(result.terminated[0]),
            bool(result.truncated[0]),
            {"state": self.world.states[0]},
        )

    def render(self) -> str | None:
        """Give the screen as lines of text; None without `render_mode="ansi"`."""
        return None if self.render_mode is None else _text(self.world.screen(0))

    def close(self) -> None:
        """Free the game."""
        self.world.close()


class VectorEnv(gymnasium.vector.VectorEnv):
    """All games of a batched world, stepped in one call.

    Ended games start anew within the same step, as in Gymnasium 0.29: the last observation and info of the ended
    episode are in `infos["final_observation"]` and `infos["final_info"]`.
    """

    def __init__(
        self,
        world: str,
        num_envs: int,
        *,
        copy: bool = True,
        max_episode_steps: int | None = None,
        **options: Any,
    ) -> None:
        """Make the games.

        Without `copy`, observations are the world's own arrays: nothing is copied, and the next step overwrites them.
        `max_episode_steps` is the world's `max_steps` under Gymnasium's name.
        """
        if max_episode_steps is not None:
            options["max_steps"] = max_episode_steps
        self.world: World = make_world(world, num_envs, **options)
        self._copy = copy
        self._generators = [seeding.np_random(None)[0] for _ in range(num_envs)]
        self._actions: list[int] = []
        super().__init__(
            num_envs, _observation_space(self.world), spaces.Discrete(len(self.world.action_names))
        )

    def reset_wait(
        self, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Start an episode in every game; game i takes seed + i, or seed[i]."""
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        for index in range(self.num_envs):
            if seeds is not None and seeds[index] is not None:
                self._generators[index] = seeding.np_random(seeds[index])[0]
            _seed_game(self.world, index, self._generators[index], options)
        self.world.reset()
        return self._observation(), self._infos({})

    def step_async(self, actions: np.ndarray | Sequence[int]) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = np.asarray(actions).tolist()

    def step_wait(
        self, **kwargs: Any
    ) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step all games and start the ended ones anew."""
        _refuse_idle(self._actions)
        result = self.world.step(self._actions)
        reward, terminated, truncated = (array.copy() for array in result)
        infos: dict[str, Any] = {}
        ended = np.flatnonzero(terminated | truncated).tolist()
        for index in ended:
            final = {
                "final_observation": _copy_row(self.world, index),
                "final_info": {"state": self.world.states[index]},
            }
            infos = self._add_info(infos, final, index)
            _seed_game(self.world, index, self._generators[index], None)
        if ended:
            self.world.reset(ended)
        return self._observation(), reward, terminated, truncated, self._infos(infos)

    def close_extras(self, **kwargs: Any) -> None:
        """Free the games."""
        self.world.close()

    def _observation(self) -> dict[str, np.ndarray]:
        if not self._copy:
            return self.world.observation
        return {name: array.copy() for name, array in self.world.observation.items()}

    def _infos(self, infos: dict[str, Any]) -> dict[str, Any]:
        states = np.empty(self.num_envs, dtype=object)
        for index, state in enumerate(self.world.states):  # numpy would spread a NamedTuple over an axis
            states[index] = state
        infos["state"], infos["_state"] = states, np.ones(self.num_envs, dtype=bool)
        return infos


def _refuse_idle(actions: Sequence[int]) -> None:
    """Refuse what leaves a game alone in a batched world, and is none of the space's actions."""
    for action in actions:
        if action < 0:
            raise WorldError(f"the action is {action}", where="step", expected="one of the action space")


def _observation_space(world: World) -> spaces.Dict:
    """Describe one game's arrays by their shapes and the ranges of their types."""
    found: dict[str, spaces.Space] = {}
    for name, array in world.observation.items():
        low, high = -np.inf, np.inf
        if np.issubdtype(array.dtype, np.integer):
            low, high = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
        found[name] = spaces.Box(low, high, array.shape[1:], array.dtype.type)
    return spaces.Dict(found)


def _seed_game(
    world: World, index: int, generator: np.random.Generator, options: dict[str, Any] | None
) -> None:
    """Seed a game's next episode from its own random numbers, or from what `options` says."""
    core, disp = (int(word) for word in generator.integers(0, 2**32, size=2))
    options = options or {}
    unknown = sorted(set(options) - {"core", "disp"})
    if unknown:
        raise WorldError(
            f"unknown option {unknown[0]!r}", where="reset(options=...)", expected="core and disp, or none"
        )
    world.seed(index, options.get("core", core), options.get("disp", disp))


def _copy_row(world: World, index: int) -> dict[str, np.ndarray]:
    return {name: array[index].copy() for name, array in world.observation.items()}


def _check_render_mode(render_mode: str | None) -> None:
    if render_mode not in (None, *Env.metadata["render_modes"]):
        raise WorldError(f"render_mode is {render_mode!r}", expected="'ansi' or None")


def _render_option(render_mode: str | None, options: dict[str, Any]) -> dict[str, Any]:
    return options if render_mode is None else {"render": True, **options}


def _text(screen: Screen) -> str:
    return "\n".join(bytes(row).decode("latin-1").rstrip() for row in screen.chars)


register_envs()
