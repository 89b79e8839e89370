"""Fit in child processes and kill them: python killed_fits.py DATA VERDICTS FOLDER SEED. Prints the kills as JSON.

A process of its own, because children are forked: torch must not have used threads before.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from maestro.content import Content
from maestro.rewards.fit import FitConfig
from maestro.rewards.job import FitJob, Judged, fit_job, read_judged

NUM_RANDOM = 4


def in_child(work: Callable[[], object], kill_after: float | None = None) -> bool:
    """Run `work` in a child, killed after so many seconds; returns whether it ended by itself and well."""
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1] == 0


def fit_and_die(found: Judged, job: FitJob, at: int, after: bool) -> None:
    """Fit, and kill this process just before or just after it puts its `at`-th file in place."""
    replace, seen = os.replace, 0

    def counted(source: str, target: str) -> None:
        nonlocal seen
        seen += 1
        if seen == at and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)
        if seen == at:
            os.kill(os.getpid(), signal.SIGKILL)

    os.replace = counted
    fit_job(found, job)


def main() -> None:
    data, verdicts, folder = map(Path, sys.argv[1:4])
    chance = random.Random(int(sys.argv[4]))
    torch.set_num_threads(1)
    config = FitConfig(epochs=3, batch_size=100, ensemble=2)
    job = FitJob("merchant", data, (verdicts,), folder / "whole", config, "cpu")
    found = read_judged(Content.find(), job)
    started = time.monotonic()
    assert in_child(lambda: fit_job(found, job))
    took = time.monotonic() - started
    kills = []
    places = [(at, after) for at in (1, 4) for after in (False, True)]  # checkpoints
    places += [(at, after) for at in (1, 2, 3) for after in (False, True)]  # near the end: weights and card
    cut = FitJob("merchant", data, (verdicts,), folder / "cut", config, "cpu")
    for _ in range(NUM_RANDOM):
        wait = chance.uniform(0, took / 3)
        kills.append([wait, in_child(lambda: fit_job(found, cut), wait)])
    for at, after in places:
        kills.append([f"file {at} {after}", in_child(lambda: fit_and_die(found, cut, at, after))])  # noqa: B023
    assert in_child(lambda: fit_job(found, cut))
    print(json.dumps({"took": took, "kills": kills}))


if __name__ == "__main__":
    main()
