"""The processes that demonstrate, and the blocks of shared memory they fill.

The trainer hands out free slots; a process fills one and says so. Nothing but slot numbers goes through pipes. A process
that dies is replaced, and what it was filling is filled anew by its successor, in other dungeons.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import numpy as np

from maestro.errors import EngineError
from maestro.learner.demonstrations import Demonstrator, DemoSetup, Layout
from maestro.learner.network import ArraySpec
from maestro.parallel import end_with_parent, portable

MAX_DEATHS = 3
"""Deaths of one worker without a filled block in between, after which there is no point in another."""
_AHEAD = 2  # slots a worker has to fill, so that it need not wait while the trainer looks at one


class Filled(NamedTuple):
    """A slot that is full."""

    slot: int
    worker: int
    is_first: bool
    """Whether it is the first of a new process, so that no game goes on from an earlier block."""


@dataclass
class _Member:
    process: Any
    connection: Connection
    slots: deque[int] = field(default_factory=deque)
    """Handed out and not filled yet, in order."""
    is_new: bool = True


class Crew:
    """`workers` processes and `num_slots` slots of shared memory; a context manager."""

    def __init__(
        self,
        setup: DemoSetup,
        specs: Mapping[str, ArraySpec],
        num_weights: int,
        *,
        workers: int,
        num_slots: int,
        first_group: int,
    ) -> None:
        """Start the processes; the games of each get a group number of their own, from `first_group` on."""
        self.layout = Layout(specs, setup.sequence, setup.games.num_games)
        self.next_group = first_group
        self._setup, self._specs = setup, dict(specs)
        self._context = multiprocessing.get_context("spawn")
        self._memory = self._context.RawArray("b", num_slots * self.layout.slot_bytes)
        self._weights = self._context.RawArray("f", num_weights)
        self._version = 0
        self._share = 0.0
        self._free: deque[int] = deque(range(num_slots))
        self._deaths = [0] * workers
        self.deaths = 0
        self.waited_s = 0.0
        """Seconds the trainer spent waiting for a full slot."""
        self._served = -1  # the worker whose slot was given last
        self._members = [self._start(worker) for worker in range(workers)]

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def process_ids(self) -> list[int]:
        """List the ids of the processes."""
        return [member.process.pid for member in self._members]

    def blocks(self, slot: int) -> dict[str, np.ndarray]:
        """Give the arrays of a slot."""
        return self.layout.view(self._memory, slot)

    def publish(self, weights: np.ndarray, share: float) -> None:
        """Let the student play with these weights in `share` of the episodes that begin from now on."""
        np.frombuffer(self._weights, np.float32)[:] = weights
        self._version += 1
        self._share = share

    def release(self, slot: int) -> None:
        """Say that a slot is read and may be filled again."""
        self._free.append(slot)

    def next(self, but: Collection[int] = ()) -> Filled:
        """Wait for the next full slot of any worker that is not in `but`; of several, the one served least recently counts.

        Raises EngineError where processes keep dying. There has to be a worker that is not in `but`.
        """
        began = time.perf_counter()
        count = len(self._members)
        try:
            while True:
                self._hand_out()
                asked = [(self._served + 1 + ahead) % count for ahead in range(count)]
                asked = [worker for worker in asked if worker not in but]
                ready = wait([self._members[worker].connection for worker in asked])
                for worker in asked:
                    member = self._members[worker]
                    if member.connection in ready and (filled := self._hear(worker, member)) is not None:
                        self._served = worker
                        return filled
        finally:
            self.waited_s += time.perf_counter() - began

    def close(self) -> None:
        """End the processes at once."""
        for member in self._members:
            member.process.kill()
            member.process.join()
            member.connection.close()
        self._members.clear()

    def _hand_out(self) -> None:
        """Give every worker work ahead, those with least first."""
        while self._free:
            member = min(self._members, key=lambda one: len(one.slots))
            if len(member.slots) >= _AHEAD:
                return
            slot = self._free.popleft()
            member.slots.append(slot)
            with contextlib.suppress(OSError):  # one that died meanwhile is noticed when it is listened to
                member.connection.send((slot, self._version, self._share))

    def _start(self, worker: int) -> _Member:
        ours, theirs = self._context.Pipe()
        arguments = (
            self._setup,
            self._specs,
            self.next_group,
            self._memory,
            self._weights,
            theirs,
            os.getpid(),
        )
        process = self._context.Process(
            target=_serve, args=arguments, name=f"maestro-demo-{worker}", daemon=True
        )
        self.next_group += 1
        with _ctrl_c_for_us_alone():
            process.start()
        theirs.close()
        return _Member(process, ours)

    def _hear(self, worker: int, member: _Member) -> Filled | None:
        try:
            kind, content = member.connection.recv()
        except (EOFError, OSError):
            self._replace(worker, member)
            return None
        if kind == "raised":
            raise content
        assert content == member.slots.popleft()
        filled = Filled(content, worker, member.is_new)
        member.is_new = False
        self._deaths[worker] = 0
        return filled

    def _replace(self, worker: int, member: _Member) -> None:
        member.process.join(5.0)
        member.connection.close()
        self._free.extendleft(reversed(member.slots))
        self.deaths += 1
        self._deaths[worker] += 1
        if self._deaths[worker] >= MAX_DEATHS:
            raise EngineError(
                f"process {worker} that plays demonstrations died {MAX_DEATHS} times in a row "
                f"(exit code {member.process.exitcode})",
                where="maestro imitate",
                hint="fewer games (--config games.num_games=16) if memory ran out; the last checkpoint is kept",
            )
        self._members[worker] = self._start(worker)


def _serve(
    setup: DemoSetup,
    specs: dict[str, ArraySpec],
    group: int,
    memory: Any,
    weights: Any,
    parent: Connection,
    parent_pid: int,
) -> None:
    """Fill slots until the parent is gone."""
    import torch

    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    end_with_parent(parent_pid)
    layout = Layout(specs, setup.sequence, setup.games.num_games)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        try:
            player = Demonstrator(setup, group)
            known = 0
            while True:
                slot, version, player.share = parent.recv()
                if version != known:
                    player.learn(np.frombuffer(weights, np.float32).copy())
                    known = version
                player.fill(layout.view(memory, slot))
                parent.send(("filled", slot))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise
        except Exception as error:  # noqa: BLE001  whatever it is, the parent must hear of it
            parent.send(("raised", portable(error)))


@contextlib.contextmanager
def _ctrl_c_for_us_alone() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach, not even while they import: whoever started them ends them.

    They take over which signals are held back; here it waits until they are started.
    """
    resource_tracker.ensure_running()  # it would be started with the first process, and holds nothing back any more then
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
