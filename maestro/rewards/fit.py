"""Fit a reward model to judged pairs: Bradley-Terry cross-entropy, with ties as half a win for each.

Every caption that a batch holds is encoded once, and every message of those captions once, however many pairs they
stand in. That changes nothing in the result and is most of the speed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field
from torch.nn import functional as F

from maestro.errors import FitError
from maestro.rewards.data import PairData, split_by_caption
from maestro.rewards.model import PRESETS, ModelConfig, RewardModel


class FitConfig(BaseModel):
    """How a reward model is fitted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    preset: str = "small"
    """Architecture, one of model.PRESETS."""
    epochs: int = Field(default=20, ge=1)
    """Most passes over the training pairs."""
    batch_size: int = Field(default=1_000, ge=1)
    """Pairs a step; the last batch of an epoch may be smaller."""
    learning_rate: float = Field(default=1e-3, gt=0)
    """Of Adam; it falls to nothing along half a cosine."""
    patience: int = Field(default=5, ge=1)
    """Epochs without a better held-out loss after which fitting stops."""
    held_out: float = Field(default=0.2, ge=0, lt=1)
    """Share of the distinct messages that no training pair may show."""
    seed: int = 0
    ensemble: int = Field(default=1, ge=1)
    """Models, fitted with seeds of their own, whose rewards are averaged."""


@dataclass
class Epoch:
    """One line of a fit's record."""

    model: int
    epoch: int
    train_loss: float
    held_out_loss: float
    """NaN where nothing is held out."""
    held_out_accuracy: float
    """On pairs that are not ties; NaN where there is none."""
    pairs_per_s: float


@dataclass
class Fit:
    """What came out."""

    models: list[RewardModel]
    config: FitConfig
    training: PairData
    held_out: PairData
    num_mixed: int
    """Pairs with one caption on either side of the split, used by neither."""
    epochs: list[Epoch] = field(default_factory=list)


class Tensors:
    """A data set on a device, and the batches of it in which nothing stands twice."""

    def __init__(self, data: PairData, device: torch.device) -> None:
        self.messages = torch.from_numpy(data.messages).to(device)
        self.message_of = torch.from_numpy(data.message_of).to(device)
        self.changes = torch.from_numpy(data.changes).to(device)
        self.pairs = torch.from_numpy(data.pairs).to(device)
        self.targets = torch.from_numpy(data.targets).to(device)

    def rewards(self, model: RewardModel, captions: torch.Tensor) -> torch.Tensor:
        """Return raw rewards of captions (B,), each distinct message encoded once."""
        distinct, which = torch.unique(self.message_of[captions], return_inverse=True)
        return model(self.messages[distinct], self.changes[captions], which)

    def logits(self, model: RewardModel, pairs: torch.Tensor) -> torch.Tensor:
        """Return by how much the second of each pair is rewarded above the first, float (B,)."""
        captions, which = torch.unique(pairs, return_inverse=True)
        rewards = self.rewards(model, captions)
        return rewards[which[:, 1]] - rewards[which[:, 0]]


def fit(
    data: PairData,
    config: FitConfig,
    *,
    device: str = "cpu",
    progress: Callable[[Epoch], None] = lambda epoch: None,
) -> Fit:
    """Fit `config.ensemble` models to the judged pairs and keep each at its best held-out loss.

    Raises DatasetError without pairs, FitError for an unknown preset and when a loss is not a number.
    """
    if config.preset not in PRESETS:
        raise FitError(
            f"the preset is {config.preset!r}", where="fit-reward", expected="one of " + ", ".join(PRESETS)
        )
    training, held_out, mixed = split_by_caption(data, config.held_out, config.seed)
    result = Fit([], config, training, held_out, mixed)
    target = torch.device(device)
    for number in range(config.ensemble):
        result.models.append(_fit_one(result, number, target, progress))
    return result


def _fit_one(
    result: Fit, number: int, device: torch.device, progress: Callable[[Epoch], None]
) -> RewardModel:
    config = result.config
    torch.manual_seed(config.seed + number)
    model = RewardModel(model_config(config.preset)).to(device)
    training, held_out = Tensors(result.training, device), Tensors(result.held_out, device)
    steps = config.epochs * math.ceil(len(training.pairs) / config.batch_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    generator = torch.Generator().manual_seed(config.seed + number)
    best, best_loss, since_best = _weights(model), math.inf, 0
    for epoch in range(config.epochs):
        start = time.perf_counter()
        loss = _train_epoch(model, training, optimizer, schedule, generator, config.batch_size)
        rate = len(training.pairs) / (time.perf_counter() - start)
        held_loss, accuracy = evaluate(model, held_out)
        result.epochs.append(Epoch(number, epoch, loss, held_loss, accuracy, rate))
        progress(result.epochs[-1])
        judged = held_loss if not math.isnan(held_loss) else loss
        if judged < best_loss:
            best, best_loss, since_best = _weights(model), judged, 0
        else:
            since_best += 1
            if since_best >= config.patience:
                break
    model.load_state_dict(best)
    return model.eval()


def _train_epoch(model, data: Tensors, optimizer, schedule, generator, batch_size: int) -> float:
    """Take one pass in random order and return the mean loss over the pairs."""
    model.train()
    total = 0.0
    for batch in _batches(len(data.pairs), batch_size, generator):
        loss = F.binary_cross_entropy_with_logits(data.logits(model, data.pairs[batch]), data.targets[batch])
        value = loss.item()
        if not math.isfinite(value):
            raise FitError(
                f"the loss became {value}",
                where="fit-reward",
                expected="a finite number",
                hint="a smaller --learning-rate; the reward model that was there before is kept",
            )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        total += value * len(batch)
    return total / len(data.pairs)


def _batches(num_pairs: int, batch_size: int, generator: torch.Generator) -> Iterator[torch.Tensor]:
    yield from torch.randperm(num_pairs, generator=generator).split(batch_size)


@torch.no_grad()
def evaluate(model: RewardModel, data: Tensors) -> tuple[float, float]:
    """Return (mean loss, accuracy on pairs that are not ties); NaN where there is nothing to judge by."""
    logits = pair_logits([model], data)
    if not len(logits):
        return math.nan, math.nan
    loss = F.binary_cross_entropy_with_logits(logits, data.targets).item()
    decided = data.targets != 0.5
    if not decided.any():
        return loss, math.nan
    right = (logits[decided] > 0) == (data.targets[decided] > 0.5)
    return loss, right.float().mean().item()


@torch.no_grad()
def pair_logits(models: list[RewardModel], data: Tensors, batch_size: int = 8_192) -> torch.Tensor:
    """Return the mean logit over an ensemble for every pair, float (P,)."""
    for model in models:
        model.eval()
    parts = [
        torch.stack([data.logits(model, pairs) for model in models]).mean(dim=0)
        for pairs in data.pairs.split(batch_size)
        if len(pairs)
    ]
    return torch.cat(parts) if parts else torch.zeros(0)


@torch.no_grad()
def caption_rewards(models: list[RewardModel], data: PairData, batch_size: int = 8_192) -> np.ndarray:
    """Return the ensemble's mean raw reward of every caption, float64 (U,)."""
    tensors = Tensors(data, next(models[0].parameters()).device)
    captions = torch.arange(data.num_captions, device=tensors.pairs.device)
    parts = [
        torch.stack([tensors.rewards(model, some) for model in models]).mean(dim=0)
        for some in captions.split(batch_size)
    ]
    return torch.cat(parts).double().cpu().numpy()


def model_config(preset: str) -> ModelConfig:
    """Return the architecture of a preset."""
    return PRESETS[preset]


def _weights(model: RewardModel) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}
