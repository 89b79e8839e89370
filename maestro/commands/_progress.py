"""Progress of long work: a bar on a terminal, now and then a line elsewhere. Always on stderr: stdout is for results."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

LINE_EVERY_S = 10.0
FEWEST_STEPS = 1_000
"""Before so many, and before an episode ended, what is measured is how long games and compilers take to start."""


class EpisodeProgress:
    """How far a number of episodes is; a context manager.

    Time left follows from the steps that the missing episodes will probably take; while none has finished it is an
    upper bound, `max_steps` each.
    """

    def __init__(
        self,
        label: str,
        total: int,
        *,
        max_steps: int,
        finished_steps: list[int],
        starting: str = "starting",
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with the episodes of earlier sessions done: `finished_steps` has the steps of each; `starting` says what comes first."""
        self._label, self._total, self._max_steps, self._clock = label, total, max_steps, clock
        self._starting = starting
        self._lengths = list(finished_steps)
        self._steps_before = sum(finished_steps)
        self.session_steps = 0
        self._successes = 0.0
        self._started = self._last_line = clock()
        self._console = console or Console(stderr=True, highlight=False)
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> EpisodeProgress:
        if self._console.is_terminal:
            wide = self._console.width >= 70
            columns = [TextColumn("{task.description}"), BarColumn(bar_width=None), MofNCompleteColumn()]
            columns += [TextColumn("{task.fields[rate]}")]
            columns += [TimeElapsedColumn()] if wide else []
            columns += [TextColumn("{task.fields[left]}")]
            bar = self._bar = Progress(*columns, console=self._console, expand=True)
            self._task = bar.add_task(
                self._label, total=self._total, completed=len(self._lengths), rate=self._starting, left=""
            )
            bar.start()
        else:
            self._line(f"{len(self._lengths)}/{self._total} episodes, {self._starting}")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def elapsed_s(self) -> float:
        """Seconds since this session began."""
        return self._clock() - self._started

    @property
    def steps_per_s(self) -> float:
        """Steps of all games together in this session, per second of wall time."""
        return self.session_steps / self.elapsed_s if self.elapsed_s > 0 else 0.0

    def on_steps(self, count: int) -> None:
        """Note that games took `count` steps."""
        self.session_steps += count
        if self._bar is not None:
            self._bar.update(
                self._task,
                completed=len(self._lengths),
                rate=f"{self.steps_per_s:,.0f} steps/s",
                left=self._left(),
            )
        elif self._clock() - self._last_line > LINE_EVERY_S:
            self._tell()

    def on_episode(self, num_steps: int) -> None:
        """Note that an episode ended after `num_steps` steps."""
        self._lengths.append(num_steps)
        self.on_steps(0)

    def time_left_s(self) -> float | None:
        """Estimate the seconds left; None while nothing is known."""
        rate = self.steps_per_s
        if rate <= 0:
            return None
        missing = self._total - len(self._lengths)
        taken = self._steps_before + self.session_steps
        in_flight = taken - sum(self._lengths)
        most = missing * self._max_steps - in_flight
        if not self._lengths:
            return most / rate if self.session_steps >= FEWEST_STEPS else None
        # Short episodes end first, so the mean of the finished ones is too small. Counting the steps of the running
        # ones too, and giving those a whole length still to go, corrects that (exact if lengths are exponential).
        return max(0.0, min(missing * taken / len(self._lengths), most)) / rate

    def _left(self) -> str:
        left = self.time_left_s()
        if left is None:
            return ""
        return f"{'about' if self._lengths else 'at most'} {duration(left)} left"

    def _tell(self) -> None:
        self._last_line = self._clock()
        self._line(
            f"{len(self._lengths)}/{self._total} episodes, {self.steps_per_s:,.0f} steps/s, "
            f"{duration(self.elapsed_s)} so far, {self._left()}".rstrip(", ")
        )

    def _line(self, text: str) -> None:
        self._console.print(f"{self._label}: {text}", markup=False, soft_wrap=True)


def duration(seconds: float) -> str:
    """Write a time as people do: "40 s", "3 min", "2 h 05 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
