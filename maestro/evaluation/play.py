"""Play many episodes, of one task or of several, on several worker processes, and survive the death of any of them.

The parent hands out episodes one by one and is the only one that writes. A worker that dies (killed, out of memory,
crashed engine, no step for a long time) is replaced and its episodes are started again: the second time beside
others, the third time alone in a process, so that only an episode that kills its worker by itself is given up.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, NamedTuple, NoReturn

from maestro.errors import EngineError
from maestro.evaluation.episode import Ending, EpisodeFile, EpisodeRecord, episode_seeds
from maestro.evaluation.games import Games, Setup
from maestro.evaluation.worker import work
from maestro.parallel import fixed_hashes

MAX_ATTEMPTS = 3
STALL_S = 180.0
"""Seconds without a sign of life after which a worker that has episodes is killed."""
START_S = 900.0
"""The same for a worker that is still starting: features may have to be compiled, by several at once."""
CRASHES_BEFORE_ANYTHING = 5
"""Exceptions in workers after which it is given up if no episode has ended yet: then it is not the episodes' fault."""
_LISTEN_S = 1.0


class Outcome(NamedTuple):
    """One finished episode; an episode that was given up has a record and no file."""

    record: EpisodeRecord
    file: EpisodeFile | None
    part: int = 0
    """Which of the setups it is of."""


class _Task(NamedTuple):
    episode: int
    attempt: int
    part: int


@dataclass
class _Worker:
    process: SpawnProcess
    connection: Connection
    held: dict[tuple[int, int], _Task] = field(default_factory=dict)
    """Episodes it has been handed, by part and number."""
    is_ready: bool = False
    plays_alone: bool = False
    crash: str = ""
    last_heard: float = field(default_factory=time.monotonic)


def play_here(
    setup: Setup | Sequence[Setup],
    *episodes: Iterable[int],
    on_steps: Callable[[int], None] = lambda count: None,
) -> Iterator[Outcome]:
    """Play episodes in this process: for the toy world, tests and debuggers. Arguments as those of `Workers`."""
    setups = _as_sequence(setup)
    waiting = deque(_in_turn(setups, episodes))
    games = Games(*setups)
    try:
        while waiting or games.num_running:
            while waiting and games.num_free:
                games.start(*waiting.popleft())
            on_steps(games.num_running)
            for part, file in games.step():
                yield Outcome(file.record, file, part)
    finally:
        games.close()


class Workers:
    """Worker processes for some setups; a context manager, so that none outlives the evaluation."""

    def __init__(self, setup: Setup | Sequence[Setup], num_workers: int, stall_s: float = STALL_S) -> None:
        """Start no more than `num_workers` processes, each playing a setup's `num_games` games at once.

        Of several setups, which must be each other's `company`, every process plays all, so that no core waits for
        the last games of one while the next could begin.
        """
        self.setups = _as_sequence(setup)
        self.num_workers = num_workers
        self.num_deaths = 0
        self._num_false_starts = 0
        self._num_crashes = 0
        self._num_ended = 0
        self._listened = time.monotonic()
        self._stall_s = stall_s
        self._context = multiprocessing.get_context("spawn")
        self._scratch = tempfile.TemporaryDirectory(prefix="maestro-eval-", ignore_cleanup_errors=True)
        self._workers: list[_Worker] = []
        self._waiting: deque[_Task] = deque()
        self._suspects: deque[_Task] = deque()
        """Episodes whose worker died twice: each is played alone."""
        self._ready: list[Outcome] = []
        self._on_steps: Callable[[int], None] = lambda count: None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def play(
        self, *episodes: Iterable[int], on_steps: Callable[[int], None] = lambda count: None
    ) -> Iterator[Outcome]:
        """Play the numbers of episodes given for each setup, in their order, and yield each episode as it ends.

        `on_steps` hears of steps taken, some times a second. Raises the MaestroError that keeps a worker from starting.
        """
        self._on_steps = on_steps
        self._waiting.extend(_in_turn(self.setups, episodes))
        wanted = min(self.num_workers, len(self._waiting))
        while len(self._workers) < wanted:
            self._start_worker()
        while self._waiting or self._suspects or any(worker.held for worker in self._workers):
            self._listen()
            yield from self._drain()
        yield from self._drain()

    def close(self) -> None:
        """End all workers, at once where they do not end by themselves, and remove their temporary files."""
        for worker in self._workers:
            if worker.held:  # in the middle of an episode it does not listen
                worker.process.terminate()
            else:
                with contextlib.suppress(OSError):
                    worker.connection.send(("stop", None))
        deadline = time.monotonic() + 2.0
        for worker in self._workers:
            worker.process.join(max(0.0, deadline - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.connection.close()
        self._workers.clear()
        self._scratch.cleanup()

    @property
    def process_ids(self) -> list[int]:
        """List the ids of the worker processes."""
        return [worker.process.pid or 0 for worker in self._workers]

    def _drain(self) -> Iterator[Outcome]:
        ready, self._ready = self._ready, []
        yield from ready

    def _start_worker(self) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=work, args=(self.setups, theirs, self._scratch.name), name="maestro-worker", daemon=True
        )
        with fixed_hashes():
            process.start()
        theirs.close()
        self._workers.append(_Worker(process, ours))

    def _listen(self) -> None:
        """Wait for messages, deal with them, and with workers that are dead or silent."""
        by_connection: dict[Any, _Worker] = {worker.connection: worker for worker in self._workers}
        ready = wait(list(by_connection), timeout=_LISTEN_S)
        self._forgive_pauses()
        for connection in ready:
            worker = by_connection[connection]
            try:
                while worker.connection.poll():
                    self._hear(worker, *worker.connection.recv())
            except (EOFError, OSError):
                self._bury(worker)
        for worker in list(self._workers):
            limit = self._stall_s if worker.is_ready else START_S
            if (worker.held or not worker.is_ready) and time.monotonic() - worker.last_heard > limit:
                worker.crash = (
                    f"no step in {limit:.0f} s" if worker.is_ready else f"not ready after {limit:.0f} s"
                )
                worker.process.kill()
                self._bury(worker)

    def _forgive_pauses(self) -> None:
        """Take time in which this process itself stood still (Ctrl-Z, a paused machine) off the workers' silence."""
        now = time.monotonic()
        pause = now - self._listened - _LISTEN_S
        if pause > _LISTEN_S:
            for worker in self._workers:
                worker.last_heard = min(now, worker.last_heard + pause)
        self._listened = now

    def _hear(self, worker: _Worker, kind: str, content: Any) -> None:
        worker.last_heard = time.monotonic()
        if kind == "steps":
            self._on_steps(content)
        elif kind == "finished":
            part, file = content
            del worker.held[part, file.record.episode]
            worker.plays_alone = False
            self._num_ended += 1
            self._ready.append(Outcome(file.record, file, part))
        elif kind == "fault":
            raise content
        elif kind == "crash":
            worker.crash = content
        elif kind == "ready":
            worker.is_ready = True
        self._feed(worker)

    def _feed(self, worker: _Worker) -> None:
        """Hand the worker as many episodes as it can take."""
        most = self.setups[0].num_games
        while worker.is_ready and not worker.plays_alone and len(worker.held) < most:
            if self._suspects and not worker.held:
                task = self._suspects.popleft()
                worker.plays_alone = True
            elif self._waiting:
                task = self._waiting.popleft()
            else:
                return
            if not worker.held:  # it had nothing to say until now
                worker.last_heard = time.monotonic()
            worker.held[task.part, task.episode] = task
            with contextlib.suppress(OSError):  # a dead worker is buried when its end of the pipe is read
                worker.connection.send(("play", task))

    def _bury(self, worker: _Worker) -> None:
        """Take a dead worker's episodes back and replace it while there is something to play."""
        self._workers.remove(worker)
        worker.process.join(5.0)
        reason = worker.crash or _exit_reason(worker.process.exitcode)
        worker.connection.close()
        if not worker.is_ready:
            self._num_false_starts += 1
            if worker.crash or self._num_false_starts >= MAX_ATTEMPTS:
                self._give_up(f"a worker process ended before it could play: {reason}")
        self._num_crashes += bool(worker.crash)
        if self._num_crashes >= CRASHES_BEFORE_ANYTHING and not self._num_ended:
            self._give_up(f"{self._num_crashes} worker processes failed before any episode ended: {reason}")
        self.num_deaths += 1
        for task in worker.held.values():
            self._take_back(task, reason)
        if (self._waiting or self._suspects) and len(self._workers) < self.num_workers:
            self._start_worker()
        for other in self._workers:
            self._feed(other)

    def _give_up(self, problem: str) -> NoReturn:
        raise EngineError(
            problem,
            where=f"maestro eval --target {','.join(dict.fromkeys(setup.target for setup in self.setups))}",
            hint="give the same command with --workers 0, which plays in one process and shows the error",
        )

    def _take_back(self, task: _Task, reason: str) -> None:
        again = task._replace(attempt=task.attempt + 1)
        if again.attempt < MAX_ATTEMPTS:
            self._waiting.appendleft(again)
        elif again.attempt == MAX_ATTEMPTS:
            self._suspects.append(again)
        else:
            self._ready.append(Outcome(_given_up(self.setups[task.part], task, reason), None, task.part))


def _as_sequence(setup: Setup | Sequence[Setup]) -> tuple[Setup, ...]:
    return (setup,) if isinstance(setup, Setup) else tuple(setup)


def _in_turn(setups: Sequence[Setup], episodes: Sequence[Iterable[int]]) -> list[_Task]:
    """List what is to be played, all setups in turn: what is cut short has some of each."""
    if len(episodes) != len(setups):
        raise ValueError(f"{len(setups)} setups, and episodes of {len(episodes)}")
    tasks = [(place, part, number) for part, mine in enumerate(episodes) for place, number in enumerate(mine)]
    return [_Task(number, 1, part) for _, part, number in sorted(tasks)]


def _given_up(setup: Setup, task: _Task, reason: str) -> EpisodeRecord:
    return EpisodeRecord(
        episode=task.episode,
        seeds=episode_seeds(setup.seed, task.episode),
        success={"true": None, "compatible": None},
        ended=Ending(
            by="failed", cause=f"its worker process died {task.attempt} times; the last time: {reason}"
        ),
        attempts=task.attempt,
    )


def _exit_reason(code: int | None) -> str:
    if code is None:
        return "it does not answer"
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"
