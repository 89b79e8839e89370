"""`maestro fit-reward`: what it refuses, and where its results go."""

from __future__ import annotations

import json

import pytest

from maestro.cli import main
from maestro.commands.fit_reward import read_fit_config, show_cards
from maestro.content import Content
from maestro.rewards.files import load_card
from maestro.rewards.threads import idle_processors, settle_threads


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("MAESTRO_RUNS", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return tmp_path


def collected(runs) -> None:
    assert main(["collect", "--skill", "opener", "--steps", "3000", "--config", "workers=0"]) == 0
    assert main(["annotate", "--skill", "opener", "--config", "pairs=300"]) == 0


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


def test_settings_are_presets_files_and_keys_the_later_counting(tmp_path):
    (tmp_path / "mine.toml").write_text("epochs = 7\nseed = 3\n")
    found = read_fit_config(["paper", str(tmp_path / "mine.toml"), "epochs=5"])
    assert (found.preset, found.learning_rate, found.epochs, found.seed) == ("paper", 1e-5, 5, 3)
    assert read_fit_config([]).preset == "small"


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
    assert main(["collect", "--skill", "opener", "--steps", "3000", "--config", "workers=0"]) == 0
    capsys.readouterr()
    command = ["bench", "fit", "--data", str(runs / "collect-corridor"), "--skill", "opener"]
    assert main([*command, "--pairs", "300", "--repeats", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["presets"]) == {"paper", "small"} and found["pairs_per_s"] > 0
    paper = found["presets"]["paper"]
    assert 0 < paper["distinct_messages"] <= 1
    assert paper["times_plain"] == pytest.approx(paper["pairs_per_s"] / paper["plain_pairs_per_s"])


def test_a_model_that_would_pay_nothing_says_so(capsys):
    card = load_card(Content.find().skill("merchant").folder / "reward")
    show_cards([card])
    assert capsys.readouterr().err == ""
    show_cards([card.model_copy(update={"paid_share": 0.0})])
    assert "merchant: no caption of the data would be paid" in capsys.readouterr().err
