"""Learning curves that a policy carries in its card, stage by stage, drawn as those of runs are; the runs may be gone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from maestro.errors import PolicyFileError, RecordError
from maestro.learner.curves import Curve, RunGroup
from maestro.learner.policy_file import load_card
from maestro.rewards.files import CARD

_STAGE = re.compile(r"(?P<how>.*?)(?: from step (?P<begin>\d+))?")
_OF_IMITATION = ("agreement", "loss")


def read_card_groups(folder: Path) -> list[RunGroup]:
    """Read a policy's card: one group for every stage that kept a curve, in the order of training.

    Steps are counted from the first stage on, those that a teacher labelled included. Raises PolicyFileError for a folder
    without a policy and for a damaged curve, and RecordError for a card without any curve.
    """
    card = load_card(folder)
    if not card.curves:
        raise RecordError(
            "the policy's card keeps no curves",
            where=str(folder / CARD),
            expected="a policy exported by maestro while its run's metrics.jsonl was there",
            hint="where the run is at hand: maestro curves --run",
        )
    order = {name: number for number, name in enumerate(card.training)}
    groups = []
    for stage in sorted(card.curves, key=lambda name: order.get(name, len(order))):
        try:
            groups.append(_group(folder, stage, order.get(stage), card.curves[stage]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise PolicyFileError(
                f"curves[{stage!r}] cannot be read: {error}",
                where=str(folder / CARD),
                expected="a curve as maestro writes it",
                hint="export the policy again",
            ) from error
    return groups


def _group(folder: Path, stage: str, number: int | None, told: Any) -> RunGroup:
    found = _STAGE.fullmatch(stage)
    assert found is not None  # every part of the pattern is optional
    begin = int(found["begin"] or 0)
    if isinstance(told, Mapping):
        steps = begin + np.array(told["env_steps"], float)
        curves = {name: _curve(steps, values) for name, values in told.items() if name != "env_steps"}
    else:
        steps = begin + np.array([point["steps"] for point in told], float)
        curves = {
            f"imitation/{name}": _curve(steps, [point[name] for point in told]) for name in _OF_IMITATION
        }
    label = found["how"] if number is None else f"stage {number + 1}: {found['how']}"
    return RunGroup(label, (folder,), curves, {})


def _curve(steps: np.ndarray, values: Sequence[float | None]) -> Curve:
    line = np.array([np.nan if value is None else value for value in values], float)
    if len(line) != len(steps):
        raise ValueError(f"{len(line)} values for {len(steps)} steps")
    return Curve(steps, line, line, line)
