"""Score transitions by the preference rules of skill.toml: a stand-in for judgement that needs no model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import attrgetter

from maestro.preferences.pairs import Preference
from maestro.preferences.transitions import Transition
from maestro.specs import PreferenceRule

_Condition = Callable[[Transition], bool]
_SIGNS = {
    "deeper": 1, "higher": -1, "rose": 1, "fell": -1, "worse": 1, "better": -1, "same": 0,
}  # fmt: skip


class RuleScorer:
    """Adds up the scores of the rules that apply to a transition."""

    def __init__(self, rules: Sequence[PreferenceRule]) -> None:
        self._rules = [(rule.score, _conditions(rule)) for rule in rules]

    def score(self, row: Transition) -> float:
        """Give the sum; 0 where no rule applies."""
        return sum(score for score, conditions in self._rules if all(holds(row) for holds in conditions))

    def compare(self, first: Transition, second: Transition) -> Preference:
        """Prefer the higher sum; equal sums are a tie."""
        one, two = self.score(first), self.score(second)
        return Preference.FIRST if one > two else Preference.SECOND if two > one else Preference.TIE


def _conditions(rule: PreferenceRule) -> list[_Condition]:
    found = [
        _says(field, pattern)
        for field in ("message", "previous_message", "caption")
        if (pattern := getattr(rule, field)) is not None
    ]
    found += [
        _moves(field, word)
        for field in ("depth", "gold", "hp", "experience_level", "hunger")
        if (word := getattr(rule, field)) is not None
    ]
    return found


def _says(field: str, pattern: str) -> _Condition:
    search = re.compile(pattern).search
    read: Callable[[Transition], str] = attrgetter(field)
    return lambda row: search(read(row)) is not None


def _moves(field: str, word: str) -> _Condition:
    before: Callable[[Transition], int] = attrgetter(f"{field}_before")
    after: Callable[[Transition], int] = attrgetter(f"{field}_after")
    sign = _SIGNS[word]
    return lambda row: (after(row) > before(row)) - (after(row) < before(row)) == sign
