"""Turn the records of an evaluation into its figures: plain JSON data, the same for the table, `--json` and report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from maestro.evaluation.competence import refused_share, skill_figures
from maestro.evaluation.episode import EpisodeRecord
from maestro.evaluation.statistics import bootstrap_mean, crossed_mean, estimate
from maestro.specs import Published, TaskSpec

MEANS = (
    "score", "depth", "max_depth", "gold", "experience_level", "kills", "progression", "steps", "turns"
)  # fmt: skip
"""Facts of a record whose mean and interval are given."""
OWN = "own"
"""Word for a task's own policy over skills, among code seeds."""
_Z95 = 1.959964


def summarise(
    spec: TaskSpec, records: Sequence[EpisodeRecord], *, policy: str, seed: int, requested: int
) -> dict[str, Any]:
    """Draw up the figures of one task.

    Episodes that were given up (`failed`) have no result: they are counted under `failed` and left out of every
    mean. Episodes that ended by an error in generated code count with the value reached until then. While fewer
    than `requested` episodes have ended, `complete` is false, and means lean towards short episodes.
    """
    played = [record for record in records if record.ended.by != "failed"]
    return {
        "target": spec.name,
        "policy": policy,
        "instruction": spec.instruction,
        "world": spec.world,
        "kind": spec.kind,
        "episodes": len(played),
        "requested": requested,
        "complete": len(records) >= requested,
        "failed": len(records) - len(played),
        "seed": seed,
        "seeds": [list(record.seeds) for record in played],
        "success": {name: _success(spec, played, name) for name in ("true", "compatible")},
        "published": published_row(spec.published),
        "ended": dict(Counter(record.ended.by for record in records).most_common()),
        "causes": dict(Counter(r.ended.cause for r in played if r.ended.by == "died").most_common(10)),
        "errors": [
            {"episode": record.episode, "by": record.ended.by, "cause": record.ended.cause}
            for record in records
            if record.ended.by in ("error", "failed")
        ],
        **summarise_skills([(spec, played)]),
        "means": {name: mean for name in MEANS if (mean := _mean(played, name)) is not None},
        "total_steps": sum(record.steps for record in played),
    }


def summarise_code_seeds(spec: TaskSpec, parts: Sequence[Sequence[EpisodeRecord]]) -> dict[str, Any]:
    """Draw up a task's success over several policies over skills for it, which weigh the same.

    Only episodes that ended with every policy count, because short ones end first.
    """
    played = [[record for record in records if record.ended.by != "failed"] for records in parts]
    return {
        "kind": spec.kind,
        "code_seeds": len(parts),
        "episodes": sum(map(len, played)),
        "success": {name: _success_over(spec, played, name) for name in ("true", "compatible")},
        "published": published_row(spec.published),
    }


def summarise_skills(parts: Sequence[tuple[TaskSpec, Sequence[EpisodeRecord]]]) -> dict[str, Any]:
    """Draw up the figures of the skills over the episodes of several tasks together: `skills` and `refused_share`."""
    episodes = [
        (spec.fallback, record)
        for spec, records in parts
        for record in records
        if record.ended.by != "failed"
    ]
    return {
        "skills": skill_figures(episodes),
        "refused_share": refused_share(record for _, record in episodes),
    }


def published_row(published: Published | None) -> dict[str, Any] | None:
    """Give a published result on the scale of ours (rates as fractions), with its interval of 1.96 standard errors."""
    if published is None:
        return None
    scale = 0.01 if published.unit == "percent" else 1.0
    mean, stderr = published.value * scale, published.stderr * scale
    low, high = mean - _Z95 * stderr, mean + _Z95 * stderr
    return {
        "mean": _rounded(mean),
        "interval": [_rounded(max(0.0, low)), _rounded(min(1.0, high) if scale != 1.0 else high)],
        "stderr": _rounded(stderr),
        "source": published.source,
    }


def code_name(code_seed: int | None) -> str:
    """Name a policy over skills by its code seed."""
    return OWN if code_seed is None else str(code_seed)


def format_value(value: float, kind: str) -> str:
    """Write a success value as people read it: 7.2 % for a rate, 0.66 for a count."""
    return f"{100 * value:.1f} %" if kind == "rate" else f"{value:.2f}"


def format_estimate(row: dict[str, Any] | None, kind: str) -> str:
    """Write a mean with its interval, "7.2 % (4.4 to 11.7)"; a dash where there is none."""
    if row is None:
        return "-"
    low, high = (format_value(bound, kind).removesuffix(" %") for bound in row["interval"])
    return f"{format_value(row['mean'], kind)} ({low} to {high})"


def format_skill_success(success: dict[str, Any] | None) -> str:
    """Write a skill's rate of success as `format_estimate` does; a dash where nothing is known of it."""
    return format_estimate(success if success and success["tried"] else None, "rate")


def format_share(share: float | None) -> str:
    """Write a share of a whole; a dash where there is no whole."""
    return "-" if share is None else f"{100 * share:.1f} %"


def _success(spec: TaskSpec, played: Sequence[EpisodeRecord], name: str) -> dict[str, Any] | None:
    values = [value for record in played if (value := record.success[name]) is not None]
    return estimate(values, spec.kind).to_dict() if values else None


def _success_over(
    spec: TaskSpec, played: Sequence[Sequence[EpisodeRecord]], name: str
) -> dict[str, Any] | None:
    groups = [
        {record.episode: value for record in part if (value := record.success[name]) is not None}
        for part in played
    ]
    if not set.intersection(*map(set, groups)):
        return None
    return crossed_mean(groups, spec.kind).to_dict()


def _mean(played: Sequence[EpisodeRecord], name: str) -> dict[str, Any] | None:
    values = [float(value) for record in played if (value := getattr(record, name)) is not None]
    return bootstrap_mean(values, seed=0).to_dict() if values else None


def _rounded(value: float) -> float:
    """Take off the noise of the last binary digits, so that 7.2 % is 0.072."""
    return round(value, 12) if math.isfinite(value) else value
