"""The annotator `rules`: decides by the preference rules of skill.toml, without any model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from maestro.errors import AnnotationError
from maestro.preferences.annotators import AnnotatorSettings
from maestro.preferences.judgements import Judgement, Question, Shown
from maestro.preferences.pairs import Preference
from maestro.preferences.rules import RuleScorer


class RulesAnnotator:
    """Prefers the transition with the higher sum of rule scores; equal sums are a tie."""

    symmetric = True
    batch = 1_000
    prices = None
    typical_tokens = (0, 0)

    def __init__(self, settings: AnnotatorSettings) -> None:
        """Raises AnnotationError where there are no rules."""
        if not settings.rules:
            raise AnnotationError(
                "there are no preference rules to decide by",
                where="--annotator rules",
                expected="`rules = [...]` in the skill's skill.toml (or the goal's file)",
                hint="write some, or use another annotator",
            )
        self._rules = settings.rules
        self._scorer = RuleScorer(settings.rules)
        self._scores: dict[bytes, float] = {}

    def identity(self) -> dict[str, Any]:
        return {
            "annotator": "rules",
            "rules": [rule.model_dump(exclude_none=True) for rule in self._rules],
        }

    def check(self, known_models: list[str]) -> None:
        """Find nothing: rules were checked when they were read."""

    def annotate(self, questions: Iterable[Question]) -> Iterator[Judgement]:
        for key, first, second in questions:
            one, two = self._score(first), self._score(second)
            verdict = Preference.FIRST if one > two else Preference.SECOND if two > one else Preference.TIE
            yield Judgement(key, first.id, second.id, verdict)

    def close(self) -> None:
        """Free nothing."""

    def _score(self, shown: Shown) -> float:
        score = self._scores.get(shown.id)
        if score is None:
            score = self._scores[shown.id] = self._scorer.score(shown.row)
        return score


def make(settings: AnnotatorSettings) -> RulesAnnotator:
    """Make it."""
    return RulesAnnotator(settings)
