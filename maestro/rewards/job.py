"""One reward model from dataset and verdicts to files: what `maestro fit-reward` and `maestro train-skills` carry out."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

import maestro
from maestro.content import Content
from maestro.errors import DatasetError, FitError
from maestro.preferences.goals import Goal, find_goal
from maestro.preferences.pairs import Preference
from maestro.preferences.rules import RuleScorer
from maestro.preferences.transitions import read_info, read_transitions, rows_of
from maestro.preferences.verdicts import read_verdicts
from maestro.rewards.data import PairData, annotated_part, load_pair_data
from maestro.rewards.encode import CHANGES, MESSAGE_BYTES
from maestro.rewards.files import Card, save_model, sole_writer
from maestro.rewards.fit import Epoch, Fit, FitConfig, architecture, fit
from maestro.rewards.model import RewardModel, average
from maestro.rewards.quality import accuracy, calibration, quantiles_of, scale_of, threshold_of
from maestro.rewards.threads import one_thread
from maestro.specs import RewardSettings

CHECKPOINT = ".fit.pt"
_JUDGED_AGAIN = 1_000


@dataclass(frozen=True)
class FitJob:
    """What to fit, and where to put it."""

    skill: str
    """A skill, or one of the ready goals."""
    data: Path
    verdicts: tuple[Path, ...]
    """Verdict files on the same dataset, taken together."""
    out: Path
    """Folder of the reward model."""
    config: FitConfig = field(default_factory=FitConfig)
    device: str = "auto"


@dataclass(frozen=True)
class Judged:
    """The pairs of a job, read and checked."""

    goal: Goal
    settings: RewardSettings
    pairs: PairData
    """As the network to be fitted sees them."""
    info: dict[str, Any]
    """What the first verdict file says of the annotation."""
    annotator: str
    num_unparsed: int
    caption_version: int
    dataset: dict[str, Any]


def read_judged(content: Content, job: FitJob) -> Judged:
    """Read and join a job's files.

    Raises DatasetError where the files are missing, damaged or do not belong together, FitError where too much of them
    cannot be learnt from.
    """
    goal = find_goal(content, job.skill)
    world = read_info(job.data)["world"]
    if world != goal.world:
        raise DatasetError(
            f"these are transitions of {world}, but {job.skill!r} belongs to {goal.world}",
            where=str(job.data),
            hint="name the right folder with --data",
        )
    tables, infos = zip(*(read_verdicts(path) for path in job.verdicts), strict=True)
    for path, info in zip(job.verdicts, infos, strict=True):
        _check_info(path, info, infos[0], job.skill, goal)
    table = annotated_part(read_transitions(job.data), infos[0]["dataset"])
    verdicts = pa.concat_tables(tables)
    num_unparsed = _check_verdicts(verdicts, job)
    pairs = load_pair_data(table, verdicts).as_seen(architecture(job.config).changes)
    if not pairs.decided.any():
        raise FitError(
            f"none of the {len(pairs.pairs):,} judged pairs was decided: all are ties",
            where=f"fit-reward --skill {job.skill}",
            expected="some transitions that the preference tells apart",
            hint="collect more (perhaps the skill's events never occurred), or look at its rules or preference",
        )
    for path, info, found in zip(job.verdicts, infos, tables, strict=True):
        if info.get("annotator") == "rules":
            _check_rules(path, table, found, goal)
    skills = content.skills()
    return Judged(
        goal,
        skills[job.skill].spec.reward if job.skill in skills else RewardSettings(),
        pairs,
        infos[0],
        "+".join(sorted({info["annotator"] for info in infos})),
        num_unparsed,
        read_info(job.data)["caption_version"],
        {
            "world": world,
            "transitions": table.num_rows,
            "transitions_sha256": infos[0]["dataset"],
            "sources": dict(Counter(table["source"].to_pylist())),
        },
    )


def fit_job(
    judged: Judged,
    job: FitJob,
    *,
    progress: Callable[[Epoch], None] = lambda epoch: None,
    on_pairs: Callable[[int], None] = lambda pairs: None,
    notice: Callable[[str], None] = lambda text: None,
) -> Card:
    """Fit, measure and write; a model that was in the folder stays until the new one is complete.

    Killed and started again, it goes on at the last epoch. Raises FitError while another process fits into the folder.
    """
    checkpoint = job.out / CHECKPOINT
    with sole_writer(job.out), one_thread():
        result = fit(
            judged.pairs,
            job.config,
            device=job.device,
            checkpoint=checkpoint,
            progress=progress,
            on_pairs=on_pairs,
            notice=notice,
        )
        card = save_model(job.out, result.models, describe(judged, job, result))
        checkpoint.unlink(missing_ok=True)
    return card


def describe(judged: Judged, job: FitJob, result: Fit) -> dict[str, Any]:
    """Measure a fit and say all that its card needs (see `files.Card`)."""
    raw = result.captions.rewards(result.models)
    scale = scale_of(raw)
    normalised = scale.normalised(raw)
    nothing = float(scale.normalised(_reward_of_nothing(result.models))[0])
    threshold = threshold_of(normalised, nothing, scale, judged.settings)
    info = judged.info
    return {
        "skill": job.skill,
        "skill_sha256": preference_sha256(judged.goal),
        "world": judged.goal.world,
        "caption_version": judged.caption_version,
        "mean": scale.mean,
        "std": scale.std,
        "quantiles": {f"{at:g}": value for at, value in quantiles_of(normalised).items()},
        "threshold_quantile": judged.settings.quantile,
        "threshold_certainty": judged.settings.certainty,
        "threshold_given": judged.settings.threshold,
        "nothing": nothing,
        "threshold": threshold,
        "paid_share": float((normalised >= (-np.inf if threshold is None else threshold)).mean()),
        "held_out": held_out_figures(result),
        "annotator": judged.annotator,
        "annotation": {
            key: info.get(key)
            for key in ("model", "reasoning", "prompt", "preference", "both_orders", "seed")
        }
        | {"unparsed": judged.num_unparsed},
        "data": {
            **judged.dataset,
            "sha256": judged.pairs.sha256(),
            "pairs": len(judged.pairs.pairs),
            "ties": int((~judged.pairs.decided).sum()),
            "captions": judged.pairs.num_captions,
            "messages": len(judged.pairs.messages),
            "training_pairs": len(result.training.pairs),
            "validation_pairs": len(result.validation.pairs),
            "held_out_pairs": len(result.held_out.pairs),
            "mixed_pairs": result.num_mixed,
        },
        "fit": {**job.config.model_dump(), "curve": [_curve_point(epoch) for epoch in result.epochs]},
        "maestro_version": maestro.__version__,
    }


@torch.no_grad()
def _reward_of_nothing(models: list[RewardModel]) -> np.ndarray:
    """Return the raw reward of an empty message without a change, (1,)."""
    device = next(models[0].parameters()).device
    message = torch.zeros(1, MESSAGE_BYTES, dtype=torch.uint8, device=device)
    changes = torch.zeros(1, len(CHANGES), dtype=torch.int8, device=device)
    return average(models, message, changes, None).double().cpu().numpy()


def held_out_figures(result: Fit) -> dict[str, Any]:
    """Measure the ensemble on pairs that neither taught it nor chose its epochs; None where nothing can be measured."""
    logits = result.captions.logits(result.models, result.held_out.pairs)
    targets = result.held_out.targets
    right, decided = accuracy(logits, targets, result.held_out.decided)
    measured = calibration(logits, targets)
    loss = float(np.mean(np.logaddexp(0, logits) - targets * logits)) if len(logits) else float("nan")
    return {
        "accuracy": _finite(right),
        "decided_pairs": decided,
        "pairs": len(targets),
        "loss": _finite(loss),
        "calibration_error": _finite(measured.expected_error),
        "brier": _finite(measured.brier),
        "calibration": {name: asdict(measured)[name] for name in ("predicted", "observed", "count")},
    }


def preference_sha256(goal: Goal) -> str:
    """Hash what is preferred: text and rules. Another text is another reward."""
    rules = [rule.model_dump(exclude_none=True) for rule in goal.rules]
    return hashlib.sha256(json.dumps([goal.preference, rules], sort_keys=True).encode()).hexdigest()


def _check_info(path: Path, info: dict[str, Any], first: dict[str, Any], skill: str, goal: Goal) -> None:
    if info.get("skill") != skill:
        raise DatasetError(
            f"these are verdicts for {info.get('skill')!r}",
            where=str(path),
            expected=f"verdicts for {skill!r}",
        )
    if info.get("dataset") != first.get("dataset"):
        raise DatasetError(
            "the verdict files are about different datasets",
            where=str(path),
            expected="files of one dataset, whose rows they count",
            hint="fit from one of them",
        )
    if info.get("preference", goal.preference) != goal.preference:
        raise DatasetError(
            "the preference has been edited since these verdicts were given",
            where=str(path),
            hint=f"maestro annotate --skill {skill}",
        )


def _check_rules(path: Path, table: pa.Table, verdicts: pa.Table, goal: Goal) -> None:
    """Judge some pairs again: verdicts by rules that were edited since are verdicts on another preference."""
    some = verdicts.take(np.unique(np.linspace(0, verdicts.num_rows - 1, _JUDGED_AGAIN).astype(int)))
    scorer = RuleScorer(goal.rules)
    first, second = (list(rows_of(table.take(some[side]))) for side in ("first", "second"))
    for one, two, given in zip(first, second, some["preference"].to_pylist(), strict=True):
        if given != int(Preference.UNPARSED) and scorer.compare(one, two) != given:
            raise DatasetError(
                "the skill's rules have been edited since these verdicts were given",
                where=str(path),
                hint=f"maestro annotate --skill {goal.name}",
            )


def _check_verdicts(verdicts: pa.Table, job: FitJob) -> int:
    preference = verdicts["preference"].to_numpy()
    num_unparsed = int((preference == int(Preference.UNPARSED)).sum())
    if num_unparsed > job.config.max_unparsed * max(len(preference), 1):
        raise FitError(
            f"{num_unparsed:,} of {len(preference):,} verdicts could not be understood",
            where=", ".join(map(str, job.verdicts)),
            expected=f"at most {job.config.max_unparsed:.0%}",
            hint="annotate again with another prompt or model, or raise max_unparsed in the --config file",
        )
    return num_unparsed


def _curve_point(epoch: Epoch) -> dict[str, Any]:
    return {
        "model": epoch.model,
        "epoch": epoch.epoch,
        "train_loss": round(epoch.train_loss, 5),
        "validation_loss": _finite(epoch.validation_loss),
        "validation_accuracy": _finite(epoch.validation_accuracy),
    }


def _finite(value: float) -> float | None:
    return round(value, 6) if np.isfinite(value) else None
