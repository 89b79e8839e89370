"""What a rule is: a batched visitor with facts, flow and positions at hand, and a way to report."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from codegen.contract import Contract, Violation
from codegen.facts import Facts
from codegen.flow import Flow

MODULE_KINDS = frozenset({"initiation", "termination", "policy"})
EVERY_KIND = MODULE_KINDS | {"test"}


@dataclass(eq=False)
class Context:
    """What all rules share while one module is checked.

    `kind` is the contract's kind, or "test" for the module's own unit test; `tested` are then the facts of the module
    under test, whose names the test may use.
    """

    contract: Contract
    kind: str
    facts: Facts
    flow: Flow
    tested: Facts | None = None
    violations: list[Violation] = field(default_factory=list)

    @functools.cached_property
    def positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        """Find where nodes stand; costs as much as parsing, so that it is done only once something is reported."""
        wrapper = MetadataWrapper(self.facts.module, unsafe_skip_copy=True)
        return wrapper.resolve(PositionProvider)  # type: ignore[return-value]

    def position(self, node: cst.CSTNode) -> tuple[int, int]:
        """Give line and column, both from 1, of a node or of the nearest node around it that has a position."""
        for each in (node, *self.facts.ancestors(node)):
            if each in self.positions:
                start = self.positions[each].start
                return start.line, start.column + 1
        return 1, 1

    def names_in_test(self) -> frozenset[str]:
        """List what a test may name beside its own definitions: the module's names, the state's class, print."""
        if self.tested is None:
            return frozenset()
        return frozenset(self.tested.module_names) | {self.contract.state_name, "print"}


class TextRule(ABC):
    """A rule about the text, checked before it is parsed. After a violation of such a rule the tree is not looked at."""

    name: ClassVar[str] = ""

    @abstractmethod
    def check(self, source: str, contract: Contract) -> Iterator[Violation]:
        """Find what is wrong with the text. Must not assume that it is Python."""

    def violation(
        self, contract: Contract, line: int, column: int, message: str, hint: str = ""
    ) -> Violation:
        """Make a violation of this rule; line and column count from 1."""
        return Violation(line, column, self.name, message, hint, contract.file)


@functools.cache
def _visited(rule: type[Rule]) -> tuple[str, ...]:
    """List the node types that a rule visits."""
    names = {name for base in rule.__mro__[: rule.__mro__.index(Rule)] for name in vars(base)}
    return tuple(sorted(name.removeprefix("visit_") for name in names if name.startswith("visit_")))


def run_rules(rules: Sequence[Rule], facts: Facts) -> None:
    """Show every node of a module to all rules that visit its type, in one pass.

    libcst's own batched traversal does the same in ten times the time, since it rebuilds the tree on its way.
    """
    methods: dict[str, list[Callable[[Any], Any]]] = {}
    for rule in rules:
        for node_type in _visited(type(rule)):
            methods.setdefault(node_type, []).append(getattr(rule, f"visit_{node_type}"))
    for node in facts.function_at:
        for method in methods.get(type(node).__name__, ()):
            method(node)


class Rule(cst.BatchableCSTVisitor):
    """A rule about the syntax tree: define `visit_<Node>` methods and call `report`.

    `kinds` says for which kinds of source the rule holds.
    """

    name: ClassVar[str] = ""
    kinds: ClassVar[frozenset[str]] = EVERY_KIND

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.contract = context.contract
        self.facts = context.facts
        self.flow = context.flow

    def report(self, node: cst.CSTNode, message: str, hint: str = "") -> None:
        """Take note of a violation at `node`. `message` says what is wrong, `hint` what to write instead."""
        line, column = self.context.position(node)
        self.context.violations.append(Violation(line, column, self.name, message, hint, self.contract.file))
