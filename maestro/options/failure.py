"""What is recorded when generated code fails in the middle of an episode."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

MAX_TEXT = 500
"""Characters kept of an exception's text: generated code may raise with a megabyte."""


@dataclass(frozen=True, slots=True)
class GeneratedCodeFailure:
    """Where and how generated code ended an episode. Plain data: it survives pickling and JSON."""

    file: str
    line: int
    """Line of the innermost generated frame; of the function's first line where an answer was at fault."""
    function: str
    what: str
    """The exception's type and text, or what was wrong with the answer."""
    step: int
    """Step of the state that was being judged."""

    def __str__(self) -> str:
        """Give it on one line: `file:line: what (in function, at step n)`."""
        return f"{self.file}:{self.line}: {self.what} (in {self.function}, at step {self.step})"


class BadAnswer(Exception):
    """Generated code returned what its contract forbids; `function` is the one that was asked."""

    def __init__(self, function: Any, what: str) -> None:
        super().__init__(what)
        self.function = function
        self.what = what


def describe_failure(
    error: Exception, step: int, functions: Iterable[Callable | None]
) -> GeneratedCodeFailure | None:
    """Describe `error`, raised while one of the generated `functions` was asked at `step`.

    Returns None if no frame of the traceback belongs to a file of these functions: then generated code had no part in
    it, and the error is the program's own. A callable object, such as a maker of policies, names its file in an
    attribute `file`.
    """
    if isinstance(error, BadAnswer):
        code = _code(error.function)
        if code is None:
            return GeneratedCodeFailure("", 0, repr(error.function), error.what, step)
        return GeneratedCodeFailure(code.co_filename, code.co_firstlineno, code.co_name, error.what, step)
    files = {_file(function) for function in functions}
    innermost = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename in files:
            innermost = frame.f_code, line
    if innermost is None:
        return None
    code, line = innermost
    text = "".join(traceback.format_exception_only(error)).strip()
    return GeneratedCodeFailure(code.co_filename, line, code.co_name, text[:MAX_TEXT], step)


def _file(function: Any) -> str | None:
    code = _code(function)
    return getattr(function, "file", None) if code is None else code.co_filename


def _code(function: Any) -> Any:
    """Give the code object of a function or a bound method; None for anything else callable."""
    return getattr(getattr(function, "__func__", function), "__code__", None)
