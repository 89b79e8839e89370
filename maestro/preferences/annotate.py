"""Annotate: put a plan's questions to an annotator until the store has every answer.

What the store knows is not asked again, so a run that was stopped or killed goes on where it was, and the same
command given twice asks nothing the second time. Memory does not grow with the number of pairs.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from maestro.errors import AnnotationError, ConfigError
from maestro.parallel import map_tasks, portable
from maestro.preferences.annotators import Annotator, AnnotatorSettings, make_annotator
from maestro.preferences.judgements import Context, Failure, Judgement, Question
from maestro.preferences.pairs import Preference
from maestro.preferences.questions import ALL, Plan, Shard
from maestro.preferences.store import JudgementStore, Spent

_TASK_QUESTIONS = 256
_IN_FLIGHT = 32  # where the settings do not say; as in llm.chat
_ENOUGH = 200
"""Answers before the share of unparsed ones can end a run early."""
_SAMPLES = 5
_BATCH_S = 0.5
_RECKON_S = 3.0
_RECKONING = 0.05  # share of the time that may go into it


@dataclass(frozen=True)
class Limits:
    """What ends a run before its last question."""

    max_cost: float | None = None
    """Of all sessions together, in the currency of the model's prices."""
    max_unparsed: float = 0.05
    """Share of questions without a usable answer."""
    retry_unparsed: bool = False
    """Ask again what was answered, but could not be understood."""


NO_LIMITS = Limits()


@dataclass
class Progress:
    """How far a run is; the same object is updated as it goes."""

    total: int
    """Questions of the whole shard, both orders counted; equal captions not."""
    known: int = 0
    """Answered before this session (as far as the plan has been read)."""
    repeated: int = 0
    """Asked already in this session: the same two captions were drawn again."""
    known_unparsed: int = 0
    answered: int = 0
    """In this session."""
    unparsed: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    """Of all sessions together; None where there are no prices."""
    samples: list[str] = field(default_factory=list)
    """Some answers that could not be understood."""
    failures: list[str] = field(default_factory=list)
    stopped: str = ""
    """Why the run ended before everything was answered; empty otherwise."""
    started: float = field(default_factory=time.monotonic)

    @property
    def settled(self) -> int:
        """Count what needs no asking any more, of `total`."""
        return self.known + self.repeated + self.answered + self.failed

    @property
    def rate(self) -> float:
        """Answers a second in this session."""
        return self.answered / max(time.monotonic() - self.started, 1e-9)


class QuestionsTask(NamedTuple):
    """Questions for a worker elsewhere."""

    settings: AnnotatorSettings
    questions: list[Question]
    known_models: list[str]


class Answers(NamedTuple):
    """What came of a task."""

    results: list[Judgement | Failure]
    error: Exception | None = None
    """What ended it before its last question."""


def annotate(
    plan: Plan,
    settings: AnnotatorSettings,
    annotator: Annotator,
    context: Context,
    store: JudgementStore,
    *,
    shard: Shard = ALL,
    limits: Limits = NO_LIMITS,
    engine: str = "process",
    workers: int = 0,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Ask what the store lacks.

    Raises AnnotationError where the annotator cannot go on or too many answers cannot be used, StoreError where the
    store cannot be written; what was answered until then is kept either way. `Progress.stopped` says whether
    `max_cost` ended it.
    """
    if limits.max_cost is not None and annotator.prices is None:
        raise ConfigError(
            "the cost cannot be limited: the model's prices are not known",
            where="--max-cost",
            hint="give them, of a million tokens: --config llm_settings.price_prompt=0.6 llm_settings.price_completion=0.6",
        )
    runner = _Runner(plan, annotator, context, store, shard, limits, on_progress)
    with store.working_on(context, str(shard)):
        known_models = store.models(context)
        questions = _Affordable(runner)
        if not questions.has_more():
            return runner.progress if runner.progress.stopped else runner.conclude()
        annotator.check(known_models)
        if engine == "process" and workers == 0:
            runner.take(annotator.annotate(questions), annotator.batch)
        else:
            tasks = _Tasks(questions, settings, known_models, _task_size(annotator, settings))
            for _, answers in map_tasks(answer_questions, tasks, engine=engine, workers=workers):
                # Answers first: a failure can end the run, and what comes after it in the list would be lost.
                results = sorted(answers.results, key=lambda result: isinstance(result, Failure))
                runner.take(results, len(results) or 1)
                if answers.error is not None:
                    raise answers.error
    return runner.conclude()


def answer_questions(task: QuestionsTask) -> Answers:
    """Answer a worker's share; what ends it early is handed back with the answers until then, not raised."""
    results: list[Judgement | Failure] = []
    try:
        annotator = _annotator(task.settings.model_dump_json(), tuple(task.known_models))
        results.extend(annotator.annotate(task.questions))  # keeps what came before an exception
    except Exception as error:  # noqa: BLE001 - whatever it is, the answers before it were paid for
        return Answers(results, portable(error))
    return Answers(results)


def _task_size(annotator: Annotator, settings: AnnotatorSettings) -> int:
    """Say how many questions a task has: where answers cost something, no more than a crash may lose."""
    if annotator.batch > 1:
        return _TASK_QUESTIONS
    batched = settings.llm.startswith("vllm:")  # in this process: small tasks would leave its batches empty
    in_flight = settings.llm_settings.get("max_in_flight", _TASK_QUESTIONS if batched else _IN_FLIGHT)
    return max(1, min(int(in_flight), _TASK_QUESTIONS))


@functools.lru_cache(maxsize=1)
def _annotator(settings: str, known_models: tuple[str, ...]) -> Annotator:
    annotator = make_annotator(AnnotatorSettings.model_validate_json(settings))
    annotator.check(list(known_models))
    return annotator


class _Tasks:
    """Questions for workers, `size` at a time. Like `_Affordable` it may have more after it had none."""

    def __init__(
        self, questions: Iterator[Question], settings: AnnotatorSettings, known_models: list[str], size: int
    ) -> None:
        self._questions, self._settings, self._known_models = questions, settings, known_models
        self._size = size

    def __iter__(self) -> _Tasks:
        return self

    def __next__(self) -> QuestionsTask:
        part = list(itertools.islice(self._questions, self._size))
        if not part:
            raise StopIteration
        return QuestionsTask(self._settings, part, self._known_models)


class _Affordable:
    """A session's open questions, as far as the money allows.

    The answers under way are reckoned at what an answer has cost so far. Where that leaves nothing for another question
    there is none for now; once answers have come in, and were cheaper, there may be again.
    """

    def __init__(self, runner: _Runner) -> None:
        self._runner = runner
        self._open = runner.open_questions()
        self._held: Question | None = None

    def __iter__(self) -> _Affordable:
        return self

    def __next__(self) -> Question:
        if not self.has_more():
            raise StopIteration
        assert self._held is not None
        question, self._held = self._held, None
        self._runner.hand_out(question)
        return question

    def has_more(self) -> bool:
        """Look whether there is a question to ask now."""
        if self._held is None:
            self._held = next(self._open, None)
        return self._held is not None and self._runner.may_ask()


class _Runner:
    """One session: which questions are open, what has come back, and whether to go on."""

    def __init__(
        self,
        plan: Plan,
        annotator: Annotator,
        context: Context,
        store: JudgementStore,
        shard: Shard,
        limits: Limits,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._plan, self._annotator, self._context, self._store = plan, annotator, context, store
        self._shard, self._limits, self._on_progress = shard, limits, on_progress
        self._asked: dict[bytes, Question] = {}
        """Open questions that were handed out."""
        spent = store.spent(context)
        self._before = spent
        self._reckon_at = time.monotonic() + _RECKON_S
        total = len(plan.pairing) * (2 if plan.both_orders else 1) // shard.count
        self.progress = Progress(total, cost=self._cost(spent.prompt_tokens, spent.completion_tokens))

    def open_questions(self) -> Iterator[Question]:
        """Yield what is neither answered nor under way, reading the plan block by block."""
        for block in self._plan.blocks(self._shard):
            keys = [key for asked in block for key in (asked.forward, asked.backward) if key is not None]
            known = self._store.verdicts(keys)
            handed_out = set(self._asked)
            for asked in block:
                for question in self._plan.questions(asked):
                    key = question.key
                    if key in handed_out:
                        self.progress.repeated += 1
                    elif key in known and not self._is_to_be_asked_again(known[key].preference):
                        self.progress.known += 1
                        self.progress.known_unparsed += known[key].preference is Preference.UNPARSED
                    else:
                        handed_out.add(key)
                        yield question
            self._on_progress(self.progress)

    def hand_out(self, question: Question) -> None:
        """Note that a question is under way."""
        self._asked[question.key] = question

    def may_ask(self) -> bool:
        """Tell whether one more question fits under the limit beside those under way; with none of them, that is final."""
        limit, cost = self._limits.max_cost, self.progress.cost
        if limit is None or cost is None:
            return True
        if time.monotonic() >= self._reckon_at:
            self._reckon()
            cost = self.progress.cost or 0.0
        answered = self._before.questions + self.progress.answered
        each = cost / answered if answered else self._cost(*self._annotator.typical_tokens) or 0.0
        if cost + each * (len(self._asked) + 1) <= limit:
            return True
        if not self._asked:
            self.progress.stopped = f"the cost limit of {limit:g} is reached ({cost:.4g} spent)"
        return False

    def _reckon(self) -> None:
        """Look what other processes have spent since: shards may share one store, and the limit is for all of them."""
        started = time.monotonic()
        spent, own, before = self._store.spent(self._context), self.progress, self._before
        # Never less than was known: where an answer replaced an unparsed one, the store has forgotten what that took.
        self._before = Spent(
            max(before.questions, spent.questions - own.answered),
            max(before.prompt_tokens, spent.prompt_tokens - own.prompt_tokens),
            max(before.completion_tokens, spent.completion_tokens - own.completion_tokens),
        )
        self._update_cost()
        now = time.monotonic()
        self._reckon_at = now + max(_RECKON_S, (now - started) / _RECKONING)

    def take(self, results: Iterable[Judgement | Failure], batch: int) -> None:
        """Write results as they come, `batch` at a time (a smaller one where half a second has passed)."""
        judgements: list[Judgement] = []
        written = time.monotonic()
        for result in results:
            if isinstance(result, Failure):
                if judgements:  # a failure can end the run, and these were paid for
                    self._write(judgements)
                    judgements, written = [], time.monotonic()
                self._note_failure(result)
                continue
            judgements.append(result)
            if len(judgements) >= batch or time.monotonic() - written > _BATCH_S:
                self._write(judgements)
                judgements, written = [], time.monotonic()
        if judgements:
            self._write(judgements)

    def conclude(self) -> Progress:
        """Judge the whole session."""
        self._check_unparsed(least=1)
        self._on_progress(self.progress)
        return self.progress

    def _write(self, judgements: list[Judgement]) -> None:
        captions = [(shown.id, shown.caption) for j in judgements for shown in self._asked[j.key][1:]]
        self._store.add(self._context, judgements, captions)
        progress = self.progress
        for judgement in judgements:
            del self._asked[judgement.key]
            progress.prompt_tokens += judgement.prompt_tokens
            progress.completion_tokens += judgement.completion_tokens
            if judgement.verdict is Preference.UNPARSED:
                progress.unparsed += 1
                if len(progress.samples) < _SAMPLES:
                    progress.samples.append(judgement.reply)
        progress.answered += len(judgements)
        self._update_cost()
        self._on_progress(progress)
        self._check_unparsed(least=_ENOUGH)

    def _note_failure(self, failure: Failure) -> None:
        with contextlib.suppress(KeyError):
            del self._asked[failure.key]
        self._store.add_failures(self._context, [failure])
        self.progress.failed += 1
        if len(self.progress.failures) < _SAMPLES:
            self.progress.failures.append(f"{failure.reason}: {failure.what}")
        self._check_unparsed(least=_ENOUGH)

    def _check_unparsed(self, least: int) -> None:
        """End a run whose answers are mostly useless before it costs more."""
        progress = self.progress
        useless = progress.unparsed + progress.failed + progress.known_unparsed
        asked = progress.known + progress.answered + progress.failed
        if asked < least or useless <= self._limits.max_unparsed * asked:
            return
        shown = "; ".join(repr(sample[:160]) for sample in [*progress.samples, *progress.failures][:3])
        raise AnnotationError(
            f"{useless:,} of {asked:,} questions got no answer that can be used ({useless / asked:.1%}): {shown}",
            expected=f"at most {self._limits.max_unparsed:.0%}",
            hint="change the prompt, the model or --reasoning; answers so far are kept, and changed questions are new ones",
        )

    def _is_to_be_asked_again(self, preference: Preference) -> bool:
        return self._limits.retry_unparsed and preference is Preference.UNPARSED

    def _update_cost(self) -> None:
        before, own = self._before, self.progress
        own.cost = self._cost(
            before.prompt_tokens + own.prompt_tokens, before.completion_tokens + own.completion_tokens
        )

    def _cost(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        prices = self._annotator.prices
        if prices is None:
            return None
        return (prices[0] * prompt_tokens + prices[1] * completion_tokens) / 1_000_000
