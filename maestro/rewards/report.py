"""Look at a reward model: what it pays, what it would not, and how far it agrees with the preference rules."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from maestro.preferences.goals import Goal
from maestro.preferences.pairs import make_pairs
from maestro.preferences.rules import RuleScorer
from maestro.preferences.transitions import rows_of
from maestro.rewards.encode import CHANGES, changes_of, encode_messages
from maestro.rewards.files import SkillReward
from maestro.rewards.quality import accuracy, calibration

NUM_PAIRS = 20_000
"""Pairs drawn to compare with the rules."""
_BINS = 40


def rewards_of(
    reward: SkillReward, messages: list[str], changes: np.ndarray, batch: int = 4_096
) -> np.ndarray:
    """Return the normalised rewards of transitions, float64 (N,); `changes` are their signs, int8 (N, 5).

    Equal ones are computed once.
    """
    if not messages:
        return np.zeros(0)
    numbers: dict[str, int] = {}
    of_row = np.array([numbers.setdefault(message, len(numbers)) for message in messages])
    distinct, place = np.unique(np.column_stack([of_row, changes]), axis=0, return_inverse=True)
    codes = torch.from_numpy(encode_messages(list(numbers)))
    parts = []
    for start in range(0, len(distinct), batch):
        part = torch.from_numpy(distinct[start : start + batch])
        parts.append(reward(codes[part[:, 0]], part[:, 1:]).double().numpy())
    return np.concatenate(parts)[place.reshape(-1)]


def look(
    reward: SkillReward, table: pa.Table, goal: Goal, *, num_shown: int = 10, seed: int = 0
) -> dict[str, Any]:
    """Measure a reward model on a dataset; plain data for reports.

    The histogram and the extremes are over distinct captions as the model reads them: message and signs of those changes that it
    sees.
    """
    seen = np.array([name in reward.card.architecture.changes for name in CHANGES])
    changes = changes_of(table) * seen
    messages = table["message"].to_pylist()
    values = rewards_of(reward, messages, changes)
    keys = list(zip(messages, map(bytes, changes), strict=True))
    first = np.array(sorted({key: row for row, key in reversed(list(enumerate(keys)))}.values()))
    distinct = values[first]
    counts, edges = np.histogram(distinct, bins=_BINS)
    order = first[np.argsort(-distinct, kind="stable")]
    threshold = reward.card.threshold
    return {
        "transitions": len(values),
        "captions": len(distinct),
        "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
        "paid_share": float((distinct >= reward.threshold).mean()),
        "threshold": threshold,
        "top": [_shown(table, int(row), values[row]) for row in order[:num_shown]],
        "bottom": [_shown(table, int(row), values[row]) for row in order[::-1][:num_shown]],
        "rules": _against_rules(reward, table, goal, values, seed) if goal.rules else None,
    }


def _against_rules(
    reward: SkillReward, table: pa.Table, goal: Goal, values: np.ndarray, seed: int
) -> dict[str, Any]:
    """Compare on pairs drawn as annotators see them: how often the two agree, and how sure the model is where they do."""
    scorer = RuleScorer(goal.rules)
    scores = np.array([scorer.score(row) for row in rows_of(table)])
    pairs = make_pairs(table, goal.name, NUM_PAIRS, seed + 1).array()
    difference = scores[pairs[:, 1]] - scores[pairs[:, 0]]
    targets = np.where(difference > 0, 1.0, np.where(difference < 0, 0.0, 0.5))
    logits = (values[pairs[:, 1]] - values[pairs[:, 0]]) * reward.scale.std
    agreement, decided = accuracy(logits, targets, difference != 0)
    return {
        "agreement": agreement if decided else None,
        "decided_pairs": decided,
        "pairs": len(pairs),
        "reliability": asdict(calibration(logits, targets)),
    }


def _shown(table: pa.Table, row: int, value: float) -> dict[str, Any]:
    return {
        "reward": round(float(value), 4),
        "skill": table["skill"][row].as_py(),
        "message": table["message"][row].as_py(),
        "caption": table["caption"][row].as_py(),
    }
