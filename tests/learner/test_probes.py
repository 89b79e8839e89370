"""Probes: what `maestro eval` is started with, and faults that must not end the training they look at."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from maestro.content import CONTENT_VARIABLE
from maestro.learner import probes
from maestro.learner.checkpoint import CheckpointFile
from maestro.learner.probes import ProbeConfig, Probes, best_probes


@pytest.fixture
def run(tmp_path, monkeypatch) -> Path:
    """Make a run with one checkpoint, whose policy is a file; its probe says in what content it played."""
    monkeypatch.setattr(probes, "find_checkpoints", lambda folder: [CheckpointFile(folder / "c", 5, 7)])
    monkeypatch.setattr(probes, "load_run_policy", lambda folder, steps: (None, {}))

    def save(folder, network, card):
        folder.mkdir(parents=True)
        (folder / "card.json").write_text("{}")

    monkeypatch.setattr(probes, "save_policy", save)
    say = f"import json, os; print(json.dumps({{'error': {{'what': os.environ.get('{CONTENT_VARIABLE}', '-')}}}}))"
    monkeypatch.setattr(probes, "_command", lambda config, place: [sys.executable, "-c", say])
    monkeypatch.setenv(CONTENT_VARIABLE, "theirs")
    tell_roots(tmp_path, [])
    return tmp_path


def tell_roots(run: Path, roots: list[str]) -> None:
    (run / "task.json").write_text(json.dumps({"config": {"games": {"roots": roots}}}))


def probed(run: Path) -> str | None:
    """Give the fault of the only probe."""
    with Probes(run, ProbeConfig(tasks=("door",)), last=None) as looked_at:
        (result,) = looked_at.finish()
        assert looked_at.running is None
    assert not (run / "probes" / str(result.env_steps) / "policy").exists()
    return result.fault


def test_it_plays_the_content_that_the_run_trains_on(run):
    tell_roots(run, ["/one", "/two"])
    assert probed(run) == f"/one{os.pathsep}/two"


def test_without_roots_it_finds_its_content_as_the_run_did(run):
    assert probed(run) == "theirs"


def test_what_cannot_be_started_is_a_fault_of_the_probe_alone(run, monkeypatch):
    monkeypatch.setattr(probes, "_command", lambda config, place: [str(run / "nothing")])
    assert "nothing" in (probed(run) or "")


def test_what_cannot_be_written_is_a_fault_of_the_probe_alone(run, monkeypatch):
    def save(folder, network, card):
        folder.mkdir(parents=True)
        (folder.parent / "eval.json").mkdir()

    monkeypatch.setattr(probes, "save_policy", save)
    assert "eval.json" in (probed(run) or "")


def test_a_result_that_is_gone_is_a_fault_of_the_probe_alone(run, monkeypatch):
    remove = f"import os; os.remove({str(run / 'probes' / '7' / 'eval.json')!r})"
    monkeypatch.setattr(probes, "_command", lambda config, place: [sys.executable, "-c", remove])
    assert "ended with 0" in (probed(run) or "")


def test_the_policy_that_was_best_in_some_task_is_kept(run, monkeypatch):
    means = {7: (0.5, 0.2), 8: (0.5, 0.4), 9: (0.6, 0.1), 10: (0.4, 0.3)}
    config = ProbeConfig(tasks=("door", "key"), games=4, seed=3)

    def command(config, place):
        tasks = zip(
            config.tasks, means[int(place.parent.name if place.name == "eval" else place.name)], strict=True
        )
        told = {
            task: {"episodes": 4, "seed": 3, "success": {"true": {"mean": mean}}, "means": {}, "skills": {}}
            for task, mean in tasks
        }
        return [sys.executable, "-c", f"print({json.dumps(json.dumps({'tasks': told}))})"]

    monkeypatch.setattr(probes, "_command", command)
    kept = []
    for steps in means:
        monkeypatch.setattr(
            probes, "find_checkpoints", lambda folder, at=steps: [CheckpointFile(folder / "c", 5, at)]
        )
        with Probes(run, config, last=None) as looked_at:
            assert [result.fault for result in looked_at.finish()] == [None]
        kept.append(sorted(int(path.parent.name) for path in run.glob("probes/*/policy")))
    assert kept == [[7], [7, 8], [8, 9], [8, 9]], "of equals the earliest stays"
    best = best_probes(run, config)
    assert {task: (probe.env_steps, probe.mean) for task, probe in best.items()} == {
        "door": (9, 0.6),
        "key": (8, 0.4),
    }
    assert best["door"].policy == run / "probes" / "9" / "policy"
    assert best_probes(run, config.model_copy(update={"games": 8})) == {}, "other games cannot be compared"
    (run / "probes" / "9" / "eval.json").write_text("[")
    assert best_probes(run, config)["door"].env_steps == 7
    assert best_probes(run, config)["door"].policy is None
