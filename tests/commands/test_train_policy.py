"""Training the toy world's skills from the command line: planned, begun, gone on with, stopped."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from rich.console import Console

import maestro.commands._train_plan as plan
from maestro.cli import main
from maestro.commands._training_view import TrainingView, lines, render
from maestro.learner.bottleneck import Limit
from maestro.learner.checkpoint import find_checkpoints
from maestro.learner.policy_file import load_card
from maestro.learner.progress import Summary, read_metrics

SMALL = (
    "games.world=corridor", "games.num_games=16", "games.pay.intrinsic_scale=0", "games.pay.extrinsic_scale=1",
    "batch_size=512", "rollout=16", "network.core_size=16", "save_every_s=2",
)  # fmt: skip
AHEAD = 4 * 512
"""Steps that may be taken past the end: batches that were on their way when it was reached."""


@pytest.fixture
def runs(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("MAESTRO_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return tmp_path / "runs"


def train(*words: str) -> int:
    """Call the command; words with "=" go behind --config."""
    flags = [word for word in words if "=" not in word]
    keys = [word for word in words if "=" in word]
    return main(["train-policy", *flags, "--config", *SMALL, *keys])


def test_a_dry_run_plans_and_starts_nothing(runs, capsys):
    assert train("--steps", "1e5", "--dry-run", "--json", "num_workers=2") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["steps"] == 100_000 and told["steps_done"] == 0 and not told["complete"]
    assert told["skills"] == ["keyfinder", "eastwalker", "opener"]
    assert told["games"] == 32 and told["workers"] == 2 and told["batch"] == 512
    assert (
        0 < told["memory_bytes"] < told["available_bytes"]
        and told["seconds"] > 0
        and told["parameters"] > 1_000
    )
    assert train("--steps", "1e5", "--dry-run", "--seed", "3") == 0
    out = capsys.readouterr().out
    assert "Plan (into" in out and "32 of corridor" in out and "steps/s" in out and "with chance" in out
    assert not runs.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("games.num_games=0",), "games.num_games"),
        (("num_workers=0",), "num_workers"),
        (("games.wrold=x",), "did you mean 'world'"),
        (("lerning_rate=1",), "did you mean 'learning_rate'"),
        (("probes.every=0",), "probes.every"),
        (("--preset", "tiny"), "one of paper, small, gpu"),
        (("--steps", "0.5"), "a whole number above 0"),
        (("--steps", "inf"), "--steps: the value is inf. Expected: a whole number above 0"),
        (("learning_rate=inf",), "--config: learning_rate: the value is inf. Expected: a finite number"),
        (("games.max_steps=99999999999999999999",), "games.max_steps"),
        (("probes.tasks=['nope']",), "unknown task 'nope'"),
        (
            ("probes.tasks=['minetown']",),
            "the task 'minetown' is of the world 'nethack'. Expected: one of locked_door",
        ),
        (("--init", "imitate"), "maestro imitate --world corridor --preset small"),
        (("--init", "nowhere"), "'nowhere' has no policy"),
        (("games.pay.intrinsic_scale=0.1",), "maestro train-skills --stage rewards"),
        (("games.world=corridr",), "corridor"),
        (("pull.steps=5",), "pull"),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(runs, words, said, capsys):
    assert train(*words) == 1
    assert said in capsys.readouterr().err
    assert not runs.exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_absent_is_said_before_anything_starts(runs, capsys):
    assert train("--preset", "gpu") == 1
    assert "there is none" in capsys.readouterr().err
    assert not runs.exists()


def test_more_workers_than_cores_are_warned_of(runs, capsys):
    assert train("--dry-run", "num_workers=500") == 0
    assert f"500 workers on {len(os.sched_getaffinity(0))} cores" in capsys.readouterr().err


def test_too_little_memory_is_refused_with_figures(runs, capsys, monkeypatch):
    monkeypatch.setattr(plan, "available_bytes", lambda: 0.5e9)
    assert train("--dry-run") == 0  # it may be a plan for another machine
    assert "there is not enough memory here: without --dry-run it would be refused" in capsys.readouterr().err
    assert train() == 1
    err = capsys.readouterr().err
    assert "training needs about 1." in err and "0.5 GB are free" in err and "fewer num_workers" in err
    assert not runs.exists()


@pytest.mark.timeout(900)
def test_it_trains_skips_what_is_done_and_goes_on_exactly(runs, capsys):
    assert train("--steps", "6000") == 0
    out = capsys.readouterr()
    folder = runs / "train-policy-corridor"
    assert f"Policy: {folder / 'policy'}" in out.out and "Training is complete:" in out.out
    assert "in the order in which the skills emerged" in out.out
    first = find_checkpoints(folder)[-1].env_steps
    assert 6_000 < first <= 6_000 + AHEAD and first % 512 == 0
    card = load_card(folder / "policy")
    assert card.steps == first and card.world == "corridor"
    records = read_metrics(folder)
    assert 0 < records[-1]["env_steps"] <= first
    assert any(name.startswith("skill/eastwalker/") for record in records for name in record)
    assert list((folder / "tensorboard").iterdir())

    assert train("--steps", "6000", "--json") == 0  # at once: nothing is left to train
    told = json.loads(capsys.readouterr().out)
    assert told["complete"] and told["steps"] == first
    assert {row["skill"] for row in told["skills"]} == {"eastwalker", "keyfinder", "opener"}
    assert all(row["best"] >= row["last"] for row in told["skills"])

    assert train("--steps", "6000", "--seed", "9") == 1
    assert "the run was started with games" in capsys.readouterr().err

    assert train("--steps", "9000", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert 9_000 < told["steps"] <= 9_000 + AHEAD and (told["steps"] - first) % 512 == 0
    settings = [json.loads(line) for line in (folder / "settings.jsonl").read_text().splitlines()]
    assert [each["from"] for each in settings] == [0, first] and settings[1]["steps"] == 9_000
    told_steps = [
        json.loads(line)["env_steps"] for line in (folder / "progress.jsonl").read_text().splitlines()
    ]
    assert any(first <= steps <= first + AHEAD for steps in told_steps)  # it went on there, and not at 0
    assert told_steps == sorted(told_steps)

    # named with --run, it needs to be told no setting again, and takes one that is given anew
    words = ("train-policy", "--run", str(folder), "--steps", "13000", "--json")
    for dry in ([], ["--dry-run"]):
        assert main([*words, *dry, "--config", "rollout=8"]) == 1
        assert "the run was started with rollout = 16" in capsys.readouterr().err
    assert main([*words, "--dry-run", "--config", "games.dungeons=[1,2]"]) == 0  # a curriculum
    capsys.readouterr()
    assert main([*words, "--dry-run"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["batch"] == 512 and told["games"] == settings[1]["games"]["num_games"] * 2
    assert main([*words, "--config", "learning_rate=2e-4"]) == 0
    again = json.loads((folder / "settings.jsonl").read_text().splitlines()[-1])
    assert again["steps"] == 13_000 and again["learning_rate"] == 2e-4
    same = {"from", "steps", "learning_rate"}
    assert {k: v for k, v in again.items() if k not in same} == {
        k: v for k, v in settings[1].items() if k not in same
    }


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_probes_play_tasks_without_stopping_training(runs, capsys):
    probes = ("probes.tasks=['locked_door']", "probes.games=2", "probes.every=20000")
    assert train("--steps", "30000", "--json", *probes) == 0
    told = json.loads(capsys.readouterr().out)
    assert 0 <= told["probes"]["locked_door"] <= 1
    folder = runs / "train-policy-corridor"
    probed = [record["env_steps"] for record in read_metrics(folder) if "probe/locked_door/success" in record]
    assert probed[-1] == told["steps"] and probed[0] == 0  # what training begins with is probed, too
    assert list(folder.glob("probes/*/eval/summary.json"))
    best = told["best_probes"]["locked_door"]
    assert best["mean"] >= told["probes"]["locked_door"] and best["env_steps"] in probed
    assert list(folder.glob("probes/*/policy")) == [Path(best["policy"])]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_one_ctrl_c_writes_a_checkpoint_and_says_how_to_go_on(runs, how):
    words = [
        sys.executable,
        "-m",
        "maestro",
        "train-policy",
        "--steps",
        "1e9",
        "--config",
        *SMALL,
        "save_every_s=900",
    ]
    folder = runs / "train-policy-corridor"
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        _wait_for(lambda: _steps_told(folder) > 5_000, command)
        second = subprocess.run(words, capture_output=True, text=True)
        assert second.returncode == 1 and "being written by another process" in second.stderr
        command.send_signal(how)
        _, err = command.communicate(timeout=120)
    assert command.returncode == 130
    kept = find_checkpoints(folder)[-1].env_steps
    assert kept > 5_000 and f"stopped at {kept:,} of 1,000,000,000 steps" in err
    assert "a checkpoint is being written" in err and "Give the same command again" in err


def _steps_told(folder: Path) -> int:
    path = folder / "progress.jsonl"
    found = path.read_text().splitlines() if path.exists() else []
    return json.loads(found[-1])["env_steps"] if found and found[-1].endswith("}") else 0


def _wait_for(happened, command: subprocess.Popen) -> None:
    end = time.monotonic() + 200
    while not happened():
        assert time.monotonic() < end and command.poll() is None
        time.sleep(0.2)


def summary() -> Summary:
    games = {
        "episodes": 12.0,
        "episode/score": 510.5,
        "skill/discoverer/share": 0.75,
        "skill/discoverer/reward_per_1000": 12.345,
        "skill/discoverer/activations": 40.0,
        "skill/discoverer/steps_per_activation": 51.25,
        "skill/discoverer/deeper": 0.25,
        "skill/discoverer/ended_terminated": 30.0,
        "skill/discoverer/ended_max_turns": 10.0,
        "skill/worshipper/share": 0.25,
        "skill/worshipper/refused": 3.0,
    }
    train = {"entropy": 1.25, "kl_divergence": 0.01, "value_loss": 0.5, "pull": 0.9}
    limit = Limit("games", {"games": 0.95, "learner": 0.4, "inference": 0.3}, {}, 4, 2.0)
    return Summary(250_000, 2_000_000, 1_234.0, 1_000.0, games, train, 2, limit, {"minetown": 0.125})


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_table_says_everything_and_fits(width):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(render(summary(), "a run", "probing", width))
    text = console.export_text()
    assert all(len(row) <= width for row in text.splitlines())
    for word in (
        "250,000 of 2,000,000", "1,234 steps/s now, 1,000 overall", "about 29 min", "games (learning 0.40",
        "discoverer", "12.3", "75.0", "51.2", "terminat", "score 510.5", "3 starts refused", "entropy 1.25", "KL 0.01",
        "pull 0.9", "restarts 2", "minetown 0.125", "probing",
    ):  # fmt: skip
        assert word in " ".join(text.split()), word
    assert ("25/0" in text) == (width >= 80)


def test_without_a_terminal_lines_are_printed_now_and_then(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("maestro.commands._training_view.time.monotonic", lambda: clock[0])
    with TrainingView("a run") as view:
        view.update(summary())
        assert capsys.readouterr().err == ""
        clock[0] = 31.0
        view.update(summary())
        said = capsys.readouterr().err
        view.say("started again: a process was killed")
    assert said.splitlines() == lines(summary())
    assert (
        "250,000/2,000,000 steps" in said and "29 min left" in said and "discoverer 12.35/1000 (75%)" in said
    )
    assert "started again" in capsys.readouterr().err


def test_a_run_that_starts_says_so():
    starting = Summary(0, 100, None, None, {}, {})
    assert "starting" in lines(starting)[0] and "left" not in lines(starting)[0]
    again = Summary(50, 100, None, 10.0, {}, {})
    assert "starting again" in lines(again)[0]
