"""`maestro eval` stopped by Ctrl-C, killed, or out of disk: what was played counts, and the same command goes on."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from maestro.cli import main
from maestro.content import shipped_root

ROOT = shipped_root()
SLOW = """
import time
from maestro.envs.corridor import ReferencePolicy

class Slow(ReferencePolicy):
    def act(self, world, skills):
        time.sleep(0.02)
        return super().act(world, skills)

def make_skill_policy(num_games):
    return Slow()
"""


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MAESTRO_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("COLUMNS", "110")
    return tmp_path / "runs"


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]


def start(*arguments: str, **options: Any) -> subprocess.Popen:
    command = [sys.executable, "-m", "maestro", "eval", "--target", "locked_door", *arguments]
    return subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


def wait_for(condition: Any, timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.02)


def test_ctrl_c_keeps_the_records_and_the_same_command_continues(tmp_path: Path):
    slow = tmp_path / "slow.py"
    slow.write_text(SLOW)
    here = tmp_path / "here"
    arguments = ["--episodes", "30", "--workers", "2", "--policy", str(slow), "--run", str(here)]
    process = start(*arguments, start_new_session=True)
    file = here / "episodes.jsonl"
    wait_for(lambda: file.exists() and file.read_text().count("\n") >= 2)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    kept = len(records(here))
    assert 2 <= kept < 30
    assert f"stopped at {kept} of 30 episodes" in err
    assert "give the same command again to continue" in err
    assert "Traceback" not in err
    assert "Not all episodes have ended" in out
    assert main(["eval", "--target", "locked_door", *arguments]) == 0
    assert sorted(record["episode"] for record in records(here)) == list(range(30))


def test_ctrl_c_in_several_tasks_keeps_the_records_of_all(second_door: Path, tmp_path: Path):
    slow = tmp_path / "slow.py"
    slow.write_text(SLOW)
    here = tmp_path / "here"
    arguments = ["eval", "--target", "locked_door,second_door", "--content", str(second_door)]
    arguments += ["--episodes", "30", "--workers", "2", "--policy", str(slow), "--run", str(here)]
    process = subprocess.Popen(
        [sys.executable, "-m", "maestro", *arguments],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    folders = [here / "locked_door", here / "second_door"]
    files = [folder / "episodes.jsonl" for folder in folders]
    wait_for(lambda: all(file.exists() and file.read_text().count("\n") >= 2 for file in files))
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    kept = [len(records(folder)) for folder in folders]
    assert abs(kept[0] - kept[1]) <= 4, "tasks are played in turn"
    assert f"stopped at {sum(kept)} of 60 episodes of locked_door, second_door" in err
    assert f"They are kept in {here};" in err
    assert out.count("(cut short)") == 2
    assert main(arguments) == 0
    for folder in folders:
        assert sorted(record["episode"] for record in records(folder)) == list(range(30))


def test_killed_at_any_point_it_continues_and_counts_nothing_twice(tmp_path: Path):
    slow = tmp_path / "slow.py"
    slow.write_text(SLOW)
    here = tmp_path / "here"
    arguments = ["--episodes", "16", "--workers", "2", "--policy", str(slow), "--run", str(here)]
    file = here / "episodes.jsonl"
    for wanted in (1, 5):
        process = start(*arguments)
        wait_for(lambda wanted=wanted: file.exists() and file.read_text().count("\n") >= wanted)
        children = _children(process.pid)
        process.kill()
        process.communicate()
        wait_for(lambda children=children: not any(map(_is_alive, children)))  # orphans end by themselves
    assert main(["eval", "--target", "locked_door", *arguments]) == 0
    assert main(["eval", "--target", "locked_door", "--run", str(tmp_path / "whole"), *arguments[:-2]]) == 0
    for key in ("episode", "steps", "checksum", "success"):
        of_killed, of_whole = (
            [record[key] for record in sorted(records(folder), key=lambda record: record["episode"])]
            for folder in (here, tmp_path / "whole")
        )
        assert of_killed == of_whole


def test_a_full_disk_is_said_and_costs_nothing_that_was_recorded(tmp_path: Path):
    here = tmp_path / "here"
    arguments = ["--episodes", "60", "--workers", "0", "--run", str(here)]
    limit = 20_000  # bytes a file may have: episodes.jsonl reaches it first

    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    process = start(*arguments, preexec_fn=fill)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "the disk, or your share of it, is full" in err
    assert "Traceback" not in err
    kept = [record["episode"] for record in records(here)]
    assert 0 < len(kept) < 60
    assert main(["eval", "--target", "locked_door", *arguments]) == 0
    assert sorted(record["episode"] for record in records(here)) == list(range(60))


def _children(process_id: int) -> list[int]:
    path = Path(f"/proc/{process_id}/task/{process_id}/children")
    return [int(word) for word in path.read_text().split()]


def _is_alive(process_id: int) -> bool:
    try:
        return "(zombie)" not in Path(f"/proc/{process_id}/status").read_text()
    except OSError:
        return False
