"""What goes into the sandbox and what comes out of it, as types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Reason = Literal["timeout", "memory", "crash", "output", "refused"]


@dataclass(frozen=True)
class Limits:
    """Bounds of one sandbox process: wall clock and processor time in seconds, memory and output in bytes.

    `wall_s` counts from the start to the last answer and includes what the caller does between two requests.
    """

    wall_s: float = 5.0
    cpu_s: int = 5
    memory_bytes: int = 512 * 2**20
    output_bytes: int = 2**20


@dataclass(frozen=True)
class StateValue:
    """The fields of a state that is passed to a call. Fields left out have their defaults."""

    fields: Mapping[str, Any]


@dataclass(frozen=True)
class New:
    """Make a new instance of the contract's class; calls go to it from now on."""


@dataclass(frozen=True)
class Call:
    """Call a function of the module, or a method of the current instance.

    Arguments are StateValue, a set of names, a text, a number, or None.
    """

    name: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class RunTest:
    """Run the module's own unit test."""

    source: str


Request = New | Call | RunTest


@dataclass(frozen=True)
class Raised:
    """An exception of generated code: its type, and the last line of the module (or its test) it passed through."""

    type: str
    message: str
    line: int
    function: str = ""
    text: str = ""

    def __str__(self) -> str:
        """Write `KeyError: 'x' (line 12, in select_skill: return self.plan[x])`."""
        place = f"line {self.line}, in {self.function or 'the module'}: {self.text}" if self.line else ""
        what = f"{self.type}: {self.message}" if self.message else self.type
        return f"{what} ({place})" if place else what


@dataclass(frozen=True)
class Returned:
    """What a call returned. `other` names the type of a value that is no plain one; then `value` is None."""

    value: Any
    other: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class TestReport:
    """Outcome of the module's own unit test: which tests there are, which failed and why, and what was printed."""

    __test__ = False  # not a test of this project, whatever pytest thinks of the name

    tests: tuple[str, ...]
    failures: tuple[tuple[str, Raised], ...]
    printed: str

    @property
    def passed(self) -> bool:
        """Whether there was at least one test and none failed."""
        return bool(self.tests) and not self.failures


Answer = Returned | Raised | TestReport


@dataclass(frozen=True)
class SandboxResult:
    """All requests were answered, be it with exceptions of the module. `layers` confined it."""

    answers: tuple[Answer, ...]
    layers: tuple[str, ...]
    stderr: str
    duration_s: float


@dataclass(frozen=True)
class SandboxFailure:
    """The process did not live to answer every request, or the module could not be loaded.

    `timeout`: a deadline passed; `memory`: no memory was left; `crash`: the module raised while it was loaded, or the
    process died; `output`: more or other output than was asked for; `refused`: a layer that has to hold does not.
    """

    reason: Reason
    message: str
    stderr: str = ""
    answers: tuple[Answer, ...] = ()
    raised: Raised | None = None
    duration_s: float = 0.0

    def __str__(self) -> str:
        """Write `timeout: no answer within 5 s`."""
        return f"{self.reason}: {self.message}"
