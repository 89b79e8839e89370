"""Settings that were others in earlier sessions of a run, as a policy's card tells them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from maestro.learner.config import Pull, TrainConfig
from maestro.learner.sessions import earlier_settings

FINAL = TrainConfig.model_validate({"learning_rate": 1e-4, "games": {"pay": {"count_by": "level"}}})


def write(run: Path, *sessions: tuple[int, dict[str, Any]]) -> None:
    with open(run / "settings.jsonl", "w") as file:
        for begin, changed in sessions:
            settings = FINAL.model_dump(mode="json") | {"probes": {"tasks": ["door"]}} | changed
            file.write(json.dumps({"from": begin, **settings}) + "\n")


def test_what_was_set_otherwise_is_told_with_the_steps_it_held_for(tmp_path):
    pay = FINAL.model_dump(mode="json")["games"]
    del pay["pay"]["count_by"]  # a run of an older maestro, which had no such setting: the default
    write(
        tmp_path,
        (0, {"learning_rate": 3e-4, "games": pay}),
        (100, {"learning_rate": 3e-4, "games": pay, "save_every_s": 7, "steps": 900, "init": "elsewhere"}),
        (250, {"learning_rate": 3e-4}),
        (400, {}),
    )
    both = {"games.pay.count_by": "caption", "learning_rate": 3e-4}
    first, second = {"from": 0, "to": 250, **both}, {"from": 250, "to": 400, "learning_rate": 3e-4}
    assert earlier_settings(tmp_path, FINAL, 900) == [first, second]
    assert earlier_settings(tmp_path, FINAL, 300) == [first, {**second, "to": 300}]
    assert earlier_settings(tmp_path, FINAL, 100) == [{**first, "to": 100}]


def test_a_pull_that_came_or_went_is_told(tmp_path):
    pull = {"coefficient": 0.5, "final": 0.0, "steps": 100, "share": 0.25}
    pulled = FINAL.model_copy(update={"pull": Pull.model_validate(pull)})
    names = sorted(f"pull.{name}" for name in pull)
    write(tmp_path, (0, {}), (50, {"pull": pull, "init": "a"}))
    assert earlier_settings(tmp_path, pulled, 90) == [{"from": 0, "to": 50, **dict.fromkeys(names)}]
    write(tmp_path, (0, {"pull": pull, "init": "a"}), (50, {"init": "a"}))
    (told,) = earlier_settings(tmp_path, FINAL, 90)
    assert told == {"from": 0, "to": 50, **{f"pull.{name}": value for name, value in pull.items()}}


def test_a_session_that_took_no_step_is_not_told(tmp_path):
    write(tmp_path, (0, {}), (50, {"learning_rate": 1.0}), (50, {}))
    assert earlier_settings(tmp_path, FINAL, 80) == []


def test_what_another_version_wrote_is_told_as_it_stands(tmp_path):
    write(tmp_path, (0, {"learning_rate": 2e-4, "returns": "of old"}))
    assert earlier_settings(tmp_path, FINAL, 9) == [
        {"from": 0, "to": 9, "learning_rate": 2e-4, "returns": "of old"}
    ]


def test_a_run_that_does_not_say_tells_nothing(tmp_path):
    assert earlier_settings(tmp_path, FINAL, 10) == []
