"""Map a function over tasks on several processes or machines, and survive the death of any of them.

    for number, result in map_tasks(function, tasks, engine="process", workers=4):
        ...

One code path for all engines: `function` is importable, tasks and results are plain picklable values, and a task
whose worker died is done again elsewhere, so it must give the same result twice. `workers=0` runs everything here.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol, TypeVar

from maestro.errors import DependencyError, EngineError, MaestroError, UnknownNameError

T = TypeVar("T")
R = TypeVar("R")
MAX_ATTEMPTS = 3
"""Deaths of workers on one task after which it is given up."""
_AHEAD = 3  # tasks per worker that may be under way or done out of turn


@contextlib.contextmanager
def fixed_hashes() -> Iterator[None]:
    """Let the processes started inside order sets of strings alike: generated code may iterate over such a set."""
    before = os.environ.get("PYTHONHASHSEED")
    os.environ["PYTHONHASHSEED"] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONHASHSEED"]
        else:
            os.environ["PYTHONHASHSEED"] = before


class _Engine(Protocol):
    """What carries tasks out. Every submitted number comes back from `next` once, in any order."""

    num_workers: int

    def submit(self, number: int, task: Any) -> None: ...

    def next(self) -> tuple[int, Any]: ...

    def close(self) -> None: ...


def map_tasks(
    function: Callable[[T], R],
    tasks: Iterable[T],
    *,
    engine: str = "process",
    workers: int = 1,
    ordered: bool = False,
) -> Iterator[tuple[int, R]]:
    """Yield (number of the task, its result), in the tasks' order if `ordered`, else as they end.

    `tasks` may be endless: it is read no further ahead than three tasks a worker. `workers` counts processes here; with
    Ray the cluster's cores count and it is a bound (0: no bound). A MaestroError of `function` is raised here as it
    is; EngineError where a task killed its worker three times.
    """
    if engine not in ENGINES:
        raise UnknownNameError("engine", engine, ENGINES, where="--engine")
    numbered = enumerate(tasks)
    if engine == "process" and workers == 0:
        for number, task in numbered:
            yield number, function(task)
        return
    running = ENGINES[engine](function, workers)
    held: dict[int, R] = {}
    waiting, turn, submitted = 0, 0, 0
    try:
        while True:
            while waiting + len(held) < _AHEAD * running.num_workers and (entry := next(numbered, None)):
                running.submit(*entry)
                waiting, submitted = waiting + 1, submitted + 1
            if not waiting:
                return
            number, result = running.next()
            waiting -= 1
            if not ordered:
                yield number, result
                continue
            held[number] = result
            while turn in held:
                yield turn, held.pop(turn)
                turn += 1
    finally:
        running.close()


@dataclass
class _Worker:
    process: Any
    connection: Connection
    task: tuple[int, Any, int] | None = None
    """Number, task, attempt."""
    heard: float = field(default_factory=time.monotonic)


class ProcessEngine:
    """Processes on this machine, each with one task at a time."""

    def __init__(self, function: Callable[[Any], Any], workers: int) -> None:
        self.num_workers = max(1, workers)
        self._function = function
        self._context = multiprocessing.get_context("spawn")
        self._waiting: deque[tuple[int, Any, int]] = deque()
        self._workers: list[_Worker] = []

    @property
    def process_ids(self) -> list[int]:
        """List the ids of the worker processes."""
        return [worker.process.pid for worker in self._workers]

    def submit(self, number: int, task: Any) -> None:
        """Put a task into the queue."""
        self._waiting.append((number, task, 1))
        self._feed()

    def next(self) -> tuple[int, Any]:
        """Wait for a task to end."""
        while True:
            self._feed()
            ready = wait([worker.connection for worker in self._workers])
            for worker in list(self._workers):
                if worker.connection in ready and (ended := self._hear(worker)) is not None:
                    return ended

    def close(self) -> None:
        """End the workers at once: what they were doing is wanted no more."""
        for worker in self._workers:
            worker.process.kill()
            worker.process.join()
            worker.connection.close()
        self._workers.clear()

    def _feed(self) -> None:
        idle = [worker for worker in self._workers if worker.task is None]
        while self._waiting and (idle or len(self._workers) < self.num_workers):
            worker = idle.pop() if idle else self._start()
            worker.task = self._waiting.popleft()
            with contextlib.suppress(OSError):  # one that died meanwhile is noticed when it is listened to
                worker.connection.send(worker.task[1])

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_serve, args=(self._function, theirs, os.getpid()), name="maestro-map", daemon=True
        )
        with fixed_hashes():
            process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _hear(self, worker: _Worker) -> tuple[int, Any] | None:
        try:
            kind, content = worker.connection.recv()
        except (EOFError, OSError):
            self._bury(worker)
            return None
        assert worker.task is not None
        number, worker.task = worker.task[0], None
        if kind == "raised":
            raise content
        return number, content

    def _bury(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.process.join(5.0)
        worker.connection.close()
        if worker.task is None:
            return
        number, task, attempt = worker.task
        if attempt >= MAX_ATTEMPTS:
            raise EngineError(
                f"task {number} killed its worker process {attempt} times (exit code {worker.process.exitcode})",
                where=f"{self._function.__module__}.{self._function.__qualname__}",
                hint="give the same command with --workers 0, which works in one process and shows the error",
            )
        self._waiting.appendleft((number, task, attempt + 1))


def _serve(function: Callable[[Any], Any], parent: Connection, parent_pid: int) -> None:
    """Do tasks until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    end_with_parent(parent_pid)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            task = parent.recv()
            try:
                message = ("done", function(task))
            except Exception as error:  # noqa: BLE001  whatever it is, the parent must hear of it
                message = ("raised", portable(error))
            parent.send(message)


def end_with_parent(parent_pid: int) -> None:
    """End this process, from now on, once its parent has ended, in the middle of a task if need be."""
    threading.Thread(target=_end_with, args=(parent_pid,), daemon=True).start()


def _end_with(parent_pid: int) -> None:
    while os.getppid() == parent_pid:
        time.sleep(0.5)
    os._exit(1)


def portable(error: Exception) -> Exception:
    """Make an exception that can be sent between processes: ours as they are, others with their trace as text."""
    if isinstance(error, MaestroError):
        return error
    import traceback

    return RuntimeError("".join(traceback.format_exception(error)))


class RayEngine:
    """A Ray cluster: the one that RAY_ADDRESS names, else one on this machine. Ray redoes what a lost node had."""

    def __init__(self, function: Callable[[Any], Any], workers: int) -> None:
        try:
            self._ray = ray = importlib.import_module("ray")
        except ModuleNotFoundError:
            raise DependencyError(
                "the package 'ray' is not installed",
                where="--engine ray",
                hint="pip install 'maestro-skills[ray]', or use --engine process",
            ) from None
        if not ray.is_initialized():
            ray.init(log_to_driver=False, logging_level="error", include_dashboard=False)
        cores = int(ray.cluster_resources().get("CPU", 1))
        self.num_workers = max(1, min(cores, workers) if workers else cores)
        self._remote = ray.remote(max_retries=MAX_ATTEMPTS)(_guarded)
        self._function = ray.put(function)
        self._numbers: dict[Any, int] = {}

    def submit(self, number: int, task: Any) -> None:
        """Hand a task to the cluster."""
        self._numbers[self._remote.remote(self._function, task)] = number

    def next(self) -> tuple[int, Any]:
        """Wait for a task to end."""
        (done,), _ = self._ray.wait(list(self._numbers), num_returns=1)
        number = self._numbers.pop(done)
        try:
            kind, content = self._ray.get(done)
        except self._ray.exceptions.RayError as error:
            raise EngineError(
                f"Ray gave task {number} up: {str(error).splitlines()[0]}",
                where="--engine ray",
                hint="look at `ray status`; give the same command again: what was done is kept",
            ) from error
        if kind == "raised":
            raise content
        return number, content

    def close(self) -> None:
        """Give up what is under way; the cluster stays."""
        for reference in self._numbers:
            with contextlib.suppress(Exception):
                self._ray.cancel(reference, force=True)
        self._numbers.clear()


def _guarded(function: Callable[[Any], Any], task: Any) -> tuple[str, Any]:
    try:
        return "done", function(task)
    except Exception as error:  # noqa: BLE001  Ray would wrap it; ours is to arrive as it is
        return "raised", portable(error)


ENGINES: dict[str, Callable[[Callable[[Any], Any], int], _Engine]] = {
    "process": ProcessEngine,
    "ray": RayEngine,
}
"""Name, as `--engine` gives it, to what makes the engine."""
