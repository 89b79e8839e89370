"""What limits the speed of training: the processors, or one kind of process that has no time left while others wait."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import psutil

from maestro.learner.processes import GAMES, INFERENCE, LEARNER, kind_of

BUSY = 0.85
"""Share of its time from which a process counts as having none left; waiting for messages takes some of it."""
FULL = 0.9
"""Share of all processors from which they are the limit, whoever uses them."""
WINDOW_S = 20.0
_OTHERS = "others"
_WORDS = {LEARNER: "learning", INFERENCE: "inference", GAMES: "games"}
ADVICE = {
    "learning": "a larger batch_size, a smaller network or a GPU would help",
    "inference": "more games a group, a smaller network or a GPU would help",
    "games": "more num_workers would help",
    "processors": "only more or faster processors would help",
    "waiting": "processes wait for one another; more games or batches_ahead may help",
}


class Limit(NamedTuple):
    """What limits, and what was measured."""

    name: str
    """"learning", "inference", "games", "processors" or "waiting"; "starting" while nothing is known."""
    shares: dict[str, float]
    """Kind of process to processors in use, mean over the window; all workers that play together."""
    busiest: dict[str, float]
    """Kind to the share of its time the busiest process of the kind used."""
    cores: int
    elsewhere: float
    """Processors in use by anything outside the run."""

    def words(self) -> str:
        """Say it in a few words."""
        if not self.shares:
            return self.name
        used = ", ".join(f"{_WORDS[kind]} {self.shares[kind]:.2f}" for kind in _WORDS if kind in self.shares)
        alien = f", others {self.elsewhere:.2f}" if self.elsewhere > 0.1 * self.cores else ""
        return f"{self.name} ({used}{alien} of {self.cores} cores)"


class _Sample(NamedTuple):
    at: float
    used: dict[int, tuple[str, float]]
    """Process to kind and processor time so far, seconds."""
    everyone: float
    """Time in use so far of the processors there are for this process, seconds."""


class BottleneckMeter:
    """Measures processor time by kind of process; call `look` now and then with the processes of the run."""

    def __init__(
        self,
        window_s: float = WINDOW_S,
        cores: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._window_s, self._clock = window_s, clock
        self._cores = cores or len(os.sched_getaffinity(0))
        self._samples: deque[_Sample] = deque()

    def look(self, processes: Iterable[psutil.Process]) -> Limit:
        """Measure, and say what limited the speed within the window."""
        used = {}
        for process in processes:
            try:
                times = process.cpu_times()
            except psutil.Error:
                continue
            used[process.pid] = (kind_of(process) or _OTHERS, times.user + times.system)
        self._samples.append(_Sample(self._clock(), used, sum(map(_busy, self._processors()))))
        while len(self._samples) > 2 and self._samples[-1].at - self._samples[1].at >= self._window_s:
            self._samples.popleft()
        return self._limit()

    def _processors(self) -> list[Any]:
        """Give the times of the processors that this process may use: what others do elsewhere limits nothing here."""
        every = psutil.cpu_times(percpu=True)
        mine = [every[number] for number in os.sched_getaffinity(0) if number < len(every)]
        return mine or every

    def _limit(self) -> Limit:
        first, last = self._samples[0], self._samples[-1]
        elapsed = last.at - first.at
        shares: dict[str, float] = {}
        busiest: dict[str, float] = {}
        for pid, (kind, seconds) in last.used.items():
            if pid not in first.used or elapsed <= 0:
                continue
            share = max(0.0, seconds - first.used[pid][1]) / elapsed
            shares[kind] = shares.get(kind, 0.0) + share
            busiest[kind] = max(busiest.get(kind, 0.0), share)
        if not any(kind in shares for kind in _WORDS):
            return Limit("starting", {}, {}, self._cores, 0.0)
        elsewhere = max(0.0, (last.everyone - first.everyone) / elapsed - sum(shares.values()))
        return Limit(self._name(shares, busiest, elsewhere), shares, busiest, self._cores, elsewhere)

    def _name(self, shares: dict[str, float], busiest: dict[str, float], elsewhere: float) -> str:
        # A process without time left limits even on a full machine, but on a full one it is not known whose time it is.
        if sum(shares.values()) + elsewhere >= FULL * self._cores:
            return "processors"
        kind = max((kind for kind in _WORDS if kind in busiest), key=lambda kind: busiest[kind])
        return _WORDS[kind] if busiest[kind] >= BUSY else "waiting"


def _busy(processor: Any) -> float:
    return processor.user + processor.system + processor.nice + getattr(processor, "steal", 0.0)
