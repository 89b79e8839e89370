"""From nothing to reward models in one command, on the toy world; then looking at them."""

from __future__ import annotations

import json

import pytest

from maestro.cli import main
from maestro.content import Content

SETTINGS = """
world = "corridor"
steps = 3000
pairs = 400
workers = 0
[fit]
epochs = 2
batch_size = 100
"""


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("MAESTRO_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "toy.toml").write_text(SETTINGS)
    return tmp_path


def train(folder, *more: str) -> int:
    return main(["train-skills", "--stage", "rewards", "--config", str(folder / "toy.toml"), *more])


def test_a_dry_run_plans_and_does_nothing(runs, capsys):
    assert train(runs, "--dry-run", "--json") == 0
    plan = json.loads(capsys.readouterr().out)
    skills = list(Content.find().skills("corridor"))
    assert plan["skills"] == dict.fromkeys(skills, "to do")
    assert plan["collect_steps"] == 3_000 and plan["questions"] == 400 * len(skills)
    assert plan["fits"] == len(skills) and plan["annotator"] == "rules"
    assert not (runs / "runs").exists()


def test_it_goes_from_nothing_to_models_skips_what_is_done_and_resumes_what_is_half_done(runs, capsys):
    assert train(runs, "--skill", "opener") == 0
    out = capsys.readouterr().out
    assert "Plan (into" in out and "held-out accuracy" in out and "annotator: rules" in out
    folder = runs / "runs" / "train-skills-corridor"
    card = folder / "skills" / "opener" / "reward" / "card.json"
    shard = folder / "transitions" / "shard-00000.parquet"
    stamps = [path.stat().st_mtime_ns for path in (card, shard)]
    assert train(runs, "--skill", "opener") == 0
    assert "Nothing is left to do" in capsys.readouterr().out
    card_text = card.read_text()
    card.unlink()
    assert train(runs, "--skill", "opener", "--json") == 0
    assert json.loads(capsys.readouterr().out)["skills"] == {"opener": "fitted"}
    assert shard.stat().st_mtime_ns == stamps[1]  # nothing was played again
    first, second = json.loads(card_text), json.loads(card.read_text())
    assert first["data"] == second["data"]
    assert Content.find(folder).reward_folder("opener") == card.parent
    assert (
        Content.find(folder).skill("opener").spec.world == "corridor"
    )  # the run's folder describes no skill
    assert main(["rewards", "--skill", "opener", "--run", str(folder), "--episodes", "4"]) == 0
    out = capsys.readouterr().out
    assert "Paid most" in out and "agreement with rules" in out and "Play of 'reference'" in out
    page = (runs / "runs" / "reward-opener.html").read_text()
    assert page.count("<svg") >= 2 and "https://" not in page and "<script" not in page


def test_what_is_wrong_is_said(runs, capsys):
    assert train(runs, "--skill", "openre") == 1
    assert "opener" in capsys.readouterr().err
    assert main(["train-skills", "--stage", "policy"]) == 2
    capsys.readouterr()
    (runs / "toy.toml").write_text("pairz = 3\n")
    assert train(runs) == 1
    assert "pairs" in capsys.readouterr().err
    assert main(["rewards", "--skill", "opener", "--run", str(runs / "none")]) == 1
    assert "no reward model" in capsys.readouterr().err
