"""What `maestro train-policy` shows while it trains: a table that renews itself, or now and then a few plain lines."""

from __future__ import annotations

import time

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from maestro.commands._progress import duration
from maestro.learner.progress import Summary

LINE_EVERY_S = 30.0


class TrainingView:
    """Shows summaries on stderr; a context manager."""

    def __init__(self, title: str, console: Console | None = None) -> None:
        self._title = title
        self._console = console or Console(stderr=True, highlight=False)
        self._live: Live | None = None
        self._said = time.monotonic()
        self._last: Summary | None = None
        self._shown: Summary | None = None

    def __enter__(self) -> TrainingView:
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False, vertical_overflow="crop")
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
        elif self._last is not None and self._last is not self._shown:
            self._line(self._last)

    def update(self, summary: Summary, note: str = "") -> None:
        """Show how the run goes; `note` says what goes on besides."""
        self._last = summary
        if self._live is not None:
            self._live.update(render(summary, self._title, note, self._console.width), refresh=True)
        elif time.monotonic() - self._said > LINE_EVERY_S:
            self._said = time.monotonic()
            self._line(summary)

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self._console.print(f"maestro: {text}", markup=False, soft_wrap=True)

    def _line(self, summary: Summary) -> None:
        self._shown = summary
        for text in lines(summary):
            self._console.print(text, markup=False, soft_wrap=True)


def lines(summary: Summary) -> list[str]:
    """Say how the run goes in plain lines."""
    limit = summary.limit
    parts = [f"{summary.env_steps:,}/{summary.total:,} steps", _speed(summary)]
    if summary.seconds_left is not None:
        parts.append(f"{duration(summary.seconds_left)} left")
    if limit is not None and summary.steps_per_s is not None:
        parts.append(f"limit: {limit.name}")
    skills = [
        f"{skill} {told.get('reward_per_1000', 0.0):.2f}/1000 ({told.get('share', 0.0):.0%})"
        for skill, told in summary.skills().items()
    ]
    found = [", ".join(parts)]
    if skills:
        found.append("  skills: " + ", ".join(skills))
    for name, text in (
        ("games", _games(summary)),
        ("learner", _learner(summary)),
        ("probes", _probes(summary)),
    ):
        if text:
            found.append(f"  {name}: {text}")
    return found


def render(summary: Summary, title: str, note: str, width: int) -> RenderableType:
    """Draw the table; it fits `width` columns, from 60 on."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    share = min(1.0, summary.env_steps / max(summary.total, 1))
    facts.add_row("steps", f"{summary.env_steps:,} of {summary.total:,} ({share:.0%})")
    facts.add_row("", ProgressBar(total=1.0, completed=share, width=min(60, width - 12)))
    facts.add_row("speed", _speed(summary))
    if summary.limit is not None and summary.steps_per_s is not None:
        facts.add_row("limit", summary.limit.words())
    if summary.seconds_left is not None:
        facts.add_row("left", f"about {duration(summary.seconds_left)}")
    below = Table.grid(padding=(0, 2))
    below.add_column(style="bold", no_wrap=True)
    below.add_column(overflow="fold")
    for name, text in (
        ("games", _games(summary)),
        ("learner", _learner(summary)),
        ("probes", _probes(summary)),
    ):
        if text:
            below.add_row(name, text)
    if note:
        below.add_row("now", note)
    head = Text(title, style="dim", no_wrap=True, overflow="ellipsis")
    skills = [Text(""), _skill_table(summary, width), Text("")] if summary.games else []
    return Group(head, facts, *skills, below)


def _skill_table(summary: Summary, width: int) -> Table:
    """Draw a line a skill; columns of figures keep their width, the last one takes what is left."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    skills = summary.skills()
    table.add_column("skill", no_wrap=True, min_width=min(12, max(map(len, skills), default=5)))
    headings = ["paid/1000", "share %", "starts", "length", *(["down/up %"] if width >= 78 else [])]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True, min_width=len(heading))
    table.add_column("ended by (%)", no_wrap=True, overflow="ellipsis", ratio=1)
    for skill, told in skills.items():
        cells = [
            skill,
            f"{told.get('reward_per_1000', 0.0):.2f}",
            f"{100 * told.get('share', 0.0):.1f}",
            f"{told.get('activations', 0.0):,.0f}",
            f"{told['steps_per_activation']:.1f}" if "steps_per_activation" in told else "-",
            _levels(told),
        ]
        table.add_row(*cells[: len(headings) + 1], _endings(told))
    return table


def _levels(told: dict[str, float]) -> str:
    """Say which percentage of the activations ended below and above where they began."""
    if "deeper" not in told:
        return "-"
    return f"{100 * told['deeper']:.0f}/{100 * told.get('higher', 0.0):.0f}"


def _endings(told: dict[str, float]) -> str:
    counts = {name.removeprefix("ended_"): count for name, count in told.items() if name.startswith("ended_")}
    total = sum(counts.values())
    if not total:
        return "-"
    common = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{reason} {100 * count / total:.0f}" for reason, count in common if count)


def _speed(summary: Summary) -> str:
    if summary.steps_per_s is None:
        if summary.overall_steps_per_s is not None:
            return "starting again"
        return "starting: processes, engines and compiled code take a minute or two on a small machine"
    now = f"{summary.steps_per_s:,.0f} steps/s"
    return (
        now
        if summary.overall_steps_per_s is None
        else f"{now} now, {summary.overall_steps_per_s:,.0f} overall"
    )


def _games(summary: Summary) -> str:
    """Say what happened in the last minute's episodes."""
    games = summary.games
    if not games:
        return ""
    parts = [f"{games.get('episodes', 0):,.0f} episodes in the last minute"]
    names = {"steps": "steps", "score": "score", "max_depth": "greatest depth", "reward": "paid"}
    parts += [
        f"{label} {games[f'episode/{name}']:,.1f}"
        for name, label in names.items()
        if f"episode/{name}" in games
    ]
    chosen = [told for told in summary.skills().values() if told.get("refused")]
    if chosen:
        parts.append(f"{sum(told['refused'] for told in chosen):,.0f} starts refused")
    if games.get("episodes_failed"):
        parts.append(f"{games['episodes_failed']:,.0f} failed in generated code")
    return ", ".join(parts)


def _learner(summary: Summary) -> str:
    names = {"entropy": "entropy", "kl_divergence": "KL", "value_loss": "value loss", "pull": "pull"}
    parts = [f"{label} {summary.train[name]:.3g}" for name, label in names.items() if name in summary.train]
    if summary.restarts:
        parts.append(f"restarts {summary.restarts}")
    return ", ".join(parts)


def _probes(summary: Summary) -> str:
    return ", ".join(f"{task} {mean:.3g}" for task, mean in summary.probes.items())
