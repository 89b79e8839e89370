"""Learning curves of training runs: metrics.jsonl to pictures and a table; runs that differ in the seed alone are one curve."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from maestro.errors import RecordError
from maestro.learner.binned import binned
from maestro.learner.progress import METRICS, is_probe, read_metrics
from maestro.learner.run_policy import TRAINING, training_folder
from maestro.runs import read_config

NUM_BINS = 60
_NOT_SEEDS = (
    "steps",
    "games.seed",
    "probes",
    "save_every_s",
    "keep_checkpoints",
    "milestone_steps",
    "num_workers",
)
"""Settings in which the runs of one curve may differ."""
_PLACES = ("games.pay.rewards", "init")
"""Settings that name a folder. `maestro train-skills` sets them to what lies in its own run; see `_own_folder`."""
_SKILL_PANELS = {
    "reward_per_1000": "paid per 1000 steps",
    "share": "share of steps",
    "steps_per_activation": "steps per activation",
    "deeper": "share that ended deeper",
    "higher": "share that ended higher",
}
_RUN_PANELS = {
    "episode/reward": "paid per episode",
    "episode/score": "score",
    "episode/max_depth": "greatest depth",
    "episode/steps": "steps per episode",
    "train/entropy": "entropy (nats)",
    "train/value_loss": "value loss",
    "train/kl_divergence": "KL of an update",
    "train/pull_kl": "KL from the teacher",
    "imitation/agreement": "agreement with the teacher",
    "steps_per_s": "steps per second",
}


class Curve(NamedTuple):
    """One metric of one group of runs over environment steps; arrays of equal length, NaN where nothing is known."""

    env_steps: np.ndarray
    """End of each bin."""
    mean: np.ndarray
    low: np.ndarray
    """Least of the runs."""
    high: np.ndarray
    """Greatest of the runs."""


class RunGroup(NamedTuple):
    """Runs that differ in the seed alone."""

    label: str
    folders: tuple[Path, ...]
    curves: dict[str, Curve]
    """Metric to its curve; probes apart."""
    probes: dict[str, Curve]
    """Metric to its curve, at the very steps that were probed."""


def read_groups(folders: Sequence[Path], num_bins: int = NUM_BINS) -> list[RunGroup]:
    """Read runs and put those together that differ in the seed alone.

    All curves have the same bins, so that they can be compared. Raises RunError for a folder without a run and
    RecordError for a run that has not told anything yet, or is none of train-policy or train-skills.
    """
    groups: dict[str, list[Path]] = {}
    records: dict[Path, list[dict[str, Any]]] = {}
    for folder in dict.fromkeys(training_folder(folder.absolute()) for folder in folders):
        identity = _identity(read_config(folder)["config"], folder)
        records[folder] = _records(folder)
        if all(is_probe(record) for record in records[folder]):
            raise RecordError(
                "the run has told nothing yet",
                where=str(folder / f"{METRICS}.jsonl"),
                expected="a run of maestro train-policy that has trained for some seconds",
            )
        groups.setdefault(identity, []).append(folder)
    last = max(record["env_steps"] for of_run in records.values() for record in of_run)
    edges = np.linspace(0, max(last, 1), num_bins + 1)
    found = []
    for members in groups.values():
        of_bins = [binned(records[folder], edges) for folder in members]
        probed = [_probed(records[folder]) for folder in members]
        found.append(
            RunGroup(_label(members), tuple(members), _join(edges[1:], of_bins), _join_probes(probed))
        )
    return found


def write_curves(groups: Sequence[RunGroup], out: Path) -> list[Path]:
    """Write the pictures that have something to show, and curves.csv; returns their paths."""
    out.mkdir(parents=True, exist_ok=True)
    written = [_write_table(groups, out / "curves.csv")]
    skills = _skills(groups)
    panels = [
        (f"skill/{skill}/{what}", f"{skill}: {text}" if row == 0 else text)
        for row, (what, text) in enumerate(_SKILL_PANELS.items())
        for skill in skills
    ]
    rows = [panels[start : start + len(skills)] for start in range(0, len(panels), len(skills) or 1)]
    rows = [row for row in rows if any(_has(groups, name) for name, _ in row)]
    if rows:
        written.append(
            _draw(groups, [panel for row in rows for panel in row], len(skills), out / "skills.png")
        )
    rest = [(name, text) for name, text in _RUN_PANELS.items() if _has(groups, name)]
    if rest:
        written.append(_draw(groups, rest, 3, out / "run.png"))
    probes = sorted({name for group in groups for name in group.probes if name.endswith("/success")})
    if probes:
        named = [(name, f"{name.split('/')[1]}: success") for name in probes]
        written.append(_draw(groups, named, min(3, len(named)), out / "probes.png", probes=True))
    return written


class Emergence(NamedTuple):
    """How a skill's reward rose."""

    skill: str
    first: float
    """Reward per 1000 steps in the first tenth of the run."""
    last: float
    """In the last tenth."""
    best: float
    half_way: float | None
    """Environment steps at which half of the way from first to best was made; None where it never rose."""


def emergence(group: RunGroup) -> list[Emergence]:
    """Tell how each skill's reward rose, the earliest first: the order in which the skills emerge."""
    found = []
    for skill in _skills([group]):
        curve = group.curves.get(f"skill/{skill}/reward_per_1000")
        known = np.zeros(0, bool) if curve is None else np.isfinite(curve.mean)
        if curve is None or not known.any():
            continue
        known &= _ran(group.curves.get(f"skill/{skill}/share"), known)
        values, steps = _smooth(curve.mean[known]), curve.env_steps[known]
        tenth = max(1, len(values) // 10)
        first, last, best = float(values[:tenth].mean()), float(values[-tenth:].mean()), float(values.max())
        above = np.flatnonzero(values >= first + 0.5 * (best - first))
        rose = best > first and last > first
        found.append(Emergence(skill, first, last, best, float(steps[above[0]]) if rose else None))
    return sorted(found, key=lambda one: (one.half_way is None, one.half_way or 0.0))


def _records(folder: Path) -> list[dict[str, Any]]:
    """Read a run's metrics; raises RecordError where they do not count environment steps."""
    try:
        return read_metrics(folder)
    except KeyError:
        raise RecordError(
            "this is no run of train-policy: its records tell no environment steps",
            where=str(folder / f"{METRICS}.jsonl"),
            expected="a run of maestro train-policy",
            hint="an imitation keeps its curve in its policy's card: maestro curves --policy <run>/policy",
        ) from None


def _identity(config: dict[str, Any], folder: Path) -> str:
    """Write down the settings that runs of one curve have in common."""
    kept = json.loads(json.dumps(config))
    for key in _NOT_SEEDS:
        place, name = _place_of(kept, key)
        place.pop(name, None)
    for key in _PLACES:
        # Every seed's run has rewards and an imitation of its own: the same ones are those that lie alike.
        place, name = _place_of(kept, key)
        if isinstance(place.get(name), str):
            place[name] = _seen_from(_own_folder(folder), place[name])
    return json.dumps(kept, sort_keys=True)


def _place_of(config: dict[str, Any], key: str) -> tuple[dict[str, Any], str]:
    """Find the table that holds a key with dots: (table, last part); an empty table where there is none."""
    *path, name = key.split(".")
    place: Any = config
    for part in path:
        place = place.get(part) or {}
    return place, name


def _own_folder(folder: Path) -> Path:
    """Give the folder of the whole run: the one above where training is but a part of it."""
    return folder.parent if folder.name == TRAINING else folder


def _seen_from(folder: Path, path: str) -> str:
    """Write a path inside `folder` as seen from there, and any other as it is."""
    own, meant = folder.resolve(), Path(path).resolve()
    return f"<run>/{meant.relative_to(own)}" if meant.is_relative_to(own) else path


def _label(members: Sequence[Path]) -> str:
    name, more = _own_folder(members[0]).name, len(members) - 1
    return name if not more else f"{name} and {more} other seed" + ("s" if more > 1 else "")


def _probed(records: Iterable[dict[str, Any]]) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for record in records:
        for name, value in record.items():
            if name.startswith("probe/"):
                found.setdefault(name, {})[record["env_steps"]] = value
    return found


def _join(env_steps: np.ndarray, runs: Sequence[dict[str, np.ndarray]]) -> dict[str, Curve]:
    found = {}
    for name in sorted({name for run in runs for name in run}):
        stacked = np.stack([run[name] for run in runs if name in run])
        found[name] = _curve(env_steps, stacked)
    return found


def _join_probes(runs: Sequence[dict[str, dict[int, float]]]) -> dict[str, Curve]:
    """Join probes of runs: each at its own steps, seeds interpolated to the steps of all."""
    found = {}
    for name in sorted({name for run in runs for name in run}):
        mine = [run[name] for run in runs if name in run]
        steps = np.array(sorted({at for one in mine for at in one}), float)
        rows = []
        for one in mine:
            at, values = np.array(sorted(one), float), np.array([one[key] for key in sorted(one)])
            rows.append(np.interp(steps, at, values, left=np.nan, right=np.nan))
        found[name] = _curve(steps, np.stack(rows))
    return found


def _curve(env_steps: np.ndarray, stacked: np.ndarray) -> Curve:
    """Take mean and range over runs, (runs, bins), of what is known."""
    known = np.isfinite(stacked)
    count = known.sum(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(count > 0, np.where(known, stacked, 0.0).sum(0) / count, np.nan)
    low = np.where(count > 0, np.where(known, stacked, np.inf).min(0), np.nan)
    high = np.where(count > 0, np.where(known, stacked, -np.inf).max(0), np.nan)
    return Curve(env_steps, mean, low, high)


def _skills(groups: Sequence[RunGroup]) -> list[str]:
    names = (name.split("/")[1] for group in groups for name in group.curves if name.startswith("skill/"))
    return sorted(set(names))


def _has(groups: Sequence[RunGroup], name: str) -> bool:
    return any(name in group.curves and np.isfinite(group.curves[name].mean).any() for group in groups)


def _ran(share: Curve | None, known: np.ndarray) -> np.ndarray:
    """Tell in which of the `known` bins a skill ran for a hundredth of its greatest share, bool (bins,).

    Early in a run that begins with chance some skills hardly run, and one lucky step would count as a great reward.
    """
    if share is None or not np.isfinite(share.mean[known]).any():
        return np.ones(len(known), bool)
    return np.nan_to_num(share.mean) >= 0.01 * np.nanmax(share.mean[known])


def _smooth(values: np.ndarray) -> np.ndarray:
    """Take the mean of each value and its neighbours."""
    padded = np.pad(values, 1, mode="edge")
    return (padded[:-2] + padded[1:-1] + padded[2:]) / 3


def _write_table(groups: Sequence[RunGroup], path: Path) -> Path:
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["runs", "metric", "env_steps", "mean", "low", "high", "num_runs"])
        for group in groups:
            for name, curve in {**group.curves, **group.probes}.items():
                for steps, mean, low, high in zip(*curve, strict=True):
                    if np.isfinite(mean):
                        row = [f"{value:.6g}" for value in (mean, low, high)]
                        table.writerow([group.label, name, round(float(steps)), *row, len(group.folders)])
    return path


def _draw(
    groups: Sequence[RunGroup],
    panels: Sequence[tuple[str, str]],
    columns: int,
    path: Path,
    *,
    probes: bool = False,
) -> Path:
    """Draw a grid of panels, each a metric of all groups."""
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(max(3.0 * columns, 5.0), 2.2 * rows + 0.7), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, squeeze=False)
    for index in range(rows * columns):
        axes: Axes = grid[index // columns][index % columns]
        if index >= len(panels):
            axes.set_axis_off()
            continue
        _panel(axes, groups, *panels[index], probes=probes)
        if index // columns == rows - 1:
            axes.set_xlabel("environment steps", fontsize=8)
    handles, labels = grid[0][0].get_legend_handles_labels()
    if len(groups) > 1 or len(groups[0].folders) > 1:
        figure.legend(handles, labels, loc="outside lower center", ncols=min(3, len(groups)), fontsize=8)
    figure.savefig(path)
    return path


def _panel(axes: Axes, groups: Sequence[RunGroup], name: str, title: str, *, probes: bool) -> None:
    for number, group in enumerate(groups):
        curve = (group.probes if probes else group.curves).get(name)
        colour = f"C{number % 10}"
        if curve is None:
            axes.plot([], [], color=colour, label=group.label)
            continue
        known = np.isfinite(curve.mean)
        steps = curve.env_steps[known]
        marker = "o" if probes or known.sum() == 1 else None
        axes.plot(
            steps, curve.mean[known], color=colour, linewidth=1.3, marker=marker, ms=3, label=group.label
        )
        if len(group.folders) > 1:
            axes.fill_between(
                steps, curve.low[known], curve.high[known], color=colour, alpha=0.2, linewidth=0
            )
    axes.set_title(title, fontsize=9)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.xaxis.set_major_formatter(FuncFormatter(_short))
    curves = [curves[name] for group in groups for curves in (group.curves, group.probes) if name in curves]
    axes.set_xlim(0, max(float(curve.env_steps[-1]) for group in groups for curve in group.curves.values()))
    highs = np.concatenate([curve.high[np.isfinite(curve.high)] for curve in curves] or [np.zeros(0)])
    lows = np.concatenate([curve.low[np.isfinite(curve.low)] for curve in curves] or [np.zeros(0)])
    if not len(highs):
        axes.text(0.5, 0.5, "not yet", transform=axes.transAxes, ha="center", fontsize=8, alpha=0.5)
        axes.set_yticks([])
    elif lows.min() >= 0:  # rates and counts are judged by their distance from nothing
        axes.set_ylim(0, 1.05 * highs.max() if highs.max() > 0 else 1.0)


def _short(value: float, _: Any = None) -> str:
    """Write steps as people do: 250k, 1.5M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
