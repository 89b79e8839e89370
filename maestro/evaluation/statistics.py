"""Means with 95 % intervals: Wilson's for rates, the bootstrap's for everything else. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95
NUM_RESAMPLES = 10_000
_MAX_DRAWS = 4_000_000  # random indices drawn at once: bounds the bootstrap's memory to about 32 MB


class Estimate(NamedTuple):
    """A mean and the interval around it, in the unit of the values."""

    mean: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float | list[float]]:
        """Give the two keys that `maestro eval --json` promises: `mean` and `interval`."""
        return {"mean": self.mean, "interval": [self.low, self.high]}


def wilson(num_successes: int, num_trials: int, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate a probability by Wilson's score interval, which holds for rates near 0 and 1 and for few trials.

    Raises ValueError for no trials or more successes than trials.
    Source: E. B. Wilson, JASA 22 (1927) 209-212.
    """
    if num_trials <= 0 or not 0 <= num_successes <= num_trials:
        raise ValueError(f"{num_successes} successes of {num_trials} trials is no rate")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate = num_successes / num_trials
    shrink = 1 + z * z / num_trials
    center = (rate + z * z / (2 * num_trials)) / shrink
    spread = z / shrink * math.sqrt(rate * (1 - rate) / num_trials + (z / (2 * num_trials)) ** 2)
    # At the ends the bound is the rate itself; rounding must not leave it a hair beside.
    low = 0.0 if num_successes == 0 else center - spread
    high = 1.0 if num_successes == num_trials else center + spread
    return Estimate(rate, low, high)


def bootstrap_mean(
    values: Sequence[float], seed: int, confidence: float = CONFIDENCE, num_resamples: int = NUM_RESAMPLES
) -> Estimate:
    """Estimate a mean by the percentile bootstrap; the same values and seed give the same interval.

    One value, or equal values, give an interval of no width. Raises ValueError for no values.
    Source: B. Efron, Annals of Statistics 7 (1979) 1-26.
    """
    data = np.asarray(values, dtype=np.float64)
    if data.size == 0:
        raise ValueError("a mean of no values")
    generator = np.random.default_rng(seed)
    means = _resampled_means(data, generator, num_resamples)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, (tail, 1 - tail))
    return Estimate(float(data.mean()), float(low), float(high))


def _resampled_means(data: np.ndarray, generator: np.random.Generator, num_resamples: int) -> np.ndarray:
    """Draw as many values as there are, again and again, and return the means."""
    means = np.empty(num_resamples)
    chunk = max(1, _MAX_DRAWS // data.size)
    for start in range(0, num_resamples, chunk):
        count = min(chunk, num_resamples - start)
        means[start : start + count] = data[generator.integers(0, data.size, (count, data.size))].mean(axis=1)
    return means


def grouped_mean(
    groups: Sequence[Sequence[float]], seed: int, num_resamples: int = NUM_RESAMPLES
) -> Estimate:
    """Estimate the mean over groups of values, each group weighing the same: policies, and the episodes of each.

    The bootstrap draws groups, and then values within each, so that the interval knows both that another policy would
    have done otherwise and that other episodes would. It is on the narrow side where groups are few. Raises ValueError
    for no groups or an empty one.
    """
    data = [np.asarray(values, dtype=np.float64) for values in groups]
    if not data or any(values.size == 0 for values in data):
        raise ValueError("a mean of no values")
    generator = np.random.default_rng(seed)
    drawn = generator.integers(0, len(data), (num_resamples, len(data)))
    resampled = np.empty(drawn.shape)
    for number, values in enumerate(data):
        chosen = drawn == number
        resampled[chosen] = _resampled_means(values, generator, int(chosen.sum()))
    means = resampled.mean(axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, (tail, 1 - tail))
    return Estimate(float(np.mean([values.mean() for values in data])), float(low), float(high))


def clustered_rate(
    num_successes: Sequence[int], num_trials: Sequence[int], seed: int, num_resamples: int = NUM_RESAMPLES
) -> Estimate:
    """Estimate a rate over trials that come in clusters (episodes), within which they may depend on each other.

    The bootstrap draws whole clusters; those without trials say nothing. Where all trials had one outcome it would
    claim certainty, so the bound is Wilson's then, with clusters for trials. Raises ValueError for no trials.
    """
    trials = np.asarray(num_trials, dtype=np.float64)
    successes = np.asarray(num_successes, dtype=np.float64)[trials > 0]
    trials = trials[trials > 0]
    if trials.size == 0:
        raise ValueError("a rate of no trials")
    rate = float(successes.sum() / trials.sum())
    if rate in (0.0, 1.0):
        return wilson(int(rate) * trials.size, trials.size)
    generator = np.random.default_rng(seed)
    rates = np.empty(num_resamples)
    chunk = max(1, _MAX_DRAWS // trials.size)
    for start in range(0, num_resamples, chunk):
        drawn = generator.integers(0, trials.size, (min(chunk, num_resamples - start), trials.size))
        rates[start : start + len(drawn)] = successes[drawn].sum(axis=1) / trials[drawn].sum(axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(rates, (tail, 1 - tail))
    return Estimate(rate, float(low), float(high))


def estimate(values: Sequence[float], kind: str, seed: int = 0) -> Estimate:
    """Choose the interval by the `kind` of a success test: "rate" (values 0 and 1) or "count"."""
    if kind == "rate":
        return wilson(sum(1 for value in values if value > 0), len(values))
    return bootstrap_mean(values, seed)


def shares(totals: dict[str, float]) -> dict[str, float]:
    """Divide by the sum; all zero where nothing was counted."""
    whole = sum(totals.values())
    return {name: (total / whole if whole else 0.0) for name, total in totals.items()}
