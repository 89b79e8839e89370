"""The annotator `llm`: a language model reads both captions and answers 1, 2 or none.

Without reasoning a question is one constrained choice, with the probabilities of the three answers where the server
gives them. With reasoning the model first writes freely, and the choice follows in the same conversation. An answer
that is none of the three is asked for once more; after that the question is UNPARSED, which is a state of its own
and never a label.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from maestro.errors import AnnotationError
from maestro.llm import ChatModel, Reply, ReplyFailed, Request, Sampling, load_chat_model
from maestro.llm.backends import DEFAULT_SPEC
from maestro.llm.choice import check_constrained_choice, choice_probabilities
from maestro.llm.messages import shorten
from maestro.preferences.annotators import AnnotatorSettings
from maestro.preferences.judgements import Failure, Judgement, Question
from maestro.preferences.pairs import Preference

ANSWERS = {"1": Preference.FIRST, "2": Preference.SECOND, "none": Preference.TIE}
FIRST, SECOND = "\x00first\x00", "\x00second\x00"
"""Where the captions go in a rendered question."""
_CHOICES = tuple(ANSWERS)
_REASON_TOKENS = {"brief": 256, "full": 2048}
_VERDICT_TOKENS = 8
_FREE_VERDICT_TOKENS = 64
_CAPTION_TOKENS = 200  # both of them, roughly
_FATAL = ("wrong_model", "unauthorised", "not_recorded")
"""Failures that every further question would share."""
_MOST_FAILURES_IN_A_ROW = 50
_SAMPLE = 2_000
_ANSWER = re.compile(r"\b(1|2|none)\b", re.IGNORECASE)


@dataclass
class _Talk:
    """One question's conversation."""

    question: Question
    messages: tuple[dict[str, str], ...]
    stage: Literal["reason", "verdict", "again"]
    reasoning: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    said: list[str] = field(default_factory=list)
    """Answers that were none of the three."""


class LlmAnnotator:
    """Asks a language model; see the module."""

    symmetric = False
    batch = 1

    def __init__(self, settings: AnnotatorSettings, model: ChatModel) -> None:
        assert settings.templates is not None
        self._settings, self._templates, self._model = settings, settings.templates, model
        places = re.split(f"({FIRST}|{SECOND})", self._templates.question)
        if [places.count(FIRST), places.count(SECOND)] != [1, 1] or places.index(FIRST) > places.index(
            SECOND
        ):
            raise AnnotationError(
                "the prompt must show the first caption once and then the second once",
                where="prompts/preference/<version>/question.j2",
            )
        self._before, self._between, self._after = places[0], places[2], places[4]
        self._expected_model = ""
        self._failures_in_a_row = 0
        constrained = settings.constrained
        self._verdict = Sampling(
            temperature=0.0,
            max_tokens=_VERDICT_TOKENS if constrained else _FREE_VERDICT_TOKENS,
            seed=settings.seed,
            choices=_CHOICES if constrained else None,
            top_logprobs=5 if constrained and settings.soft_labels else 0,
        )
        self._reason = Sampling(
            settings.temperature, _REASON_TOKENS.get(settings.reasoning, 1), settings.seed
        )

    @property
    def prices(self) -> tuple[float, float] | None:
        prompt, completion = self._model.settings.price_prompt, self._model.settings.price_completion
        return None if prompt is None and completion is None else (prompt or 0.0, completion or 0.0)

    @property
    def typical_tokens(self) -> tuple[int, int]:
        texts = self._templates.system + self._templates.question + self._templates.reason
        prompt = len(texts) // 3 + _CAPTION_TOKENS
        if self._settings.reasoning == "none":
            return prompt, self._verdict.max_tokens
        return 2 * prompt + self._reason.max_tokens, self._reason.max_tokens + self._verdict.max_tokens

    def identity(self) -> dict[str, Any]:
        reasons = self._settings.reasoning != "none"
        return {
            "annotator": "llm",
            "model": model_name(self._model.spec),
            "templates": self._templates.model_dump(),
            "reasoning": self._settings.reasoning,
            "constrained": self._settings.constrained,
            "sampling": {
                "seed": self._settings.seed,
                "top_logprobs": self._verdict.top_logprobs,
                "temperature": self._settings.temperature if reasons else 0.0,
                "max_tokens": [self._reason.max_tokens if reasons else 0, self._verdict.max_tokens],
            },
        }

    def check(self, known_models: list[str]) -> None:
        self._expected_model = known_models[0] if known_models else ""
        if not self._settings.constrained:
            return
        for check in check_constrained_choice(self._model):
            if not check.answered:
                raise AnnotationError(
                    check.found, where=check.server, hint="see whether it runs: maestro doctor --llm SPEC"
                )
            if not check.obeyed:
                raise AnnotationError(
                    f"asked to choose between two words: {check.found}",
                    where=check.server,
                    expected="a server with structured outputs, such as `vllm serve`",
                    hint="where it answers but cannot be constrained, set it with --config constrained=false: "
                    "its text is then searched for the answer",
                )

    def annotate(self, questions: Iterable[Question]) -> Iterator[Judgement | Failure]:
        feed = _Feed(map(self._talk, questions), self._request)  # map: it may have more after it had none
        for number, outcome in self._model.complete_many(feed):
            talk = feed.sent.pop(number)
            result = self._take(talk, outcome, feed)
            if result is not None:
                yield result

    def close(self) -> None:
        self._model.close()

    # One conversation -------------------------------------------------------------------------------------------

    def _talk(self, question: Question) -> _Talk:
        reasons = self._settings.reasoning != "none"
        text = self._before + question.first.caption + self._between + question.second.caption + self._after
        text += "\n" + (self._templates.reason if reasons else self._templates.verdict)
        system = {"role": "system", "content": self._templates.system}
        return _Talk(
            question, (system, {"role": "user", "content": text}), "reason" if reasons else "verdict"
        )

    def _request(self, talk: _Talk) -> Request:
        return Request(talk.messages, self._reason if talk.stage == "reason" else self._verdict)

    def _take(self, talk: _Talk, outcome: Reply | ReplyFailed, feed: _Feed) -> Judgement | Failure | None:
        """Go on with a conversation after an answer; None while it is not over."""
        key, first, second = talk.question.key, talk.question.first.id, talk.question.second.id
        if isinstance(outcome, ReplyFailed) and outcome.reason != "wrong_choice":
            self._judge_failure(outcome)
            return Failure(key, first, second, outcome.reason, shorten(outcome.what), outcome.server)
        self._failures_in_a_row = 0
        talk.prompt_tokens += outcome.usage.prompt_tokens
        talk.completion_tokens += outcome.usage.completion_tokens
        if isinstance(outcome, ReplyFailed):
            return self._not_understood(talk, outcome.sample, outcome.server, feed)
        self._same_model(outcome)
        if talk.stage == "reason":
            talk.reasoning, talk.stage = outcome.text[:_SAMPLE], "verdict"
            self._say(talk, outcome.text, self._templates.verdict)
            feed.follow_up(talk)
            return None
        answer = self._read(outcome.text)
        if answer is None:
            return self._not_understood(talk, outcome.text, outcome.server, feed)
        chances = choice_probabilities(outcome, _CHOICES) if self._verdict.top_logprobs else None
        return Judgement(
            key,
            first,
            second,
            ANSWERS[answer],
            chances["1"] if chances else None,
            chances["2"] if chances else None,
            outcome.text[:_SAMPLE],
            talk.reasoning,
            outcome.model,
            outcome.server,
            talk.prompt_tokens,
            talk.completion_tokens,
        )

    def _not_understood(self, talk: _Talk, text: str, server: str, feed: _Feed) -> Judgement | None:
        talk.said.append(text)
        if talk.stage == "verdict":
            talk.stage = "again"
            self._say(talk, text or "...", self._templates.again)
            feed.follow_up(talk)
            return None
        question = talk.question
        judgement = Judgement(question.key, question.first.id, question.second.id, Preference.UNPARSED)
        return judgement._replace(
            reply=" | ".join(talk.said)[:_SAMPLE],
            reasoning=talk.reasoning,
            model=self._expected_model,
            server=server,
            prompt_tokens=talk.prompt_tokens,
            completion_tokens=talk.completion_tokens,
        )

    def _read(self, text: str) -> str | None:
        """Find the answer; in free text the only one that is named, or the one on the last line."""
        if self._settings.constrained:
            return text if text in ANSWERS else None
        found = {answer.lower() for answer in _ANSWER.findall(text)}
        if len(found) > 1:
            lines = text.strip().splitlines()
            found = {answer.lower() for answer in _ANSWER.findall(lines[-1])}
        return found.pop() if len(found) == 1 else None

    @staticmethod
    def _say(talk: _Talk, answer: str, then: str) -> None:
        talk.messages += ({"role": "assistant", "content": answer}, {"role": "user", "content": then})

    # What ends it all -------------------------------------------------------------------------------------------

    def _judge_failure(self, failure: ReplyFailed) -> None:
        self._failures_in_a_row += 1
        if failure.reason in _FATAL:
            raise AnnotationError(
                failure.what, where=failure.server, hint=failure.hint or "what was answered is kept"
            )
        if self._failures_in_a_row >= _MOST_FAILURES_IN_A_ROW:
            raise AnnotationError(
                f"{self._failures_in_a_row} questions in a row got no answer; the last: {failure.what}",
                where=failure.server,
                hint="see to the server and give the same command again: what was answered is kept",
            )

    def _same_model(self, reply: Reply) -> None:
        """Refuse to mix the answers of two models under one name."""
        if not self._expected_model:
            self._expected_model = reply.model
        if reply.model != self._expected_model:
            raise AnnotationError(
                f"{reply.model!r} answers now; until now it was {self._expected_model!r}",
                where=reply.server,
                expected="one model for all answers of an annotation",
                hint="start the old model again, or name the new one with --llm and annotate anew",
            )


class _Feed:
    """The requests to send: those of conversations under way first, then new ones.

    As an iterator it may have more after it had none, because an answer can lead to a further request;
    `complete_many` looks again whenever an answer has been dealt with.
    """

    def __init__(self, new: Iterator[_Talk], request: Callable[[_Talk], Request]) -> None:
        self._new, self._request = new, request
        self._waiting: deque[_Talk] = deque()
        self._count = 0
        self.sent: dict[int, _Talk] = {}
        """Conversations that wait for an answer, by the number of their request."""

    def follow_up(self, talk: _Talk) -> None:
        """Let a conversation go on."""
        self._waiting.append(talk)

    def __iter__(self) -> Iterator[Request]:
        return self

    def __next__(self) -> Request:
        talk = self._waiting.popleft() if self._waiting else next(self._new)
        self.sent[self._count] = talk
        self._count += 1
        return self._request(talk)


def model_name(spec: str) -> str:
    """Cut the addresses off a model's spec: where it is served is no part of a question."""
    return spec.partition("@")[0]


def make(settings: AnnotatorSettings) -> LlmAnnotator:
    """Open the model and make it; raises AnnotationError without templates, and what `load_chat_model` raises."""
    if settings.templates is None:
        raise AnnotationError("no prompt templates were given", where="annotator llm")
    if settings.llm.strip() == DEFAULT_SPEC:  # the replies that ship are modules of code
        raise AnnotationError(
            "no language model is named: no judgements ship with maestro",
            where="--llm",
            expected="openai:<model>@<url>, hf:<model>, vllm:<model> or replay:<folder>",
            hint="without a model, take the annotator rules",
        )
    return LlmAnnotator(settings, load_chat_model(settings.llm, **settings.llm_settings))
