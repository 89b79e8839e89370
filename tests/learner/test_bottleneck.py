"""What limits the speed, told from processor times that are made up, and of a process that is really busy."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections import namedtuple
from types import SimpleNamespace

import psutil
import pytest

import maestro.learner.bottleneck as bottleneck
from maestro.learner.bottleneck import BottleneckMeter
from maestro.learner.processes import KINDS, kind_of, name_process

Times = namedtuple("Times", "user system nice", defaults=(0.0, 0.0))


class Fake:
    """A process that uses `share` of a processor."""

    def __init__(self, pid: int, kind: str, share: float) -> None:
        self.pid, self.kind, self.share, self.used = pid, kind, share, 0.0

    def name(self) -> str:
        return self.kind if self.kind == "python" else "mstr-" + self.kind

    def cpu_times(self):
        return Times(self.used, 0.0)


def only_processor(monkeypatch, used) -> None:
    """Have one processor do the work of all for this process, and another one be busy with other people's."""
    others = itertools.count(0.0, 5.0)
    monkeypatch.setattr(bottleneck.os, "sched_getaffinity", lambda pid: {1})
    monkeypatch.setattr(bottleneck.psutil, "cpu_times", lambda percpu: [Times(next(others)), Times(used())])


def measure(monkeypatch, processes, *, cores, elsewhere=0.0, seconds=10):
    now = SimpleNamespace(at=0.0, machine=0.0)
    only_processor(monkeypatch, lambda: now.machine)
    meter = BottleneckMeter(cores=cores, clock=lambda: now.at)
    limit = meter.look(processes)
    assert limit.name == "starting" and limit.words() == "starting"
    for _ in range(seconds):
        now.at += 1
        now.machine += elsewhere
        for process in processes:
            process.used += process.share
            now.machine += process.share
        limit = meter.look(processes)
    return limit


@pytest.mark.parametrize(
    ("shares", "cores", "elsewhere", "name"),
    [
        ({"learner": 0.97, "games": 0.5, "inference": 0.3}, 8, 0.0, "learning"),
        ({"learner": 0.5, "games": 0.93, "inference": 0.3}, 8, 0.0, "games"),
        ({"learner": 0.5, "games": 0.6, "inference": 0.95}, 8, 0.0, "inference"),
        ({"learner": 0.7, "games": 0.6, "inference": 0.6}, 2, 0.0, "processors"),
        ({"learner": 0.2, "games": 0.2, "inference": 0.1}, 2, 1.5, "processors"),
        ({"learner": 0.2, "games": 0.2, "inference": 0.1}, 2, 0.0, "waiting"),
    ],
)
def test_what_limits_is_named(monkeypatch, shares, cores, elsewhere, name):
    processes = [Fake(number, kind, share) for number, (kind, share) in enumerate(shares.items())]
    processes.append(Fake(99, "python", 0.01))
    limit = measure(monkeypatch, processes, cores=cores, elsewhere=elsewhere)
    assert limit.name == name
    assert limit.shares["learner"] == pytest.approx(shares["learner"])
    assert limit.elsewhere == pytest.approx(elsewhere)
    assert f"learning {shares['learner']:.2f}" in limit.words() and f"of {cores} cores" in limit.words()
    assert ("others" in limit.words()) == (elsewhere > 0)
    assert name in bottleneck.ADVICE


def test_the_busiest_worker_counts_and_not_their_sum(monkeypatch):
    workers = [Fake(number, "games", 0.4) for number in range(4)]
    limit = measure(monkeypatch, [*workers, Fake(9, "learner", 0.9)], cores=16)
    assert limit.name == "learning"
    assert limit.shares["games"] == pytest.approx(1.6) and limit.busiest["games"] == pytest.approx(0.4)


def test_the_window_moves(monkeypatch):
    learner, games = Fake(1, "learner", 1.0), Fake(2, "games", 0.1)
    now = SimpleNamespace(at=0.0)
    only_processor(monkeypatch, lambda: 0.0)
    meter = BottleneckMeter(window_s=10, cores=8, clock=lambda: now.at)
    for second in range(60):
        now.at += 1
        if second == 30:
            learner.share, games.share = 0.1, 1.0
        for process in (learner, games):
            process.used += process.share
        limit = meter.look([learner, games])
        if second == 25:
            assert limit.name == "learning"
    assert limit.name == "games" and limit.shares["learner"] == pytest.approx(0.1)


def test_a_process_names_itself_and_keeps_its_name(monkeypatch):
    code = (
        "import sys, time; from maestro.learner.processes import name_process\n"
        "name_process('games'); name_process('inference', unless_named=True)\n"
        "print('named', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None and child.stdout.readline() == b"named\n"
            process = psutil.Process(child.pid)
            assert kind_of(process) == "games"
            assert kind_of(psutil.Process()) is None
        finally:
            child.kill()
    assert kind_of(process) is None  # it is gone
    assert all(len("mstr-" + kind) <= 15 for kind in KINDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("maestro.learner.processes._COMM", SimpleNamespace(write_text=_refuse))
        name_process("games")  # where there is no /proc, nothing happens


def _refuse(text: str) -> None:
    raise OSError(text)


def test_a_process_that_is_gone_is_passed_over():
    with subprocess.Popen([sys.executable, "-c", "pass"]) as child:
        process = psutil.Process(child.pid)
    meter = BottleneckMeter()
    meter.look([process])
    time.sleep(0.01)
    assert meter.look([process]).name == "starting"
