"""Annotators: who says which of two captions is better. One module each, found by its name.

A module publishes `make(settings) -> Annotator`, `settings` being an `AnnotatorSettings`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from maestro.errors import UnknownNameError
from maestro.preferences.judgements import Failure, Judgement, Question
from maestro.specs import PreferenceRule

Reasoning = Literal["none", "brief", "full"]


class Templates(BaseModel):
    """The prompt's texts; `question` has the two captions' places marked with FIRST and SECOND."""

    model_config = ConfigDict(frozen=True)

    system: str
    question: str
    reason: str
    verdict: str
    again: str


class AnnotatorSettings(BaseModel):
    """What any annotator may need; picklable, so that other processes and machines can make the same one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    preference: str = ""
    rules: tuple[PreferenceRule, ...] = ()
    seed: int = 0
    """Of the annotator `random`, and sent to a model as its sampling seed."""
    llm: str = "replay"
    llm_settings: dict[str, Any] = {}
    templates: Templates | None = None
    reasoning: Reasoning = "none"
    temperature: float = Field(default=0.1, ge=0)
    """Of free reasoning; the verdict itself is always the likeliest answer."""
    soft_labels: bool = True
    """Ask how likely each answer was, where the server can say."""
    constrained: bool = True
    """Let the server allow nothing but the three answers; without it, its text is searched for one."""


class Annotator(Protocol):
    """Answers questions. The order of the two captions is part of a question."""

    symmetric: bool
    """Whether the order of the captions changes nothing, so that asking once is enough."""
    batch: int
    """Answers that may be lost in a crash because giving them again costs nothing: written together."""
    prices: tuple[float, float] | None
    """Of a million prompt tokens and a million tokens of answers; None where nobody said."""
    typical_tokens: tuple[int, int]
    """Of a question and its answer, roughly and rather too many; (0, 0) where no model is asked."""

    def identity(self) -> dict[str, Any]:
        """Describe as plain data all that an answer depends on besides the captions."""
        ...

    def check(self, known_models: list[str]) -> None:
        """Find out before the first question what would spoil the answers; raises a MaestroError.

        `known_models` are those that answered the same questions before.
        """
        ...

    def annotate(self, questions: Iterable[Question]) -> Iterator[Judgement | Failure]:
        """Answer each question once, in any order, reading ahead no further than is in flight.

        Where a model is asked that costs money, `questions` may have more after it had none: look again after each answer.
        """
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


def annotator_names() -> list[str]:
    """List the annotators there are, without importing any."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def make_annotator(settings: AnnotatorSettings) -> Annotator:
    """Make the annotator that the settings name; raises UnknownNameError and what the annotator finds wrong."""
    if settings.name not in annotator_names():
        raise UnknownNameError("annotator", settings.name, annotator_names(), where="--annotator")
    return importlib.import_module(f"{__name__}.{settings.name}").make(settings)
