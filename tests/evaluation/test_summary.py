"""Figures from records: counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.evaluation.episode import Ending, EpisodeRecord, SkillUse, episode_seeds
from maestro.evaluation.statistics import wilson
from maestro.evaluation.summary import format_estimate, format_value, published_row, summarise
from maestro.specs import Published, SuccessSpec, TaskSpec

SPEC = TaskSpec(
    name="minetown", instruction="Reach Minetown.", fallback="discoverer",
    success=SuccessSpec(true="a", compatible="b"),
    published=Published(value=7.2, stderr=0.5, unit="percent", source="the paper"),
)  # fmt: skip


def record(number: int, true: float | None, by: str, cause: str = "", **facts: Any) -> EpisodeRecord:
    uses = {"discoverer": SkillUse(activations=2, steps=30, turns=20, ended={"max_turns": 2})}
    if number == 0:
        uses["descender"] = SkillUse(activations=1, steps=30, turns=80, refused=4, ended={"episode": 1})
    success = {"true": true, "compatible": None if true is None else 0.0}
    ending = Ending(by=by, cause=cause)  # type: ignore[arg-type]
    return EpisodeRecord(
        episode=number, seeds=episode_seeds(0, number), success=success, ended=ending,
        skills=uses if by != "failed" else {}, **facts,
    )  # fmt: skip


RECORDS = [
    record(0, 1.0, "success", steps=60, score=100, max_depth=5),
    record(1, 0.0, "died", "newt", steps=30, score=50, max_depth=1),
    record(2, 0.0, "died", "newt", steps=30, score=0, max_depth=3),
    record(3, 0.0, "error", "policy.py:3: boom", steps=30, score=10, max_depth=1),
    record(4, None, "failed", "its worker process died 3 times"),
]


@pytest.fixture
def figures() -> dict[str, Any]:
    return summarise(SPEC, RECORDS, policy="reference", seed=7, requested=6)


def test_failed_episodes_are_in_no_mean(figures: dict[str, Any]):
    assert figures["episodes"] == 4
    assert figures["failed"] == 1
    assert figures["success"]["true"] == wilson(1, 4).to_dict()
    assert figures["success"]["compatible"]["mean"] == 0.0
    assert figures["means"]["score"]["mean"] == 40.0
    assert figures["total_steps"] == 150
    assert len(figures["seeds"]) == 4


def test_what_has_not_ended_is_said(figures: dict[str, Any]):
    assert figures["complete"] is False
    assert summarise(SPEC, RECORDS, policy="reference", seed=7, requested=5)["complete"] is True


def test_endings_causes_and_errors_are_counted(figures: dict[str, Any]):
    assert figures["ended"] == {"died": 2, "success": 1, "error": 1, "failed": 1}
    assert figures["causes"] == {"newt": 2}
    assert [(error["episode"], error["by"]) for error in figures["errors"]] == [(3, "error"), (4, "failed")]


def test_skills_are_added_up(figures: dict[str, Any]):
    assert figures["skills"]["discoverer"] == {
        "share": 0.8, "share_turns": 0.5, "activations": 2.0, "total_activations": 8, "steps_per_activation": 15.0,
        "success": None, "refused": 0.0, "asked": 4, "refused_share": 0.0, "forced": 0.0, "ended": {"max_turns": 8},
    }  # fmt: skip
    assert figures["skills"]["descender"]["share"] == 0.2
    assert figures["skills"]["descender"]["refused"] == 1.0
    assert figures["skills"]["descender"]["refused_share"] == 4 / 5
    assert figures["refused_share"] == 4 / 9


def test_facts_the_world_lacks_have_no_mean(figures: dict[str, Any]):
    assert "max_depth" in figures["means"]
    assert "experience_level" not in figures["means"]


def test_no_result_at_all_gives_no_mean():
    figures = summarise(SPEC, RECORDS[4:], policy="reference", seed=7, requested=1)
    assert figures["success"] == {"true": None, "compatible": None}
    assert figures["means"] == {}
    assert figures["skills"] == {}


def test_the_published_row_is_on_our_scale():
    row = published_row(SPEC.published)
    assert row is not None
    assert row["mean"] == 0.072
    assert row["interval"] == pytest.approx([0.0622, 0.0818], abs=1e-4)
    assert published_row(None) is None


def test_a_published_interval_stays_within_what_is_possible():
    row = published_row(Published(value=0.5, stderr=0.9, unit="percent", source="x"))
    assert row is not None
    assert row["interval"][0] == 0.0


def test_values_are_written_as_people_read_them():
    assert format_value(0.072, "rate") == "7.2 %"
    assert format_value(0.66, "count") == "0.66"
    assert format_estimate({"mean": 0.072, "interval": [0.0622, 0.0818]}, "rate") == "7.2 % (6.2 to 8.2)"
    assert format_estimate({"mean": 1.6, "interval": [1.5, 1.7]}, "count") == "1.60 (1.50 to 1.70)"
    assert format_estimate(None, "rate") == "-"
