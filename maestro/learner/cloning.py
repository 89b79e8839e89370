"""Behaviour cloning: the network, its loss and its optimiser.

The loss is the cross-entropy of the teacher's action, steps of rare skills and actions weighing more, and beside it the error of a critic
that predicts the discounted rewards, so that reinforcement learning can begin with one.

Shape letters: T time, N games, S numbers of recurrent state.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor
from torch.nn import functional as F

from maestro.errors import TrainingError
from maestro.learner.demonstrations import OBSERVED, DaggerConfig
from maestro.learner.games import GamesConfig
from maestro.learner.network import FEATURES, NetworkConfig, PolicyNetwork, over_preset
from maestro.learner.network import PRESETS as NETWORKS

_MOST_WEIGHT = 8.0  # of a step of a rare skill or with a rare action, in terms of a step of the commonest


class ImitateConfig(BaseModel):
    """Everything an imitation depends on; saved in its run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    preset: str = "small"
    games: GamesConfig = Field(default_factory=GamesConfig)
    """World, features and payment; `num_games` are those of one process."""
    network: NetworkConfig = Field(default_factory=lambda: NETWORKS["small"])
    init: Path | None = None
    """Folder of a policy of the same network and features to begin with; None: chance."""
    steps: int = Field(default=20_000_000, ge=1)
    """Labelled steps to learn from."""
    seed: int = Field(default=0, ge=0)
    workers: int = Field(default=1, ge=1)
    """Processes that play."""
    device: str = "cpu"
    """Where the network is fitted, as torch names it; "auto" is a GPU where there is one."""
    sequence: int = Field(default=32, ge=2)
    """Steps of a block, which is how far gradients flow back in time."""
    blocks: int = Field(default=1, ge=1)
    """Blocks of one optimiser's step, each of another process: at most as many as `workers`."""
    uses: float = Field(default=1.5, ge=1)
    """How often a block is learnt from, on average."""
    kept: int = Field(default=48, ge=0)
    """Blocks kept to be used again, at random."""
    learning_rate: float = Field(default=1e-3, gt=0)
    final_learning_rate: float = Field(default=0.03, gt=0, le=1)
    """Share of `learning_rate` that is left at the end, after half a cosine."""
    warmup: int = Field(default=100, ge=0)
    """Optimiser's steps in which the learning rate rises to its value."""
    max_gradient_norm: float = Field(default=1.0, gt=0)
    weight_decay: float = Field(default=0.0, ge=0)
    balance: float = Field(default=0.5, ge=0, le=1)
    """How much rare skills are favoured: a step weighs as the share of its skill to the power of minus this."""
    balance_actions: float = Field(default=0.3, ge=0, le=1)
    """The same for the teacher's actions: prayers are one step in ten thousand, and what a hero lives by."""
    value_coefficient: float = Field(default=0.25, ge=0)
    """Of the critic's loss, where the games pay; 0 leaves the critic as it was born."""
    discount: float = Field(default=0.999, gt=0, le=1)
    """Of the rewards that the critic predicts: that of the training to come."""
    average: float = Field(default=0.998, ge=0, lt=1)
    """Weight of the past in the running mean of weights that is exported; 0 exports the last weights."""
    temperature: float = Field(default=0.7, gt=0)
    """What the exported logits are divided by: below 1 the policy acts more surely than it was fitted to."""
    dagger: DaggerConfig = DaggerConfig()
    save_every_s: float = Field(default=180.0, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _with_preset(cls, data: Any) -> Any:
        games = {name: {"features": features, "num_games": 32} for name, features in FEATURES.items()}
        return over_preset(
            data, {name: {"games": games[name], **IMITATE_PRESETS.get(name, {})} for name in NETWORKS}
        )

    @property
    def pays(self) -> bool:
        """Whether there are rewards for a critic to predict."""
        pay = self.games.pay
        return self.value_coefficient > 0 and (pay.intrinsic_scale > 0 or pay.extrinsic_scale > 0)


IMITATE_PRESETS: dict[str, dict[str, Any]] = {
    "paper": {"discount": 0.99},
    "gpu": {"device": "cuda", "workers": 14, "blocks": 4, "uses": 1.0, "kept": 0},
}
"""What goes with a preset's network where nothing else is said."""


class Learner:
    """Network, optimiser and counts: all that a checkpoint keeps."""

    def __init__(self, config: ImitateConfig, network: PolicyNetwork, device: torch.device) -> None:
        self.config, self.device = config, device
        self.network = network.to(device).train()
        self.optimizer = torch.optim.AdamW(
            network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay, eps=1e-6
        )
        self.mean_weights = torch.cat([p.detach().reshape(-1) for p in network.parameters()])
        self.steps = self.updates = 0
        self.frequency = {"skill": np.ones(network.num_skills), "action": np.ones(network.num_actions)}
        """Running counts of steps by skill, and by the teacher's action."""

    def begin_with(self, weights: dict[str, Tensor]) -> None:
        """Take the weights of a policy, before the first step; raises RuntimeError where they do not fit."""
        self.network.load_state_dict(weights)
        with torch.no_grad():  # what is exported is divided by it again
            for parameter in self.network.logits.parameters():
                parameter *= self.config.temperature
        self.mean_weights = torch.cat([p.detach().reshape(-1) for p in self.network.parameters()])

    def state(self) -> dict[str, Any]:
        """Give all that is needed to go on."""
        return {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "mean_weights": self.mean_weights,
            "steps": self.steps,
            "updates": self.updates,
            "frequency": {name: torch.from_numpy(counts) for name, counts in self.frequency.items()},
        }

    def take_up(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.mean_weights = state["mean_weights"].to(self.device)
        self.steps, self.updates = int(state["steps"]), int(state["updates"])
        self.frequency = {name: counts.numpy().copy() for name, counts in state["frequency"].items()}

    def exported_weights(self) -> np.ndarray:
        """Give the running mean of the weights, as one array (see `demonstrations.put_weights`)."""
        return self.mean_weights.cpu().numpy()

    def learning_rate(self) -> float:
        """Give the learning rate of the next step: a short rise, then half a cosine."""
        config = self.config
        rise = min(1.0, (self.updates + 1) / (config.warmup + 1))
        fall = 0.5 * (1.0 + math.cos(math.pi * min(1.0, self.steps / config.steps)))
        return (
            config.learning_rate
            * rise
            * (config.final_learning_rate + (1 - config.final_learning_rate) * fall)
        )

    def count(self, block: dict[str, Tensor]) -> None:
        """Take note of which skills ran in a new block, and which actions the teacher chose."""
        for name, counts in self.frequency.items():
            counts *= 0.999
            counts += np.bincount(block[name].flatten().cpu().numpy(), minlength=len(counts))

    def weights_of(self, block: dict[str, Tensor]) -> Tensor:
        """Weigh steps by how rare skill and action are, float (T, N), so that the mean over the block is 1."""
        config = self.config
        weights = torch.ones_like(block["reward"])
        for name, power in (("skill", config.balance), ("action", config.balance_actions)):
            share = torch.from_numpy(self.frequency[name] / self.frequency[name].max()).float()
            weight = share.clamp_min(1e-6).pow(-power).clamp_max(_MOST_WEIGHT)
            weights = weights * weight.to(self.device)[block[name].long()]
        return weights / weights.mean()

    def update(self, block: dict[str, Tensor], state: Tensor) -> Outcome:
        """Take one step of the optimiser; `state` (N, S) is the games' before the block.

        Raises TrainingError where the loss or its gradient is not a number; the weights are then as they were.
        """
        config, network = self.config, self.network
        observation = {
            name.removeprefix(OBSERVED): array for name, array in block.items() if name.startswith(OBSERVED)
        }
        logits, values, state = network.unroll(observation, state, block["fresh"])
        labels = block["action"].long()
        entropies = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        loss = (entropies * self.weights_of(block).flatten()).mean()
        value_loss = torch.zeros((), device=self.device)
        if config.pays:
            targets = returns(block["reward"], block["ended"], values.detach(), config.discount)
            value_loss = F.smooth_l1_loss(values[:-1], targets)
        total = loss + config.value_coefficient * value_loss
        self.optimizer.zero_grad(set_to_none=True)
        total.backward()
        norm = torch.nn.utils.clip_grad_norm_(network.parameters(), config.max_gradient_norm)
        found = [float(total.detach()), float(norm)]
        if not all(map(math.isfinite, found)):
            raise TrainingError(
                f"the loss became {found[0]}, its gradient {found[1]}, after {self.steps:,} steps",
                where="maestro imitate",
                expected="finite numbers",
                hint="a smaller learning_rate (--config learning_rate=3e-4); the last checkpoint is kept",
            )
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate()
        self.optimizer.step()
        self.updates += 1
        self._average()
        agreed = logits.detach().argmax(dim=-1) == labels
        return Outcome(float(entropies.detach().mean()), float(value_loss.detach()), agreed, state.detach())

    @torch.no_grad()
    def _average(self) -> None:
        past = min(self.config.average, (1 + self.updates) / (10 + self.updates))
        weights = torch.cat([p.reshape(-1) for p in self.network.parameters()])
        self.mean_weights.lerp_(weights, 1.0 - past)


class Outcome(NamedTuple):
    """What a step of the optimiser gave."""

    loss: float
    value_loss: float
    agreed: Tensor
    """bool (T, N)."""
    state: Tensor
    """Of the games after the block, (N, S)."""


def returns(reward: Tensor, ended: Tensor, values: Tensor, discount: float) -> Tensor:
    """Add up discounted rewards to the end of the block, and the critic's word for what comes after: (T - 1, N).

    All arguments are (T, N); the last step has no successor here and gives no target.
    """
    ahead = values[-1]
    targets = []
    for step in range(len(reward) - 2, -1, -1):
        ahead = reward[step] + discount * torch.where(ended[step], torch.zeros_like(ahead), ahead)
        targets.append(ahead)
    return torch.stack(targets[::-1])
