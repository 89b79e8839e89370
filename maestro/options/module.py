"""One generated source file: read, checked against its provenance, compiled, executed, and asked for its interface.

This is the only place that executes generated code outside the sandbox.
"""

from __future__ import annotations
import __future__

import inspect
import opcode
import re
import traceback
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from maestro.errors import GeneratedCodeError, suggestion
from maestro.options.failure import MAX_TEXT
from maestro.options.provenance import Provenance, check_provenance, hash_source
from maestro.options.restrict import restricted_globals

MAX_SOURCE_BYTES = 65_536

_INTERPRETER_NAMES = re.compile(r"(gi|cr|ag|f|tb|co|func)_|__|(mro|with_traceback|format|format_map)$")
_COMPILER_NAMES = frozenset({
    "__name__", "__module__", "__qualname__", "__doc__", "__init__", "__annotations__", "__annotate__",
    "__annotate_func__", "__conditional_annotations__", "__classcell__", "__classdict__", "__classdictcell__",
    "__static_attributes__", "__firstlineno__",
})  # fmt: skip
"""What compiling classes and annotations writes by itself, from Python 3.10 to 3.14, and the one method of that kind."""


@dataclass(frozen=True)
class GeneratedModule:
    """A generated file that may be executed, any number of times, each time with names of its own."""

    path: Path
    code: CodeType
    sha256: str
    provenance: Provenance

    def execute(self, seed: int) -> dict[str, Any]:
        """Run the module and return its global names.

        Its random numbers are fixed by `seed` and the file's name, not by where the file lies.
        Exceptions of the module pass through.
        """
        names = restricted_globals(f"{seed}/{self.path.parent.name}/{self.path.name}", self.path.stem)
        exec(self.code, names)
        return names

    def function(self, names: dict[str, Any], name: str, parameters: tuple[str, ...]) -> FunctionType:
        """Find the module's function `name` among the names `execute` gave and check its parameters."""
        expected = f"def {name}({', '.join(parameters)})"
        if name not in names:
            raise self.fault(f"there is no function {name}", expected=expected, known=names)
        self._check_signature(names[name], expected, parameters)
        return names[name]

    def policy_class(self, names: dict[str, Any]) -> type:
        """Find the module's class Policy among the names `execute` gave and check its methods."""
        found = names.get("Policy")
        if not isinstance(found, type):
            raise self.fault("there is no class Policy", expected="class Policy", known=names)
        expected = "def select_skill(self, state, finished, startable)"
        if not hasattr(found, "select_skill"):
            raise self.fault("class Policy has no method select_skill", expected=expected, known=dir(found))
        parameters = ("self", "state", "finished", "startable")
        self._check_signature(inspect.getattr_static(found, "select_skill"), expected, parameters)
        if hasattr(found, "observe"):
            observe = inspect.getattr_static(found, "observe")
            self._check_signature(observe, "def observe(self, state)", ("self", "state"))
        return found

    def fault(
        self, what: str, *, line: int | None = None, expected: str | None = None, known: Any = ()
    ) -> GeneratedCodeError:
        """Make the error that says what is wrong in this file."""
        wanted = (expected or "").removeprefix("def ").removeprefix("class ").split("(")[0]
        return GeneratedCodeError(
            what,
            where=f"{self.path}:{line}" if line else str(self.path),
            expected=expected,
            hint=suggestion(wanted, [name for name in known if not name.startswith("__")])
            or f"mend {self.path.name}, or generate it again",
        )

    def raised(self, error: Exception) -> GeneratedCodeError:
        """Make the error that says which line of this file raised `error`."""
        lines = [
            n for f, n in traceback.walk_tb(error.__traceback__) if f.f_code.co_filename == str(self.path)
        ]
        text = "".join(traceback.format_exception_only(error)).strip()[:MAX_TEXT]
        return self.fault(text, line=lines[-1] if lines else None)

    def _check_signature(self, function: Any, expected: str, parameters: tuple[str, ...]) -> None:
        if not isinstance(function, FunctionType):
            name = expected.removeprefix("def ").split("(")[0]
            raise self.fault(f"{name} is no plain function", expected=expected)
        code = function.__code__
        actual = str(inspect.signature(function)).split(" ->")[0]
        plain = inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS | inspect.CO_NESTED | inspect.CO_NOFREE
        future = __future__.annotations.compiler_flag
        if code.co_varnames[: code.co_argcount] != parameters or code.co_kwonlyargcount:
            raise self.fault(
                f"{code.co_name} has the parameters {actual}", line=code.co_firstlineno, expected=expected
            )
        if code.co_flags & ~(plain | future):
            raise self.fault(
                f"{code.co_name} is a generator, a coroutine, or takes any number of arguments",
                line=code.co_firstlineno, expected=expected,
            )  # fmt: skip


def load_module(
    path: Path,
    *,
    state_version: int | None,
    validator_version: int,
    skills: Collection[str] | None = None,
) -> GeneratedModule:
    """Read, check and compile a generated file without executing it.

    What it is checked against is what `check_provenance` says. Raises GeneratedCodeError naming file and line for whatever is wrong with it.
    """
    try:
        source = path.read_bytes()
    except FileNotFoundError:
        raise GeneratedCodeError(
            "the file does not exist",
            where=str(path),
            hint="write it and sign it, or generate it with `maestro codegen`",
        ) from None
    except OSError as error:
        raise GeneratedCodeError(f"cannot be read: {error.strerror}", where=str(path)) from None
    if len(source) > MAX_SOURCE_BYTES:
        raise GeneratedCodeError(
            f"the file has {len(source)} bytes", where=str(path), expected=f"at most {MAX_SOURCE_BYTES}"
        )
    provenance = check_provenance(
        path, source, state_version=state_version, validator_version=validator_version, skills=skills
    )
    code = _compile(path, source)
    return GeneratedModule(path, code, hash_source(source), provenance)


def _compile(path: Path, source: bytes) -> CodeType:
    """Compile with annotations left as text, so that `state: State` needs no import.

    The validator passed these very bytes: their hash stands in a provenance of its present version.
    """
    mend = "mend it, or generate the file again"
    try:
        flags = __future__.annotations.compiler_flag
        code = compile(source.decode("utf-8"), str(path), "exec", flags=flags, dont_inherit=True)
    except UnicodeDecodeError as error:
        raise GeneratedCodeError(
            f"not UTF-8 text ({error.reason} at byte {error.start})", where=str(path), hint=mend
        ) from None
    except SyntaxError as error:
        where = f"{path}:{error.lineno}" if error.lineno else str(path)
        raise GeneratedCodeError(f"not valid Python: {error.msg}", where=where, hint=mend) from None
    except (ValueError, RecursionError, MemoryError) as error:
        what = f"not valid Python: {error or 'nested too deeply'}"
        raise GeneratedCodeError(what, where=str(path), hint=mend) from None
    for line, name in _names_of_the_interpreter(code):
        raise GeneratedCodeError(
            f"the name {name!r} leads into the interpreter", where=f"{path}:{line}", hint=mend
        )
    return code


def _names_of_the_interpreter(code: CodeType) -> Iterator[tuple[int, str]]:
    """List names by which frames, code and classes can be reached, each with the line its function begins in.

    They are looked for in what will run, whatever a provenance says: a file can be signed by hand, and the validator
    can be mistaken. Without these names, restricted builtins have no way out that is known. A pattern that matches
    classes reads attributes whose names stand among texts, and is refused as a whole.
    """
    matching = opcode.opmap["MATCH_CLASS"]
    waiting = [code]
    while waiting:
        each = waiting.pop()
        for name in (*each.co_names, *each.co_varnames, *each.co_freevars, *each.co_cellvars):
            if _INTERPRETER_NAMES.match(name) and name not in _COMPILER_NAMES:
                yield each.co_firstlineno, name
        if matching in each.co_code[::2]:
            yield each.co_firstlineno, "case"
        waiting += [part for part in each.co_consts if isinstance(part, CodeType)]
