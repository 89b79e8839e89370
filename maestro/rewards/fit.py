"""Fit a reward model to judged pairs: Bradley-Terry cross-entropy, with ties as half a win for each.

Every caption that a batch holds is encoded once, and every message of those captions once, however many pairs they
stand in. That changes nothing in the result and is most of the speed.
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
from maestro.rewards.checkpoint import Checkpoint
from maestro.rewards.data import PairData, split_by_caption
from maestro.rewards.model import PRESETS, ModelConfig, RewardModel

Precision = Literal["auto", "float32", "bfloat16"]

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
    """Epochs without a better held-out loss after which fitting stops."""
    held_out: float = Field(default=0.2, ge=0, lt=1)
    """Share of the distinct messages that no training pair may show."""
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
    checkpoint: Path | None = None,
    progress: Callable[[Epoch], None] = lambda epoch: None,
    on_pairs: Callable[[int], None] = lambda pairs: None,
) -> Fit:
    """Fit `config.ensemble` models to the judged pairs and keep each at its best held-out loss.

    With `checkpoint`, a fit that was killed goes on at its last epoch; the file is gone when the fit is over, and one of
    other data or another config does not count. `on_pairs` hears how many pairs a step took, those that an
    earlier process went through and those that early stopping spares included.

    Raises DatasetError without pairs, FitError for an unknown preset and when a loss is not a number.
    """
    if config.preset not in PRESETS:
        raise FitError(
            f"the preset is {config.preset!r}", where="fit-reward", expected="one of " + ", ".join(PRESETS)
        )
    training, held_out, mixed = split_by_caption(data, config.held_out, config.seed)
    result = Fit([], config, training, held_out, mixed)
    target = device_named(device)
    saved = Checkpoint(checkpoint, f"{data.sha256()} {config.model_dump_json()}")
    state = saved.load(target)
    for weights in state.get("models", []):
        result.models.append(_model(config, target, weights).eval())
    result.epochs = [Epoch(**epoch) for epoch in state.get("epochs", [])]
    on_pairs(len(result.models) * config.epochs * len(training.pairs))
    while len(result.models) < config.ensemble:
        fitting = Fitting(result, target, on_pairs)
        fitting.take_up(state.pop("fitting", None))
        result.models.append(fitting.run(progress, saved))
    saved.remove()
    return result


class Fitting:
    """One model being fitted: all that has to be kept to go on after an epoch."""

    def __init__(self, result: Fit, device: torch.device, on_pairs: Callable[[int], None]) -> None:
        config = self.config = result.config
        self.result, self.device, self.on_pairs = result, device, on_pairs
        self.number = len(result.models)
        torch.manual_seed(config.seed + self.number)
        self.model = _model(config, device)
        self.training, self.held_out = Tensors(result.training, device), Tensors(result.held_out, device)
        steps = config.epochs * math.ceil(len(self.training.pairs) / config.batch_size)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=config.learning_rate)
        self.schedule: Any = (
            torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, steps)
            if config.schedule == "cosine"
            else torch.optim.lr_scheduler.ConstantLR(self.optimizer, 1.0)
        )
        self.generator = torch.Generator().manual_seed(config.seed + self.number)
        self.precision = _precision(config.precision, device)
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
        self.on_pairs(self.next_epoch * len(self.training.pairs))

    def state(self) -> dict[str, Any]:
        """Give all that is needed to go on."""
        return {
            "models": [_weights(model) for model in self.result.models],
            "epochs": [asdict(epoch) for epoch in self.result.epochs],
            "fitting": {
                **{name: getattr(self, name).state_dict() for name in ("model", "optimizer", "schedule")},
                "generator": self.generator.get_state(),
                **{name: getattr(self, name) for name in ("best", "best_loss", "since_best", "next_epoch")},
            },
        }

    def run(self, progress: Callable[[Epoch], None], saved: Checkpoint) -> RewardModel:
        """Fit to the end and return the model with its best weights."""
        config = self.config
        while self.next_epoch < config.epochs and self.since_best < config.patience:
            start = time.perf_counter()
            loss = self.train_epoch()
            rate = len(self.training.pairs) / (time.perf_counter() - start)
            held_loss, accuracy = evaluate(self.model, self.held_out)
            epoch = Epoch(self.number, self.next_epoch, loss, held_loss, accuracy, rate)
            judged = held_loss if not math.isnan(held_loss) else loss
            if judged < self.best_loss:
                self.best, self.best_loss, self.since_best = _weights(self.model), judged, 0
            else:
                self.since_best += 1
            self.next_epoch += 1
            self.result.epochs.append(epoch)
            saved.save(self.state)
            progress(epoch)
        self.on_pairs((config.epochs - self.next_epoch) * len(self.training.pairs))
        self.model.load_state_dict(self.best)
        return self.model.eval()

    def train_epoch(self) -> float:
        """Take one pass in random order and return the mean loss over the pairs."""
        data, model = self.training, self.model.train()
        total = 0.0
        order = torch.randperm(len(data.pairs), generator=self.generator).to(self.device)
        for batch in order.split(self.config.batch_size):
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bfloat16"):
                logits = data.logits(model, data.pairs[batch])
            loss = F.binary_cross_entropy_with_logits(logits.float(), data.targets[batch])
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
            total += value * len(batch)
            self.on_pairs(len(batch))
        return total / len(data.pairs)


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


def _precision(wanted: Precision, device: torch.device) -> Precision:
    if wanted != "auto":
        return wanted
    made_for_it = torch.cuda.is_bf16_supported() if device.type == "cuda" else _cpu_has_bfloat16()
    return "bfloat16" if made_for_it else "float32"


def _cpu_has_bfloat16() -> bool:
    """Look for AVX512-BF16 or AMX; elsewhere bfloat16 is emulated and slow."""
    capabilities = torch.backends.cpu.get_cpu_capability()
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    return capabilities.startswith("AVX512") and ("avx512_bf16" in flags or "amx_bf16" in flags)


def _model(config: FitConfig, device: torch.device, weights: Any = None) -> RewardModel:
    model = RewardModel(model_config(config.preset)).to(device)
    if weights is not None:
        model.load_state_dict(weights)
    return model


def _weights(model: RewardModel) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}
