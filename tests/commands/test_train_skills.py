"""From nothing to reward models in one command, on the toy world; then looking at them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from maestro.cli import main
from maestro.commands import _policy_stage, train_skills
from maestro.commands._policy_stage import plan_policy
from maestro.commands._reward_plan import TrainSkillsSettings, plan_skill
from maestro.commands._settings import read_settings
from maestro.commands.imitate import read_imitate_settings
from maestro.content import Content, shipped_root
from maestro.errors import MaestroError
from maestro.learner.config import Pull
from maestro.preferences.pairs import Preference
from maestro.preferences.verdicts import read_verdicts, write_verdicts

SETTINGS = """
world = "corridor"
collect_steps = 3000
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
    flags = [word for word in more if "=" not in word]
    settings = [word for word in more if "=" in word]
    return main(
        ["train-skills", "--stage", "rewards", *flags, "--config", str(folder / "toy.toml"), *settings]
    )


def test_a_dry_run_plans_and_does_nothing(runs, capsys):
    assert train(runs, "--dry-run", "--json") == 0
    plan = json.loads(capsys.readouterr().out)
    skills = list(Content.find().skills("corridor"))
    assert plan["skills"] == dict.fromkeys(skills, "to do")
    assert plan["collect_steps"] == 3_000 and plan["questions"] == 400 * len(skills)
    assert plan["fits"] == len(skills) and plan["annotator"] == "rules"
    assert not (runs / "runs").exists()


def test_a_models_tokens_and_cost_are_planned_without_asking_it(runs, capsys):
    llm = ["annotator=llm", "llm=openai:m@http://127.0.0.1:9/v1"]
    assert train(runs, "--dry-run", *llm) == 0
    out = capsys.readouterr().out
    assert "to llm (openai:m@http://127.0.0.1:9/v1), at most about" in out and "prices are not known" in out
    prices = ["annotation.llm_settings.price_prompt=2", "annotation.llm_settings.price_completion=10"]
    assert train(runs, "--dry-run", "--json", *llm, *prices) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["questions"] == 2 * 400 * len(plan["skills"])
    assert 2e-6 * plan["tokens"] < plan["cost"] < 10e-6 * plan["tokens"]
    assert plan["seconds"]["annotate"] is None


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("annotator=rule", "did you mean 'rules'"),
        ("mix=refrence:1", "there is no policy 'refrence'"),
        ("fit.epoch=3", "did you mean 'epochs'"),
        ("annotation.sed=1", "did you mean 'seed'"),
        ("world=corridr", "has no skills"),
        ("workers=-1", "workers"),
    ],
)
def test_what_is_wrong_is_said_before_any_work(runs, setting, said, capsys):
    assert train(runs, setting) == 1
    assert said in capsys.readouterr().err
    assert not (runs / "runs").exists()


def test_a_wrong_model_is_said_before_any_work(runs, capsys):
    assert train(runs, "annotator=llm", "llm=opnai:m@http://x") == 1
    assert "did you mean 'openai'" in capsys.readouterr().err
    assert train(runs, "annotator=llm") == 1
    assert "no language model is named" in capsys.readouterr().err
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


CERTAINTY = "\n[reward]\ncertainty = 0.6\n"


def own_content(runs) -> tuple[str, Path]:
    """Copy the toy skill into content of its own; gives the setting that names it and its skill.toml."""
    shutil.copytree(shipped_root() / "skills" / "opener", runs / "mine" / "skills" / "opener")
    return f"content={runs / 'mine'}", runs / "mine" / "skills" / "opener" / "skill.toml"


def states(runs, content: str, *more: str) -> str:
    """Say what `train-skills` would find of the toy skill."""
    settings = read_settings([str(runs / "toy.toml"), content, *more], TrainSkillsSettings)
    folder = runs / "runs" / "train-skills-corridor"
    return plan_skill(settings.find_content(), folder, "opener", settings).state


def test_an_edited_skill_is_made_anew_as_far_as_the_edit_goes(runs, capsys):
    content, toml = own_content(runs)
    assert states(runs, content) == "to do"
    assert train(runs, "--skill", "opener", content) == 0
    assert states(runs, content) == "fitted"
    card = runs / "runs" / "train-skills-corridor" / "skills" / "opener" / "reward" / "card.json"

    def edit(old: str, new: str) -> None:
        text = toml.read_text()
        assert old in text
        toml.write_text(text.replace(old, new, 1))

    toml.write_text(toml.read_text() + CERTAINTY)
    assert states(runs, content) == "annotated", "the verdicts are still those of the preference"
    assert train(runs, "--skill", "opener", content) == 0
    assert json.loads(card.read_text())["threshold_certainty"] == 0.6
    edit('preference = "', 'preference = "Above all: ')
    assert states(runs, content) == "to do"
    assert train(runs, "--skill", "opener", content) == 0
    assert states(runs, content) == "fitted"
    assert "Above all" in json.loads(card.read_text())["annotation"]["preference"]
    edit("score = 5.0", "score = -5.0")
    edit("certainty = 0.6", "threshold = 1.25")
    assert states(runs, content) == "to do"
    assert train(runs, "--skill", "opener", content) == 0
    assert states(runs, content) == "fitted"
    fitted = json.loads(card.read_text())
    assert fitted["threshold_given"] == fitted["threshold"] == 1.25
    capsys.readouterr()
    (card.parents[3] / "annotations" / "opener" / "verdicts.parquet").write_bytes(b"PAR1 cut")
    card.unlink()
    assert states(runs, content) == "to do", "a damaged file is written anew"


def test_answers_that_could_not_be_understood_may_be_asked_for_again(runs, capsys):
    content, _ = own_content(runs)
    assert train(runs, "--skill", "opener", content) == 0
    folder = runs / "runs" / "train-skills-corridor"
    (folder / "skills" / "opener" / "reward" / "card.json").unlink()
    path = folder / "annotations" / "opener" / "verdicts.parquet"
    again = ("annotation.retry_unparsed=true", "annotation.max_unparsed=0.5")
    assert states(runs, content, *again) == "annotated"
    table, info = read_verdicts(path)
    columns = table.to_pydict()
    columns["preference"][7], columns["p_first"][7] = int(Preference.UNPARSED), None
    write_verdicts(path, [columns], {key: value for key, value in info.items() if key != "version"})
    assert states(runs, content) == "annotated"
    assert states(runs, content, *again) == "to do"
    assert train(runs, "--skill", "opener", content, *again) == 0, (
        "the run goes on with both settings changed"
    )
    assert int(Preference.UNPARSED) not in read_verdicts(path)[0]["preference"].to_pylist()
    capsys.readouterr()


def test_a_model_with_another_threshold_is_not_shown(runs, monkeypatch, capsys):
    content, toml = own_content(runs)
    assert train(runs, "--skill", "opener", content) == 0
    monkeypatch.setenv("MAESTRO_CONTENT", str(runs / "mine"))
    words = ["rewards", "--skill", "opener", "--run", str(runs / "runs" / "train-skills-corridor")]
    words += ["--episodes", "4"]
    assert main(words) == 0
    toml.write_text(toml.read_text() + CERTAINTY)
    capsys.readouterr()
    assert main(words) == 1
    said = capsys.readouterr().err
    assert "fitted with certainty 0.9, skill.toml says certainty 0.6" in said
    assert "maestro fit-reward --skill opener" in said


def test_what_is_wrong_is_said(runs, capsys):
    assert train(runs, "--skill", "openre") == 1
    assert "opener" in capsys.readouterr().err
    assert main(["train-skills", "--stage", "polizy"]) == 2
    capsys.readouterr()
    (runs / "toy.toml").write_text("pairz = 3\n")
    assert train(runs) == 1
    assert "pairs" in capsys.readouterr().err
    assert main(["rewards", "--skill", "opener", "--run", str(runs / "none")]) == 1
    assert "no reward model" in capsys.readouterr().err


POLICY = (
    "policy.games.num_games=16", "policy.batch_size=512", "policy.rollout=16", "policy.network.core_size=16",
    "policy.save_every_s=2",
)  # fmt: skip


def test_the_seed_of_everything_is_a_flag_too(runs, monkeypatch):
    seen = []
    monkeypatch.setattr(
        train_skills, "describe", lambda content, plans, settings, folder: seen.append(settings) or {}
    )
    for more in ((), ("--seed", "4"), ("--seed", "4", "seed=2")):
        assert train(runs, "--dry-run", "--json", *more) == 0
    assert [settings.seed for settings in seen] == [0, 4, 4]


def test_a_dry_run_of_everything_plans_the_policy_too(runs, capsys):
    words = [
        "train-skills",
        "--steps",
        "5000",
        "--dry-run",
        "--json",
        "--config",
        str(runs / "toy.toml"),
        *POLICY,
    ]
    assert main([*words, "init=imitate", "imitate.steps=7000"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["fits"] == 3
    assert plan["imitation"] == {"steps": 7_000, "done": False, "seconds": pytest.approx(1.4, abs=0.7)}
    assert plan["policy"]["init"] == str(runs / "runs" / "train-skills-corridor" / "imitation" / "policy")
    assert plan["policy"]["steps"] == 5_000 and plan["policy"]["games"] == 32
    assert main([*words, "policy.learning_rat=1"]) == 1
    assert "did you mean 'learning_rate'" in capsys.readouterr().err
    assert main([*words, "policy.games.seed=1"]) == 1
    assert "the key seed alone" in capsys.readouterr().err
    assert main(["train-skills", "--stage", "policy", "--config", "world=corridor", *POLICY]) == 1
    assert "train-skills --stage rewards" in capsys.readouterr().err
    assert not (runs / "runs").exists()


IMITATE = ("init=imitate", "imitate.games.num_games=8", "imitate.kept=2", "imitate.workers=1")


def plan_of(runs, *settings: str):
    read = read_settings([str(runs / "toy.toml"), *POLICY, *IMITATE, *settings], TrainSkillsSettings)
    return plan_policy(runs / "mine", read, None, 5_000, ready=False)


def test_imitation_has_the_rewards_the_content_and_the_network_of_the_run(runs, second_door):
    stage = plan_of(
        runs, f"content={second_door}", "policy.games.pay.intrinsic_scale=0.5", "policy.games.max_steps=70",
        "policy.discount=0.9", "imitate.games.pay.extrinsic_scale=2", "imitate.sequence=16",
    )  # fmt: skip
    found = read_imitate_settings(stage.imitation.config)
    assert found.games.pay.rewards == runs / "mine"
    assert found.games.roots == Content.find(second_door).roots
    assert (found.games.pay.intrinsic_scale, found.games.pay.extrinsic_scale) == (0.5, 2.0)
    assert found.games.max_steps == 70 and found.games.num_games == 8
    assert found.network == stage.plan.settings.network and found.network.core_size == 16
    assert found.discount == 0.9 and found.sequence == 16 and found.workers == 1
    other = plan_of(runs, "imitate.discount=0.8", "imitate.games.max_steps=30")
    found = read_imitate_settings(other.imitation.config)
    assert found.discount == 0.8 and found.games.max_steps == 30 and found.games.roots == ()


def test_the_plan_tells_of_the_imitation_that_is_left(runs, monkeypatch, capsys):
    stage = plan_of(runs, "imitate.steps=3_000_000", "policy.pull.steps=9000")
    stage.show()
    out = capsys.readouterr().out
    assert "3,000,000 steps, left to do, about 10 min" in out
    assert f"begins   with {runs / 'mine' / 'imitation' / 'policy'}, pulled towards it for 9,000 steps" in out
    assert "with chance" not in out
    monkeypatch.setattr(_policy_stage, "own_steps", lambda folder: 2_700_000)
    stage = plan_of(runs, "imitate.steps=3_000_000")
    assert stage.imitates and stage.imitation.seconds == pytest.approx(60)
    assert stage.plan.settings.pull == Pull()
    monkeypatch.setattr(_policy_stage, "own_steps", lambda folder: 3_000_064)
    assert not plan_of(runs, "imitate.steps=3_000_000").imitates


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("imitate.learning_rat=1", "did you mean 'learning_rate'"),
        ("imitate.steps=many", "steps"),
        ("imitate.workers=1.5", "workers"),
        ("imitate.blocks=2", "no more blocks than workers"),
        ("imitate.games.seed=3", "the key seed alone"),
        ("imitate.preset=paper", "--preset alone"),
        ("imitate.init=nothing", "has no policy"),
        ("imitate.steps=inf", "imitate.steps: the value is inf"),
    ],
)
def test_what_is_wrong_with_the_imitation_is_said_before_any_work(runs, setting, said):
    with pytest.raises(MaestroError, match=said):
        plan_of(runs, setting)


def test_what_is_said_of_an_imitation_that_nobody_asked_for_is_refused(runs):
    with pytest.raises(
        MaestroError,
        match=r"\[imitate\] says games, .*steps, and the policy begins with 'none'.*init=imitate",
    ):
        plan_of(runs, "imitate.steps=5e3", "init=none")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_one_command_goes_by_imitation_to_a_policy(runs, capsys):
    words = ["train-skills", "--steps", "3000", "--config", str(runs / "toy.toml"), *POLICY]
    words += [*IMITATE, "imitate.steps=1000"]
    assert main(words) == 0
    folder = runs / "runs" / "train-skills-corridor"
    card = json.loads((folder / "skills" / "policy" / "card.json").read_text())
    imitation, learning = card["training"].values()
    assert imitation["games"]["pay"]["rewards"] == str(folder)
    assert "imitation" in card["method"] and "reinforcement learning" in card["method"]
    assert learning["pull"] is not None
    capsys.readouterr()
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "1,000 steps, done" in out and "Nothing is left to train" in out


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_one_command_goes_from_words_to_a_policy_that_plays(runs, capsys):
    words = ["train-skills", "--steps", "5000", "--config", str(runs / "toy.toml"), *POLICY]
    assert main(words) == 0
    folder = runs / "runs" / "train-skills-corridor"
    out = capsys.readouterr().out
    assert f"Policy: {folder / 'skills' / 'policy'}" in out
    card = json.loads((folder / "skills" / "policy" / "card.json").read_text())
    assert card["world"] == "corridor" and card["steps"] > 5_000
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "Nothing is left to do" in out and "Nothing is left to train" in out
    eval_words = [
        "--target",
        "locked_door",
        "--policy",
        "trained",
        "--content",
        str(folder),
        "--episodes",
        "2",
    ]
    assert main(["eval", *eval_words, "--workers", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 2
