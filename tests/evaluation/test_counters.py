"""Measuring State's counters over whole episodes of the reference skills."""

from __future__ import annotations

import json

from maestro.cli import main
from maestro.content import Content
from maestro.evaluation.counters import measure_counters, table
from maestro.evaluation.games import Setup


def test_counters_are_measured_over_episodes_of_several_tasks(monkeypatch):
    monkeypatch.setattr("maestro.evaluation.games.world_options", lambda task: {"max_steps": 400})
    roots = Content.find().roots
    setups = [Setup(task, "reference", 3, 2, roots) for task in ("gnomish", "transactions")]
    done = []
    findings = measure_counters(setups, 5, progress=done.append)
    assert findings.episodes == 5 and done == [2, 3, 5]
    assert 400 <= findings.steps <= 5 * 400
    rows = {row.counter: row for row in table(findings)}
    kills = rows["num_kills"]
    assert kills.events > 5 and kills.miss_rate is not None and kills.miss_rate.low <= kills.miss_rate.mean
    assert rows["num_items_sold"].events or rows["num_items_sold"].miss_rate is None
    assert measure_counters(setups, 5) == findings


def test_the_command_prints_the_table(monkeypatch, capsys):
    monkeypatch.setattr("maestro.evaluation.games.world_options", lambda task: {"max_steps": 100})
    assert main(["bench", "counters", "--episodes", "2", "--games", "1"]) == 0
    shown = capsys.readouterr().out
    assert "num_kills" in shown and "branch_depth: right at the end of" in shown
    assert main(["bench", "counters", "--episodes", "2", "--games", "1", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["episodes"] == 2 and {row["counter"] for row in data["counters"]} >= {
        "num_kills",
        "num_meals",
    }


def test_no_episodes_are_refused(capsys):
    assert main(["bench", "counters", "--episodes", "0"]) == 1
    assert "at least 1" in capsys.readouterr().err
