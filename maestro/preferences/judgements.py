"""A question put to an annotator, and what came of it: the values that annotators, store and runner exchange."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from maestro.preferences.pairs import Preference
from maestro.preferences.transitions import Transition


class Shown(NamedTuple):
    """One side of a question."""

    id: bytes
    """`transitions.caption_key` of the caption."""
    caption: str
    """As worded for the annotator."""
    row: Transition


class Question(NamedTuple):
    """Which is better, the first or the second? The order is part of the question."""

    key: bytes
    first: Shown
    second: Shown


class Judgement(NamedTuple):
    """An answer. `verdict` is as seen from the order asked; UNPARSED where the answer could not be understood."""

    key: bytes
    first: bytes
    second: bytes
    verdict: Preference
    p_first: float | None = None
    """Probability the annotator gave the first, where it said; likewise the second; the rest is the tie's."""
    p_second: float | None = None
    reply: str = ""
    reasoning: str = ""
    model: str = ""
    server: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Failure(NamedTuple):
    """No answer at all (a dead server, a refused prompt): asked again the next time."""

    key: bytes
    first: bytes
    second: bytes
    reason: str
    what: str
    server: str = ""


class Context(NamedTuple):
    """All that a question depends on besides the two captions."""

    digest: bytes
    description: dict[str, Any]


def make_context(identity: Mapping[str, Any], *, about: Mapping[str, Any]) -> Context:
    """Hash `identity` (preference, templates, model, sampling, ...); `about` is kept beside it and changes nothing."""
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return Context(hashlib.sha256(text.encode()).digest(), {**about, **identity})


def question_key(context: bytes, first: bytes, second: bytes) -> bytes:
    """Address a question by its content: 32 bytes, the same on every machine."""
    return hashlib.sha256(context + first + second).digest()
