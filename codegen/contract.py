"""What a generated module must be, as data: its interface, the facts it may read, the names it may use.

The package around this file knows no game. Everything a validator, a sandbox or a prompt has to know about the world
comes in a `Contract`.
"""

from __future__ import annotations

import builtins
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from codegen.errors import ContractError

Kind = Literal["initiation", "termination", "policy"]
Returns = Literal["bool", "skill", "nothing"]
Role = Literal["state", "skill", "skills"]


def words(text: str) -> frozenset[str]:
    """Split a list of names at its blanks."""
    return frozenset(text.split())


DEFAULT_IMPORTS: Mapping[str, frozenset[str]] = {
    "collections": words("ChainMap Counter OrderedDict defaultdict deque namedtuple"),
    # Without factorial, comb, perm and prod, whose results have no bound that can be seen.
    "math": words(
        "acos asin atan atan2 ceil copysign cos dist e exp fabs floor fmod fsum gcd hypot inf isclose isfinite isinf "
        "isnan isqrt log log10 log1p log2 nan pi pow sin sqrt tan tau tanh trunc"
    ),
    "random": words(
        "betavariate choice choices expovariate gauss normalvariate randint random randrange sample shuffle "
        "triangular uniform"
    ),
    "typing": words(
        "Any Callable ClassVar DefaultDict Deque Dict Final FrozenSet Iterable Iterator List Literal Mapping "
        "MutableMapping NamedTuple Optional Sequence Set Tuple Union cast"
    ),
}
"""Modules that generated code may import, and what of each it may use."""

DEFAULT_BUILTINS: frozenset[str] = words(
    "abs all any bool dict divmod enumerate filter float frozenset int isinstance len list map max min range "
    "reversed round set slice sorted str sum tuple zip"
)
"""Builtins that generated code may name."""


@dataclass(frozen=True)
class StateField:
    """One documented fact of the state. `default` is what a state made by the module's own test has when not told.

    `type` is its annotation as text ("int", "int | None", "frozenset[str]"); `values`, where not empty, are all texts
    the field can have, so that a comparison with anything else is a mistake.
    """

    name: str
    type: str
    doc: str = ""
    default: Any = None
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.name.startswith("_"):
            raise ContractError(f"{self.name!r} is no name for a field of the state")
        if not isinstance(self.type, str):
            raise ContractError(f"the type of {self.name!r} is {self.type!r}; expected it as text")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a required function and what is passed for it: a state, a skill's name, or several names."""

    name: str
    role: Role


@dataclass(frozen=True)
class RequiredFunction:
    """A function, or a method without its `self`, that the module must (or, if `optional`, may) define."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: Returns
    optional: bool = False

    def signature(self, method: bool) -> str:
        """Write it as it must stand in the source: `def select_skill(self, state, finished, startable)`."""
        names = [*(["self"] if method else []), *(parameter.name for parameter in self.parameters)]
        return f"def {self.name}({', '.join(names)})"


@dataclass(frozen=True)
class Contract:
    """What one generated module must be.

    `class_name` is None where `functions` stand at the top of the module, else they are methods of that class.
    `may_be_constant` lists the constants that a predicate may return always (a skill that may start anywhere).
    `given` are methods that are merged into the class later and may therefore be called without being defined.
    `file` is how violations name the module.
    """

    kind: Kind
    functions: tuple[RequiredFunction, ...]
    state_fields: tuple[StateField, ...]
    skills: tuple[str, ...]
    class_name: str | None = None
    given: tuple[str, ...] = ()
    may_be_constant: frozenset[bool] = frozenset()
    imports: Mapping[str, frozenset[str]] = field(default_factory=lambda: dict(DEFAULT_IMPORTS))
    builtins: frozenset[str] = DEFAULT_BUILTINS
    state_name: str = "State"
    max_lines: int = 400
    max_bytes: int = 20_000
    file: str = "module.py"

    def __post_init__(self) -> None:
        unknown = sorted(name for name in self.builtins if not hasattr(builtins, name))
        if unknown:
            raise ContractError(f"not builtins: {', '.join(unknown)}")
        names = [each.name for each in self.state_fields]
        if len(set(names)) != len(names):
            raise ContractError("a field of the state is listed twice")
        if not self.functions:
            raise ContractError("a contract without functions asks for nothing")

    @property
    def field_names(self) -> tuple[str, ...]:
        """List the names of the state's fields."""
        return tuple(each.name for each in self.state_fields)

    @property
    def required_names(self) -> frozenset[str]:
        """List the names that must stand at the top of the module."""
        if self.class_name is not None:
            return frozenset({self.class_name})
        return frozenset(each.name for each in self.functions if not each.optional)

    @property
    def state_parameters(self) -> frozenset[str]:
        """List the parameter names under which required functions are given states."""
        return frozenset(p.name for each in self.functions for p in each.parameters if p.role == "state")

    def required(self, name: str) -> RequiredFunction | None:
        """Find the required function called `name`; None says that this function is the module's own."""
        return next((each for each in self.functions if each.name == name), None)


_STATE = Parameter("state", "state")
_STARTABLE = Parameter("startable", "skills")


def initiation_contract(
    state_fields: Iterable[StateField], skills: Iterable[str], *, file: str = "initiation.py", **others: Any
) -> Contract:
    """Ask for `can_initiate(state) -> bool`; `others` are further fields of the contract."""
    function = RequiredFunction("can_initiate", (_STATE,), "bool")
    return Contract("initiation", (function,), tuple(state_fields), tuple(skills), file=file, **others)


def termination_contract(
    state_fields: Iterable[StateField], skills: Iterable[str], *, file: str = "termination.py", **others: Any
) -> Contract:
    """Ask for `should_terminate(state, start, startable) -> bool`; `others` are further fields of the contract."""
    parameters = (_STATE, Parameter("start", "state"), _STARTABLE)
    function = RequiredFunction("should_terminate", parameters, "bool")
    return Contract("termination", (function,), tuple(state_fields), tuple(skills), file=file, **others)


def policy_contract(
    state_fields: Iterable[StateField], skills: Iterable[str], *, file: str = "policy.py", **others: Any
) -> Contract:
    """Ask for a class `Policy` with `select_skill` and, if it likes, `observe`; `others` are further fields."""
    select = RequiredFunction("select_skill", (_STATE, Parameter("finished", "skill"), _STARTABLE), "skill")
    observe = RequiredFunction("observe", (_STATE,), "nothing", optional=True)
    return Contract(
        "policy",
        (select, observe),
        tuple(state_fields),
        tuple(skills),
        class_name="Policy",
        file=file,
        **others,
    )


@dataclass(frozen=True, order=True)
class Violation:
    """One broken rule. Lines and columns count from 1; order is the order in the source."""

    line: int
    column: int
    rule: str
    message: str
    hint: str = ""
    file: str = "module.py"

    def __str__(self) -> str:
        """Write `policy.py:31:16: 'descend' is not a skill. Skills: ... Did you mean 'descender'?`."""
        message = self.message if self.message.endswith((".", "?", "!")) else self.message + "."
        return f"{self.file}:{self.line}:{self.column}: {message}" + (f" {self.hint}" if self.hint else "")

    def to_dict(self) -> dict[str, Any]:
        """Give the parts under stable keys, for commands that answer in JSON."""
        return {
            "file": self.file, "line": self.line, "column": self.column,
            "rule": self.rule, "message": self.message, "hint": self.hint,
        }  # fmt: skip


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest the nearest of `known` as a question, or nothing where none is near."""
    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if not near:
        near = [each for each in names if len(name) > 3 and (each.startswith(name) or name.startswith(each))][
            :1
        ]
    return f"Did you mean {near[0]!r}?" if near else ""
