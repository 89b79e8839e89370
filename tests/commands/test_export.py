"""`maestro export`: policies out of runs, with what they were measured at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from maestro.cli import main
from maestro.content import Content, shipped_root
from maestro.envs import make_features, make_world
from maestro.learner.config import TrainConfig
from maestro.learner.network import ArraySpec, NetworkConfig, PolicyNetwork
from maestro.learner.policy_file import describe, load_card, load_policy, save_policy

TINY = NetworkConfig(core_size=8, hidden=8, head=0, vector_layers=(8,), precision="float32")


def make(seed: int = 0) -> tuple[PolicyNetwork, dict[str, Any]]:
    skills = list(Content((shipped_root(),)).skills("corridor").values())
    world = make_world("corridor", 1)
    features = make_features(world, "compass")
    specs = {name: ArraySpec(array.shape[1:], str(array.dtype)) for name, array in features.arrays.items()}
    torch.manual_seed(seed)
    return PolicyNetwork(TINY, specs, len(skills), len(world.action_names)), describe(world, features, skills)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A training run with checkpoints of 1,000 and 2,000 steps, as training leaves it."""
    folder = tmp_path / "run"
    config = TrainConfig.model_validate({"games": {"world": "corridor"}, "network": TINY.model_dump()})
    (folder / "learner" / "checkpoint_p0").mkdir(parents=True)
    for number in (1, 2):
        network, about = make(number)
        model = {f"network.{name}": value for name, value in network.state_dict().items()}
        content = {"model": model, "optimizer": {}, "train_step": number, "env_steps": 1000 * number}
        name = f"checkpoint_{number:09}_{1000 * number}.pth"
        torch.save(content, folder / "learner" / "checkpoint_p0" / name)
    (folder / "policy.json").write_text(json.dumps(about))
    (folder / "task.json").write_text(json.dumps({"config": config.model_dump(mode="json")}))
    return folder


def test_a_training_runs_newest_checkpoint_becomes_a_policy(run: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["export", "--run", str(run)]) == 0
    said = capsys.readouterr().out
    assert f"maestro eval --target all --policy {run / 'policy'}" in said
    loaded = load_policy(run / "policy")
    assert loaded.card.steps == 2000
    assert "reinforcement learning" in loaded.card.method
    for mine, theirs in zip(loaded.network.parameters(), make(2)[0].parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_a_checkpoint_that_is_passed_over_is_told(run: Path, capsys: pytest.CaptureFixture[str]):
    path = run / "learner" / "checkpoint_p0" / "checkpoint_000000002_2000.pth"
    path.write_bytes(path.read_bytes()[:100])
    assert main(["export", "--run", str(run), "--json"]) == 0
    told = capsys.readouterr()
    assert f"{path.name} cannot be read and is passed over" in told.err
    assert json.loads(told.out)["steps"] == 1000


def test_a_card_says_what_paid(run: Path):
    task = json.loads((run / "task.json").read_text())
    for pay, said in (
        ({"intrinsic_scale": 0.1}, "on the skills' reward models"),
        ({"intrinsic_scale": 0.0, "extrinsic_scale": 1.0}, "on the world's reward (score)"),
        (
            {"intrinsic_scale": 0.1, "extrinsic_scale": 1.0},
            "on the skills' reward models and the world's reward (score)",
        ),
    ):
        task["config"]["games"]["pay"] |= {"extrinsic_scale": 0.0, **pay}
        (run / "task.json").write_text(json.dumps(task))
        assert main(["export", "--run", str(run)]) == 0
        assert load_card(run / "policy").method == f"by reinforcement learning (APPO, 2,000 steps) {said}"


def test_a_card_says_who_led_the_way(run: Path):
    task = json.loads((run / "task.json").read_text())
    task["config"]["games"]["guide"] = {"skills": ["opener"], "share": 0.8}
    (run / "task.json").write_text(json.dumps(task))
    assert main(["export", "--run", str(run)]) == 0
    assert load_card(run / "policy").method.endswith(
        ", led to opener by the reference policy in 80% of the episodes"
    )


def test_a_run_of_train_skills_is_looked_into(run: Path, tmp_path: Path):
    whole = tmp_path / "whole"
    whole.mkdir()
    run.rename(whole / "training")
    assert main(["export", "--run", str(whole)]) == 0
    assert load_card(whole / "training" / "policy").steps == 2000
    assert (
        main(["export", "--run", str(whole), "--checkpoint", "1000", "--out", str(tmp_path / "early")]) == 0
    )
    assert load_card(tmp_path / "early").steps == 1000


def test_an_earlier_checkpoint_goes_where_it_is_told(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    call = ["export", "--run", str(run), "--checkpoint", "1000", "--out", str(tmp_path / "early"), "--json"]
    assert main(call) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["steps"], said["folder"]) == (1000, str(tmp_path / "early"))
    assert not (run / "policy").exists()


def test_a_policy_from_imitation_is_exported_as_it_stands(tmp_path: Path):
    network, about = make()
    run = tmp_path / "run"
    card = save_policy(
        run / "policy", network, about | {"method": "by imitation", "steps": 7, "curves": {"a": [1]}}
    )
    (run / "imitation.pt").write_bytes(b"")
    assert main(["export", "--run", str(run), "--out", str(tmp_path / "out"), "--half"]) == 0
    out = load_card(tmp_path / "out")
    assert (out.method, out.steps, out.curves, out.stored) == ("by imitation", 7, {"a": [1]}, "float16")
    assert out.skills == card.skills


def test_an_evaluation_is_written_into_the_card_of_the_policy_it_measured(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder, results = run / "policy", tmp_path / "results"
    assert main(["export", "--run", str(run)]) == 0
    play = ["eval", "--target", "locked_door", "--policy", str(folder), "--episodes", "6", "--workers", "0"]
    assert main([*play, "--run", str(results)]) == 0
    capsys.readouterr()
    assert main(["export", "--run", str(run), "--evaluation", str(results), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["evaluated"] == ["locked_door"]
    figures = load_card(folder).evaluation["locked_door"]
    assert figures["episodes"] == 6
    assert 0 <= figures["success"]["true"]["mean"] <= 1
    # The card says more now, but the policy is the same: the evaluation continues.
    assert main([*play, "--run", str(results)]) == 0
    early = ["export", "--run", str(run), "--checkpoint", "1000", "--out", str(tmp_path / "early")]
    assert main([*early, "--evaluation", str(results)]) == 1
    assert "of another policy" in capsys.readouterr().err
    assert not (tmp_path / "early").exists()


def test_a_changed_skill_is_told_before_playing(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["export", "--run", str(run)]) == 0
    card = json.loads((run / "policy" / "card.json").read_text())
    card["skills"][0]["sha256"]["skill.toml"] = "0" * 64
    (run / "policy" / "card.json").write_text(json.dumps(card))
    play = [
        "eval",
        "--target",
        "locked_door",
        "--policy",
        str(run / "policy"),
        "--episodes",
        "1",
        "--workers",
        "0",
    ]
    assert main([*play, "--run", str(tmp_path / "results")]) == 0
    said = capsys.readouterr().err
    assert (
        f"note: the skill {card['skills'][0]['name']} has changed since its policy was trained: skill.toml"
        in said
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--run", "nowhere"], "there is no run 'nowhere'"),
        (["--run", "{run}", "--checkpoint", "5"], "no checkpoint of 5 steps. Expected: one of 1000, 2000"),
        (["--run", "{empty}"], "no checkpoint yet"),
        (["--run", "{run}", "--evaluation", "{empty}"], "the evaluation cannot be read"),
    ],
)
def test_what_cannot_be_exported_is_explained(
    arguments: list[str], said: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "empty").mkdir()
    filled = [argument.format(run=run, empty=tmp_path / "empty") for argument in arguments]
    assert main(["export", *filled]) == 1
    assert said in capsys.readouterr().err
