"""Collecting and annotating on a Ray cluster of two nodes, one of which is killed while it works."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import time
from pathlib import Path

import psutil
import pytest

from maestro.content import Content
from maestro.evaluation.collect import CollectSetup, Target, collect, parse_mix
from maestro.preferences.job import Annotation, Job, JobOptions
from maestro.preferences.store import JudgementStore
from maestro.preferences.transitions import TransitionWriter

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="the extra `ray` is not installed"),
]


SMALL = {"object_store_memory": 80 * 2**20, "include_dashboard": False}
"""What a node takes of the machine: the least that Ray allows, for machines with a small /dev/shm."""


@pytest.fixture
def cluster(monkeypatch):
    """A head without cores and two nodes with one each, so that all work is done on nodes that may die."""
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray.cluster_utils import Cluster

    others = set(psutil.Process().children(recursive=True))
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **SMALL})
    nodes = [made.add_node(num_cpus=1, **SMALL), made.add_node(num_cpus=1, **SMALL)]
    made.wait_for_nodes(timeout=120)
    session = Path(made.head_node.get_session_dir_path())
    ray.init(address=made.address, log_to_driver=False, logging_level="error")
    started = set(psutil.Process().children(recursive=True))
    yield made, nodes
    started |= set(psutil.Process().children(recursive=True))
    ray.shutdown()
    with contextlib.suppress(Exception):  # it complains of the node that was killed
        made.shutdown()
    _, alive = psutil.wait_procs(started - others, timeout=120)
    shutil.rmtree(session, ignore_errors=True)
    assert not alive, "Ray left processes behind"


class Killer:
    """Kills a node, without warning, at the call after `calls` calls."""

    def __init__(self, cluster, calls: int) -> None:
        self._cluster, self._nodes = cluster
        self._calls = calls
        self.killed_at = 0.0

    def __call__(self, *_) -> None:
        self._calls -= 1
        if self._calls == 0:
            self._cluster.remove_node(self._nodes[1], allow_graceful=False)
            self.killed_at = time.monotonic()


def gather(folder: Path, engine: str, on_chunk) -> bytes:
    writer = TransitionWriter(folder, world="corridor", caption_version=1)
    setup = CollectSetup("corridor", parse_mix("reference:0.5,random:0.5"), 5, Content.find().roots)
    collect(setup, writer, Target(20_000), engine=engine, on_chunk=on_chunk)
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.parquet")))


def test_a_node_may_die_while_data_are_collected(cluster, tmp_path):
    whole = gather(tmp_path / "here", "process", lambda result, new: None)
    killer = Killer(cluster, calls=8)
    assert gather(tmp_path / "ray", "ray", killer) == whole
    assert len(list((tmp_path / "ray").glob("*.parquet"))) > 20  # most of the work came after the death
    assert killer.killed_at


def test_a_node_may_die_while_questions_are_asked(cluster, tmp_path, judge, helpers):
    data = helpers.write_dataset(tmp_path / "data", helpers.mixed_rows(300))
    server = judge("--delay", "0.02")
    job = Job(
        "descender", data, 1000, "llm", server.spec, options=JobOptions(llm_settings={"max_in_flight": 8})
    )
    results = []
    killer = Killer(cluster, calls=3)
    for name, engine in (("ray", "ray"), ("here", "process")):
        with (
            Annotation(Content.find(), job) as annotation,
            JudgementStore(tmp_path / f"{name}.sqlite") as store,
        ):
            progress = annotation.ask(
                store, engine=engine, on_progress=killer if engine == "ray" else lambda _: None
            )
            assert progress.answered == store.count()
            annotation.conclude(store, tmp_path / name)
        results.append((tmp_path / name / "verdicts.parquet").read_bytes())
    assert killer.killed_at
    assert results[0] == results[1]
