"""When a start of training counts as standing still; a process that only writes progress stands in for training."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import maestro.learner.supervisor as module
from maestro.learner.config import TrainConfig
from maestro.learner.supervisor import Supervisor

TELLS = """
import json, sys, time
for steps in json.loads(sys.argv[2]):
    time.sleep(0.5)
    with open(sys.argv[1] + "/progress.jsonl", "a") as file:
        file.write(json.dumps({"env_steps": steps}) + chr(10))
"""


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(module, "START_S", 3.0)


def wait(folder: Path, before: int, told: list[int]) -> tuple[str | None, int]:
    """Wait for a start that tells these steps, one each half second, after `before` were reached by an earlier one."""
    supervisor = Supervisor(folder, TrainConfig(), 10**9, stall_s=3.0)
    supervisor.watch.env_steps = before
    with subprocess.Popen([sys.executable, "-S", "-c", TELLS, str(folder), str(told)]) as process:
        supervisor._process = process
        reason = supervisor._wait(process, lambda _: None)
        process.kill()
    return reason, supervisor.watch.env_steps


def test_steps_that_are_taken_again_are_movement(tmp_path):
    assert wait(tmp_path, 1_000_000, list(range(100, 1_500, 100))) == (None, 1_000_000)


def test_steps_beyond_those_of_the_last_start_are_counted(tmp_path):
    assert wait(tmp_path, 250, [100, 200, 300, 400, 400, 400, 400]) == (None, 400)


def test_a_start_that_tells_the_same_again_and_again_stands_still(tmp_path):
    reason, _ = wait(tmp_path, 1_000_000, [100] * 60)
    assert reason == "no step was taken in 3 s"
