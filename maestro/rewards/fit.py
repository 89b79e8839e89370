"""Fit a reward model to judged pairs: Bradley-Terry cross-entropy, with ties as half a win for each.

On processors all sums are taken in one thread, and so in one order: the same data, config and machine give the same
weights to the last bit, also when a fit was killed and went on. A second thread prepares the next batch meanwhile.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch.nn import functional as F

from maestro.errors import FitError
from maestro.rewards.batches import Batch, Captions, made_ahead
from maestro.rewards.checkpoint import Checkpoint
from maestro.rewards.data import PairData, split_by_caption
from maestro.rewards.model import PRESETS, ModelConfig, RewardModel
from maestro.rewards.precision import Precision, choose_precision
from maestro.rewards.quality import accuracy
from maestro.rewards.threads import one_thread

# Source of "paper": MaestroMotif's README (batch 1000, learning rate 1e-5, 20 epochs, which it takes to the end).
FIT_PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "learning_rate": 1e-5,
        "batch_size": 1_000,
        "epochs": 20,
        "patience": 20,
        "schedule": "constant",
    },
    "small": {"learning_rate": 2e-3, "batch_size": 2_000, "epochs": 12, "patience": 4, "schedule": "cosine"},
}
"""What goes with an architecture where nothing else is said."""


class FitConfig(BaseModel):
    """How a reward model is fitted; what is left out follows from the preset."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    preset: str = "small"
    """Architecture, one of model.PRESETS, and the settings of FIT_PRESETS."""
    epochs: int = Field(default=12, ge=1)
    """Most passes over the training pairs."""
    batch_size: int = Field(default=2_000, ge=1)
    """Pairs a step; the last batch of an epoch may be smaller."""
    learning_rate: float = Field(default=2e-3, gt=0)
    """Of Adam."""
    schedule: Literal["constant", "cosine"] = "cosine"
    """Whether the learning rate stays or falls to nothing along half a cosine."""
    patience: int = Field(default=4, ge=1)
    """Epochs without a better loss on the validation pairs after which fitting stops."""
    held_out: float = Field(default=0.15, ge=0, lt=1)
    """Share of the distinct messages kept for the figures: they neither teach nor choose."""
    validation: float = Field(default=0.05, ge=0, lt=1)
    """Share of the distinct messages that choose the epoch, and teach nothing."""
    seed: int = Field(default=0, ge=0)
    ensemble: int = Field(default=1, ge=1)
    """Models, fitted with seeds of their own, whose rewards are averaged."""
    precision: Precision = "auto"
    """Of the products while fitting; "auto" is bfloat16 on processors that are made for it. Weights stay float32."""
    max_unparsed: float = Field(default=0.05, ge=0, le=1)
    """Share of judgements nobody could understand above which nothing is fitted."""

    @model_validator(mode="before")
    @classmethod
    def _with_defaults_of_preset(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {**FIT_PRESETS.get(str(data.get("preset", "small")), {}), **data}

    @model_validator(mode="after")
    def _some_left(self) -> FitConfig:
        if self.held_out + self.validation >= 1:
            raise ValueError("held_out and validation leave no message to learn from; together: less than 1")
        return self


@dataclass
class Epoch:
    """One line of a fit's record."""

    model: int
    epoch: int
    train_loss: float
    validation_loss: float
    """NaN where there are no validation pairs."""
    validation_accuracy: float
    """On pairs that are not ties; NaN where there is none."""
    pairs_per_s: float


@dataclass
class Fit:
    """What came out."""

    models: list[RewardModel]
    config: FitConfig
    captions: Captions
    training: PairData
    validation: PairData
    held_out: PairData
    num_mixed: int
    """Pairs that show a held-out caption beside one that is not, used by nobody."""
    epochs: list[Epoch] = field(default_factory=list)


def fit(
    data: PairData,
    config: FitConfig,
    *,
    device: str = "cpu",
    checkpoint: Path | None = None,
    progress: Callable[[Epoch], None] = lambda epoch: None,
    on_pairs: Callable[[int], None] = lambda pairs: None,
    notice: Callable[[str], None] = lambda text: None,
) -> Fit:
    """Fit `config.ensemble` models to the judged pairs and keep each at its best loss on the validation pairs.

    With `checkpoint`, a fit that was killed goes on at its last epoch, or has nothing left to do; a file of other data or
    another config does not count, and who is done with the result removes it. `on_pairs` hears how many pairs a step
    took, those that an earlier process went through and those that early stopping spares included; `notice`
    hears of a checkpoint that cannot be used.

    Raises DatasetError without pairs, FitError for an unknown preset and when a loss is not a number.
    """
    data = data.as_seen(architecture(config).changes)  # before the hash: a checkpoint belongs to one split
    result = new_fit(data, config)
    target = device_named(device)
    saved = Checkpoint(checkpoint, f"{data.sha256()} {config.model_dump_json()}", notice)
    state = saved.load(target)
    for weights in state.get("models", []):
        result.models.append(_model(config, target, weights).eval())
    result.epochs = [Epoch(**epoch) for epoch in state.get("epochs", [])]
    on_pairs(len(result.models) * config.epochs * len(result.training.pairs))
    with one_thread():
        while len(result.models) < config.ensemble:
            fitting = Fitting(result, target, on_pairs)
            fitting.take_up(state.pop("fitting", None))
            result.models.append(fitting.run(progress, saved))
            saved.save(_state(result))
    return result


def new_fit(data: PairData, config: FitConfig) -> Fit:
    """Split the data, as the network sees it, and number its captions; nothing is fitted yet."""
    model = architecture(config)
    data = data.as_seen(model.changes)
    split = split_by_caption(data, config.held_out, config.validation, config.seed)
    return Fit([], config, Captions(data, model), *split)


def architecture(config: FitConfig) -> ModelConfig:
    """Give the architecture of the preset; raises FitError for an unknown one."""
    if config.preset not in PRESETS:
        raise FitError(
            f"the preset is {config.preset!r}", where="fit-reward", expected="one of " + ", ".join(PRESETS)
        )
    return PRESETS[config.preset]


def _state(result: Fit) -> dict[str, Any]:
    return {
        "models": [_weights(model) for model in result.models],
        "epochs": [asdict(epoch) for epoch in result.epochs],
    }


class Fitting:
    """One model being fitted: all that has to be kept to go on after an epoch."""

    def __init__(self, result: Fit, device: torch.device, on_pairs: Callable[[int], None]) -> None:
        config = self.config = result.config
        self.result, self.device, self.on_pairs = result, device, on_pairs
        self.number = len(result.models)
        torch.manual_seed(config.seed + self.number)
        self.model = _model(config, device)
        steps = config.epochs * math.ceil(len(result.training.pairs) / config.batch_size)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=config.learning_rate, fused=True)
        self.schedule: Any = (
            torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, steps)
            if config.schedule == "cosine"
            else torch.optim.lr_scheduler.ConstantLR(self.optimizer, 1.0)
        )
        self.generator = torch.Generator().manual_seed(config.seed + self.number)
        self.precision: Precision = choose_precision(config.precision, device)
        self.best, self.best_loss, self.since_best, self.next_epoch = _weights(self.model), math.inf, 0, 0

    def take_up(self, saved: dict[str, Any] | None) -> None:
        """Go on from what `state` gave."""
        if saved is None:
            return
        for name in ("model", "optimizer", "schedule"):
            getattr(self, name).load_state_dict(saved[name])
        self.generator.set_state(saved["generator"].cpu())
        self.best, self.best_loss = saved["best"], saved["best_loss"]
        self.since_best, self.next_epoch = saved["since_best"], saved["next_epoch"]
        self.on_pairs(self.next_epoch * len(self.result.training.pairs))

    def state(self) -> dict[str, Any]:
        """Give all that is needed to go on."""
        return {
            **_state(self.result),
            "fitting": {
                **{name: getattr(self, name).state_dict() for name in ("model", "optimizer", "schedule")},
                "generator": self.generator.get_state(),
                **{name: getattr(self, name) for name in ("best", "best_loss", "since_best", "next_epoch")},
            },
        }

    def run(self, progress: Callable[[Epoch], None], saved: Checkpoint) -> RewardModel:
        """Fit to the end and return the model with its best weights."""
        config, num_pairs = self.config, len(self.result.training.pairs)
        while self.next_epoch < config.epochs and self.since_best < config.patience:
            start = time.perf_counter()
            loss = self.train_epoch()
            rate = num_pairs / (time.perf_counter() - start)
            judged_by, right = evaluate([self.model.eval()], self.result.captions, self.result.validation)
            epoch = Epoch(self.number, self.next_epoch, loss, judged_by, right, rate)
            judged = loss if math.isnan(judged_by) else judged_by
            if judged < self.best_loss:
                self.best, self.best_loss, self.since_best = _weights(self.model), judged, 0
            else:
                self.since_best += 1
            self.next_epoch += 1
            self.result.epochs.append(epoch)
            saved.save(self.state())
            progress(epoch)
        self.on_pairs((config.epochs - self.next_epoch) * num_pairs)
        self.model.load_state_dict(self.best)
        return self.model.eval()

    def train_epoch(self) -> float:
        """Take one pass in random order and return the mean loss over the pairs."""
        data, size = self.result.training, self.config.batch_size
        order = torch.randperm(len(data.pairs), generator=self.generator).numpy()
        self.model.train()
        total = 0.0

        def prepare(chosen: np.ndarray) -> tuple[Batch, torch.Tensor]:
            batch = self.result.captions.batch(data.pairs[chosen])
            return batch.to(self.device), torch.from_numpy(data.targets[chosen]).to(self.device)

        batches = (order[start : start + size] for start in range(0, len(order), size))
        for batch, targets in made_ahead(prepare, batches):
            total += self._step(batch, targets) * len(targets)
            self.on_pairs(len(targets))
        return total / len(data.pairs)

    def _step(self, batch: Batch, targets: torch.Tensor) -> float:
        """Take one step down the gradient and return the loss before it."""
        rewards = batch.rewards(self.model, self.precision)
        loss = F.binary_cross_entropy_with_logits(rewards[:, 1] - rewards[:, 0], targets)
        value = loss.item()
        if not math.isfinite(value):
            raise FitError(
                f"the loss became {value}",
                where="fit-reward",
                expected="a finite number",
                hint="a smaller learning_rate in the --config file; the reward model that was there before is kept",
            )
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        return value


def evaluate(models: list[RewardModel], captions: Captions, data: PairData) -> tuple[float, float]:
    """Return (mean loss, accuracy on pairs that are not ties); NaN where there is nothing to judge by."""
    if not len(data.pairs):
        return math.nan, math.nan
    logits = captions.logits(models, data.pairs)
    loss = float(np.mean(np.logaddexp(0, logits) - data.targets * logits))
    return loss, accuracy(logits, data.targets, data.decided)[0]


def device_named(name: str) -> torch.device:
    """Find a device by torch's name for it, or "auto" for a GPU where there is one; raises FitError for one that is not there."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:  # AssertionError: torch was built without CUDA
        raise FitError(
            f"the device {name!r} cannot be used: {str(error).splitlines()[0]}",
            where="--device",
            expected='"auto", "cpu", or a device torch knows, such as "cuda:0"',
        ) from None
    return device


def _model(config: FitConfig, device: torch.device, weights: Any = None) -> RewardModel:
    model = RewardModel(PRESETS[config.preset]).to(device)
    if weights is not None:
        model.load_state_dict(weights)
    return model


def _weights(model: RewardModel) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}
