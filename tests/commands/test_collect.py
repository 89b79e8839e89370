"""`maestro collect` as its users meet it."""

from __future__ import annotations

import json

import pytest

from maestro.cli import main
from maestro.preferences.transitions import Transition, read_transitions

HERE = ["--config", "workers=0"]


@pytest.fixture(autouse=True)
def _runs(tmp_path, monkeypatch):
    monkeypatch.setenv("MAESTRO_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("COLUMNS", "120")


def test_a_dataset_grows_and_says_what_it_holds(tmp_path, capsys):
    assert main(["collect", "--skill", "opener", "--steps", "500", *HERE]) == 0
    out = capsys.readouterr().out
    folder = tmp_path / "runs" / "collect-corridor"
    assert "door" in out
    assert f"Next: maestro annotate --skill opener --config data={folder}" in out
    before = read_transitions(folder).num_rows
    assert main(["collect", "--skill", "opener", "--steps", "3000", "--json", "--config", "workers=2"]) == 0
    card = json.loads(capsys.readouterr().out)
    assert card["steps"] >= 3000
    assert card["rows"] == read_transitions(folder).num_rows > before
    assert card["settings"]["mix"] == {"reference": 0.7, "random": 0.3}
    assert sum(card["strata"].values()) == card["rows"]


def test_another_seed_does_not_mix_in(capsys):
    assert main(["collect", "--skill", "opener", "--steps", "100", *HERE]) == 0
    assert main(["collect", "--skill", "opener", "--steps", "100", *HERE, "seed=2"]) == 1
    assert "started with seed = 0, and now seed = 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--skill", "opner"], "did you mean 'opener'"),
        (["--skill", "opener", "--all"], "--skill and --all"),
        (["--steps", "0"], "--steps: the value is 0"),
        (["--steps", "2.5"], "--steps: the value is 2.5. Expected: a whole number"),
        (["--skill", "opener", "--mix", "refrence:1"], "--mix: there is no policy 'refrence'"),
        (["--skill", "opener", "--engine", "rey"], "did you mean 'ray'"),
        (["--config", "ttyrecs=/nonexistent"], "there are no recordings here"),
        (["--mix", "random", "--config", "ttyrecs=games"], "--mix: it is given together with ttyrecs"),
        (["--skill", "merchant", "--config", "ttyrecs=games"], "--skill: it is given together with ttyrecs"),
        (["--engine", "ray", "--config", "ttyrecs=games"], "--engine: it is given together with ttyrecs"),
        (["--config", "ttyrecs=games", "workers=2"], "workers: it is given together with ttyrecs"),
        (["--config", "ttyrecs=games", "seed=2"], "seed: it is given together with ttyrecs"),
        (["--config", "transitions=0"], "transitions"),
        (["--config", "sed=1"], "did you mean 'seed'"),
        (["--config", "seed"], "neither a file nor a key"),
        (["--config", "nowhere.toml"], "the file does not exist"),
        (["--skill", "opener", "--run", "/proc/x"], "/proc/x"),
    ],
)
def test_mistakes_are_explained(flags, said, capsys):
    assert main(["collect", *flags]) == 1
    assert said in capsys.readouterr().err


def recording(episode: int, rows: int) -> list[Transition]:
    return [
        Transition(
            "", "", "Hello.", 1, 1, 0, 0, 8, 8, 8, 8, 1, 1, 1, 1, f"{episode} {row}", "message", episode, row, 0, 0,
            "ttyrec",
        )
        for row in range(rows)
    ]  # fmt: skip


def test_recorded_games_are_read_until_there_are_enough(tmp_path, monkeypatch, capsys):
    read = []

    def games(folder, horizon):
        for episode in range(5):
            read.append(episode)
            yield recording(episode, 10)

    monkeypatch.setattr("maestro.commands.collect.recorded_rows", games)
    words = ["collect", "--json", "--config", f"ttyrecs={tmp_path}"]

    def rows(*flags: str, transitions: int | None = None) -> int:
        assert main([*words, *([f"transitions={transitions}"] if transitions else []), *flags]) == 0
        return json.loads(capsys.readouterr().out)["rows"]

    assert rows("--steps", "15") == 20
    assert len(read) < 5, "the rest is not even read"
    assert rows(transitions=30) == 30
    assert rows() == 50
    assert main([*words, "--steps", "90"]) == 0
    assert "the recordings end at 50 steps and 50 transitions" in capsys.readouterr().err


def test_a_shard_that_was_cut_is_explained(tmp_path, capsys):
    assert main(["collect", "--skill", "opener", "--steps", "900", *HERE]) == 0
    path = tmp_path / "runs" / "collect-corridor" / "shard-00001.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    assert main(["collect", "--skill", "opener", "--steps", "900", *HERE]) == 1
    assert "delete it and every later shard" in capsys.readouterr().err
    for later in sorted(path.parent.glob("shard-*.parquet"))[1:]:
        later.unlink()
    assert main(["collect", "--skill", "opener", "--steps", "900", *HERE]) == 0


def test_ctrl_c_says_what_there_is(tmp_path, monkeypatch, capsys):
    words = [
        "collect",
        "--skill",
        "opener",
        "--run",
        str(tmp_path / "mine"),
        "--json",
        "--config",
        "workers=0",
    ]
    assert main([*words, "--steps", "5e2"]) == 0
    before = json.loads(capsys.readouterr().out)
    assert before["complete"] and before["steps"] >= 500

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("maestro.commands.collect._play", interrupted)
    assert main([*words, "--steps", "1e3"]) == 130
    assert json.loads(capsys.readouterr().out) == before | {"complete": False}
