"""`maestro annotate` as its users meet it, on the corridor."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from maestro.cli import main
from maestro.preferences.verdicts import read_verdicts

NOBODY = "openai:m@http://127.0.0.1:9/v1"


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "corridor"
    arguments = [
        "collect",
        "--skill",
        "keyfinder",
        "--steps",
        "2000",
        "--run",
        str(folder),
        "--config",
        "workers=0",
    ]
    assert main(arguments) == 0
    return folder


@pytest.fixture(autouse=True)
def _runs(tmp_path, monkeypatch):
    monkeypatch.setenv("MAESTRO_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("COLUMNS", "120")


def annotate(collected, *words: str) -> int:
    """Give the command: flags first, then settings with "=" or files."""
    flags = [word for word in words if "=" not in word and not word.endswith(".toml")]
    settings = [word for word in words if word not in flags]
    flags = flags if "--skill" in flags else ["--skill", "keyfinder", *flags]
    return main(["annotate", *flags, "--config", f"data={collected}", *settings])


def test_rules_need_nothing_and_are_named_as_such(collected, tmp_path, capsys):
    assert annotate(collected, "pairs=500") == 0
    out = capsys.readouterr().out
    assert "annotator of keyfinder  rules" in out
    assert "Example, a tie" in out
    folder = tmp_path / "runs" / "annotate-keyfinder-rules"
    table, info = read_verdicts(folder / "verdicts.parquet")
    assert (table.num_rows, info["annotator"], info["model"]) == (500, "rules", None)
    assert len(np.load(folder / "rules_keyfinder_default.npy")) == 500
    report = json.loads((folder / "report.json").read_text())
    assert report["strata"]["key"]["drawn"] > 100
    saved = json.loads((folder / "config.json").read_text())["config"]
    assert (saved["skill"], saved["pairs"], saved["prompt"], saved["max_cost"]) == (
        "keyfinder",
        500,
        "default",
        None,
    )
    assert annotate(collected, "pairs=500", "--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert again["asked"] == 0
    answers = tmp_path / "answers.parquet"
    assert annotate(collected, "pairs=500", f"export={answers}") == 0
    rows = pq.read_table(answers).num_rows
    assert 300 < rows <= 500
    assert f"{rows:,} answers: {answers}" in capsys.readouterr().err


def test_chance_is_another_annotator(collected, capsys):
    assert annotate(collected, "pairs=300", "--annotator", "random", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["annotator"] == "random"
    assert 0.3 < report["order_disagreement"] < 0.7


def test_shares_go_into_stores_of_their_own_and_merge(collected, tmp_path, capsys):
    stores = [str(tmp_path / f"{number}.sqlite") for number in (1, 2)]
    for number, store in enumerate(stores, 1):
        assert annotate(collected, "pairs=400", f"shard={number}/2", f"store={store}") == 0
    assert "take it in with --config merge=" in capsys.readouterr().out
    assert annotate(collected, "pairs=400", f"merge={','.join(stores)}", "--json") == 0
    captured = capsys.readouterr()
    assert "new answers from 2 stores" in captured.err
    assert json.loads(captured.out)["asked"] == 0


def test_finer_settings_come_from_a_file(collected, tmp_path, capsys):
    path = tmp_path / "settings.toml"
    path.write_text('prompt = "reworded"\nseed = 3\n')
    assert annotate(collected, "pairs=100", str(path), "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["prompt"], report["seed"]) == ("reworded", 3)
    path.write_text("promt = 'reworded'\n")
    assert annotate(collected, "pairs=100", str(path)) == 1
    assert "did you mean 'prompt'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--annotator", "rule"], "did you mean 'rules'"),
        (["--skill", "all"], "transitions of corridor"),
        (["--skill", "keyfindr"], "did you mean 'keyfinder'"),
        (["--skill", ","], "no skill is named"),
        (["--engine", "rey"], "did you mean 'ray'"),
        (["--annotator", "llm", "--llm", NOBODY, "llm_settings.max_retries=0"], "127.0.0.1:9"),
        (["export=/proc/x.parquet"], "/proc/x.parquet: cannot be written"),
        (["run=/proc/x"], "/proc/x: cannot be written"),
        (["store=/proc/x/s.sqlite"], "/proc/x/s.sqlite"),
        (["llm_settings.max_in_flightt=3", "--annotator", "llm", "--llm", NOBODY], "max_in_flight"),
        (["pairs=some"], "pairs"),
        (["shard=3/2"], "'3/2' is no share"),
        (["pairs=0"], "pairs"),
        (["--annotator", "llm", "--llm", "opnai:m@http://x"], "did you mean 'openai'"),
        (["--annotator", "llm"], "no language model is named"),
        (
            ["--annotator", "llm", "--llm", NOBODY, "--max-cost", "1"],
            "prices are not known",
        ),
        (["merge=/nonexistent"], "there is no such store"),
        (["data=/nonexistent"], "there are no transitions here"),
    ],
)
def test_mistakes_are_explained(collected, flags, said, capsys):
    assert annotate(collected, *flags) == 1
    assert said in capsys.readouterr().err


def test_a_foreign_store_is_explained(collected, tmp_path, capsys):
    path = tmp_path / "s.sqlite"
    path.write_text("no database" * 500)
    assert annotate(collected, f"store={path}") == 1
    assert "no store of judgements" in capsys.readouterr().err
