"""Measure how many pairs a second fitting goes through, on real captions."""

from __future__ import annotations

import resource
import statistics
import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch

from maestro.preferences.goals import Goal
from maestro.preferences.pairs import make_pairs
from maestro.preferences.rules import RuleScorer
from maestro.preferences.transitions import rows_of
from maestro.rewards.data import PairData, load_pair_data
from maestro.rewards.fit import Fit, FitConfig, Fitting, device_named
from maestro.rewards.model import num_parameters

MAESTROMOTIF_PAIRS_PER_S = 720
"""MaestroMotif's reward fitting on 2 cores, its own network and batch. Source: bench of its code, design.md 7."""


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
    batch_size: int
    precision: str
    threads: int
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


def measure_fit(
    data: PairData, config: FitConfig, *, steps: int, repeats: int, device: str = "cpu"
) -> FitSpeed:
    """Fit `steps` batches `repeats` times and time them; a first round, which is not counted, warms up."""
    target = device_named(device)
    some = data.subset(np.arange(min(len(data.pairs), steps * config.batch_size)))
    fitting = Fitting(Fit([], config, some, some.subset(np.arange(0)), 0), target, lambda pairs: None)
    wall, processor = [], []
    fitting.train_epoch()
    for _ in range(repeats):
        started, used = time.perf_counter(), time.process_time()
        fitting.train_epoch()
        wall.append(len(some.pairs) / (time.perf_counter() - started))
        processor.append(len(some.pairs) / (time.process_time() - used))
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
        config.batch_size,
        fitting.precision,
        torch.get_num_threads(),
        num_parameters(fitting.model),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    )
