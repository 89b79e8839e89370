"""From dataset and verdicts to a model on disk, and every way in which the files may not fit."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from maestro.content import Content
from maestro.errors import DatasetError, FitError, MaestroError
from maestro.preferences.goals import find_goal
from maestro.preferences.transitions import Transition, TransitionWriter, read_transitions
from maestro.preferences.verdicts import read_verdicts, write_verdicts
from maestro.rewards.checkpoint import Checkpoint
from maestro.rewards.encode import changes_of
from maestro.rewards.files import load_card, load_reward, weights_name
from maestro.rewards.fit import FitConfig, fit
from maestro.rewards.job import CHECKPOINT, FitJob, fit_job, preference_sha256, read_judged
from maestro.rewards.report import look, rewards_of

CONFIG = FitConfig(epochs=8, batch_size=50, precision="float32")


def make_job(judged, out: Path, **changes) -> FitJob:
    return dataclasses.replace(
        FitJob("merchant", judged.data, (judged.verdicts,), out, CONFIG, "cpu"), **changes
    )


@pytest.fixture(scope="module")
def fitted(judged, tmp_path_factory):
    job = make_job(judged, tmp_path_factory.mktemp("fitted") / "reward")
    found = read_judged(Content.find(), job)
    return job, found, fit_job(found, job)


def test_the_card_says_what_the_model_is_and_how_good(fitted, judged):
    job, found, card = fitted
    assert load_card(job.out) == card
    assert card.annotator == "rules" and card.skill == "merchant" and card.world == "nethack"
    assert card.skill_sha256 == preference_sha256(found.goal)
    assert card.data["pairs"] == 800 and card.data["sources"] == {"reference": 144}
    assert card.held_out["decided_pairs"] > 5 and 0 <= card.held_out["accuracy"] <= 1
    assert sum(card.held_out["calibration"]["count"]) == card.data["held_out_pairs"]
    assert len(card.fit["curve"]) <= 8 and card.fit["preset"] == "small"
    assert not (job.out / CHECKPOINT).exists()


def test_mean_std_and_threshold_are_those_of_the_distinct_captions(fitted, judged):
    job, found, card = fitted
    reward = load_reward(job.out)
    table = read_transitions(judged.data)
    values = rewards_of(reward, table["message"].to_pylist(), changes_of(table))
    assert len(values) == found.pairs.num_captions == 144
    assert values.mean() == pytest.approx(0, abs=1e-5) and values.std() == pytest.approx(1, abs=1e-5)
    assert card.quantiles["0.85"] == pytest.approx(np.quantile(values, 0.85), abs=1e-5)
    nothing = float(reward(torch.zeros(1, 256, dtype=torch.uint8), torch.zeros(1, 5)))
    assert card.nothing == pytest.approx(nothing, abs=1e-5)
    certain = nothing + math.log(9) / card.std
    assert card.threshold == pytest.approx(max(card.quantiles["0.85"], certain, 0), abs=1e-5)
    assert card.paid_share == pytest.approx((values >= card.threshold).mean())


def test_looking_shows_extremes_in_order_and_the_agreement_with_rules(fitted, judged):
    job, found, card = fitted
    figures = look(load_reward(job.out), read_transitions(judged.data), found.goal, num_shown=5)
    top, bottom = ([row["reward"] for row in figures[key]] for key in ("top", "bottom"))
    assert top == sorted(top, reverse=True) and bottom == sorted(bottom) and top[-1] > bottom[-1]
    assert sum(figures["histogram"]["counts"]) == figures["captions"] == 144
    assert figures["rules"]["agreement"] > 0.6
    assert 0 < figures["paid_share"] <= 0.16 and figures["paid_share"] == pytest.approx(card.paid_share)


def test_a_dataset_that_has_grown_since_is_still_the_one_that_was_judged(judged, tmp_path):
    data = shutil.copytree(judged.data, tmp_path / "data")
    row = next(iter(read_transitions(data).to_pylist()))
    writer = TransitionWriter(data, world="nethack", caption_version=1)
    writer.add_shard([Transition(**{**row, "caption": "new"})], {"steps": 1, "episodes": 1})
    found = read_judged(Content.find(), make_job(judged, tmp_path, data=data))
    assert found.dataset["transitions"] == 144


def test_several_verdict_files_of_one_dataset_count_together(judged, tmp_path):
    job = make_job(judged, tmp_path, verdicts=(judged.verdicts, judged.verdicts))
    assert len(read_judged(Content.find(), job).pairs.pairs) == 1_600


def rewritten(judged, folder: Path, *, info: dict | None = None, **columns) -> Path:
    table, found = read_verdicts(judged.verdicts)
    for name, value in columns.items():
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, [[value] * table.num_rows])
    path = folder / "verdicts.parquet"
    found = {key: value for key, value in found.items() if key != "version"}
    write_verdicts(path, [table.to_pydict()], {**found, **(info or {})})
    return path


@pytest.mark.parametrize(
    ("info", "columns", "error", "message"),
    [
        ({"skill": "descender"}, {}, DatasetError, "verdicts for 'descender'"),
        ({"dataset": "00ff"}, {}, DatasetError, "other transitions"),
        ({"preference": "Prefer nothing."}, {}, DatasetError, "edited since"),
        ({}, {"preference": 3, "p_first": None}, FitError, "could not be understood"),
        ({}, {"preference": 2, "p_first": 0.5}, FitError, "all are ties"),
        ({}, {"preference": 2, "p_first": 0.58}, FitError, "all are ties"),
        ({}, {"first": 5_000}, DatasetError, "row 5000"),
    ],
)
def test_verdicts_that_do_not_fit_are_refused(judged, tmp_path, info, columns, error, message):
    job = make_job(judged, tmp_path, verdicts=(rewritten(judged, tmp_path, info=info, **columns),))
    with pytest.raises(error, match=message):
        read_judged(Content.find(), job)


def test_soft_ties_are_counted_as_ties(judged, tmp_path):
    table, info = read_verdicts(judged.verdicts)
    columns = table.to_pydict()
    columns["p_first"] = [{0: 0.9, 1: 0.1, 2: 0.55}[code] for code in columns["preference"]]
    path = tmp_path / "verdicts.parquet"
    kept = {key: value for key, value in info.items() if key != "version"}
    write_verdicts(path, [columns], kept | {"annotator": "llm"})
    job = make_job(
        judged, tmp_path / "reward", verdicts=(path,), config=CONFIG.model_copy(update={"epochs": 1})
    )
    hard = read_judged(Content.find(), make_job(judged, tmp_path)).pairs
    found = read_judged(Content.find(), job)
    assert (
        found.pairs.decided.tolist() == hard.decided.tolist() == [code != 2 for code in columns["preference"]]
    )
    card = fit_job(found, job)
    assert card.data["ties"] == columns["preference"].count(2) > 50
    held_out = fit(found.pairs, job.config).held_out
    assert card.held_out["decided_pairs"] == int(held_out.decided.sum()) < len(held_out.pairs)


def test_a_network_that_sees_less_is_scaled_and_looked_at_over_what_it_sees(judged, tmp_path):
    config = FitConfig(preset="paper", epochs=1, batch_size=200, precision="float32")
    job = make_job(judged, tmp_path / "reward", config=config)
    found = read_judged(Content.find(), job)
    card = fit_job(found, job)
    reward, table = load_reward(job.out), read_transitions(judged.data)
    values = rewards_of(reward, sorted(set(table["message"].to_pylist())), np.zeros((48, 5), np.int8))
    assert card.data["captions"] == len(values) == 48  # gold is all that differs else, and it is masked
    assert values.mean() == pytest.approx(0, abs=1e-4) and values.std() == pytest.approx(1, abs=1e-3)
    figures = look(reward, table, found.goal, num_shown=5)
    assert figures["captions"] == sum(figures["histogram"]["counts"]) == 48
    assert len({row["message"] for row in figures["top"]}) == 5


def test_verdicts_by_rules_that_were_edited_since_are_refused(judged, monkeypatch, tmp_path):
    goal = find_goal(Content.find(), "merchant")
    edited = dataclasses.replace(goal, rules=tuple(reversed(goal.rules)))
    job = make_job(judged, tmp_path)
    monkeypatch.setattr("maestro.rewards.job.find_goal", lambda content, skill: edited)
    read_judged(Content.find(), job)  # the same rules in another order judge alike
    turned = tuple(rule.model_copy(update={"score": -rule.score}) for rule in goal.rules)
    edited = dataclasses.replace(goal, rules=turned)
    with pytest.raises(DatasetError, match="rules have been edited since"):
        read_judged(Content.find(), job)


def test_a_missing_or_cut_file_is_named(judged, tmp_path):
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(judged.verdicts.read_bytes()[:500])
    for path, said in ((cut, "damaged"), (tmp_path / "none.parquet", "no verdicts")):
        with pytest.raises(DatasetError, match=said):
            read_judged(Content.find(), make_job(judged, tmp_path, verdicts=(path,)))
    data = shutil.copytree(judged.data, tmp_path / "data")
    shard = data / "shard-00001.parquet"
    shard.write_bytes(shard.read_bytes()[: shard.stat().st_size // 2])
    with pytest.raises(DatasetError, match="damaged"):
        read_judged(Content.find(), make_job(judged, tmp_path, data=data))
    pq.write_table(pq.read_table(judged.data / "shard-00001.parquet").drop_columns(["gold_after"]), shard)
    with pytest.raises(DatasetError, match="gold_after"):
        read_judged(Content.find(), make_job(judged, tmp_path, data=data))


def test_a_fit_that_was_stopped_after_every_epoch_ends_as_if_it_had_not_been(judged, tmp_path):
    config = CONFIG.model_copy(update={"ensemble": 2})
    whole, cut = (make_job(judged, tmp_path / name, config=config) for name in ("whole", "cut"))
    found = read_judged(Content.find(), whole)
    fit_job(found, whole)
    for _ in range(20):  # every session ends after one epoch
        seen = []

        def stop(epoch, seen=seen):
            if seen:
                raise KeyboardInterrupt
            seen.append(epoch)

        try:
            fit_job(found, cut, progress=stop)
            break
        except KeyboardInterrupt:
            assert not (cut.out / "card.json").exists()
    assert load_card(cut.out) == load_card(whole.out)
    assert not (cut.out / CHECKPOINT).exists()


def test_a_checkpoint_of_another_fit_or_a_damaged_one_is_told_of_and_does_not_count(tmp_path):
    path, cpu, told = tmp_path / "state.pt", torch.device("cpu"), []
    Checkpoint(path, "a", told.append).save({"x": 1})
    assert Checkpoint(path, "a", told.append).load(cpu) == {"x": 1} and told == []
    assert Checkpoint(path, "b", told.append).load(cpu) == {} and "of another fit" in told.pop()
    whole = path.read_bytes()
    for damaged in (whole[:40], whole[:-40], b"", b"\0" * len(whole)):
        path.write_bytes(damaged)
        assert Checkpoint(path, "a", told.append).load(cpu) == {} and "damaged" in told.pop()
    blocked = Checkpoint(tmp_path / "state.pt" / "below", "a", told.append)
    blocked.save({"x": 1})
    assert "no checkpoint could be written" in told.pop()


def test_a_damaged_checkpoint_costs_the_fit_nothing_but_time(fitted, judged, tmp_path):
    _, found, card = fitted
    again, told = make_job(judged, tmp_path / "reward"), []
    again.out.mkdir()
    (again.out / CHECKPOINT).write_bytes(b"PK no zip")
    assert fit_job(found, again, notice=told.append) == card
    assert len(told) == 1 and "damaged" in told[0]


def test_while_one_process_fits_a_second_is_refused(fitted, judged, tmp_path):
    _, found, card = fitted
    again = make_job(judged, tmp_path / "reward")
    script = (
        "import sys, pathlib\nfrom maestro.rewards.files import sole_writer\n"
        "with sole_writer(pathlib.Path(sys.argv[1])):\n    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", script, str(again.out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout and other.stdout.readline() == "held\n"
        with pytest.raises(FitError, match="another process is fitting"):
            fit_job(found, again)
        other.kill()
    assert fit_job(found, again) == card


def test_a_model_stays_whole_when_its_replacement_fails(fitted, judged, tmp_path, monkeypatch):
    job, found, card = fitted
    out = shutil.copytree(job.out, tmp_path / "reward")
    again = dataclasses.replace(job, out=out, config=CONFIG.model_copy(update={"seed": 5, "epochs": 1}))

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("maestro.rewards.files.write_atomically", full)
    with pytest.raises(FitError, match="No space left"):
        fit_job(found, again)
    assert load_reward(out).card == card
    monkeypatch.undo()
    new = fit_job(found, again)
    assert load_reward(out).card == new != card
    assert sorted(path.name for path in out.iterdir()) == ["card.json", weights_name(new)]


def test_files_that_do_not_belong_together_are_refused(fitted, tmp_path):
    job, _, card = fitted
    out = shutil.copytree(job.out, tmp_path / "reward")
    weights = out / weights_name(card)
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(FitError, match="not those the card"):
        load_reward(out)
    os.unlink(weights)
    with pytest.raises(FitError, match="cannot be read"):
        load_reward(out)
    for key, value, said in (
        ("version", 2, "version 2"),
        ("encoder_version", 9, "encoder version 9"),
        ("colour", "red", "colour"),
        ("mean", "big", "mean"),
    ):
        content = {**json.loads((job.out / "card.json").read_text()), key: value}
        (out / "card.json").write_text(json.dumps(content))
        with pytest.raises(MaestroError, match=said):
            load_reward(out)
    (out / "card.json").write_text("{")
    with pytest.raises(FitError, match="cannot be read"):
        load_reward(out)
    with pytest.raises(FitError, match="no reward model here"):
        load_reward(tmp_path / "nowhere")
