"""Zero-shot probes: now and then the policy of the newest checkpoint plays tasks, while training goes on.

A probe is `maestro eval` in a process of the lowest priority, on a copy of the policy. The copy stays as long as no other
probe was better in one of its tasks: what is paid may rise while the tasks get worse, and then it is the one to have.

    <run>/probes/<steps>/eval.json    what it said
    <run>/probes/<steps>/eval/        its episodes, for `maestro watch`
    <run>/probes/<steps>/policy/      the policy, where it was the best in some task
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from maestro.content import CONTENT_VARIABLE
from maestro.learner.checkpoint import CheckpointFile, find_checkpoints
from maestro.learner.policy_file import save_policy
from maestro.learner.run_policy import TASK, load_run_policy

PROBES = "probes"
LEAST_PRIORITY = 19


class ProbeConfig(BaseModel):
    """Which tasks are probed, and how often."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tasks: tuple[str, ...] = ()
    """Names as `maestro eval --target` takes them; none: no probes."""
    every: int = Field(default=1_000_000, ge=1)
    """Steps between probes; the policy training begins with is probed, too."""
    games: int = Field(default=16, ge=1)
    """Episodes of each task, the same ones in every probe."""
    seed: int = Field(default=1_000, ge=0)


@dataclass
class ProbeResult:
    """What a probe found."""

    env_steps: int
    """Steps of the policy that was probed."""
    means: dict[str, float] = field(default_factory=dict)
    """Task to the mean of its true success: a rate, or a count."""
    metrics: dict[str, float] = field(default_factory=dict)
    """The same and more, under names with slashes."""
    fault: str | None = None
    """Why it failed; None where it did not."""


class BestProbe(NamedTuple):
    """The probe that was best in a task."""

    env_steps: int
    mean: float
    """Of its true success. The best of many probes of few games looks better than it is."""
    policy: Path | None
    """Folder of its policy; None where it is gone."""


def best_probes(run: Path, config: ProbeConfig) -> dict[str, BestProbe]:
    """Find the best probe of each task of `config`, the earliest of equals, among those of its games and seed."""
    best: dict[str, BestProbe] = {}
    folders = (place for place in (run / PROBES).glob("*") if place.name.isdecimal())
    for place in sorted(folders, key=lambda place: int(place.name)):
        try:
            said = _read(place)
        except (OSError, ValueError):
            continue
        for task, figures in _tasks_of(said).items():
            true = figures["success"]["true"]
            comparable = (figures["episodes"], figures["seed"]) == (config.games, config.seed)
            if task not in config.tasks or not comparable or true is None:
                continue
            if task not in best or true["mean"] > best[task].mean:
                policy = place / "policy"
                best[task] = BestProbe(int(place.name), true["mean"], policy if policy.is_dir() else None)
    return best


class Probes:
    """Starts probes when they are due, one at a time; a context manager that ends a running one."""

    def __init__(self, folder: Path, config: ProbeConfig, last: int | None) -> None:
        """Prepare; `last` is the number of steps of the last probe of the run, None before the first."""
        self._folder, self._config = folder, config
        self._probed = -1 if last is None else last // config.every
        self._process: subprocess.Popen[bytes] | None = None
        self._steps = 0

    def __enter__(self) -> Probes:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    @property
    def running(self) -> int | None:
        """Give the steps of the policy that is being probed now."""
        return self._steps if self._process is not None else None

    def look(self) -> ProbeResult | None:
        """Start a probe that is due; return the result of one that has ended."""
        if not self._config.tasks:
            return None
        if self._process is not None:
            return None if self._process.poll() is None else self._conclude()
        checkpoint = self._due()
        return None if checkpoint is None else self._start(checkpoint)

    def finish(self) -> list[ProbeResult]:
        """Wait for a running probe, then probe the newest checkpoint if it is not the one probed last."""
        results: list[ProbeResult | None] = []
        if self._process is not None:
            self._process.wait()
            results.append(self._conclude())
        files = find_checkpoints(self._folder) if self._config.tasks else []
        if files and files[-1].env_steps != self._steps:
            results.append(self._start(files[-1]))
            if self._process is not None:
                self._process.wait()
                results.append(self._conclude())
        return [result for result in results if result is not None]

    def _due(self) -> CheckpointFile | None:
        files = find_checkpoints(self._folder)
        if not files or files[-1].env_steps // self._config.every <= self._probed:
            return None
        return files[-1]

    def _start(self, checkpoint: CheckpointFile) -> ProbeResult | None:
        """Copy the policy and begin to play; what cannot be written or started is a result."""
        self._steps = checkpoint.env_steps
        self._probed = checkpoint.env_steps // self._config.every
        place = self._folder / PROBES / str(self._steps)
        try:
            network, card = load_run_policy(self._folder, self._steps)
            save_policy(place / "policy", network, card)
            self._process = self._play(place)
        except Exception as error:  # noqa: BLE001 - a probe never ends the training it looks at
            shutil.rmtree(place / "policy", ignore_errors=True)
            return ProbeResult(self._steps, fault=str(error))
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, LEAST_PRIORITY)
        return None

    def _play(self, place: Path) -> subprocess.Popen[bytes]:
        """Start `maestro eval` on <place>/policy; raises OSError and ValueError."""
        with open(place / "eval.json", "wb") as out, open(place / "eval.log", "wb") as log:
            return subprocess.Popen(
                _command(self._config, place),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for training; this one is ended by `__exit__`
                env={**os.environ, "OMP_NUM_THREADS": "1", **_content_of(self._folder)},
            )

    def _conclude(self) -> ProbeResult:
        place = self._folder / PROBES / str(self._steps)
        process, self._process = self._process, None
        try:
            result = _result(self._steps, _read(place))
        except (OSError, ValueError):
            code = None if process is None else process.returncode
            fault = f"maestro eval ended with {code}; {place / 'eval.log'} says why"
            result = ProbeResult(self._steps, fault=fault)
        self._keep_best()
        return result

    def _keep_best(self) -> None:
        """Remove the copies of policies that are the best in no task."""
        best = {probe.env_steps for probe in best_probes(self._folder, self._config).values()}
        for policy in (self._folder / PROBES).glob("*/policy"):
            if policy.parent.name not in map(str, best):
                shutil.rmtree(policy, ignore_errors=True)


def _read(place: Path) -> dict[str, Any]:
    """Read what a probe said; raises OSError and ValueError."""
    said: Any = json.loads((place / "eval.json").read_text(encoding="utf-8"))
    if not isinstance(said, dict):
        raise ValueError("not an object")
    return said


def _tasks_of(said: dict[str, Any]) -> dict[str, Any]:
    """Give the figures of each task; none where `maestro eval` failed."""
    if "error" in said:
        return {}
    return said["tasks"] if "tasks" in said else {said["target"]: said}


def _content_of(folder: Path) -> dict[str, str]:
    """Give the variable of the environment by which a probe finds the content that the run in `folder` trains on.

    Nothing where the run's settings name no roots: then it finds its content as the run did. Raises OSError and ValueError.
    """
    told = json.loads((folder / TASK).read_text(encoding="utf-8"))
    roots = told["config"].get("games", {}).get("roots", [])
    return {CONTENT_VARIABLE: os.pathsep.join(roots)} if roots else {}


def _command(config: ProbeConfig, place: Path) -> Sequence[str]:
    words: dict[str, Any] = {
        "target": ",".join(config.tasks),
        "policy": place / "policy",
        "episodes": config.games,
        "seed": config.seed,
        "workers": 0,
        "run": place / "eval",
    }
    flags = [part for name, value in words.items() for part in (f"--{name}", str(value))]
    return [sys.executable, "-m", "maestro", "eval", *flags, "--json"]


def _result(env_steps: int, said: dict[str, Any]) -> ProbeResult:
    """Read what `maestro eval --json` printed, for one task or several, or its error."""
    if "error" in said:
        return ProbeResult(env_steps, fault=str(said["error"].get("what", said["error"])))
    result = ProbeResult(env_steps)
    for task, figures in _tasks_of(said).items():
        true = figures["success"]["true"]
        if true is not None:
            result.means[task] = true["mean"]
            result.metrics[f"probe/{task}/success"] = true["mean"]
        for name in ("max_depth", "score", "steps"):
            if name in figures["means"]:
                result.metrics[f"probe/{task}/{name}"] = figures["means"][name]["mean"]
        for skill, told in figures["skills"].items():
            result.metrics[f"probe/{task}/share/{skill}"] = told["share"]
    return result
