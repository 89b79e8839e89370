"""Faults a user can mend, one class per cause.

A message answers four questions in this order: where it happened, what is wrong (with the value), what was
expected, what to do next. The command line prints it without a traceback and exits with code 1. Faults of the
program itself are not in here: they are ordinary exceptions and keep their traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MaestroError(Exception):
    """Say where, what, what was expected and what to do next.

    `what` is a sentence or clause without its final stop; `where` is a file, a dotted key or a command.
    Instances survive pickling, so that worker processes can hand them to their parent.
    """

    def __init__(
        self, what: str, *, where: str | None = None, expected: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.expected = expected
        self.hint = hint

    def __str__(self) -> str:
        """Join the parts into one line: `where: what. Expected: ... Next: ...`."""
        parts = [_sentence(f"{self.where}: {self.what}" if self.where else self.what)]
        if self.expected:
            parts.append(_sentence(f"Expected: {self.expected}"))
        if self.hint:
            parts.append(_sentence(f"Next: {self.hint}"))
        return " ".join(parts)

    def to_dict(self) -> dict[str, str | None]:
        """Give the parts under stable keys, for commands that answer in JSON."""
        return {
            "error": type(self).__name__,
            "where": self.where,
            "what": self.what,
            "expected": self.expected,
            "hint": self.hint,
        }


class ContentError(MaestroError):
    """A content folder is missing, badly named or contradicts itself."""


class SpecError(MaestroError):
    """A skill.toml, task.toml or configuration file does not follow its format."""


class UnknownNameError(MaestroError):
    """A name that was asked for does not exist.

    `kind` says what was named ("skill", "task", ...); the nearest of `known` are suggested.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: str | None = None) -> None:
        names = sorted(known)
        super().__init__(
            f"unknown {kind} {name!r}",
            where=where,
            expected=f"one of {', '.join(names)}" if names else f"there is no {kind} at all",
            hint=suggestion(name, names),
        )
        self.kind = kind
        self.name = name
        self.known = tuple(names)
        self.args = (kind, name, self.known)  # what pickle calls the class with again


class PromptError(MaestroError):
    """A prompt template is broken, or is not given exactly the variables it names."""


class PolicyFileError(MaestroError):
    """A policy file is missing, unreadable or does not fit the skills and the world it is used with."""


class ConfigError(MaestroError):
    """An option or flag has a value that cannot be used."""


class RunError(MaestroError):
    """A run folder cannot be made, belongs to another process or to another configuration."""


class RecordError(MaestroError):
    """A record of a run cannot be written or read."""


class HubError(MaestroError):
    """The Hugging Face hub cannot be reached, refuses, or holds something else than a policy."""


class FitError(MaestroError):
    """A reward model cannot be fitted, or its files do not fit what they are used with."""


class CheckpointError(MaestroError):
    """A training run's checkpoint is missing, broken, or of another network."""


class TrainingError(MaestroError):
    """Training cannot begin or go on."""


class WorldError(MaestroError):
    """A world was used or configured in a way it cannot serve."""


class DependencyError(MaestroError):
    """A package that is needed is missing, or installed in a version that does not work."""


class GeneratedCodeError(MaestroError):
    """Generated code broke its contract or raised while it ran."""


class DatasetError(MaestroError):
    """A dataset of transitions, or the verdicts on them, is missing, damaged, empty or from another version."""


class StoreError(MaestroError):
    """A store of judgements cannot be read, written or merged."""


class AnnotationError(MaestroError):
    """An annotator cannot go on, or its answers are not good enough to learn from."""


class EngineError(MaestroError):
    """The game engine failed, or is laid out differently from what was expected."""


class ChatError(MaestroError):
    """A language model did not answer, or answered with what cannot be used.

    `reason` is the machine's word for the cause; `maestro.llm.messages.REASONS` lists them.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
        reason: str = "refused",
    ) -> None:
        super().__init__(what, where=where, expected=expected, hint=hint)
        self.reason = reason


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """Ask "did you mean ...?" for the names close to `name`, letter case aside; None when none is close."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), list(by_lower), n=3, cutoff=0.6)
    if not close:
        return None
    return f"did you mean {' or '.join(repr(by_lower[candidate]) for candidate in close)}?"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else text + "."
