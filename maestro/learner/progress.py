"""How a training run goes: what its processes wrote, summed up, kept as records, and shown to TensorBoard.

    <run>/progress.jsonl       from the process that trains: steps, and the learner's statistics
    <run>/games/<group>.jsonl  from each group of games: what happened in them
    <run>/metrics.jsonl        both of them together, one line every few seconds, from the process that looks after the run
    <run>/tensorboard/         the same for TensorBoard

After a kill, training goes on from the last checkpoint: steps are taken again, and told again. `read_metrics` leaves out
what was told of steps that were lost.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensorboardX import SummaryWriter

from maestro.learner.bottleneck import Limit
from maestro.runs import Run, read_records

PROGRESS, GAMES, METRICS, TENSORBOARD = "progress.jsonl", "games", "metrics", "tensorboard"
RATE_WINDOW_S = 30.0
GAMES_WINDOW_S = 60.0
_TRAIN = (
    "entropy", "kl_divergence", "value_loss", "policy_loss", "loss", "value", "grad_norm", "lr", "pull", "pull_kl",
    "fraction_clipped", "version_diff_avg", "adv_std",
)  # fmt: skip
"""Of the learner's statistics, those that are recorded."""


class Tail:
    """The lines of a growing file of JSON, from where they were left off; a half-written last line waits for its end."""

    def __init__(self, path: Path, *, from_start: bool = False) -> None:
        self._path = path
        self._at = path.stat().st_size if path.exists() and not from_start else 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if not self._path.exists():
            return
        with open(self._path, "rb") as file:
            file.seek(self._at)
            while (line := file.readline()).endswith(b"\n"):
                self._at = file.tell()
                with contextlib.suppress(ValueError):  # two halves of lines whose writers were killed
                    yield json.loads(line)


def combine(lines: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Sum up what several groups, or one after several stretches, told of their games (`metrics.Counts.report`).

    Counts are added; means are weighted by what they are means of.
    """
    counts: dict[str, float] = {}
    means: dict[str, tuple[float, float]] = {}
    for line in lines:
        for name, value in line.items():
            weighed_by = _weight(name)
            if weighed_by is None:
                counts[name] = counts.get(name, 0.0) + value
                continue
            weight = line.get(weighed_by, 0.0)
            total, weights = means.get(name, (0.0, 0.0))
            means[name] = total + weight * value, weights + weight
    counts.pop("time", None)
    told = {name: total / weights for name, (total, weights) in means.items() if weights > 0}
    return counts | told


_WEIGHTS = {
    "reward_per_1000": "steps", "paid_share": "steps", "turns_per_step": "steps", "share": "steps", "value": "looks",
    "steps_per_activation": "ended", "deeper": "levelled", "higher": "levelled", "cache_hits": "lookups",
}  # fmt: skip


def _weight(name: str) -> str | None:
    """Name the count that a mean is weighed by; None for counts."""
    parts = name.split("/")
    if parts[0] == "episode":
        return "episodes"
    weighed_by = _WEIGHTS.get(parts[-1])
    if weighed_by is None or parts[-1] == "share":
        return "steps" if weighed_by else None
    return "/".join([*parts[:-1], weighed_by])


@dataclass
class Summary:
    """How a run goes at a moment."""

    env_steps: int
    total: int
    steps_per_s: float | None
    """Over the last half minute; None while nothing is known."""
    overall_steps_per_s: float | None
    """Since this session's first step, restarts included."""
    games: dict[str, float]
    """What happened in the games in the last minute; names as in `metrics.Counts.report`."""
    train: dict[str, float]
    """The learner's last statistics."""
    restarts: int = 0
    limit: Limit | None = None
    probes: dict[str, float] = field(default_factory=dict)
    """Task to the success of its last probe."""

    @property
    def seconds_left(self) -> float | None:
        """Estimate the time left; None while nothing is known."""
        if not self.overall_steps_per_s:
            return None
        return max(0, self.total - self.env_steps) / self.overall_steps_per_s

    def skills(self) -> dict[str, dict[str, float]]:
        """Give what is known of each skill, in the order of their numbers."""
        found: dict[str, dict[str, float]] = {}
        for name, value in self.games.items():
            if name.startswith("skill/"):
                _, skill, what = name.split("/", 2)
                found.setdefault(skill, {})[what] = value
        return found


class RunProgress:
    """Follows the files of a run while its processes write them. Call `look` about once a second."""

    def __init__(self, folder: Path, total: int, env_steps: int = 0) -> None:
        """Begin to follow; `env_steps` are those of the checkpoint the run goes on from."""
        self._folder, self._total = folder, total
        self._tail = Tail(folder / PROGRESS)
        self._games: dict[Path, Tail] = {path: Tail(path) for path in _group_files(folder)}
        self._recent: deque[dict[str, float]] = deque()
        self._fresh: list[dict[str, float]] = []
        self._rates: deque[tuple[float, int]] = deque()
        self._first: tuple[float, int] | None = None
        self._env_steps, self._train = env_steps, {}

    def look(self) -> Summary:
        """Read what is new and sum it up."""
        for line in self._tail:
            self._note(float(line["time"]), int(line["env_steps"]))
            self._train = line["train"] or self._train
        for path in _group_files(self._folder):
            for line in self._games.setdefault(path, Tail(path, from_start=True)):
                self._recent.append(line)
                self._fresh.append(line)
        newest = max((line["time"] for line in self._recent), default=0.0)
        while self._recent and self._recent[0]["time"] < newest - GAMES_WINDOW_S:
            self._recent.popleft()
        return Summary(
            self._env_steps,
            self._total,
            self._rate(),
            self._overall(),
            combine(self._recent),
            dict(self._train),
        )

    def fresh(self) -> dict[str, float]:
        """Sum up what happened in the games since the last call."""
        lines, self._fresh = self._fresh, []
        return combine(lines)

    def _note(self, at: float, env_steps: int) -> None:
        if self._rates and env_steps < self._rates[-1][1]:  # started again from a checkpoint
            self._rates.clear()
        if self._first is None:
            self._first = (at, env_steps)
        self._rates.append((at, env_steps))
        while len(self._rates) > 2 and at - self._rates[1][0] >= RATE_WINDOW_S:
            self._rates.popleft()
        self._env_steps = env_steps

    def _rate(self) -> float | None:
        if len(self._rates) < 2:
            return None
        (began, before), (now, after) = self._rates[0], self._rates[-1]
        return (after - before) / (now - began) if now > began else None

    def _overall(self) -> float | None:
        if self._first is None or not self._rates:
            return None
        (began, before), (now, after) = self._first, self._rates[-1]
        return (after - before) / (now - began) if now > began and after > before else None


def _group_files(folder: Path) -> list[Path]:
    return sorted((folder / GAMES).glob("*.jsonl"))


class MetricsWriter:
    """Appends to metrics.jsonl and to TensorBoard's files; a context manager."""

    def __init__(self, run: Run, env_steps: int) -> None:
        """Go on after `env_steps`: TensorBoard is told to forget what was shown of later steps."""
        self._run = run
        purge = {"purge_step": env_steps} if env_steps else {}
        self._board = SummaryWriter(str(run.path(TENSORBOARD)), write_to_disk=True, **purge)

    def __enter__(self) -> MetricsWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._board.close()

    def write(self, summary: Summary, games: Mapping[str, float]) -> None:
        """Record how the run goes; `games` is what happened in the games since the last record."""
        record: dict[str, Any] = {"time": time.time(), "env_steps": summary.env_steps}
        record |= {"restarts": summary.restarts}
        if summary.steps_per_s is not None:
            record["steps_per_s"] = summary.steps_per_s
        if summary.limit is not None and summary.limit.shares:
            record["limit"] = summary.limit.name
            record |= {f"cores/{kind}": share for kind, share in summary.limit.shares.items()}
        record |= {f"train/{name}": summary.train[name] for name in _TRAIN if name in summary.train}
        self._append(record | dict(games))

    def write_probe(self, env_steps: int, results: Mapping[str, float]) -> None:
        """Record a probe of the policy of `env_steps` steps: names such as "probe/minetown/success"."""
        self._append({"time": time.time(), "env_steps": env_steps, **results})

    def _append(self, record: dict[str, Any]) -> None:
        finite = {
            name: value
            for name, value in record.items()
            if not isinstance(value, float) or math.isfinite(value)
        }
        self._run.append_record(METRICS, finite)
        for name, value in finite.items():
            if isinstance(value, (int, float)) and name not in ("time", "env_steps"):
                self._board.add_scalar(name if "/" in name else f"run/{name}", value, record["env_steps"])
        self._board.flush()


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Read a run's metrics in the order of steps, without records of steps that were lost to a kill and taken again."""
    kept: list[dict[str, Any]] = []
    probes: list[dict[str, Any]] = []
    for record in read_records(folder / f"{METRICS}.jsonl"):
        if is_probe(record):
            probes.append(record)
            continue
        while kept and kept[-1]["env_steps"] > record["env_steps"]:
            kept.pop()
        kept.append(record)
    return sorted([*kept, *probes], key=lambda record: record["env_steps"])


def is_probe(record: Mapping[str, Any]) -> bool:
    """Tell a probe's record from one of training."""
    return any(name.startswith("probe/") for name in record)


def every(seconds: float, clock: Callable[[], float] = time.monotonic) -> Callable[[], bool]:
    """Make a question that is answered with yes at most every so many seconds, the first time not before they passed."""
    last = clock()

    def due() -> bool:
        nonlocal last
        if clock() - last < seconds:
            return False
        last = clock()
        return True

    return due
