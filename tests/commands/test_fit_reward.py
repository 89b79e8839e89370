"""`maestro fit-reward`: what it refuses, and where its results go."""

from __future__ import annotations

import json

import pytest

from maestro.cli import main
from maestro.rewards.threads import idle_processors, settle_threads


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("MAESTRO_RUNS", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return tmp_path


def collected(runs) -> None:
    assert main(["collect", "--skill", "opener", "--steps", "3000", "--workers", "0"]) == 0
    assert main(["annotate", "--skill", "opener", "--pairs", "300"]) == 0


def test_it_fits_what_collect_and_annotate_left_behind(runs, capsys):
    collected(runs)
    (runs / "fit.toml").write_text("epochs = 1\nensemble = 2\nbatch_size = 64\n")
    capsys.readouterr()
    assert main(["fit-reward", "--skill", "opener", "--config", str(runs / "fit.toml"), "--json"]) == 0
    card = json.loads(capsys.readouterr().out)
    assert card["num_models"] == 2 and card["annotator"] == "rules" and card["data"]["pairs"] == 300
    assert card["folder"] == str(runs / "rewards" / "skills" / "opener" / "reward")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--skill and --all"),
        (["--skill", "opener", "--all"], "--skill and --all"),
        (["--skill", "opener", "--config", "papre"], "paper, small"),
        (["--skill", "openr"], "opener"),
        (["--skill", "opener"], "no verdicts"),
    ],
)
def test_a_wrong_command_line_is_answered(runs, capsys, arguments, said):
    assert main(["fit-reward", *arguments]) == 1
    assert said in capsys.readouterr().err


def test_a_device_that_is_not_there_and_a_bad_file_are_named(runs, capsys):
    collected(runs)
    capsys.readouterr()
    assert main(["fit-reward", "--skill", "opener", "--device", "cuda:7"]) == 1
    assert "cuda:7" in capsys.readouterr().err
    (runs / "fit.toml").write_text('preset = "papr"\n')
    assert main(["fit-reward", "--skill", "opener", "--config", str(runs / "fit.toml")]) == 1
    assert "papr" in capsys.readouterr().err
    (runs / "annotate-opener-llm").mkdir()
    (runs / "annotate-opener-llm" / "verdicts.parquet").write_bytes(b"")
    assert main(["fit-reward", "--skill", "opener"]) == 1
    assert "several annotations" in capsys.readouterr().err


def test_a_busy_machine_gets_one_thread(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(4)))
    for load, threads in ((0.2, 4), (2.0, 2), (9.0, 1)):
        monkeypatch.setattr("os.getloadavg", lambda load=load: (load, 0.0, 0.0))
        assert idle_processors() == threads
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert settle_threads() == 1


def test_bench_fit_measures_both_presets(runs, capsys):
    assert main(["collect", "--skill", "opener", "--steps", "3000", "--workers", "0"]) == 0
    capsys.readouterr()
    command = ["bench", "fit", "--data", str(runs / "collect-corridor"), "--skill", "opener"]
    assert main([*command, "--pairs", "2000", "--repeats", "1", "--threads", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["presets"]) == {"paper", "small"} and found["pairs_per_s"] > 0
    assert 0 < found["presets"]["paper"]["distinct_messages"] <= 1
