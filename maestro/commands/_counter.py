"""Progress of work that is counted: a bar on a terminal, now and then a line elsewhere. Always on stderr."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.table import Column
from rich.text import Text

from maestro.commands._progress import LINE_EVERY_S, duration

_UPDATE_EVERY_S = 0.1
_WIDE = 120


class _Note(ProgressColumn):
    """The rest of the line: on a narrow terminal its end is cut, and the counts before it never."""

    def __init__(self) -> None:
        super().__init__(Column(ratio=1, min_width=24))

    def render(self, task: Task) -> Text:
        return Text(task.fields["note"], no_wrap=True, overflow="ellipsis")


class Counter:
    """How far `total` things are; a context manager. The rate counts this session's things only."""

    def __init__(
        self, label: str, unit: str, total: int, console: Console | None = None, *, tells_rate: bool = True
    ) -> None:
        """`tells_rate` is off where the notes give a rate of their own."""
        self._label, self._unit, self._total, self._tells_rate = label, unit, total, tells_rate
        self._console = console or Console(stderr=True, highlight=False)
        self._started = self._shown = self._said = time.monotonic()
        self._first: int | None = None
        self._done = 0
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> Counter:
        if self._console.is_terminal:
            wide = self._console.width >= _WIDE
            done = "{task.completed:,}/{task.total:,}" if wide else "{task.percentage:3.0f} %"
            columns = [
                TextColumn("{task.description}"),
                BarColumn(30 if wide else 8),
                TextColumn(done),
                _Note(),
            ]
            self._bar = Progress(*columns, console=self._console, expand=True)
            self._task = self._bar.add_task(self._label, total=self._total, note="starting")
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=min(self._done, self._total))
            self._bar.stop()

    def update(self, done: int, note: str = "", *, fresh: int | None = None) -> None:
        """Say that `done` of the total are done, `fresh` of them in this session (by default: since the first call)."""
        now = time.monotonic()
        self._first = done if self._first is None else self._first
        self._done = done
        if self._bar is not None and now - self._shown > _UPDATE_EVERY_S:
            self._shown = now
            text = self._describe(fresh, note)
            self._bar.update(self._task, completed=min(done, self._total), note=text)
        elif self._bar is None and now - self._said > LINE_EVERY_S:
            self._said = now
            line = f"{self._label}: {done:,}/{self._total:,} {self._unit}, {self._describe(fresh, note)}"
            self._console.print(line, markup=False, soft_wrap=True)

    def _describe(self, fresh: int | None, note: str) -> str:
        new = self._done - (self._first or 0) if fresh is None else fresh
        rate = new / max(time.monotonic() - self._started, 1e-9)
        left = f"{duration(max(self._total - self._done, 0) / rate)} left" if rate > 0 else ""
        speed = f"{rate:,.0f} {self._unit}/s" if self._tells_rate else ""
        return ", ".join(part for part in (left, speed, note) if part)
