"""A real vLLM server annotates real pairs. Run with `-m vllm`; installs vLLM the first time."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from maestro.content import Content
from maestro.evaluation.collect import CollectSetup, Target, caption_version, collect, parse_mix
from maestro.preferences.job import Annotation, Job, JobOptions
from maestro.preferences.store import JudgementStore
from maestro.preferences.transitions import TransitionWriter

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def vllm(tmp_path_factory):
    path = Path(__file__).parents[1] / "llm" / "vllm_server.py"
    spec = importlib.util.spec_from_file_location("maestro_tests_vllm_for_preferences", path)
    assert spec is not None
    assert spec.loader is not None
    helper = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(helper)
    helper.install()
    with helper.running_server(tmp_path_factory.mktemp("tiny-llama")) as server:
        yield server


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("played")
    setup = CollectSetup("nethack", parse_mix("reference"), 0, Content.find().roots, episode_steps=500)
    writer = TransitionWriter(folder, world="nethack", caption_version=caption_version("nethack"))
    collect(setup, writer, Target(2000))
    return folder


@pytest.mark.parametrize("reasoning", ["none", "brief"])
def test_real_pairs_are_judged(vllm, played, tmp_path, reasoning):
    settings = JobOptions(llm_settings={"max_in_flight": 32, "timeout_s": 120, "total_s": 600})
    pairs = 100 if reasoning == "none" else 8
    job = Job("descender", played, pairs, "llm", vllm.spec, reasoning, settings)
    with Annotation(Content.find(), job) as annotation, JudgementStore(tmp_path / "s") as store:
        progress = annotation.ask(store)
        report = annotation.conclude(store, tmp_path / "out")
        thoughts = store._db.execute(
            "SELECT COUNT(*) FROM judgements WHERE length(reasoning) > 0"
        ).fetchone()[0]
    assert progress.answered + progress.repeated == 2 * pairs
    assert report["verdicts"]["unparsed"] == 0
    assert report["soft_labels"] == pairs  # the server says how likely each answer was
    assert progress.prompt_tokens > 100 * progress.answered
    assert thoughts == (0 if reasoning == "none" else progress.answered)
