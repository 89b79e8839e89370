"""How a run's files are read while they grow, summed up, recorded, and read back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from maestro.learner.bottleneck import Limit
from maestro.learner.metrics import Counts
from maestro.learner.progress import MetricsWriter, RunProgress, Summary, Tail, combine, every, read_metrics
from maestro.runs import Run


def tell(path: Path, *lines: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def counts(seed: int) -> Counts:
    """Make up what happened in four games of two skills in a hundred steps."""
    rng = np.random.default_rng(seed)
    made = Counts(("walker", "opener"))
    for _ in range(100):
        skills = rng.integers(0, 2, 4)
        paid = rng.random(4) * (rng.random(4) < 0.3)
        made.step(skills, rng.integers(0, 3, 4), skills, paid, 0.1 * paid)
    for skill in rng.integers(0, 2, 7):
        made.by_skill["ended"][skill] += 1
        made.by_skill["ended_steps"][skill] += rng.integers(1, 50)
    made.add("episodes", 3)
    made.add("episode_score", float(rng.integers(0, 100)))
    made.add("lookups", 50)
    made.add("hits", float(rng.integers(0, 50)))
    return made


def test_sums_of_reports_are_the_report_of_the_sums():
    parts = [counts(seed) for seed in range(3)]
    reports = [part.report() | {"time": 1.0} for part in parts]
    whole = counts(0)
    for part in parts[1:]:
        whole += part
    assert combine(reports) == pytest.approx(whole.report())


def test_means_without_anything_they_are_means_of_are_left_out():
    told = combine([{"episodes": 0.0, "steps": 5.0, "episode/score": 3.0, "skill/a/share": 0.5}])
    assert told == {"episodes": 0.0, "steps": 5.0, "skill/a/share": 0.5}
    assert combine([]) == {}


def test_a_tail_reads_each_line_once_and_waits_for_half_ones(tmp_path):
    path = tmp_path / "a.jsonl"
    tell(path, {"a": 0})
    tail = Tail(path)
    assert list(tail) == []  # what was there before is over
    tell(path, {"a": 1})
    with open(path, "a") as file:
        file.write('{"a": ')
    assert list(tail) == [{"a": 1}]
    with open(path, "a") as file:
        file.write("2}\n")
    assert list(tail) == [{"a": 2}] and list(tail) == []
    with open(path, "a") as file:
        file.write('{"a": {"a": 3}\n{"a": 4}\n')  # a writer was killed in the middle of its line
    assert list(tail) == [{"a": 4}]


def line(at: float, env_steps: int) -> dict:
    return {"time": at, "env_steps": env_steps, "iterations": 1, "train": {"entropy": 1.0}}


def test_rates_forget_what_was_before_a_start_from_a_checkpoint(tmp_path):
    tell(tmp_path / "progress.jsonl", line(0, 5_000))  # of an earlier session
    progress = RunProgress(tmp_path, 10_000, 5_000)
    assert progress.look().steps_per_s is None and progress.look().env_steps == 5_000
    tell(tmp_path / "progress.jsonl", line(100, 5_000), line(110, 6_000))
    summary = progress.look()
    assert summary.steps_per_s == 100 and summary.overall_steps_per_s == 100
    assert summary.seconds_left == 40 and summary.train == {"entropy": 1.0}
    tell(tmp_path / "progress.jsonl", line(120, 5_500), line(130, 7_500))
    summary = progress.look()
    assert summary.steps_per_s == 200
    assert summary.overall_steps_per_s == pytest.approx(
        2_500 / 30
    )  # lost steps count for nothing, lost time does


def test_games_of_all_groups_are_summed_over_the_last_minute(tmp_path):
    progress = RunProgress(tmp_path, 100)
    tell(tmp_path / "games" / "0.jsonl", {"time": 0.0, "steps": 10.0}, {"time": 100.0, "steps": 1.0})
    tell(tmp_path / "games" / "1.jsonl", {"time": 100.0, "steps": 2.0})
    assert progress.look().games["steps"] == 3
    assert progress.fresh()["steps"] == 13  # nothing is missing from the record
    assert progress.fresh() == {}


def summary(env_steps: int) -> Summary:
    limit = Limit("games", {"games": 0.9}, {}, 2, 0.0)
    return Summary(env_steps, 100, 50.0, 40.0, {}, {"entropy": 1.5, "act_min": 0.0}, 1, limit)


def test_metrics_are_recorded_for_people_and_for_tensorboard(tmp_path):
    with Run("r", config={}, root=tmp_path) as run, MetricsWriter(run, 0) as writer:
        writer.write(summary(10), {"skill/walker/share": 0.25, "skill/walker/value": float("nan")})
        writer.write_probe(10, {"probe/minetown/success": 0.5})
    first, probe = read_metrics(tmp_path / "r")
    assert (
        first["skill/walker/share"] == 0.25 and first["train/entropy"] == 1.5 and first["cores/games"] == 0.9
    )
    assert first["limit"] == "games" and first["restarts"] == 1 and first["steps_per_s"] == 50
    assert "train/act_min" not in first and "skill/walker/value" not in first
    assert probe["probe/minetown/success"] == 0.5
    board = EventAccumulator(str(tmp_path / "r" / "tensorboard"))
    board.Reload()
    shown = board.Scalars("skill/walker/share")[0]
    assert (shown.step, shown.value) == (10, 0.25)
    assert board.Scalars("run/steps_per_s")[0].value == 50


def test_what_was_told_of_lost_steps_is_left_out(tmp_path):
    steps = [10, 20, 30, 20, 25]
    tell(tmp_path / "metrics.jsonl", *({"env_steps": at, "n": n} for n, at in enumerate(steps)))
    tell(tmp_path / "metrics.jsonl", {"env_steps": 15, "probe/a/success": 1.0})
    found = read_metrics(tmp_path)
    assert [record["env_steps"] for record in found] == [10, 15, 20, 20, 25]
    assert [record["n"] for record in found if "n" in record] == [0, 1, 3, 4]


def test_every_so_many_seconds():
    now = [0.0]
    due = every(10, clock=lambda: now[0])
    answers = []
    for at in (5, 10, 11, 19, 21):
        now[0] = at
        answers.append(due())
    assert answers == [False, True, False, False, True]
