"""Judge by rules what a simulation showed: was the goal reached, and is the policy in good health?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from maestro.envs.scenario.trace import Trace

MOST_REFUSED = 0.05
"""Share of choices that may be refused; a policy is told what may start, so there is no reason for any."""
MOST_IDLE_CHOICES = 40
"""Choices in a row after which nothing having changed is no bad luck any more."""

Progress = Callable[[Any], tuple]
"""What of a state counts as getting on: kills, gold, new levels, ... Two equal tuples are no progress."""


class Goal(NamedTuple):
    """What a task's policy shall reach in the simulation."""

    text: str
    """The goal in words, for the model."""
    reached_at: Callable[[Trace], int | None]
    """The place in the trace's `states` at which the goal is reached; None where it is not."""
    missing: Callable[[Trace], str]
    """What was lacking in a trace that does not reach it, in words."""
    share: float
    """Share of simulated games in which a sound policy reaches it at least. Some games are lost by bad luck."""


@dataclass(frozen=True)
class Trial:
    """Several simulated games of one policy, and what the rules say about them."""

    goal: Goal | None
    traces: tuple[Trace, ...]
    reached: tuple[bool, ...]
    """For every trace whether it reached the goal; all False where there is none."""
    problems: tuple[str, ...]
    """What is wrong with the policy, in words that help to mend it; empty where nothing is."""

    @property
    def passed(self) -> bool:
        """Tell whether the rules find nothing wrong."""
        return not self.problems

    @property
    def telling(self) -> Trace:
        """Pick the trace that shows best what is wrong, or, where all is well, a typical one."""
        failed = [trace for trace in self.traces if trace.error]
        missed = [trace for trace, reached in zip(self.traces, self.reached, strict=True) if not reached]
        alive = [trace for trace in missed if not trace.over]
        worst = list(self.traces) if self.passed else failed or alive or missed or list(self.traces)
        return sorted(worst, key=lambda trace: len(trace.choices))[len(worst) // 2]

    def summary(self) -> str:
        """Say in a few lines how the games went."""
        lines = []
        if self.goal is not None:
            lines.append(
                f"Goal: {self.goal.text} Reached in {sum(self.reached)} of {len(self.traces)} simulated games."
            )
        endings = Counter(_ending(trace) for trace in self.traces)
        lines.append(
            "Endings: " + ", ".join(f"{text} ({count}x)" for text, count in endings.most_common()) + "."
        )
        chosen = Counter(choice.chosen for trace in self.traces for choice in trace.choices)
        total = max(1, sum(chosen.values()))
        shares = ", ".join(f"{skill} {count / total:.0%}" for skill, count in chosen.most_common())
        lines.append(f"Choices: {shares or 'none'}.")
        lines += [f"Problem: {problem}" for problem in self.problems]
        return "\n".join(lines)


def judge(traces: Sequence[Trace], *, goal: Goal | None, progress: Progress) -> Trial:
    """Judge the simulated games of one policy. `goal` is None for a task of the user's that has none."""
    if not traces:
        raise ValueError("there is no trace to judge")
    at = [goal.reached_at(trace) if goal else None for trace in traces]
    problems = [*_errors(traces), *_refusals(traces), *_idling(traces, at, progress)]
    reached = tuple(place is not None for place in at)
    if goal is not None and sum(reached) < goal.share * len(traces):
        missed = [goal.missing(trace) for trace, place in zip(traces, at, strict=True) if place is None]
        reasons = ", ".join(f"{text} ({count}x)" for text, count in Counter(missed).most_common(4))
        problems.append(
            f"the goal was reached in {sum(reached)} of {len(traces)} simulated games; "
            f"a sound policy reaches it in {goal.share:.0%} of them. What was lacking: {reasons}"
        )
    return Trial(goal, tuple(traces), reached, tuple(problems))


def longest_idleness(trace: Trace, until: int | None, progress: Progress) -> tuple[int, int]:
    """Find the longest row of choices without progress: its length and the place of its first choice.

    What comes after the state number `until`, when the goal was reached, does not count.
    """
    best, first, since = (0, 0), 0, None
    for number, choice in enumerate(trace.choices):
        if until is not None and choice.begin >= until:
            break
        if since is None:
            since = progress(trace.states[choice.begin])
        now = progress(trace.states[choice.end])
        if now != since:
            first, since = number + 1, now
        else:
            best = max(best, (number + 1 - first, first))
    return best


def _errors(traces: Sequence[Trace]) -> list[str]:
    errors = Counter(trace.error for trace in traces if trace.error)
    return [
        f"the policy failed in {count} of {len(traces)} games: {text}"
        for text, count in errors.most_common(3)
    ]


def _refusals(traces: Sequence[Trace]) -> list[str]:
    choices = [choice for trace in traces for choice in trace.choices]
    refused = Counter(choice.chosen for choice in choices if choice.refused)
    if sum(refused.values()) <= MOST_REFUSED * len(choices):
        return []
    which = ", ".join(f"{skill} {count}x" for skill, count in refused.most_common())
    return [
        f"{sum(refused.values())} of {len(choices)} choices were refused because the skill could not start ({which}); "
        "choose only what is in startable"
    ]


def _idling(traces: Sequence[Trace], at: Sequence[int | None], progress: Progress) -> list[str]:
    worst, where = (0, 0), None
    stuck = 0
    for trace, until in zip(traces, at, strict=True):
        idle = longest_idleness(trace, until, progress)
        stuck += idle[0] >= MOST_IDLE_CHOICES
        if idle > worst:
            worst, where = idle, trace
    if where is None or stuck * 4 <= len(traces):
        return []
    length, first = worst
    chosen = [choice.chosen for choice in where.choices[first : first + length]]
    kinds = list(dict.fromkeys(chosen))
    how = f"always {kinds[0]}" if len(kinds) == 1 else "going round between " + " and ".join(kinds)
    return [
        f"in {stuck} of {len(traces)} games the policy got stuck; at worst from choice {first + 1} on nothing "
        f"changed for {length} choices: {how}"
    ]


def _ending(trace: Trace) -> str:
    if trace.error:
        return "the policy failed"
    return trace.over.split(" by ")[0] or f"stopped after {len(trace.choices)} choices"
