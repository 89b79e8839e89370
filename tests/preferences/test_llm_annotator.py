"""The annotator that asks a model: what its answers cost, whatever they are worth."""

from __future__ import annotations

from typing import Any

from maestro.llm.chat import ChatModel, ChatSettings
from maestro.llm.messages import Outcome, Reply, Request, Usage
from maestro.preferences.annotators import AnnotatorSettings, Templates
from maestro.preferences.annotators.llm import FIRST, SECOND, LlmAnnotator
from maestro.preferences.judgements import Judgement, Question, Shown
from maestro.preferences.pairs import Preference

SETTINGS = AnnotatorSettings(
    name="llm",
    llm="scripted",
    templates=Templates(
        system="Judge.",
        question=f"{FIRST} or {SECOND}?",
        reason="Think.",
        verdict="Answer.",
        again="Only the answer.",
    ),
)


class Scripted(ChatModel):
    """Says one text after the other; each exchange has 100 + 5 tokens."""

    def __init__(self, *texts: str) -> None:
        super().__init__("scripted", ChatSettings())
        self.texts = list(texts)

    @property
    def servers(self) -> tuple[str, ...]:
        return ("scripted",)

    def describe(self) -> list:
        return []

    async def answer(self, request: Request, *, server: str | None = None) -> Outcome:
        return Reply(self.texts.pop(0), None, Usage(100, 5), "m", "scripted")


def judged(*texts: str) -> Judgement:
    row: Any = None
    question = Question(b"k", Shown(b"a", "up", row), Shown(b"b", "down", row))
    with Scripted(*texts) as model:
        (judgement,) = LlmAnnotator(SETTINGS, model).annotate([question])
    assert isinstance(judgement, Judgement)
    return judgement


def test_answers_that_were_no_choice_are_counted_with_the_one_that_was():
    judgement = judged("perhaps", "2")
    assert judgement.verdict == Preference.SECOND
    assert (judgement.prompt_tokens, judgement.completion_tokens) == (200, 10)


def test_a_question_without_a_useful_answer_was_not_free():
    judgement = judged("perhaps", "who knows")
    assert judgement.verdict == Preference.UNPARSED
    assert (judgement.prompt_tokens, judgement.completion_tokens) == (200, 10)
