"""Try initiation and termination functions on states, and refuse those that lie: constant, or plainly wrong.

The functions may live in another process: the caller has them answer `cases` there and hands the answers to `judge`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

MOST_SHOWN = 3
"""Wrong answers of one kind that are shown; more would not tell more."""


class Case(NamedTuple):
    """One question to a predicate. An initiation is asked with `state` alone, a termination with all three."""

    state: Any
    start: Any
    """The state in which the skill began."""
    startable: frozenset[str]
    """The names of the skills that may start in `state`."""
    expected: bool | None
    """The only right answer; None where both can be right."""
    why: str
    """Where the case comes from, or why this answer is expected."""


class CasesReport(NamedTuple):
    """What the rules say about a predicate."""

    problems: tuple[str, ...]
    num_cases: int
    num_true: int

    @property
    def passed(self) -> bool:
        """Tell whether the rules find nothing wrong."""
        return not self.problems


def judge_predicate(
    name: str,
    cases: Sequence[Case],
    answers: Sequence[Any],
    *,
    may_be_constant: frozenset[bool] = frozenset(),
    show: Callable[[Case], str] = repr,
) -> CasesReport:
    """Compare a predicate's answers with what is expected of it.

    `name` is the function's, for messages. A predicate that gives one answer to all cases is refused, unless that
    answer is in `may_be_constant`. `show` prints a case for the model.
    Raises ValueError where there is not one answer for every case.
    """
    if len(cases) != len(answers):
        raise ValueError(f"{len(answers)} answers to {len(cases)} cases")
    problems = []
    for case, answer in zip(cases, answers, strict=True):
        if not isinstance(answer, bool):
            problems.append(f"{name} returned {answer!r}, which is neither True nor False, for: {show(case)}")
            break
    wrong: dict[str, list[Case]] = {}
    for case, answer in zip(cases, answers, strict=True):
        if case.expected is not None and bool(answer) != case.expected:
            wrong.setdefault(case.why, []).append(case)
    for why, found in wrong.items():
        shown = "; ".join(show(case) for case in found[:MOST_SHOWN])
        problems.append(
            f"{name} returned {not found[0].expected} in {len(found)} cases where it should return "
            f"{found[0].expected} because {why}. For example: {shown}"
        )
    truths = {bool(answer) for answer in answers}
    if len(truths) == 1 and len(cases) > 1 and not truths <= may_be_constant:
        problems.append(
            f"{name} returned {truths.pop()} for every one of {len(cases)} states of real and simulated games; "
            "a function that never changes its answer says nothing"
        )
    return CasesReport(tuple(problems), len(cases), sum(map(bool, answers)))


def ask_initiation(can_initiate: Callable[[Any], Any], cases: Sequence[Case]) -> list[Any]:
    """Let an initiation of this process answer; what it raises passes through."""
    return [can_initiate(case.state) for case in cases]


def ask_termination(
    should_terminate: Callable[[Any, Any, frozenset[str]], Any], cases: Sequence[Case]
) -> list[Any]:
    """Let a termination of this process answer; what it raises passes through."""
    return [should_terminate(case.state, case.start, case.startable) for case in cases]
