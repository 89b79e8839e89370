"""The builtins and modules that generated code gets when it runs, and nothing beside them.

This is the last of the layers that design section 8 describes: it keeps honest code honest and stops what the
validator overlooked. It is not a sandbox by itself.
"""

from __future__ import annotations

import builtins
import collections
import math
import random
import typing
from collections.abc import Iterable
from typing import Any

ALLOWED_MODULES = ("collections", "math", "random", "typing")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_BUILTINS = _words(
    "abs all any bool dict divmod enumerate filter float frozenset int isinstance iter len list map "
    "max min next object pow range repr reversed round set slice sorted staticmethod str sum tuple "
    "zip ArithmeticError AssertionError Exception IndexError KeyError LookupError NotImplementedError "
    "RuntimeError StopIteration TypeError ValueError ZeroDivisionError __build_class__"
)
_COLLECTIONS = _words("ChainMap Counter OrderedDict defaultdict deque namedtuple")
_RANDOM = _words(
    "betavariate choice choices expovariate gauss getrandbits normalvariate paretovariate randint "
    "random randrange sample shuffle triangular uniform vonmisesvariate weibullvariate"
)
_TYPING = _words(
    "Any Callable ClassVar DefaultDict Deque Dict Final FrozenSet Generic Iterable Iterator List "
    "Literal Mapping MutableMapping NamedTuple Optional Sequence Set Tuple TypeVar Union cast"
)


class _Facade:
    """A module that holds only the chosen names of another object, and cannot be changed."""

    def __init__(self, module: Any, names: Iterable[str]) -> None:
        self.__dict__.update({name: getattr(module, name) for name in names})

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"generated code may not change what it imports: {name}")


_SHARED = {
    "collections": _Facade(collections, _COLLECTIONS),
    "math": _Facade(math, [name for name in vars(math) if not name.startswith("_")]),
    "typing": _Facade(typing, _TYPING),
}


def restricted_globals(seed: str, name: str) -> dict[str, Any]:
    """Make the global names a generated module starts with.

    Its `random` draws from a generator of its own, seeded by `seed`; `name` becomes `__name__`. The modules it can
    import are copies that hold only their public, harmless names: `typing` for one would hand out `sys`.
    """
    modules = _SHARED | {"random": _Facade(random.Random(seed), _RANDOM)}

    def import_module(
        module: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> _Facade:
        if level != 0 or module not in modules:
            raise ImportError(f"generated code may import {', '.join(ALLOWED_MODULES)} only, not {module!r}")
        return modules[module]

    table = {key: getattr(builtins, key) for key in _BUILTINS}
    table["__import__"] = import_module
    return {"__builtins__": table, "__name__": name}
