"""What is paid for is kept and counted: answers of workers that fail, and money that other processes spend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maestro.content import Content
from maestro.errors import AnnotationError
from maestro.preferences.annotate import Progress
from maestro.preferences.job import Annotation, Job, JobOptions
from maestro.preferences.judgements import Judgement
from maestro.preferences.pairs import Preference
from maestro.preferences.store import JudgementStore

QUICK = {"timeout_s": 5.0, "total_s": 10.0, "backoff_s": 0.01, "max_backoff_s": 0.05}


def job(data: Path, llm: str, pairs: int = 100, max_unparsed: float = 0.05, **settings: Any) -> Job:
    options = JobOptions(max_unparsed=max_unparsed, llm_settings={**QUICK, **settings})
    return Job("descender", data, pairs, "llm", llm, "none", options)


def work(job: Job, store: Path, **how: Any) -> Progress:
    with Annotation(Content.find(), job) as annotation, JudgementStore(store) as judgements:
        return annotation.ask(judgements, **how)


def test_a_worker_that_cannot_go_on_hands_back_what_was_answered(dataset, tmp_path, judge):
    server = judge("--mode", "other-model")
    spec = job(dataset, server.spec, max_in_flight=64)
    with pytest.raises(AnnotationError, match="another"):
        work(spec, tmp_path / "s", workers=1)
    with JudgementStore(tmp_path / "s") as store:
        assert 50 < store.count() <= 61  # all that the first model said, in a task that ended badly


def test_tasks_of_paid_questions_are_as_small_as_what_may_be_lost(dataset, tmp_path, judge, monkeypatch):
    sizes = []

    def noting(function, tasks, **how):
        for number, task in enumerate(tasks):
            sizes.append(len(task.questions))
            yield number, function(task)

    monkeypatch.setattr("maestro.preferences.annotate.map_tasks", noting)
    work(Job("descender", dataset, 200, "random"), tmp_path / "r", workers=1)
    assert sizes[0] == 256
    sizes.clear()
    spec = job(dataset, judge().spec, max_in_flight=8, pairs=20)
    answered = work(spec, tmp_path / "s", workers=1).answered
    assert max(sizes) == 8 and sum(sizes) == answered


def test_a_failure_that_ends_a_run_costs_no_answer_beside_it(dataset, tmp_path, judge):
    work(job(dataset, judge().spec, pairs=150), tmp_path / "s")  # from so many on a failure can end a run
    with JudgementStore(tmp_path / "s") as store:
        before = store.count()
    spec = job(dataset, judge("--mode", "refuse-some").spec, 300, max_unparsed=0.0, max_in_flight=256)
    with pytest.raises(AnnotationError, match="no answer that can be used"):
        work(spec, tmp_path / "s", workers=1)
    with JudgementStore(tmp_path / "s") as store:
        assert before >= 200 and before + 230 < store.count() < before + 256


def test_what_another_shard_spends_meanwhile_counts_too(dataset, tmp_path, judge, monkeypatch):
    monkeypatch.setattr("maestro.preferences.annotate._RECKON_S", 0.0)
    monkeypatch.setattr("maestro.preferences.annotate._RECKONING", 1e9)
    prices = {"price_prompt": 100.0, "price_completion": 0.0, "max_in_flight": 4}
    spec = job(dataset, judge().spec, **prices)
    with Annotation(Content.find(), spec) as annotation:
        context = annotation.context
    told = []

    def meanwhile(progress):
        if progress.answered and not told:
            told.append(progress.answered)
            with JudgementStore(tmp_path / "s") as other:  # 50 cents, as another process would
                keys = (bytes([n]) * 32 for n in range(50))
                other.add(
                    context, [Judgement(key, key, key, Preference.TIE, prompt_tokens=100) for key in keys]
                )

    progress = work(spec, tmp_path / "s", max_cost=1.0, on_progress=meanwhile)
    assert 45 <= progress.answered <= 50
    assert progress.cost == pytest.approx((progress.answered + 50) / 100)
    assert "cost limit" in progress.stopped
