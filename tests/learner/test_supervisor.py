"""Training of the toy world goes on whatever happens to its processes and checkpoints, and never begins anew by mistake."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from maestro.errors import CheckpointError, TrainingError
from maestro.learner.checkpoint import checkpoint_folder, find_checkpoints, read_checkpoint
from maestro.learner.config import TrainConfig
from maestro.learner.processes import GAMES, KINDS, kind_of
from maestro.learner.supervisor import Supervisor

AHEAD = 4 * 512
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # processes start slowly where others work, too


def config(**more: Any) -> TrainConfig:
    return TrainConfig.model_validate(
        {
            "games": {
                "world": "corridor",
                "num_games": 16,
                "pay": {"intrinsic_scale": 0, "extrinsic_scale": 1},
            },
            "network": {"core_size": 16},
            "num_workers": 1,  # one process of each kind
            "num_groups": 2,
            "batch_size": 512,
            "rollout": 16,
            "save_every_s": 2,
            "keep_checkpoints": 2,
            **more,
        }
    )


def steps_of(run: Path) -> list[int]:
    return [file.env_steps for file in find_checkpoints(run)]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_process_costs_no_more_than_the_steps_since_the_last_checkpoint(tmp_path, kind):
    kept: list[int] = []

    def kill_once(supervisor: Supervisor) -> None:
        saved = steps_of(tmp_path)
        if not kept and len(saved) > 1 and supervisor.watch.env_steps > 2_000:
            victims = [process for process in supervisor.processes if kind_of(process) == kind]
            assert len(victims) == 1
            kept.append(saved[-1])
            # Of the start after the kill. What was seen is seconds old, and the corridor is fast.
            supervisor.steps = supervisor.watch.env_steps + 100_000
            victims[0].kill()

    supervisor = Supervisor(tmp_path, config(), 10**9)
    supervisor.run(kill_once)
    assert kept and supervisor.watch.restarts == 1 and len(supervisor.watch.reasons) == 1
    assert ("killed" in supervisor.watch.reasons[0]) and not supervisor.processes
    assert supervisor.steps < steps_of(tmp_path)[-1] <= supervisor.steps + AHEAD
    told = [json.loads(line)["env_steps"] for line in (tmp_path / "progress.jsonl").read_text().splitlines()]
    falls = [after for before, after in itertools.pairwise(told) if after < before]
    assert len(falls) <= 1 and all(after >= kept[0] for after in falls)
    task = json.loads((tmp_path / "task.json").read_text())
    assert task["start"] == 1  # other dungeons than before the kill


def test_a_corrupt_checkpoint_is_passed_over_and_none_at_all_is_refused(tmp_path):
    Supervisor(tmp_path, config(), 5_000).run()
    *_, older, newest = find_checkpoints(tmp_path)
    newest.path.write_bytes(newest.path.read_bytes()[:1_000])
    far = newest.path.with_name(
        "checkpoint_000099999_9999999.pth"
    )  # cut off by a power failure: it only has its name
    far.write_bytes(b"")
    killed: list[int] = []

    def kill_once(supervisor: Supervisor) -> None:
        workers = [process for process in supervisor.processes if kind_of(process) == GAMES]
        if not killed and workers and supervisor.watch.env_steps > older.env_steps:
            killed.append(workers[0].pid)
            workers[0].kill()

    supervisor = Supervisor(tmp_path, config(), 60_000)
    supervisor.run(kill_once)
    assert killed and supervisor.watch.restarts <= 1  # it may be complete when the death is seen
    assert far.with_name("broken_" + far.name).is_file()
    told = [json.loads(line)["env_steps"] for line in (tmp_path / "progress.jsonl").read_text().splitlines()]
    assert any(older.env_steps <= steps < newest.env_steps + AHEAD for steps in told)
    last = find_checkpoints(tmp_path)[-1]
    assert 60_000 < last.env_steps < 9_999_999 and read_checkpoint(last.path)["env_steps"] == last.env_steps
    files = find_checkpoints(tmp_path, milestones=True)
    for file in files:
        file.path.write_bytes(b"no checkpoint")
    with pytest.raises((TrainingError, CheckpointError), match="none of the . checkpoints can be read"):
        Supervisor(tmp_path, config(), 200_000).run()
    assert [file.path.read_bytes() for file in files] == [b"no checkpoint"] * len(files)


def test_what_is_no_number_stops_training_and_the_good_checkpoint_stays(tmp_path):
    Supervisor(tmp_path, config(), 5_000).run()
    good = find_checkpoints(tmp_path)[-1]
    with pytest.raises(TrainingError, match=r"stopped being a number|nan|inf"):
        Supervisor(tmp_path, config(learning_rate=1e30, max_gradient_norm=0), 1_000_000).run()
    last = find_checkpoints(tmp_path)[-1]
    assert last.env_steps >= good.env_steps
    assert all(weight.isfinite().all() for weight in read_checkpoint(last.path)["model"].values())
    Supervisor(tmp_path, config(), last.env_steps + 2_000).run()
    assert find_checkpoints(tmp_path)[-1].env_steps > last.env_steps + 2_000


def test_ctrl_c_is_passed_on_after_a_checkpoint(tmp_path):
    def interrupt(supervisor: Supervisor) -> None:
        if supervisor.watch.env_steps > 5_000:
            raise KeyboardInterrupt

    supervisor = Supervisor(tmp_path, config(save_every_s=900), 10**9)
    with pytest.raises(KeyboardInterrupt):
        supervisor.run(interrupt)
    assert steps_of(tmp_path)[-1] > 5_000 and not supervisor.processes


def test_ctrl_c_says_when_the_last_checkpoint_cannot_be_written(tmp_path):
    def interrupt(supervisor: Supervisor) -> None:
        if supervisor.watch.env_steps > 5_000:
            (checkpoint_folder(tmp_path) / "checkpoint_temp").mkdir(exist_ok=True)  # where it writes first
            raise KeyboardInterrupt

    supervisor = Supervisor(tmp_path, config(save_every_s=900), 10**9)
    with pytest.raises(TrainingError, match="the checkpoint cannot be written, and the one before is kept"):
        supervisor.run(interrupt)
    assert steps_of(tmp_path) == [0] and not supervisor.processes


def test_processes_that_start_when_the_supervisor_is_gone_end_themselves(tmp_path):
    """It is killed while they import what they need, and there is nobody left who would end them."""
    (tmp_path / "task.json").write_text(
        json.dumps({"config": config().model_dump(mode="json"), "steps": 10**9, "start": 0})
    )
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    worker = subprocess.Popen(
        [sys.executable, "-m", "maestro.learner.worker", str(tmp_path), str(gone.pid)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert worker.wait(timeout=120) == -signal.SIGKILL
    finally:
        worker.kill()
    assert steps_of(tmp_path) in ([], [0])


def test_games_that_cannot_start_end_the_run_with_their_own_words(tmp_path):
    broken = config(games={"world": "corridor", "features": "smells", "pay": {"intrinsic_scale": 0}})
    with pytest.raises(TrainingError, match="unknown feature set of corridor 'smells'"):
        Supervisor(tmp_path, broken, 5_000).run()


def test_starts_that_bring_nothing_are_given_up(tmp_path):
    (tmp_path / "learner").write_text("a file where a folder belongs")
    with pytest.raises(TrainingError, match=r"started 6 times in a row and got nowhere.*exit code"):
        Supervisor(tmp_path, config(), 5_000).run()
    assert "NotADirectoryError" in (tmp_path / "learner.log").read_text()
