"""The skill games as sample-factory's batched sampling wants them: one environment of many agents, tensors in place."""

from __future__ import annotations

import gc
import json
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces

from maestro.errors import EngineError, MaestroError
from maestro.learner.config import TrainConfig
from maestro.learner.faults import report_fault
from maestro.learner.games import SkillGames
from maestro.learner.network import ArraySpec
from maestro.learner.processes import GAMES, name_process
from maestro.learner.run_policy import describe_run

METRICS_EVERY_S = 5.0
_GROUPS = 1 << 16
"""More than any run has."""


def observation_space(specs: dict[str, ArraySpec]) -> spaces.Dict:
    """Describe the observation; bounds are those of the types, because nothing reads them."""
    return spaces.Dict({name: _box(spec) for name, spec in specs.items()})


def _box(spec: ArraySpec) -> spaces.Box:
    dtype: Any = np.dtype(spec.dtype)
    if np.issubdtype(dtype, np.integer):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    else:
        low, high = -np.inf, np.inf
    return spaces.Box(low, high, spec.shape, dtype.type)


class SkillEnvironment(gymnasium.Env):
    """One group of games of one worker. It writes what it measured to `<folder>/games/<group>.jsonl`."""

    is_multiagent = True

    def __init__(self, config: TrainConfig, folder: Path, group: int, start: int = 0) -> None:
        """Start the games of group number `group`; each group, and each start of a run, has dungeons of its own."""
        name_process(GAMES)
        self._games = SkillGames(config.games, group=_GROUPS * start + group)
        self.num_agents = config.games.num_games
        self.observation_space = observation_space(self._games.specs)
        self.action_space = spaces.Discrete(self._games.num_actions)
        self._observation = {name: torch.from_numpy(array) for name, array in self._games.observation.items()}
        self._folder = folder
        self._path = folder / "games" / f"{group}.jsonl"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._told = time.monotonic()

    def reset(self, **_: Any) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """Begin an episode in every game; raises as `SkillGames` does, and leaves word of it for the supervisor."""
        try:
            self._games.reset()
        except MaestroError as error:
            self._report(error)
            raise
        # What exists now stays; looking through it for garbage again and again took 3 % of a games process.
        gc.collect()
        gc.freeze()
        return self._observation, {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[Any, torch.Tensor, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Play one step in every game; games that ended have begun anew. Raises as `reset` does."""
        try:
            result = self._games.step(actions)
        except MaestroError as error:
            self._report(error)
            raise
        if time.monotonic() - self._told > METRICS_EVERY_S:
            self._tell()
        return (
            self._observation,
            torch.from_numpy(result.reward),
            torch.from_numpy(result.terminated),
            torch.from_numpy(result.truncated),
            {},
        )

    def close(self) -> None:
        """Tell what was not told yet, and end all games."""
        self._tell()
        self._games.close()

    def _report(self, error: MaestroError) -> None:
        """Leave word of what another start would meet again; an engine that failed is worth another start."""
        if not isinstance(error, EngineError):
            report_fault(self._folder, str(error))

    def _tell(self) -> None:
        self._told = time.monotonic()
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"time": time.time(), **self._games.metrics()}) + "\n")


class SpacesOnly(gymnasium.Env):
    """What sample-factory asks before it starts: spaces and the number of agents, from a single game."""

    is_multiagent = True

    def __init__(self, config: TrainConfig, folder: Path) -> None:
        """Look, and leave word in the run of what its policy belongs to."""
        one = config.games.model_copy(update={"num_games": 1})
        games = SkillGames(one, group=0)
        self.num_agents = config.games.num_games
        self.observation_space = observation_space(games.specs)
        self.action_space = spaces.Discrete(games.num_actions)
        describe_run(folder, games, config)
        games.close()
