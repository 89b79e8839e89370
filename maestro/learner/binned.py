"""What a training run told, summed up by bins of environment steps: for curves, and for the card of its policy."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from maestro.learner.progress import combine, is_probe, read_metrics

CARD_BINS = 25
"""Points of a card's curve, at most."""
_OF_GAMES = re.compile(r"skill/|episode|steps$|lookups$|cache_hits$|reward_per_1000$|turns_per_step$")
_ON_CARDS = re.compile(r"skill/\w+/(reward_per_1000|share)$|episode/(reward|score|steps|max_depth)$")


def binned(records: Iterable[dict[str, Any]], edges: np.ndarray) -> dict[str, np.ndarray]:
    """Sum the records of a run up by bins of environment steps: metric to values, NaN where nothing is known."""
    num_bins = len(edges) - 1
    bins: list[list[dict[str, Any]]] = [[] for _ in range(num_bins)]
    for record in records:
        if not is_probe(record):
            at = int(np.searchsorted(edges, record["env_steps"], side="left")) - 1
            bins[min(max(at, 0), num_bins - 1)].append(record)
    found: dict[str, np.ndarray] = {}
    for index, members in enumerate(bins):
        of_games = [
            {name: value for name, value in record.items() if _is_of_games(name)} for record in members
        ]
        told = combine(of_games)
        for name in {name for record in members for name in record if not _is_of_games(name)}:
            numbers = [record[name] for record in members if isinstance(record.get(name), (int, float))]
            if numbers and name not in ("time", "env_steps"):
                told[name] = float(np.mean(numbers))
        for name, value in told.items():
            found.setdefault(name, np.full(num_bins, np.nan))[index] = value
    return found


def card_curve(run: Path, env_steps: int) -> dict[str, list[float | None]]:
    """Give how the policy of `env_steps` came about: metric to values, beside `env_steps`, the end of each bin.

    Empty where the run's metrics are gone.
    """
    records = [record for record in read_metrics(run) if record["env_steps"] <= env_steps]
    num_bins = min(CARD_BINS, sum(not is_probe(record) for record in records))
    if num_bins == 0:
        return {}
    edges = np.linspace(0, env_steps, num_bins + 1)
    curve: dict[str, list[float | None]] = {"env_steps": [round(float(edge)) for edge in edges[1:]]}
    for name, values in sorted(binned(records, edges).items()):
        if _ON_CARDS.fullmatch(name):
            curve[name] = [float(f"{value:.4g}") if np.isfinite(value) else None for value in values]
    return curve


def _is_of_games(name: str) -> bool:
    return _OF_GAMES.match(name) is not None
