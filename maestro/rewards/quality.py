"""How good a reward model is: accuracy, calibration, and the distribution of what it pays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maestro.specs import RewardSettings

QUANTILES: tuple[float, ...] = (*(round(0.05 * n, 2) for n in range(1, 20)), 0.99)
"""Shares of the caption rewards whose quantiles a card lists. Source: Motif's table has the first 19."""

_BINS = 10


@dataclass(frozen=True)
class Calibration:
    """Predicted against observed preference, in bins of equal width."""

    predicted: list[float]
    """Mean predicted probability that the second is preferred, per bin that has pairs."""
    observed: list[float]
    """Mean target in the same bins."""
    count: list[int]
    expected_error: float
    """Mean distance of the two, weighted by the pairs (ECE)."""
    brier: float
    """Mean squared distance of prediction and target."""


def accuracy(logits: np.ndarray, targets: np.ndarray, decided: np.ndarray) -> tuple[float, int]:
    """Return (share of the decided pairs ranked as judged, how many such pairs); NaN and 0 without any."""
    if not decided.any():
        return float("nan"), 0
    return float(((logits > 0) == (targets > 0.5))[decided].mean()), int(decided.sum())


def calibration(logits: np.ndarray, targets: np.ndarray) -> Calibration:
    """Compare predicted probabilities with judgements; empty lists and NaN for no pairs."""
    if not len(logits):
        return Calibration([], [], [], float("nan"), float("nan"))
    probability = 1 / (1 + np.exp(-np.clip(logits.astype(np.float64), -60, 60)))
    bins = np.minimum((probability * _BINS).astype(int), _BINS - 1)
    predicted, observed, count = [], [], []
    for number in range(_BINS):
        inside = bins == number
        if inside.any():
            predicted.append(float(probability[inside].mean()))
            observed.append(float(targets[inside].mean()))
            count.append(int(inside.sum()))
    gaps = np.abs(np.array(predicted) - np.array(observed))
    return Calibration(
        predicted,
        observed,
        count,
        float((gaps * np.array(count)).sum() / len(logits)),
        float(((probability - targets) ** 2).mean()),
    )


@dataclass(frozen=True)
class Scale:
    """How raw rewards are normalised: mean and standard deviation over distinct captions."""

    mean: float
    std: float
    """Never 0: 1 where all captions are paid alike."""

    def normalised(self, raw: np.ndarray) -> np.ndarray:
        """Return (raw - mean) / std."""
        return (raw - self.mean) / self.std


def scale_of(raw: np.ndarray) -> Scale:
    """Measure the scale of raw rewards, one per distinct caption; finite for any number of them from 1."""
    std = float(np.std(raw))
    return Scale(float(np.mean(raw)), std if std > 1e-8 else 1.0)


def quantiles_of(normalised: np.ndarray, wanted: tuple[float, ...] = QUANTILES) -> dict[float, float]:
    """Return the quantiles of normalised rewards, by share."""
    return {share: float(np.quantile(normalised, share)) for share in wanted}


def threshold_of(
    normalised: np.ndarray, nothing: float, scale: Scale, settings: RewardSettings
) -> float | None:
    """Choose the normalised reward below which nothing is paid; None where everything is to be.

    It is the quantile over distinct captions, but never so low that what is hardly better than `nothing` (the
    normalised reward of an empty message without a change) would be paid, and never below 0. For a skill whose events are
    rare, the quantile alone lies among captions in which nothing of interest to it happens.
    """
    if settings.threshold is not None:
        return settings.threshold
    if settings.quantile == 0:
        return None
    better = nothing + math.log(settings.certainty / (1 - settings.certainty)) / scale.std
    return max(float(np.quantile(normalised, settings.quantile)), better, 0.0)
