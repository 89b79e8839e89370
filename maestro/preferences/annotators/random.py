"""The annotator `random`: chance, the floor that every other one has to beat."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from maestro.preferences.annotators import AnnotatorSettings
from maestro.preferences.judgements import Judgement, Question
from maestro.preferences.pairs import Preference


class RandomAnnotator:
    """Prefers the first or the second with equal chance, the same for the same question and seed."""

    symmetric = False
    batch = 1_000
    prices = None
    typical_tokens = (0, 0)

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def identity(self) -> dict[str, Any]:
        return {"annotator": "random", "seed": self._seed}

    def check(self, known_models: list[str]) -> None:
        """Find nothing: chance cannot fail."""

    def annotate(self, questions: Iterable[Question]) -> Iterator[Judgement]:
        salt = str(self._seed).encode()
        for key, first, second in questions:
            odd = hashlib.blake2b(key, key=salt, digest_size=1).digest()[0] & 1
            yield Judgement(key, first.id, second.id, Preference.SECOND if odd else Preference.FIRST)

    def close(self) -> None:
        """Free nothing."""


def make(settings: AnnotatorSettings) -> RandomAnnotator:
    """Make it."""
    return RandomAnnotator(settings.seed)
