"""Runs that are made up, and the curves that are drawn of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from maestro.commands.curves import Config
from maestro.commands.curves import run as command
from maestro.errors import ConfigError, PolicyFileError, RecordError, RunError
from maestro.learner import card_curves, run_policy
from maestro.learner.binned import card_curve
from maestro.learner.card_curves import read_card_groups
from maestro.learner.curves import emergence, read_groups, write_curves
from maestro.learner.run_policy import chained


def make_run(
    folder: Path, seed: int, *, learning_rate: float = 1e-4, height: float = 1.0, late: int = 0
) -> Path:
    """Make a run of 100,000 steps in which "walker" rises from the first step on, and "opener" from 50,000."""
    folder.mkdir(parents=True)
    config = {
        "games": {"seed": seed, "world": "corridor"},
        "learning_rate": learning_rate,
        "steps": 100_000 + seed,
    }
    (folder / "config.json").write_text(json.dumps({"name": folder.name, "config": config, "versions": {}}))
    with open(folder / "metrics.jsonl", "w") as file:
        for number in range(1, 101):
            at = 1_000 * number
            record = {
                "time": float(number),
                "env_steps": at + late,
                "steps": 1_000.0,
                "skill/walker/steps": 900.0,
                "skill/walker/share": 0.9,
                "skill/walker/reward_per_1000": height * number,
                "skill/opener/steps": 100.0,
                "skill/opener/share": 0.1,
                "skill/opener/reward_per_1000": height * max(0, number - 50),
                "train/entropy": 2.0 - number / 100,
                "limit": "games",
            }
            file.write(json.dumps(record) + "\n")
        for at in (0, 50_000, 100_000):
            file.write(json.dumps({"time": 0.0, "env_steps": at, "probe/door/success": at / 1e5}) + "\n")
    return folder


def test_seeds_are_one_curve_with_a_range_and_other_settings_another(tmp_path):
    runs = [make_run(tmp_path / f"seed{seed}", seed, height=1.0 + seed) for seed in range(3)]
    other = make_run(tmp_path / "fast", 0, learning_rate=1e-3)
    groups = read_groups([*runs, other], num_bins=10)
    assert [group.label for group in groups] == ["seed0 and 2 other seeds", "fast"]
    curve = groups[0].curves["skill/walker/reward_per_1000"]
    assert curve.env_steps.tolist() == list(range(10_000, 100_001, 10_000))
    expected = np.arange(5.5, 100, 10)
    np.testing.assert_allclose(curve.mean, 2 * expected)
    np.testing.assert_allclose(curve.low, expected)
    np.testing.assert_allclose(curve.high, 3 * expected)
    single = groups[1].curves["skill/walker/reward_per_1000"]
    np.testing.assert_array_equal(single.low, single.high)
    assert groups[0].curves["skill/walker/share"].mean == pytest.approx(0.9)
    assert groups[0].probes["probe/door/success"].mean.tolist() == [0.0, 0.5, 1.0]


def test_runs_of_train_skills_are_one_curve_too_named_after_the_whole_run(tmp_path):
    def make(name: str, seed: int, **said: str) -> Path:
        run = make_run(tmp_path / name / "training", seed)
        config = json.loads((run / "config.json").read_text())
        config["config"]["games"]["pay"] = {"rewards": said.get("rewards", str(tmp_path / name))}
        config["config"]["init"] = said.get("init", str(tmp_path / name / "imitation" / "policy"))
        (run / "config.json").write_text(json.dumps(config))
        return run

    seeds = [make("mine0", 0), make("mine1", 1)]
    elsewhere = make("mine2", 2, rewards=str(tmp_path / "mine0"))
    other = make("mine3", 3, init=str(tmp_path / "mine3" / "other" / "policy"))
    groups = read_groups([seeds[0].parent, seeds[1], elsewhere, other])  # the whole run means its training
    assert [group.label for group in groups] == ["mine0 and 1 other seed", "mine2", "mine3"]


def test_an_imitation_is_refused(tmp_path):
    run = make_run(tmp_path / "imitation", 0)
    (run / "metrics.jsonl").write_text('{"steps": 256, "loss": 1.0}\n')
    with pytest.raises(RecordError, match="no run of train-policy"):
        command(Config(run=(run,)))
    with pytest.raises(RecordError, match="no run of train-policy"):
        read_groups([make_run(tmp_path / "a", 0), run])


def test_records_weigh_by_what_they_are_means_of(tmp_path):
    run = make_run(tmp_path / "a", 0)
    lines = [
        {"env_steps": 1, "skill/walker/steps": 100.0, "skill/walker/reward_per_1000": 1.0},
        {"env_steps": 2, "skill/walker/steps": 300.0, "skill/walker/reward_per_1000": 5.0},
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    groups = read_groups([run], num_bins=1)
    assert groups[0].curves["skill/walker/reward_per_1000"].mean.tolist() == [4.0]


def test_the_order_in_which_skills_emerge_is_told(tmp_path):
    (group,) = read_groups([make_run(tmp_path / "a", 0)], num_bins=50)
    first, second = emergence(group)
    assert (first.skill, second.skill) == ("walker", "opener")
    assert first.half_way == pytest.approx(50_000, abs=4_000)
    assert second.half_way == pytest.approx(75_000, abs=4_000)
    (flat,) = read_groups([make_run(tmp_path / "b", 0, height=0.0)])
    assert [one.half_way for one in emergence(flat)] == [None, None]


def test_a_lucky_step_of_a_skill_that_hardly_runs_is_no_reward_to_fall_from(tmp_path):
    run = make_run(tmp_path / "run", 0)
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for record in records[:20]:
        record.update({"skill/opener/steps": 0.5, "skill/opener/share": 0.0005})
        record["skill/opener/reward_per_1000"] = 500.0
    (run / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (opener,) = (one for one in emergence(read_groups([run], 50)[0]) if one.skill == "opener")
    assert opener.first == 0.0 and opener.last > 40 and opener.half_way is not None


def test_pictures_and_a_table_are_written(tmp_path, capsys):
    runs = [make_run(tmp_path / f"seed{seed}", seed) for seed in range(2)]
    assert command(Config(run=tuple(runs), out=tmp_path / "out")) == 0
    out = capsys.readouterr().out
    assert out.index("walker") < out.index("opener") and "skills.png" in out
    for name in ("skills.png", "run.png", "probes.png"):
        picture = (tmp_path / "out" / name).read_bytes()
        assert picture.startswith(b"\x89PNG") and len(picture) > 5_000
    with open(tmp_path / "out" / "curves.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    last = [row for row in rows if row["metric"] == "skill/opener/reward_per_1000"][-1]
    assert last["env_steps"] == "100000" and last["num_runs"] == "2" and float(last["mean"]) > 40
    assert command(Config(run=(runs[0],), json=True)) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["skill"] for one in told["skills"]] == ["walker", "opener"]
    assert Path(told["files"][0]).parent == runs[0] / "curves"


def test_a_run_of_one_record_is_drawn(tmp_path):
    run = make_run(tmp_path / "a", 0)
    first = (run / "metrics.jsonl").read_text().splitlines()[0]
    (run / "metrics.jsonl").write_text(first + "\n" + '{"env_steps": 1')
    assert len(write_curves(read_groups([run]), tmp_path / "out")) == 3


def test_what_is_wrong_is_said(tmp_path):
    with pytest.raises(ConfigError, match="no run is named"):
        command(Config())
    run = make_run(tmp_path / "a", 0)
    with pytest.raises(ConfigError, match="bins"):
        command(Config(run=(run,), bins=0))
    with pytest.raises(RunError, match="there is no run here"):
        command(Config(run=(tmp_path / "none",)))
    (run / "metrics.jsonl").unlink()
    with pytest.raises(RecordError, match="told nothing yet"):
        command(Config(run=(run,)))
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        command(Config(run=(make_run(tmp_path / "b", 0),), out=tmp_path / "file" / "out"))


def test_a_card_keeps_a_short_curve_up_to_its_checkpoint(tmp_path):
    run = make_run(tmp_path / "run", 0)
    curve = card_curve(run, 50_000)
    assert curve["env_steps"] == list(range(2_000, 50_001, 2_000))
    assert curve["skill/walker/reward_per_1000"] == pytest.approx(np.arange(1.5, 50, 2))
    assert set(curve["skill/opener/reward_per_1000"]) == {0.0}
    assert "train/entropy" not in curve and "skill/walker/steps" not in curve
    late = card_curve(make_run(tmp_path / "late", 0, late=30_000), 100_000)
    assert late["skill/walker/reward_per_1000"][0] is None, "a run that was taken up tells nothing of before"
    json.dumps(late, allow_nan=False)
    (run / "metrics.jsonl").unlink()
    assert card_curve(run, 50_000) == {}


def test_a_card_keeps_the_curves_of_all_stages(tmp_path, monkeypatch):
    first = chained(tmp_path, "by imitation", "imitation", {"a": 1}, 10, [1, 2])
    assert first["curves"] == {"imitation": [1, 2]}
    began = SimpleNamespace(**first)
    (tmp_path / "init").mkdir()
    (tmp_path / "init" / "card.json").write_text("{}")
    monkeypatch.setattr(run_policy, "load_card", lambda folder: began)
    then = chained(tmp_path, "by practice", "practice", {"b": 2}, 5, [3])
    assert then["method"] == "by imitation, then by practice" and then["steps"] == 15
    assert then["curves"] == {"imitation": [1, 2], "practice from step 10": [3]}
    assert chained(tmp_path, "by practice", "practice", {}, 5, {})["curves"] == {"imitation": [1, 2]}


def card_of(folder: Path, curves: dict, monkeypatch) -> Path:
    stages = {"imitation": {}, "reinforcement learning from step 500": {}}
    card = SimpleNamespace(curves=curves, training=stages)
    monkeypatch.setattr(card_curves, "load_card", lambda _: card)
    return folder


def test_the_stages_of_a_card_are_drawn_one_behind_the_other(tmp_path, monkeypatch, capsys):
    practice = {"env_steps": [100, 200], "skill/walker/reward_per_1000": [1.0, None]}
    imitation = [{"steps": at, "loss": 0.1, "agreement": 0.5, "agreement_of": {}} for at in (250, 500)]
    # Keys of JSON may come in any order: that of the stages is the training's.
    told = {"reinforcement learning from step 500": practice, "imitation": imitation}
    policy = card_of(tmp_path, told, monkeypatch)
    first, second = read_card_groups(policy)
    assert [first.label, second.label] == ["stage 1: imitation", "stage 2: reinforcement learning"]
    assert first.curves["imitation/agreement"].env_steps.tolist() == [250, 500]
    walker = second.curves["skill/walker/reward_per_1000"]
    assert walker.env_steps.tolist() == [600, 700]
    assert walker.mean[0] == 1.0 and np.isnan(walker.mean[1])
    assert command(Config(policy=policy, out=tmp_path / "out", json=True)) == 0
    assert [one["skill"] for one in json.loads(capsys.readouterr().out)["skills"]] == ["walker"]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"curves.csv", "skills.png", "run.png"}


def test_what_is_wrong_with_a_card_is_said(tmp_path, monkeypatch):
    with pytest.raises(PolicyFileError, match="no trained policy here"):
        read_card_groups(tmp_path)
    with pytest.raises(RecordError, match="keeps no curves"):
        read_card_groups(card_of(tmp_path, {}, monkeypatch))
    for damaged in ({"env_steps": [1, 2], "steps_per_s": [1.0]}, [{"steps": 1}], None, {"x": [1]}):
        with pytest.raises(PolicyFileError, match="curves\\['imitation'\\] cannot be read"):
            read_card_groups(card_of(tmp_path, {"imitation": damaged}, monkeypatch))
    with pytest.raises(ConfigError, match="where the pictures go"):
        command(Config(policy=tmp_path))
    with pytest.raises(ConfigError, match="one of --run and --policy"):
        command(Config(policy=tmp_path, run=(tmp_path,)))
