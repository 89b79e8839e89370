"""The names that foreign code gets inside the sandbox: restricted builtins, copies of modules, states."""

from __future__ import annotations

import builtins
import collections
import math
import random
import typing
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

_EXCEPTIONS = (
    "ArithmeticError AssertionError AttributeError Exception IndexError KeyError LookupError NameError "
    "NotImplementedError RuntimeError StopIteration TypeError ValueError ZeroDivisionError"
)


def restricted_names(
    allowed: Iterable[str], imports: Mapping[str, Iterable[str]], seed: str
) -> dict[str, Any]:
    """Make the global names of a module: listed builtins, and imports of copies that hold only listed members.

    Its `random` draws from a generator of its own, seeded by `seed`.
    """
    sources = {"collections": collections, "math": math, "random": random.Random(seed), "typing": typing}
    modules = {
        name: SimpleNamespace(**{member: getattr(sources[name], member) for member in members})
        for name, members in imports.items()
        if name in sources
    }

    def import_module(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        if level or name not in modules:
            raise ImportError(f"generated code may import {', '.join(sorted(modules))} only, not {name!r}")
        return modules[name]

    names = (*allowed, *_EXCEPTIONS.split(), "__build_class__")
    table = {name: getattr(builtins, name) for name in names}
    table["__import__"] = import_module
    return {"__builtins__": table, "__name__": "generated"}


def state_class(name: str, fields: Iterable[tuple[str, str, Any]]) -> type:
    """Make the class of states: attributes with the given names, set once, by keywords.

    `fields` are (name, type as text, default). Lists become frozensets or tuples where the type says so.
    """
    types = {field: kind for field, kind, _ in fields}
    defaults = {field: _value(kind, default) for field, kind, default in fields}

    def init(self: Any, **values: Any) -> None:
        unknown = [field for field in values if field not in types]
        if unknown:
            raise TypeError(f"{unknown[0]!r} is not a field of the state. Fields: {', '.join(types)}")
        for field, default in defaults.items():
            value = _value(types[field], values[field]) if field in values else default
            object.__setattr__(self, field, value)

    def refuse(self: Any, field: str, value: Any = None) -> None:
        raise AttributeError(f"a state cannot be changed: {field}")

    def text(self: Any) -> str:
        return f"{name}({', '.join(f'{field}={getattr(self, field)!r}' for field in types)})"

    body = {
        "__slots__": tuple(types),
        "__init__": init,
        "__setattr__": refuse,
        "__delattr__": refuse,
        "__repr__": text,
    }
    return type(name, (), body)


def _value(kind: str, value: Any) -> Any:
    if value is None and "None" not in kind:
        return _EMPTY.get(kind.split("[")[0].strip())
    if isinstance(value, (list, set, tuple)) and "set" in kind:
        return frozenset(value)
    return tuple(value) if isinstance(value, list) else value


_EMPTY: dict[str, Any] = {
    "int": 0, "float": 0.0, "bool": False, "str": "", "frozenset": frozenset(), "set": frozenset(), "tuple": (),
}  # fmt: skip
"""What a field has that was neither told nor given a default."""
