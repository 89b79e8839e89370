"""What annotating costs besides the model: time for each question, and memory over a million pairs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from maestro.content import Content
from maestro.preferences.job import Annotation, Job, JobOptions
from maestro.preferences.store import JudgementStore

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def memory_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


def test_a_core_serves_500_pairs_a_second(tmp_path, judge, helpers):
    data = helpers.write_dataset(tmp_path / "data", helpers.mixed_rows(1000))
    server = judge()
    job = Job(
        "descender", data, 2000, "llm", server.spec, options=JobOptions(llm_settings={"max_in_flight": 64})
    )
    with Annotation(Content.find(), job) as annotation, JudgementStore(tmp_path / "s") as store:
        cpu = time.process_time()  # the core's time: what others do on this machine does not count
        progress = annotation.ask(store)
        cpu = time.process_time() - cpu
    assert progress.answered > 3_500
    assert progress.answered / 2 / cpu > 500


def test_memory_is_flat_over_a_million_pairs(tmp_path, helpers):
    data = helpers.write_dataset(tmp_path / "data", helpers.mixed_rows(3000))
    marks = []
    job = Job("descender", data, 1_000_000, "rules")
    with Annotation(Content.find(), job) as annotation, JudgementStore(tmp_path / "s") as store:

        def note(progress) -> None:
            if not marks or progress.answered - marks[-1][0] >= 50_000:
                marks.append((progress.answered, memory_mib()))

        progress = annotation.ask(store, on_progress=note)
    assert progress.answered > 700_000
    assert len(marks) > 10
    assert marks[-1][1] - marks[1][1] < 20
