"""Training of the toy world goes on whatever happens to its processes and checkpoints, and never begins anew by mistake."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from maestro.errors import CheckpointError, TrainingError
from maestro.learner.checkpoint import find_checkpoints, read_checkpoint
from maestro.learner.config import TrainConfig
from maestro.learner.processes import KINDS, kind_of
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
    Supervisor(tmp_path, config(), 10_000).run()
    told = [json.loads(line)["env_steps"] for line in (tmp_path / "progress.jsonl").read_text().splitlines()]
    assert any(older.env_steps <= steps < newest.env_steps + AHEAD for steps in told)
    last = find_checkpoints(tmp_path)[-1]
    assert last.env_steps > 10_000 and read_checkpoint(last.path)["env_steps"] == last.env_steps
    files = find_checkpoints(tmp_path, milestones=True)
    for file in files:
        file.path.write_bytes(b"no checkpoint")
    with pytest.raises((TrainingError, CheckpointError), match="none of the . checkpoints can be read"):
        Supervisor(tmp_path, config(), 20_000).run()
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


def test_games_that_cannot_start_end_the_run_with_their_own_words(tmp_path):
    broken = config(games={"world": "corridor", "features": "smells", "pay": {"intrinsic_scale": 0}})
    with pytest.raises(TrainingError, match="unknown feature set of corridor 'smells'"):
        Supervisor(tmp_path, broken, 5_000).run()


def test_starts_that_bring_nothing_are_given_up(tmp_path):
    (tmp_path / "learner").write_text("a file where a folder belongs")
    with pytest.raises(TrainingError, match=r"started 6 times in a row and got nowhere.*exit code"):
        Supervisor(tmp_path, config(), 5_000).run()
    assert "NotADirectoryError" in (tmp_path / "learner.log").read_text()
