"""Progress of work that is counted: a bar on a terminal, now and then a line elsewhere. Always on stderr."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from maestro.commands._progress import LINE_EVERY_S, duration

_UPDATE_EVERY_S = 0.1


class Counter:
    """How far `total` things are; a context manager. The rate counts this session's things only."""

    def __init__(self, label: str, unit: str, total: int, console: Console | None = None) -> None:
        self._label, self._unit, self._total = label, unit, total
        self._console = console or Console(stderr=True, highlight=False)
        self._started = self._shown = self._said = time.monotonic()
        self._first: int | None = None
        self._done = 0
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> Counter:
        if self._console.is_terminal:
            columns = [TextColumn("{task.description}"), BarColumn(bar_width=None), MofNCompleteColumn()]
            self._bar = Progress(
                *columns, TextColumn("{task.fields[note]}"), console=self._console, expand=True
            )
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
        parts = [f"{rate:,.0f} {self._unit}/s", note]
        if rate > 0:
            parts.append(f"{duration(max(self._total - self._done, 0) / rate)} left")
        return ", ".join(part for part in parts if part)
