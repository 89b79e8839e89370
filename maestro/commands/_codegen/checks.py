"""Try a candidate in the sandbox: policies over skills play the scenarios' games, predicates answer their cases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from codegen.contract import Contract
from codegen.repair import Candidate, Checked
from codegen.sandbox import (
    Call,
    Limits,
    New,
    Raised,
    Returned,
    SandboxFailure,
    Session,
    StateValue,
    bubblewrap,
    open_session,
)
from maestro.commands._codegen.jobs import Job
from maestro.envs.scenario import Question, Trace, Trial, judge, judge_predicate
from maestro.envs.scenario import Session as Play

LIMITS = Limits(wall_s=60.0, cpu_s=30, output_bytes=64 * 2**20)
"""Of all simulated games, or all cases of a predicate; the parent's own time is part of it."""
BROKEN_ENOUGH = 3
"""Games of a policy that failed outright after which the others would tell nothing new."""


def check_policy(job: Job, num_games: int, candidate: Candidate) -> tuple[Checked, Trial]:
    """Let a policy play simulated games and judge them by the rules of the scenarios."""
    scenarios = job.scenarios
    traces: list[Trace] = []
    while len(traces) < num_games and sum(bool(trace.error) for trace in traces) < BROKEN_ENOUGH:
        # games share a process; one that a game has killed is replaced for the next
        with _session(candidate.source, job.contract, len(traces)) as session:
            while len(traces) < num_games:
                simulation = scenarios.make_simulation(job.contract.skills, len(traces))
                traces.append(_play(session, candidate, Play(simulation, fallback=_fallback(job))))
                if traces[-1].error:
                    break
    goal = scenarios.GOALS.get(job.item.name)
    trial = judge(traces, goal=goal, progress=scenarios.progress)
    shown = trial.telling
    trace = f"{trial.summary()}\n\nOne of these games:\n{shown}"
    return Checked(trial.problems, trace), trial


def check_predicate(job: Job, candidate: Candidate) -> Checked:
    """Let an initiation or termination answer the scenarios' cases."""
    scenarios, skill = job.scenarios, job.item.name
    initiation = job.contract.kind == "initiation"
    make = scenarios.initiation_cases if initiation else scenarios.termination_cases
    cases = make(skill, job.contract.skills)
    name = job.contract.functions[0].name
    answers: list[Any] = []
    with _session(candidate.source, job.contract, 0) as session:
        if isinstance(session, SandboxFailure):
            return Checked((str(session),))
        for case in cases:
            state = _value(case.state)
            arguments = (state,) if initiation else (state, _value(case.start), case.startable)
            answer = session.ask(Call(name, arguments))
            if not isinstance(answer, Returned):
                return Checked((f"{name} failed with {answer}, asked: {scenarios.show_case(case)}",))
            answers.append(_plain(answer))
    report = judge_predicate(
        name, cases, answers, may_be_constant=job.contract.may_be_constant, show=scenarios.show_case
    )
    text = f"{name} returned True in {report.num_true} of {report.num_cases} cases."
    return Checked(report.problems, text)


def _play(session: Session | SandboxFailure, candidate: Candidate, play: Play) -> Trace:
    """Let a new object of the policy play one simulated game; what goes wrong is in the trace."""
    question: Question | None = play.start()
    fault = _first_fault(session)
    if fault or isinstance(session, SandboxFailure):
        play.fail(fault)
        return play.trace
    observes = "def observe(" in candidate.source
    while question is not None:
        for state in question.states if observes else ():
            answer = session.ask(Call("observe", (_value(state),)))
            if not isinstance(answer, Returned):
                play.fail(f"observe failed: {answer}")
                return play.trace
        arguments = (_value(question.states[-1]), question.finished, question.startable)
        answer = session.ask(Call("select_skill", arguments))
        if not isinstance(answer, Returned):
            play.fail(f"select_skill failed: {answer}")
            return play.trace
        question = play.reply(_plain(answer))
    return play.trace


def _first_fault(session: Session | SandboxFailure) -> str:
    """Make the policy's object; say what prevents it."""
    if isinstance(session, SandboxFailure):
        return str(session)
    made = session.ask(New())
    return str(made) if isinstance(made, (Raised, SandboxFailure)) else ""


@contextmanager
def _session(source: str, contract: Contract, seed: int) -> Iterator[Session | SandboxFailure]:
    with open_session(source, contract, limits=LIMITS, seed=seed, bubblewrap=bubblewrap()) as session:
        yield session


def _value(state: Any) -> StateValue:
    return StateValue(state._asdict())


def _plain(answer: Returned) -> Any:
    """Give what was returned; of what is no plain value, its type's name in a form no skill has."""
    return f"<{answer.other}>" if answer.other else answer.value


def _fallback(job: Job) -> str:
    return job.item.spec.fallback  # type: ignore[union-attr] - only policies over skills come here
