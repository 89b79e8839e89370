"""Means with 95 % intervals: Wilson's for rates, the bootstrap's for everything else. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
    means = np.empty(num_resamples)
    chunk = max(1, _MAX_DRAWS // data.size)
    for start in range(0, num_resamples, chunk):
        count = min(chunk, num_resamples - start)
        means[start : start + count] = data[generator.integers(0, data.size, (count, data.size))].mean(axis=1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, (tail, 1 - tail))
    return Estimate(float(data.mean()), float(low), float(high))


def crossed_mean(
    groups: Sequence[Mapping[int, float]], kind: str, seed: int = 0, num_resamples: int = NUM_RESAMPLES
) -> Estimate:
    """Estimate the mean over groups of values, each group weighing the same: policies, and their values by episode.

    An episode begins from the same seeds in every group, so the bootstrap draws groups, and one set of episodes for all of
    them: the interval knows both that another policy would have done otherwise and that other episodes would. It is on
    the narrow side where groups are few. Episodes that are not in all groups are left out. Where all values are equal and
    `kind` is "rate", the bound is Wilson's, with episodes for trials. Raises ValueError where no episode is in all groups.
    """
    episodes = sorted(set.intersection(*(set(values) for values in groups))) if groups else []
    if not episodes:
        raise ValueError("a mean of no values")
    data = np.array([[values[episode] for episode in episodes] for values in groups], dtype=np.float64)
    num_groups, num_episodes = data.shape
    if kind == "rate" and data.min() == data.max():
        return wilson(num_episodes * int(data[0, 0] > 0), num_episodes)
    generator = np.random.default_rng(seed)
    tail = (1 - CONFIDENCE) / 2
    means = np.empty(num_resamples)
    chunk = max(1, _MAX_DRAWS // num_episodes)
    for start in range(0, num_resamples, chunk):
        count = min(chunk, num_resamples - start)
        drawn = generator.multinomial(num_episodes, np.full(num_episodes, 1 / num_episodes), count)
        of_groups = drawn @ data.T / num_episodes
        chosen = generator.integers(0, num_groups, (count, num_groups))
        means[start : start + count] = np.take_along_axis(of_groups, chosen, axis=1).mean(axis=1)
    low, high = np.quantile(means, (tail, 1 - tail))
    return Estimate(float(data.mean()), float(low), float(high))


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
