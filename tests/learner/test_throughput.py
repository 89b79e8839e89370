"""What the benchmark of training reads from a run."""

from __future__ import annotations

import json

from maestro.learner.throughput import _turns_told


def test_a_report_of_no_step_tells_no_turns(tmp_path):
    (tmp_path / "games").mkdir()
    reports = {
        "0": [{"turns_per_step": 9.0}, {"turns_per_step": 1.0}, {"time": 3.0}],
        "1": [{"time": 1.0}, {"turns_per_step": 2.0}],
    }
    for worker, lines in reports.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / "games" / f"{worker}.jsonl").write_text(text)
    assert sorted(_turns_told(tmp_path)) == [1.0, 2.0]
