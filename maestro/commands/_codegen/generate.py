"""One job from prompt to validated module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from codegen.repair import (
    Attempt,
    Budget,
    Candidate,
    Check,
    Checked,
    Generation,
    GenerationFailed,
    Message,
    Repair,
)
from codegen.transcript import Transcript
from maestro.commands._codegen.checks import check_policy, check_predicate
from maestro.commands._codegen.jobs import Job, is_task, prompt_hash
from maestro.commands._codegen.real_games import RealGames
from maestro.commands._codegen.settings import Settings
from maestro.commands._codegen.talk import Talk
from maestro.commands._codegen.tell import attempt_json, attempt_lines
from maestro.commands._codegen.write import Written
from maestro.content import Content
from maestro.errors import ChatError
from maestro.llm import ChatModel
from maestro.llm.messages import shorten
from maestro.options.provenance import Origin
from maestro.prompts import Prompts

TOO_LONG = (
    "where the question is too long for the server, lower max_tokens in prompts/codegen/settings.toml of your content "
    "folder, or serve a model with a longer context (prompts have about 5,000 tokens, conversations up to 40,000)"
)


@dataclass(frozen=True)
class Means:
    """What every job of one command has at hand."""

    content: Content
    prompts: Prompts
    model: ChatModel
    settings: Settings
    attempts: int
    check_games: int
    code_seed: int | None
    say: Callable[[str], None]


@dataclass(frozen=True)
class Result:
    """What came of one job: `written` is None where it failed, and `reasons` say why."""

    job: Job
    written: Written | None
    reasons: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    tokens: int
    seconds: float
    real_success: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Give the result as plain data."""
        return {
            "module": self.job.label,
            "ok": self.written is not None,
            "author": self.written.author if self.written else None,
            "reasons": list(self.reasons),
            "attempts": [attempt_json(each) for each in self.attempts],
            "tokens": self.tokens,
            "seconds": round(self.seconds, 3),
            "real_success": self.real_success,
        }


def generate(job: Job, means: Means, transcript: Transcript) -> Result:
    """Hold the conversation about one module, whatever comes of it."""
    messages = job.messages(means.prompts)
    talk = Talk(means.model, job, means.prompts, means.settings, means.attempts, means.code_seed)
    real = _real_games(job, means)
    attempts: list[Attempt] = []

    def heard(attempt: Attempt) -> None:
        attempts.append(attempt)
        talk.heard(attempt)
        for line in attempt_lines(attempt, means.attempts, _note(talk, attempt)):
            means.say(line)

    settings = means.settings
    is_policy = job.contract.kind == "policy"
    repair = Repair(
        talk.complete,
        job.contract,
        Budget(means.attempts, settings.max_total_tokens, settings.max_seconds),
        checks=[_check(job, talk, settings, real)],
        judge=talk.judge if is_policy and settings.judge and means.model.live and real is None else None,
        helpers=job.helpers,
        transcript=transcript,
        report=heard,
        feedback=talk.feedback,
    )
    transcript.add("module", label=job.label, file=job.file_name)
    try:
        outcome = repair.run(messages)
    except ChatError as error:
        if error.reason == "refused" and error.hint is None:
            error.hint = TOO_LONG
        transcript.add("failed", reasons=[str(error)])
        tokens, seconds = sum(each.tokens for each in attempts), sum(each.seconds for each in attempts)
        outcome = GenerationFailed((str(error),), tuple(attempts), tokens, seconds)
    return _conclude(job, outcome, talk, real, messages)


def _conclude(
    job: Job,
    outcome: Generation | GenerationFailed,
    talk: Talk,
    real: RealGames | None,
    messages: Sequence[Message],
) -> Result:
    """Take the module that passed, or the best of those that real games could not decide upon."""
    best = real.best if real is not None else None
    source = best.source if best is not None else getattr(outcome, "source", None)
    score = real.best_score[0] if real is not None and best is not None else None
    if source is None:
        reasons = outcome.reasons if isinstance(outcome, GenerationFailed) else ()
        return Result(job, None, reasons, outcome.attempts, outcome.tokens, outcome.seconds)
    authors = list(dict.fromkeys(talk.authors))
    origin = Origin(
        model=", ".join(authors),
        prompt_sha256=prompt_hash(messages),
        skills_sha256=job.skills_sha256,
        attempts=best.attempt if best is not None else len(outcome.attempts),
        code_seed=talk.code_seed,
    )
    written = Written(job, source, " and ".join(authors), origin)
    return Result(job, written, (), outcome.attempts, outcome.tokens, outcome.seconds, score)


def _check(job: Job, talk: Talk, settings: Settings, real: RealGames | None) -> Check:
    """Try a candidate in the scenarios and, once it does well there, in real games."""
    if job.contract.kind != "policy":
        return partial(check_predicate, job)

    def check(candidate: Candidate) -> Checked:
        found, talk.trial = check_policy(job, settings.simulated_games, candidate)
        if found.problems or real is None:
            return found
        played = real(candidate)
        return Checked(played.problems, played.trace) if played.problems else found

    return check


def _real_games(job: Job, means: Means) -> RealGames | None:
    if not means.check_games or not is_task(job):
        return None
    return RealGames(
        job,
        means.content,
        means.check_games,
        improve=means.model.live,
        say=lambda text: means.say(f"  {text}"),
    )


def _note(talk: Talk, attempt: Attempt) -> str:
    """Say what a good module was seen to do, and whether the model's own verdict on it is missing."""
    if talk.trial is None:
        return attempt.trace.strip().splitlines()[-1] if attempt.trace.strip() else ""
    games = len(talk.trial.traces)
    reached = f"{sum(talk.trial.reached)} of {games} simulated games reach the goal"
    seen = reached if talk.trial.goal else f"{games} simulated games without a fault"
    return f"{seen}; {shorten(talk.judge_fault, 300)}" if talk.judge_fault else seen
