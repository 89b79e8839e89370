"""Ask a model for a module until what it writes is valid, runs, and does what was asked; or the budget is spent.

generate -> extract -> validate -> (merge) -> sandbox -> judge -> rewrite. Everything that talks to the world is handed
in as a function: the model, the checks of behaviour, the judge, the words of the messages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from codegen.contract import Contract, Violation
from codegen.extract import Extracted, NotExtracted, extract
from codegen.feedback import Feedback, explain
from codegen.merge import MergeRefused, helper_names, merge
from codegen.sandbox import Limits, New, Raised, Request, RunTest, SandboxFailure, TestReport, bubblewrap, run
from codegen.transcript import Transcript
from codegen.validate import VALIDATOR_VERSION, validate, validate_test

Stage = Literal["complete", "extract", "validate", "merge", "sandbox", "check", "judge", "done"]


@dataclass(frozen=True)
class Message:
    """One message of a conversation; `role` is "system", "user" or "assistant"."""

    role: str
    content: str


class Reply(Protocol):
    """What a model gives back: its text. A `tokens` attribute, where there is one, is what the exchange cost."""

    @property
    def text(self) -> str:
        """The words of the reply."""
        ...


Complete = Callable[[Sequence[Message]], Reply]


@dataclass(frozen=True)
class Candidate:
    """A module that is valid and ran: its source as it would be written, its unit test, and how that went."""

    source: str
    test_source: str
    test: TestReport | None
    attempt: int


@dataclass(frozen=True)
class Checked:
    """What a check of behaviour found: problems (none: it passed) and a trace to show to the model and the judge."""

    problems: tuple[str, ...] = ()
    trace: str = ""


Check = Callable[[Candidate], Checked]
"""A look at how a candidate behaves, for example in a simulator; must not raise for what the candidate does."""


@dataclass(frozen=True)
class Judgement:
    """A model's own answer to whether the trace shows what was asked for."""

    accepted: bool
    text: str = ""
    tokens: int = 0


Judge = Callable[[Sequence[Message], Candidate, str], Judgement]
"""Called with the conversation so far, the candidate, and the trace of all checks."""


@dataclass(frozen=True)
class Budget:
    """What a generation may cost. Tokens count prompts and replies, as far as the model reports them."""

    attempts: int = 5
    tokens: int = 200_000
    seconds: float = 900.0


@dataclass(frozen=True)
class Attempt:
    """One reply and how far it came. `problems` are what was said to the model about it."""

    number: int
    stage: Stage
    problems: tuple[str, ...]
    trace: str = ""
    tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Generation:
    """A module that passed everything."""

    source: str
    test_source: str
    attempts: tuple[Attempt, ...]
    tokens: int
    seconds: float
    validator_version: int = VALIDATOR_VERSION


@dataclass(frozen=True)
class GenerationFailed:
    """The budget was spent, or the model could not be reached. `reasons` say which, then what was last wrong."""

    reasons: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    tokens: int
    seconds: float


@dataclass
class Repair:
    """One generation: how the model is asked, and what its answers must pass.

    `helpers` is the source of an earlier class whose methods may be called and are merged in. `needs_test` says whether
    a module without a unit test of its own is refused. `report` is told of every attempt as it ends, `feedback` writes
    what the model is told.
    """

    complete: Complete
    contract: Contract
    budget: Budget = field(default_factory=Budget)
    checks: Sequence[Check] = ()
    judge: Judge | None = None
    helpers: str | None = None
    needs_test: bool = True
    limits: Limits = field(default_factory=Limits)
    transcript: Transcript | None = None
    report: Callable[[Attempt], None] = lambda attempt: None
    feedback: Callable[[Feedback], str] = explain
    clock: Callable[[], float] = time.monotonic

    def run(self, messages: Sequence[Message]) -> Generation | GenerationFailed:
        """Hold the conversation that begins with `messages` until a module passes or the budget is spent.

        Exceptions of `complete`, `judge` and the checks pass through, after what was said so far is on record.
        """
        start, tokens = self.clock(), 0
        attempts: list[Attempt] = []
        conversation = list(messages)
        for message in conversation:
            self._record("message", role=message.role, content=message.content)
        while True:
            spent = self._spent(len(attempts), tokens, self.clock() - start)
            if spent:
                last = attempts[-1].problems if attempts else ()
                self._record("failed", reasons=[spent, *last])
                return GenerationFailed((spent, *last), tuple(attempts), tokens, self.clock() - start)
            begun = self.clock()
            reply = self.complete(tuple(conversation))
            cost = int(getattr(reply, "tokens", 0) or 0)
            self._record("reply", content=reply.text, tokens=cost)
            conversation.append(Message("assistant", reply.text))
            outcome, stage, trace, more = self._examine(reply.text, len(attempts) + 1, conversation)
            tokens += cost + more
            problems = outcome.problems if isinstance(outcome, Feedback) else ()
            attempt = Attempt(len(attempts) + 1, stage, problems, trace, cost + more, self.clock() - begun)
            attempts.append(attempt)
            self._record("attempt", number=attempt.number, stage=stage, problems=list(problems), trace=trace)
            self.report(attempt)
            if isinstance(outcome, Candidate):
                return Generation(
                    outcome.source, outcome.test_source, tuple(attempts), tokens, self.clock() - start
                )
            conversation.append(Message("user", self.feedback(outcome)))
            self._record("message", role="user", content=conversation[-1].content)

    def _spent(self, attempts: int, tokens: int, seconds: float) -> str:
        budget = self.budget
        if attempts >= budget.attempts:
            return f"all {budget.attempts} attempts were used"
        if tokens >= budget.tokens:
            return f"{tokens} of {budget.tokens} tokens were used"
        if seconds >= budget.seconds:
            return f"{seconds:.0f} of {budget.seconds:.0f} seconds were used"
        return ""

    def _examine(
        self, text: str, number: int, conversation: Sequence[Message]
    ) -> tuple[Candidate | Feedback, Stage, str, int]:
        """Take one reply through all stages; give the candidate or what to tell the model, and the judge's tokens."""
        made = self._make(text)
        if isinstance(made, Feedback):
            return made, made.stage, "", 0  # type: ignore[return-value]
        tested = self._try(made, number)
        if isinstance(tested, Feedback):
            return tested, "sandbox", tested.trace, 0
        printed = tested.test.printed if tested.test else ""
        traces, problems = [printed] if printed.strip() else [], []
        for check in self.checks:
            found = check(tested)
            problems += found.problems
            traces += [found.trace] if found.trace else []
        trace = "\n".join(each.rstrip() for each in traces)
        if problems:
            return Feedback("check", tuple(problems), made.module_source, trace), "check", trace, 0
        if self.judge is None:
            return tested, "done", trace, 0
        verdict = self.judge(tuple(conversation), tested, trace)
        self._record("judgement", accepted=verdict.accepted, content=verdict.text, tokens=verdict.tokens)
        if verdict.accepted:
            return tested, "done", trace, verdict.tokens
        reason = verdict.text.strip() or "You judged that the trace does not show what was asked for."
        return Feedback("judge", (reason,), made.module_source, trace), "judge", trace, verdict.tokens

    def _make(self, text: str) -> Extracted | Feedback:
        """Extract, validate and merge."""
        contract = self.contract
        if self.helpers is not None:
            contract = replace(contract, given=helper_names(self.helpers, contract))
        found = extract(text, contract)
        if isinstance(found, NotExtracted):
            return Feedback("extract", (found.message,))
        violations = validate(found.module_source, contract)
        if not violations:
            violations = self._validate_test(found, contract)
        if violations:
            return Feedback(
                "validate", tuple(map(str, violations)), found.module_source, violations=tuple(violations)
            )
        if not found.test_source and self.needs_test:
            missing = (
                "There is no unit test. Add functions whose names begin with `test_` to the end of the block."
            )
            return Feedback("extract", (missing,), found.module_source)
        if self.helpers is None:
            return found
        merged = merge(found.module_source, self.helpers, contract)
        if isinstance(merged, MergeRefused):
            return Feedback("merge", (merged.message,), found.module_source)
        return Extracted(merged.source, found.test_source)

    def _validate_test(self, found: Extracted, contract: Contract) -> list[Violation]:
        named = replace(contract, file=f"unit test of {contract.file}")
        return validate_test(found.test_source, found.module_source, named)

    def _try(self, made: Extracted, number: int) -> Candidate | Feedback:
        """Load the module in the sandbox, make an instance of its class, and run its unit test."""
        requests: list[Request] = [New()] if self.contract.class_name else []
        requests += [RunTest(made.test_source)] if made.test_source else []
        result = run(
            made.module_source,
            requests,
            self.contract,
            limits=self.limits,
            seed=number,
            bubblewrap=bubblewrap(),
        )
        if isinstance(result, SandboxFailure):
            return Feedback("sandbox", (str(result),), made.module_source)
        problems = [str(each) for each in result.answers if isinstance(each, Raised)]
        reports = [each for each in result.answers if isinstance(each, TestReport)]
        for report in reports:
            problems += [f"{name or 'the unit test'} failed: {error}" for name, error in report.failures]
            if not report.tests and not report.failures:
                problems.append("The unit test has no function whose name begins with `test_`.")
        if problems:
            printed = reports[0].printed if reports else ""
            return Feedback("sandbox", tuple(problems), made.module_source, printed)
        return Candidate(made.module_source, made.test_source, reports[0] if reports else None, number)

    def _record(self, kind: str, **content: Any) -> None:
        if self.transcript is not None:
            self.transcript.add(kind, **content)
