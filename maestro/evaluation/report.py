"""Write an evaluation as one HTML file that needs no server, no network and no other file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any, NamedTuple

from maestro.errors import RecordError
from maestro.evaluation import plots
from maestro.evaluation.episode import EpisodeFile, EpisodeRecord
from maestro.evaluation.summary import (
    OWN,
    code_name,
    format_estimate,
    format_share,
    format_skill_success,
    format_value,
)

MAX_TIMELINES = 60
"""Episodes whose timeline is drawn; every one of them is in the run's folder."""
_LABELS = {
    "score": "score",
    "depth": "depth at the end",
    "max_depth": "greatest depth",
    "gold": "gold",
    "experience_level": "experience level",
    "kills": "kills",
    "progression": "progression (BALROG)",
    "steps": "steps",
    "turns": "turns",
}
_HISTOGRAMS = ("max_depth", "experience_level", "steps", "score")


class TaskResult(NamedTuple):
    """What the report shows of one task."""

    figures: dict[str, Any]
    """From `summary.summarise`."""
    records: Sequence[EpisodeRecord]
    read_file: Callable[[int], EpisodeFile]
    """Gives the file of an episode; a RecordError leaves its timeline out."""


def render_report(results: Sequence[TaskResult], provenance: dict[str, str]) -> str:
    """Render the report of one task, or of several with an overview; `provenance` is shown as it is."""
    import jinja2

    source = resources.files("maestro.evaluation").joinpath("report.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    names = list(dict.fromkeys(result.figures["target"] for result in results))
    codes = list(dict.fromkeys(code_name(result.figures.get("code_seed")) for result in results))
    first = results[0].figures
    policy, target = first["policy"], ",".join(names)
    code = f" --code-seed {','.join(codes)}" if codes != [OWN] else ""
    return environment.from_string(source).render(
        title=f"{names[0]}, played by {policy} skills" if len(names) == 1 else f"{len(names)} tasks",
        subtitle=f"maestro eval --target {target} --policy {policy} --episodes {first['requested']} --seed {first['seed']}{code}",
        tasks=[_task(result, len(codes) > 1) for result in results],
        provenance=provenance,
    )


def _task(result: TaskResult, with_code: bool) -> dict[str, Any]:
    figures = result.figures
    code = code_name(figures.get("code_seed"))  # older runs do not tell it
    label = f"{figures['target']}, code {code}" if with_code else figures["target"]
    css = {name: f"s{index % 8}" for index, name in enumerate(figures["skills"])}
    rows, top = _success_rows(figures)
    shown = [record for record in result.records if record.ended.by != "failed"]
    longest = max((record.steps for record in shown), default=0)
    parts = [
        (skill["share"], css[name], f"{name}: {100 * skill['share']:.1f} % of all steps")
        for name, skill in figures["skills"].items()
    ]
    return {
        "figures": figures,
        "label": label,
        "anchor": label.replace(", ", "-").replace(" ", "-"),
        "success": {
            "true": format_estimate(figures["success"]["true"], figures["kind"]),
            "compatible": format_estimate(figures["success"]["compatible"], figures["kind"]),
            "published": format_estimate(figures["published"], figures["kind"]),
        },
        "success_plot": rows,
        "axis_top": format_value(top, figures["kind"]),
        "endings": _endings(figures),
        "means": [_mean_row(name, row) for name, row in figures["means"].items()],
        "histograms": _histograms(shown),
        "skill_bar": _safe(plots.stacked(parts)),
        "skills": [_skill_row(name, skill, css[name]) for name, skill in figures["skills"].items()],
        "longest": longest,
        "episodes": [_timeline(record, result, longest, css) for record in shown[:MAX_TIMELINES]],
        "hidden": max(0, len(shown) - MAX_TIMELINES),
    }


def _success_rows(figures: dict[str, Any]) -> tuple[list[dict[str, Any]], float]:
    """Give the rows of the success plot and the upper end of their common axis."""
    rows = [
        ("what the task says", figures["success"]["true"], "own"),
        ("as scored by MaestroMotif", figures["success"]["compatible"], "own"),
        ("published", figures["published"], "other"),
    ]
    largest = max((row["interval"][1] for _, row, _ in rows if row), default=1.0)
    top = min(1.0, 1.15 * largest) if figures["kind"] == "rate" else 1.15 * largest
    top = top or 1.0
    found = []
    for label, row, css in rows:
        if row:
            low, high = row["interval"]
            svg = plots.interval(row["mean"], low, high, top, css)
            found.append({"label": label, "svg": _safe(svg), "text": format_estimate(row, figures["kind"])})
    return found, top


def _endings(figures: dict[str, Any]) -> list[dict[str, Any]]:
    total = sum(figures["ended"].values())
    return [
        {
            "label": by,
            "svg": _safe(plots.bar(count / total)),
            "text": f"{count} of {total} ({100 * count / total:.0f} %)",
        }
        for by, count in figures["ended"].items()
    ]


def _mean_row(name: str, row: dict[str, Any]) -> dict[str, str]:
    scale, digits = (100, 2) if name == "progression" else (1, 1)
    mean, low, high = (f"{scale * value:,.{digits}f}" for value in (row["mean"], *row["interval"]))
    unit = " %" if name == "progression" else ""
    return {"label": _LABELS[name], "mean": mean + unit, "interval": f"{low} to {high}"}


def _skill_row(name: str, skill: dict[str, Any], css: str) -> dict[str, str]:
    return {
        "name": name,
        "css": css,
        "share": f"{100 * skill['share']:.1f} %",
        "share_turns": f"{100 * skill['share_turns']:.1f} %",
        "activations": f"{skill['activations']:.1f}",
        "steps": "-" if skill["steps_per_activation"] is None else f"{skill['steps_per_activation']:.1f}",
        "success": format_skill_success(skill["success"]),
        "success_is": skill["success"]["is"] if skill["success"] else "",
        "refused": format_share(skill["refused_share"]),
        "ended": ", ".join(f"{reason} {count}" for reason, count in skill["ended"].items()),
    }


def _histograms(records: Sequence[EpisodeRecord]) -> list[dict[str, Any]]:
    found = []
    for name in _HISTOGRAMS:
        values = [float(value) for record in records if (value := getattr(record, name)) is not None]
        if values:
            svg, low, high = plots.histogram(values)
            found.append({"label": _LABELS[name], "svg": _safe(svg), "low": low, "high": high})
    return found


def _timeline(record: EpisodeRecord, result: TaskResult, longest: int, css: dict[str, str]) -> dict[str, Any]:
    try:
        found = plots.segments(result.read_file(record.episode).switches, record.steps)
    except RecordError:
        found = []
    text = {"success": "success", "truncated": "out of steps"}.get(record.ended.by, record.ended.by)
    return {
        "number": record.episode,
        "svg": _safe(plots.timeline(found, record.steps, longest, css)),
        "by": record.ended.by,
        "text": text,
    }


def _safe(svg: str):
    """Mark a plot as HTML; whatever text it holds was escaped when it was drawn."""
    import markupsafe

    return markupsafe.Markup(svg)
