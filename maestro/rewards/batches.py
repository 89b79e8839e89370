"""Captions and pairs as a network takes them: in a batch, nothing is computed twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from maestro.rewards.data import PairData
from maestro.rewards.encode import CHANGES
from maestro.rewards.model import LAYERS, ModelConfig, RewardModel
from maestro.rewards.precision import Precision
from maestro.rewards.shared import encode_windows
from maestro.rewards.windows import LayerPlan, Windows, rounded_up

_ROWS = 64
"""A batch rewards a multiple of so many captions."""
_CAPTIONS = 8_192
"""So many are rewarded at once where nothing is fitted."""


class Batch(NamedTuple):
    """Distinct captions to reward: B of them, with D distinct messages."""

    layers: list[LayerPlan]
    windows: Tensor
    """int64 (D,): the row of the last layer that holds each message's features."""
    message: Tensor
    """int64 (B,): which of the D messages each caption has."""
    changes: Tensor
    """int8 (B, 5)."""
    places: Tensor
    """int64, any shape: which of the B captions was asked for at each place."""

    def to(self, device: torch.device) -> Batch:
        """Return the same on a device."""
        layers = [layer.to(device) for layer in self.layers]
        return Batch(layers, *(each.to(device) for each in self[1:]))

    def rewards(self, model: RewardModel, precision: Precision = "float32") -> Tensor:
        """Return the raw reward at each place, float32, in the shape of `places`."""
        dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        features = encode_windows(model.message, self.layers, self.windows, dtype)
        with torch.autocast(self.changes.device.type, torch.bfloat16, enabled=precision == "bfloat16"):
            return model.judged(features[self.message], self.changes).float()[self.places]


class Captions:
    """The captions of a data set, as far as a network sees them: masked changes tell none apart."""

    def __init__(self, data: PairData, config: ModelConfig) -> None:
        seen = np.array([name in config.changes for name in CHANGES])
        rows = np.concatenate([data.message_of[:, None], data.changes * seen], axis=1)
        distinct, self._number = np.unique(rows, axis=0, return_inverse=True)
        self._number = self._number.reshape(-1)
        self._message, self._changes = distinct[:, 0], distinct[:, 1:].astype(np.int8)
        self._windows = Windows(data.messages, LAYERS)

    def batch(self, captions: np.ndarray) -> Batch:
        """Prepare captions, numbers of any shape, for `Batch.rewards`."""
        return self._batch(self._number[captions])

    @torch.no_grad()
    def rewards(self, models: list[RewardModel], captions: np.ndarray | None = None) -> np.ndarray:
        """Return the mean raw reward over an ensemble, float64, for captions of any shape; None stands for all."""
        chosen = self._number if captions is None else self._number[captions]
        device = next(models[0].parameters()).device
        found, used = np.zeros(len(self._message)), np.unique(chosen)
        for start in range(0, len(used), _CAPTIONS):
            part = used[start : start + _CAPTIONS]
            batch = self._batch(part).to(device)
            rewards = torch.stack([batch.rewards(model) for model in models])
            found[part] = rewards.mean(dim=0).double().cpu().numpy()
        return found[chosen]

    def _batch(self, numbers: np.ndarray) -> Batch:
        used, places = np.unique(numbers, return_inverse=True)
        used = rounded_up(used, _ROWS)
        messages, message = np.unique(self._message[used], return_inverse=True)
        layers, windows = self._windows.prepare(messages)
        return Batch(
            layers,
            windows,
            torch.from_numpy(message),
            torch.from_numpy(self._changes[used]),
            torch.from_numpy(places.reshape(numbers.shape)),
        )

    def logits(self, models: list[RewardModel], pairs: np.ndarray) -> np.ndarray:
        """Return by how much the second of each pair is rewarded above the first, float64 (P,); pairs are (P, 2)."""
        rewards = self.rewards(models, pairs)
        return rewards[:, 1] - rewards[:, 0]


Item = TypeVar("Item")
Made = TypeVar("Made")


def made_ahead(make: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
    """Make one thing after another in a second thread, always one ahead of what is asked for."""
    with ThreadPoolExecutor(1, thread_name_prefix="prepare") as pool:
        waiting = None
        for item in items:
            upcoming = pool.submit(make, item)
            if waiting is not None:
                yield waiting.result()
            waiting = upcoming
        if waiting is not None:
            yield waiting.result()
