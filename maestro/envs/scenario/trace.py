"""What happened when a policy over skills played a simulation, and how it is printed for a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

Column = tuple[str, Callable[[Any], Any]]
"""A heading, and what stands under it for a state."""

MAX_LINES = 120
"""Lines a printed trace has at most; of a longer one the middle is left out."""


class Choice(NamedTuple):
    """One choice of the policy and what came of it. `begin` and `end` are places in the trace's `states`."""

    begin: int
    """The state in which the policy was asked."""
    end: int
    """The state in which the skill ended; equal to `begin` where the game was over before anything happened."""
    chosen: str
    """What the policy answered."""
    ran: str
    """What ran: the same, or the fallback where the choice was refused."""
    reason: str
    """Why it ended, in words."""
    startable: frozenset[str]
    """What might have been chosen."""

    @property
    def refused(self) -> bool:
        """Tell whether the policy chose a skill that could not start."""
        return self.chosen != self.ran


@dataclass
class Trace:
    """All that happened in one simulated game. It grows while the game is played."""

    world: Any
    """What the simulation knows and the policy does not, for goals: where the levels really are."""
    columns: Sequence[Column] = ()
    states: list[Any] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    over: str = ""
    """Why the game ended, in words; empty where it could have gone on."""
    error: str = ""
    """What the policy did that no policy may: raise, or answer something that is no skill."""
    max_choices: int = 0
    """How many choices the policy was given at most."""

    def __str__(self) -> str:
        """Print the trace with its ordinary columns."""
        return self.text()

    def text(self, max_lines: int = MAX_LINES) -> str:
        """Print one line for every choice; the same choice made again in the same place is counted in one line.

        Facts are those at the time of the choice. `max_lines` bounds the table, its heading and ending excluded.
        """
        headings = ["no", *(heading for heading, _ in self.columns), "could start", "chosen", "ended because"]
        rows = [self._row(number, group) for number, group in self._runs()]
        if len(rows) > max_lines:
            left_out = len(rows) - max_lines
            half = max_lines // 2
            rows[half : half + left_out] = [[f"... {left_out} lines left out ..."]]
        always = self._always_startable()
        if always:
            note = f"Always startable and therefore left out of 'could start': {', '.join(always)}."
            lines = [note, *_table([headings, *rows])]
        else:
            lines = _table([headings, *rows])
        return "\n".join([*lines, self.ending()])

    def ending(self) -> str:
        """Say in one line how the game ended and what the facts were then."""
        if not self.states:
            return f"Nothing happened. {self.error}".strip()
        facts = ", ".join(f"{heading} {show(self.states[-1])}" for heading, show in self.columns)
        if self.error:
            return f"The policy failed: {self.error}. At that time: {facts}."
        if self.over:
            return f"The game ended: {self.over}. At the end: {facts}."
        return f"Stopped after {len(self.choices)} choices. At the end: {facts}."

    def visited(self, place: Callable[[Any], Any]) -> list[Any]:
        """List the places (whatever `place` makes of a state) in the order of their first visit."""
        return list(dict.fromkeys(place(state) for state in self.states))

    def _always_startable(self) -> list[str]:
        common = [choice.startable for choice in self.choices]
        return sorted(frozenset.intersection(*common)) if common else []

    def _runs(self) -> list[tuple[int, list[Choice]]]:
        """Group neighbouring choices that are the same choice in the same place, with the number of the first."""
        runs, number = [], 1
        for _, group in groupby(self.choices, key=self._sameness):
            choices = list(group)
            runs.append((number, choices))
            number += len(choices)
        return runs

    def _sameness(self, choice: Choice) -> tuple:
        begin, end = self.states[choice.begin], self.states[choice.end]
        return choice.chosen, choice.ran, choice.reason, choice.startable, _place(begin), _place(end)

    def _row(self, number: int, choices: list[Choice]) -> list[str]:
        first = choices[0]
        facts = [str(show(self.states[first.begin])) for _, show in self.columns]
        startable = " ".join(sorted(first.startable - set(self._always_startable()))) or "-"
        chosen = f"{first.chosen} REFUSED, {first.ran} ran" if first.refused else first.chosen
        times = f" x{len(choices)}" if len(choices) > 1 else ""
        return [str(number), *facts, startable, chosen + times, first.reason]


def _place(state: Any) -> tuple:
    """Give where the hero is, as far as worlds have something like that."""
    return tuple(getattr(state, name, None) for name in ("dungeon", "level", "depth"))


def _table(rows: list[list[str]]) -> list[str]:
    """Align the columns; rows of a single cell stand by themselves."""
    whole = [row for row in rows if len(row) > 1]
    widths = [max(len(row[column]) for row in whole) for column in range(len(whole[0]))]
    lines = []
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        lines.append("  ".join(cells).rstrip() if len(row) > 1 else row[0])
    return lines
