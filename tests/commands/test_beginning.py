"""What training begins or goes on with is compared with what is to be trained, before anything starts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from maestro.cli import main
from maestro.commands import _train_plan as plans
from maestro.commands._beginning import find_init
from maestro.content import shipped_root
from maestro.errors import PolicyFileError
from maestro.learner import run_policy
from maestro.learner.belonging import belonging_of
from maestro.learner.games import SkillGames
from maestro.learner.network import PolicyNetwork
from maestro.learner.policy_file import save_policy

SETTINGS = (
    "games.world=corridor", "games.num_games=4", "games.pay.intrinsic_scale=0", "games.pay.extrinsic_scale=1",
    "network.core_size=16",
)  # fmt: skip
CONTENT = ("skills/keyfinder", "skills/eastwalker", "skills/opener", "meta_policies/corridor_training")


@pytest.fixture
def content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a copy of the corridor's content, which counts before what ships with maestro, to be changed."""
    monkeypatch.setenv("MAESTRO_RUNS", str(tmp_path / "runs"))
    root = tmp_path / "content"
    for place in CONTENT:
        shutil.copytree(shipped_root() / place, root / place)
    monkeypatch.setenv("MAESTRO_CONTENT", str(root))
    return root


def settings() -> plans.TrainPolicySettings:
    return plans.read_train_settings(SETTINGS, None, None, None)


def save(folder: Path, steps: int = 1) -> Path:
    """Save a policy, never trained, for the content as it is now."""
    config = settings()
    games = SkillGames(config.games)
    network = PolicyNetwork(config.network, games.specs, len(games.skills), games.num_actions)
    card = belonging_of(games, config.games.content()).model_dump(mode="json")
    save_policy(folder, network, card | {"method": "by chance", "steps": steps})
    return folder


def save_run(folder: Path, env_steps: int = 1_000) -> Path:
    """Leave what a run of training has after so many steps."""
    config = settings()
    games = SkillGames(config.games)
    network = PolicyNetwork(config.network, games.specs, len(games.skills), games.num_actions)
    model = {f"network.{name}": value for name, value in network.state_dict().items()}
    state = {"model": model, "optimizer": {}, "train_step": 5, "env_steps": env_steps}
    path = folder / "learner" / "checkpoint_p0" / f"checkpoint_000000005_{env_steps}.pth"
    path.parent.mkdir(parents=True)
    torch.save(state, path)
    (folder / "policy.json").write_text(belonging_of(games, config.games.content()).model_dump_json())
    (folder / "task.json").write_text(json.dumps({"config": config.training().model_dump(mode="json")}))
    return folder


def train(*words: str) -> int:
    flags = [word for word in words if "=" not in word]
    keys = [word for word in words if "=" in word]
    return main(["train-policy", "--dry-run", *flags, "--config", *SETTINGS, *keys])


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def swap(content: Path) -> None:
    """Give two skills each other's numbers: all shapes stay."""
    edit(content / "skills" / "opener" / "skill.toml", "index = 2", "index = 0")
    edit(content / "skills" / "keyfinder" / "skill.toml", "index = 0", "index = 2")


OTHERS = "the skills keyfinder, eastwalker, opener. Expected: opener, eastwalker, keyfinder, in this order"


def test_skills_in_another_order_are_no_skills_to_begin_with(content, tmp_path, capsys):
    policy, run = save(tmp_path / "policy"), save_run(tmp_path / "other")
    assert train("--init", str(policy)) == 0 and train("--init", str(run)) == 0
    swap(content)
    capsys.readouterr()
    for init, where in ((policy, policy / "card.json"), (run, run / "policy.json")):
        assert train("--init", str(init)) == 1
        said = capsys.readouterr().err
        assert f"{where}: the policy to begin with was trained for {OTHERS}" in said and "--init" in said


def test_skills_in_another_order_are_no_skills_to_go_on_with(content, tmp_path, capsys):
    run = save_run(tmp_path / "run")
    assert train("--run", str(run)) == 0
    swap(content)
    capsys.readouterr()
    before = (run / "policy.json").read_text()
    assert train("--run", str(run)) == 1
    said = capsys.readouterr().err
    assert (
        f"{run / 'policy.json'}: the checkpoint was trained for {OTHERS}" in said and "another --run" in said
    )
    assert (run / "policy.json").read_text() == before


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"world":"corridor"', '"world":"passage"', "the world 'passage'. Expected: 'corridor'"),
        ('"version":', '"version":9', "of version 9"),
        ('"float32"', '"float64"', "as float64"),
        ('"action_names":["', '"action_names":["fly","', "of which 'fly' is number 0"),
        ('"world":"corridor"', '"world":3', "what the run's policy belongs to cannot be read"),
    ],
)
def test_whatever_else_weights_depend_on_must_be_the_same(content, tmp_path, capsys, old, new, said):
    run = save_run(tmp_path / "run")
    edit(run / "policy.json", old, new)
    assert train("--run", str(run)) == 1
    assert said in capsys.readouterr().err


def test_a_skill_whose_files_changed_is_told_and_no_reason_to_stop(content, tmp_path, capsys):
    policy, run = save(tmp_path / "policy"), save_run(tmp_path / "run")
    with open(content / "skills" / "opener" / "termination.py", "a") as file:
        file.write("\n# another thought\n")
    assert main(["sign", str(content / "skills" / "opener")]) == 0
    assert train("--run", str(run)) == 0
    assert (
        "the skill opener has changed since the checkpoint was made: termination.py"
        in capsys.readouterr().err
    )
    assert train("--init", str(policy)) == 0
    assert "opener has changed since the policy to begin with was made" in capsys.readouterr().err


def test_a_training_policy_that_fails_at_once_is_told_before_anything_starts(content, tmp_path, capsys):
    path = content / "meta_policies" / "corridor_training" / "policy.py"
    edit(path, "startable):\n", "startable):\n        startable = 1 // 0\n")
    assert main(["sign", str(path.parent)]) == 0
    assert train() == 1
    said = capsys.readouterr().err
    assert "ZeroDivisionError" in said and "before its first step" in said and "maestro codegen" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pull.steps=500",), "at 1,000 steps, it is 0 and not 1; a greater pull.steps"),
        (("pull.steps=4000",), "it is 0.75 and not 1"),
        (("pull.steps=500", "pull.final=1"), None),
    ],
)
def test_a_pull_that_is_new_and_has_faded_is_told(content, tmp_path, capsys, words, said):
    run, policy = save_run(tmp_path / "run"), save(tmp_path / "policy")
    assert train("--run", str(run), "--init", str(policy), *words) == 0
    err = capsys.readouterr().err
    assert ("the pull counts from step 0" in err) == (said is not None) and (said or "") in err
    pull = {"coefficient": 1.0, "final": 0.0, "steps": 500, "share": 0.25}
    (run / "settings.jsonl").write_text(json.dumps({"from": 0, "pull": pull}) + "\n")
    assert train("--run", str(run), "--init", str(policy), "pull.steps=500") == 0
    assert "the pull counts" not in capsys.readouterr().err  # it fades as was planned from the first


def test_a_run_of_train_skills_has_its_checkpoints_in_a_folder_of_its_own(content, tmp_path):
    run = tmp_path / "whole"
    inner = save_run(run / "training")
    assert find_init(str(run), "corridor", "small") == inner
    assert train("--init", str(run)) == 0
    save(inner / "policy", steps=999)  # taken out one step before the checkpoint
    assert find_init(str(run), "corridor", "small") == inner
    save(inner / "policy", steps=1_000)
    assert find_init(str(run), "corridor", "small") == inner / "policy"
    save(inner / "init", steps=500)  # what training began with has steps of its own
    assert find_init(str(run), "corridor", "small") == inner
    save_run(run)
    assert find_init(str(run), "corridor", "small") == run


def test_the_policy_to_begin_with_is_copied_whole_while_it_is_written_anew(tmp_path, monkeypatch):
    """Between two looks at the folder, a running imitation puts its next policy there."""
    policy, run = save(tmp_path / "policy"), tmp_path / "run"
    load, rest = run_policy.load_policy, [2, 3]

    def load_then_write_anew(folder: Path):
        loaded = load(folder)
        if rest:
            save(policy, steps=rest.pop(0))
        return loaded

    monkeypatch.setattr(run_policy, "load_policy", load_then_write_anew)
    kept = run_policy.keep_init(run, policy)
    assert kept is not None and load(kept).card == load(policy).card and load(kept).card.steps == 3
    assert len(list(kept.iterdir())) == 2


def test_a_policy_that_is_none_is_no_beginning(tmp_path):
    policy = save(tmp_path / "policy")
    next(policy.glob("*.safetensors")).unlink()
    with pytest.raises(PolicyFileError, match="the weights cannot be read"):
        run_policy.keep_init(tmp_path / "run", policy)
    assert not (tmp_path / "run" / "init").exists()


def test_a_fault_in_what_a_run_remembers_is_told_with_its_file(tmp_path, capsys):
    (tmp_path / "settings.jsonl").write_text('{"from": 0, "steps": 5, "discont": 0.9}\n')
    assert main(["train-policy", "--run", str(tmp_path), "--dry-run"]) == 1
    err = capsys.readouterr().err
    assert str(tmp_path / "settings.jsonl") in err and "did you mean 'discount'" in err


def test_rewards_that_are_not_there_are_told(content, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        "maestro.learner.games.load_payment", lambda *_: None
    )  # as if the content had them all
    paid = "games.pay.intrinsic_scale=0.1"
    monkeypatch.chdir(tmp_path)
    assert train(paid, "games.pay.rewards=nowhere") == 1
    assert f"'{tmp_path / 'nowhere'}' is no folder" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert train(paid, "games.pay.rewards=empty") == 1
    assert "has no reward model of any skill" in capsys.readouterr().err
    (tmp_path / "empty" / "skills" / "opener" / "reward").mkdir(parents=True)
    (tmp_path / "empty" / "skills" / "opener" / "reward" / "card.json").write_text("{}")
    assert train(paid, "games.pay.rewards=empty") == 0
    config = plans.read_train_settings([*SETTINGS, "games.pay.rewards=empty"], None, None, None)
    assert config.games.pay.rewards == tmp_path / "empty"


def test_train_skills_may_leave_every_reward_to_the_content(content, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("maestro.learner.games.load_payment", lambda *_: None)
    words = ["--run", str(tmp_path / "whole"), "--config", "world=corridor", "policy.network.core_size=16"]
    assert main(["train-skills", "--stage", "policy", "--dry-run", *words]) == 0
    assert "Plan (into" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("world", "preset", "said"),
    [
        ("nethack", "small", "about 7,000 steps/s (as two idle cores did)\n"),
        ("nethack", "paper", "about 5,300 steps/s (as two idle cores did)\n"),
        ("nethack", "gpu", "about 40,000 steps/s (a guess: no GPU was ever tried)\n"),
        ("corridor", "small", "about 8,000 steps/s\n"),
    ],
)
def test_a_rate_is_called_measured_only_where_it_was(content, tmp_path, capsys, world, preset, said):
    config = settings()
    games = config.games.model_copy(update={"world": world})
    config = config.model_copy(update={"games": games, "preset": preset})
    rate, measured = plans._rate(tmp_path, config)
    told = plans.Plan(tmp_path, config, 10, None, [], (), 1, 1.0, 2.0, 1.0, rate, measured, ())
    plans.show_plan(told)
    assert said in capsys.readouterr().out
