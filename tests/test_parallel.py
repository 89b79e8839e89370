"""Mapping over processes: every task once, in spite of deaths, and faults arrive as they are."""

from __future__ import annotations

import importlib
import itertools
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from maestro.errors import EngineError, StoreError, UnknownNameError
from maestro.parallel import ProcessEngine, map_tasks

HERE = str(Path(__file__).parent)


@pytest.fixture(autouse=True, scope="module")
def _importable():
    """Let worker processes find the functions: they are given this process's path."""
    sys.path.insert(0, HERE)
    yield
    sys.path.remove(HERE)


@pytest.fixture
def functions(_importable):
    return importlib.import_module("parallel_functions")


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_every_task_is_done_once(functions, workers):
    found = dict(map_tasks(functions.square, range(20), workers=workers))
    assert found == {number: number * number for number in range(20)}


def test_order_is_kept_where_it_is_wanted(functions):
    found = list(map_tasks(functions.slow_first, range(12), workers=2, ordered=True))
    assert found == [(number, number) for number in range(12)]
    assert next(iter(map_tasks(functions.slow_first, range(12), workers=2)))[0] != 0


def test_endless_tasks_are_read_only_a_little_ahead(functions):
    read = []
    tasks = (read.append(number) or number for number in itertools.count())
    for number, _ in map_tasks(functions.square, tasks, workers=2, ordered=True):
        assert len(read) <= number + 7
        if number == 30:
            break
    assert len(read) < 40


def test_a_task_whose_worker_died_is_done_again(functions, tmp_path):
    found = dict(map_tasks(functions.die_once, [(number, str(tmp_path)) for number in range(8)], workers=2))
    assert found == {number: number for number in range(8)}
    assert len(list(tmp_path.iterdir())) == 3


def test_a_task_that_kills_every_worker_is_given_up(functions):
    with pytest.raises(EngineError, match=r"task 0 killed its worker process 3 times.*--workers 0"):
        list(map_tasks(functions.die, [1], workers=1))


@pytest.mark.parametrize("workers", [0, 1])
def test_faults_arrive_as_they_are(functions, workers):
    with pytest.raises(StoreError, match="there: it is broken"):
        list(map_tasks(functions.fail, range(4), workers=workers))
    with pytest.raises((ValueError, RuntimeError), match="four"):
        list(map_tasks(functions.fail, [4], workers=workers))


def test_an_unknown_engine_is_named(functions):
    with pytest.raises(UnknownNameError, match=r"unknown engine 'rey'.*'ray'"):
        list(map_tasks(functions.square, [1], engine="rey"))


def test_no_worker_is_left_when_the_caller_leaves(functions):
    engine = ProcessEngine(functions.square, 2)
    for number in range(4):
        engine.submit(number, number)
    pids = engine.process_ids
    assert len(pids) == 2
    engine.close()
    assert all(not _lives(pid) for pid in pids)


def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    (tmp_path / "sleepers.py").write_text("import time\ndef sleep(n):\n    time.sleep(100)\n")
    code = """
        import sys
        sys.path.insert(0, sys.argv[1])
        import sleepers
        from maestro.parallel import ProcessEngine
        if __name__ == "__main__":
            engine = ProcessEngine(sleepers.sleep, 2)
            engine.submit(0, 0), engine.submit(1, 1)
            print(*engine.process_ids, flush=True)
            engine.next()
    """
    (tmp_path / "parent.py").write_text(textwrap.dedent(code))
    parent = subprocess.Popen(
        [sys.executable, str(tmp_path / "parent.py"), str(tmp_path)], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{Path.cwd()}"},
    )  # fmt: skip
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert all(_lives(pid) for pid in pids)
    time.sleep(1.0)  # they have begun
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 20
    while any(_lives(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(_lives(pid) for pid in pids)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
