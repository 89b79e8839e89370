"""Measure how many pairs a second fitting goes through, on real captions."""

from __future__ import annotations

import resource
import statistics
import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from torch.nn import functional as F

from maestro.preferences.goals import Goal
from maestro.preferences.pairs import make_pairs
from maestro.preferences.rules import RuleScorer
from maestro.preferences.transitions import rows_of
from maestro.rewards.data import PairData, load_pair_data
from maestro.rewards.fit import FitConfig, Fitting, device_named, new_fit
from maestro.rewards.model import LAYERS, PRESETS, RewardModel, num_parameters
from maestro.rewards.threads import one_thread

MAESTROMOTIF_PAIRS_PER_S = 720
"""MaestroMotif's reward fitting on 2 cores, its own network and batch; another machine than yours. Source: bench of its
code, design.md 7."""


@dataclass(frozen=True)
class FitSpeed:
    """What one preset reached."""

    preset: str
    pairs_per_s: float
    """Of wall time, the median of the repeats."""
    pairs_per_s_range: tuple[float, float]
    pairs_per_cpu_s: float
    """Of processor time over all threads, the best repeat: what a quiet core gives."""
    epoch_s: float
    """Seconds for one pass over all pairs of the data at the median rate."""
    distinct_messages: float
    """Messages encoded per caption of a pair: 1 would be no sharing at all."""
    distinct_captions: float
    plain_pairs_per_s: float
    """The same step done the plain way in the same minute, see `PlainFitting`; the median."""
    times_plain: float
    """The median of the ratios of neighbouring measurements."""
    plain_pairs_per_cpu_s: float
    """Of processor time, the best repeat; threads that wait for one another spin, which counts."""
    batch_size: int
    precision: str
    num_parameters: int
    peak_memory_gb: float


def judged_pairs(table: pa.Table, goal: Goal, num_pairs: int, seed: int = 0) -> PairData:
    """Judge pairs of a dataset by the rules, without a store: for measuring."""
    scorer = RuleScorer(goal.rules)
    scores = np.array([scorer.score(row) for row in rows_of(table)])
    pairs = make_pairs(table, goal.name, num_pairs, seed).array()
    difference = scores[pairs[:, 1]] - scores[pairs[:, 0]]
    p_first = np.where(difference < 0, 1.0, np.where(difference > 0, 0.0, 0.5)).astype(np.float32)
    verdicts = pa.table(
        {
            "first": pairs[:, 0],
            "second": pairs[:, 1],
            "preference": pa.array(np.where(difference < 0, 0, np.where(difference > 0, 1, 2)), pa.int8()),
            "p_first": p_first,
        }
    )
    return load_pair_data(table, verdicts)


class PlainFitting:
    """The same network fitted the plain way: every message of every pair through all 256 columns, in float32.

    So MaestroMotif fits: captions are not shared, padding is convolved, torch uses as many threads as it likes.
    """

    def __init__(self, data: PairData, config: FitConfig, device: torch.device) -> None:
        self._data, self._config, self._device = data, config, device
        self.model = RewardModel(PRESETS[config.preset]).to(device)
        self._optimizer = torch.optim.Adam(self.model.parameters(), lr=config.learning_rate)

    def logits(self, pairs: np.ndarray) -> torch.Tensor:
        """Return by how much the second of each pair is rewarded above the first, float (P,)."""
        captions = pairs.reshape(-1)
        messages = torch.from_numpy(self._data.messages[self._data.message_of[captions]]).to(self._device)
        changes = torch.from_numpy(self._data.changes[captions]).to(self._device)
        rewards = self.model.judged(self._encoded(messages), changes).view(-1, 2)
        return rewards[:, 1] - rewards[:, 0]

    def step(self, chosen: np.ndarray) -> float:
        """Take one step with some pairs and return the loss before it."""
        targets = torch.from_numpy(self._data.targets[chosen]).to(self._device)
        loss = F.binary_cross_entropy_with_logits(self.logits(self._data.pairs[chosen]), targets)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._optimizer.step()
        return loss.item()

    def _encoded(self, messages: torch.Tensor) -> torch.Tensor:
        encoder = self.model.message
        x = encoder.embedding(messages.int()).transpose(1, 2)
        for (kernel, bias), (_, pool) in zip(encoder.kernels(), LAYERS, strict=True):
            x = F.conv1d(x, kernel, bias)
            x = F.relu(F.max_pool1d(x, pool) if pool > 1 else x)
        return x.squeeze(2)


def measure_fit(
    data: PairData, config: FitConfig, *, steps: int, repeats: int, device: str = "cpu"
) -> FitSpeed:
    """Fit `steps` batches and one batch the plain way, in turn, `repeats` times, and time both.

    A first round, which is not counted, warms up.
    """
    target = device_named(device)
    config = config.model_copy(update={"held_out": 0.0, "validation": 0.0})
    some = data.subset(np.arange(min(len(data.pairs), steps * config.batch_size)))
    fitting = Fitting(new_fit(some, config), target, lambda pairs: None)
    plain = PlainFitting(some, config, target)
    chosen = np.arange(min(len(some.pairs), config.batch_size))
    wall, processor, plainly, plain_processor = [], [], [], []
    for _ in range(repeats + 1):
        started, used = time.perf_counter(), time.process_time()
        with one_thread():
            fitting.train_epoch()
        wall.append(len(some.pairs) / (time.perf_counter() - started))
        processor.append(len(some.pairs) / (time.process_time() - used))
        started, used = time.perf_counter(), time.process_time()
        plain.step(chosen)
        plainly.append(len(chosen) / (time.perf_counter() - started))
        plain_processor.append(len(chosen) / (time.process_time() - used))
    wall, processor, plainly = wall[1:], processor[1:], plainly[1:]
    batches = np.array_split(some.pairs, max(1, len(some.pairs) // config.batch_size))
    captions = [np.unique(batch) for batch in batches]
    places = sum(batch.size for batch in batches)
    rate = statistics.median(wall)
    return FitSpeed(
        config.preset,
        rate,
        (min(wall), max(wall)),
        max(processor),
        len(data.pairs) / rate,
        sum(len(np.unique(data.message_of[each])) for each in captions) / places,
        sum(len(each) for each in captions) / places,
        statistics.median(plainly),
        statistics.median(fast / slow for fast, slow in zip(wall, plainly, strict=True)),
        max(plain_processor[1:]),
        config.batch_size,
        fitting.precision,
        num_parameters(fitting.model),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    )
