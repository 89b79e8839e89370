"""How a skill-conditioned policy is trained: one typed configuration, and its presets.

Nothing here knows sample-factory; `arguments.py` translates.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from maestro.learner.games import GamesConfig
from maestro.learner.network import PRESETS as NETWORKS
from maestro.learner.network import NetworkConfig, over_preset


class Pull(BaseModel):
    """A pull towards a teacher that fades: coefficient * KL(teacher || policy), added to the loss.

    Source: kickstarting (Schmitt et al. 2018); the coefficient falls linearly to `final` over `steps`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    coefficient: float = Field(default=1.0, ge=0)
    """At the first step."""
    final: float = Field(default=0.0, ge=0)
    """At the end of the fading and from then on."""
    steps: int = Field(default=20_000_000, ge=1)
    """Environment steps until the pull has fallen to `final`."""
    share: float = Field(default=0.25, gt=0, le=1)
    """Of each batch's trajectories, drawn by chance, on which the teacher is asked. All of them cost a fifth of learning."""

    def at(self, env_steps: int) -> float:
        """Return the coefficient after so many environment steps."""
        left = max(0.0, 1.0 - env_steps / self.steps)
        return self.final + (self.coefficient - self.final) * left


class TrainConfig(BaseModel):
    """Everything a training run depends on; saved in the run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    preset: str = "small"
    games: GamesConfig = Field(default_factory=GamesConfig)
    """World, features and payment; its `num_games` are those of one group, its `seed` is the run's."""
    network: NetworkConfig = Field(default_factory=lambda: NETWORKS["small"])
    device: Literal["cpu", "gpu"] = "cpu"
    """Where the network lives; games are always played on processors."""

    num_workers: int = Field(default=1, ge=1)
    """Processes that play."""
    num_groups: Literal[1, 2] = 2
    """Groups of games a process plays: with two, one is played while the network thinks about the other."""
    rollout: int = Field(default=32, ge=2)
    """Steps of a trajectory, which is also how far gradients flow back in time."""
    batch_size: int = Field(default=4_096, ge=1)
    """Steps of an optimiser's step, at least. The learner takes whole groups of games at once, and as many steps as divide them."""
    batches_ahead: int = Field(default=2, ge=1)
    """Batches that may wait for the learner before playing pauses."""

    learner_threads: int = Field(default=1, ge=1)
    """Threads in which the learner computes, where it does so on processors."""

    learning_rate: float = Field(default=3e-4, gt=0)
    adam_eps: float = Field(default=1e-6, gt=0)
    discount: float = Field(default=0.99, gt=0, le=1)
    returns: Literal["vtrace", "gae"] = "vtrace"
    gae_lambda: float = Field(default=0.95, ge=0, le=1)
    """Of "gae" only."""
    ppo_clip_ratio: float = Field(default=0.1, gt=0)
    ppo_clip_value: float = Field(default=1.0, gt=0)
    ppo_epochs: int = Field(default=1, ge=1)
    entropy_coefficient: float = Field(default=0.003, ge=0)
    value_coefficient: float = Field(default=0.5, ge=0)
    max_gradient_norm: float = Field(default=4.0, ge=0)
    max_policy_lag: int = Field(default=10_000, ge=1)
    """Optimiser's steps after which experience counts as too old."""

    init: Path | None = None
    """Folder of a policy to begin with; None begins with chance."""
    pull: Pull | None = None
    """Towards the policy of `init`, which stays as it is; None: no pull."""

    save_every_s: int = Field(default=120, ge=1)
    """Seconds between checkpoints."""
    keep_checkpoints: int = Field(default=3, ge=2)
    milestone_steps: int = Field(default=10_000_000, ge=1)
    """Environment steps between checkpoints that are kept for ever."""

    @model_validator(mode="before")
    @classmethod
    def _with_preset(cls, data: Any) -> Any:
        return over_preset(data, TRAIN_PRESETS)

    @model_validator(mode="after")
    def _fits(self) -> TrainConfig:
        if self.pull is not None and self.init is None:
            raise ValueError("`pull` needs `init`, the policy to pull towards")
        return self

    @property
    def trajectories(self) -> int:
        """Trajectories that the learner takes at once: as many as whole groups of games give."""
        wanted = max(1, math.ceil(self.batch_size / self.rollout))
        return math.ceil(wanted / self.games.num_games) * self.games.num_games

    @property
    def minibatches(self) -> int:
        """Optimiser's steps that they are divided among."""
        most = max(1, self.trajectories * self.rollout // self.batch_size)
        return next(count for count in range(most, 0, -1) if self.trajectories % count == 0)

    @property
    def batch(self) -> int:
        """Steps of an optimiser's step."""
        return self.trajectories * self.rollout // self.minibatches

    @property
    def num_games(self) -> int:
        """Games played at once, all processes together."""
        return self.num_workers * self.num_groups * self.games.num_games


TRAIN_PRESETS: dict[str, dict[str, Any]] = {
    # Source: MaestroMotif's README: batch 4096, reward scale 0.1, lr 1e-4, V-trace; 24 workers of 20 games there.
    "paper": {
        # Half as fast again as 2 groups of 32 games in one process.
        "games": {"features": "paper", "num_games": 256},
        "num_workers": 2,
        "num_groups": 1,
        "learning_rate": 1e-4,
        "keep_checkpoints": 5,
        "milestone_steps": 50_000_000,
    },
    "small": {
        "games": {"features": "compass", "num_games": 256},
        "num_workers": 2,
        "num_groups": 1,
        "discount": 0.999,  # with 0.99 skills learned fights that end the game: docs/log.md
    },
    "gpu": {
        "games": {"features": "compass", "num_games": 128},
        "discount": 0.999,
        "device": "gpu",
        "num_workers": 14,
        "batch_size": 32_768,
        "milestone_steps": 100_000_000,
    },
}
"""What goes with a preset's network where nothing else is said."""
