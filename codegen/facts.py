"""What is defined where in a module: collected in one walk, before the rules look at the tree."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from codegen.contract import words


@dataclass(eq=False)
class FunctionFacts:
    """A function or method: its parameters, the names it binds anywhere inside, and its return statements."""

    name: str
    owner: str | None
    node: cst.FunctionDef
    parameters: tuple[str, ...]
    bound: set[str] = field(default_factory=set)
    returns: list[cst.Return] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Give the name a reader knows it by: `Policy.select_skill` or `can_initiate`."""
        return f"{self.owner}.{self.name}" if self.owner else self.name


@dataclass(eq=False)
class ClassFacts:
    """A class at the top of the module: methods, names bound in its body, attributes set in `__init__`."""

    name: str
    node: cst.ClassDef
    methods: dict[str, FunctionFacts] = field(default_factory=dict)
    body_names: set[str] = field(default_factory=set)
    initial: set[str] = field(default_factory=set)

    @property
    def members(self) -> frozenset[str]:
        """List every name that `self.` may be followed by."""
        return frozenset(self.methods) | frozenset(self.body_names) | frozenset(self.initial)


@dataclass(eq=False)
class Facts:
    """Everything the rules ask about a module that one node alone cannot tell.

    `function_at` and `class_at` give the innermost definition around a node; nodes inside annotations, which are
    never evaluated, are in `annotations`.
    """

    module: cst.Module
    parent: dict[cst.CSTNode, cst.CSTNode] = field(default_factory=dict)
    function_at: dict[cst.CSTNode, FunctionFacts | None] = field(default_factory=dict)
    class_at: dict[cst.CSTNode, ClassFacts | None] = field(default_factory=dict)
    annotations: set[cst.CSTNode] = field(default_factory=set)
    functions: list[FunctionFacts] = field(default_factory=list)
    classes: dict[str, ClassFacts] = field(default_factory=dict)
    module_names: set[str] = field(default_factory=set)
    imported_modules: dict[str, str] = field(default_factory=dict)
    imported_names: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def module_functions(self) -> dict[str, FunctionFacts]:
        """List the functions that stand at the top of the module."""
        return {each.name: each for each in self.functions if each.owner is None}

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Walk from the parent of `node` to the module."""
        while node in self.parent:
            node = self.parent[node]
            yield node

    def called(self, expression: cst.CSTNode, at: cst.CSTNode) -> FunctionFacts | None:
        """Find the module's own function that `expression`, used at `at`, names: `helper` or `self.helper`."""
        if isinstance(expression, cst.Name):
            return self.module_functions.get(expression.value)
        owner = self.class_at.get(at)
        name = self_attribute(expression)
        if owner is not None and name is not None:
            return owner.methods.get(name)
        return None

    def is_read(self, name: cst.Name) -> bool:
        """Tell whether this name is looked up as a variable, rather than bound or part of other syntax."""
        parent = self.parent.get(name)
        if isinstance(parent, cst.Attribute):
            return parent.value is name
        if isinstance(parent, (cst.Arg, cst.Param)):
            return parent.keyword is not name if isinstance(parent, cst.Arg) else parent.default is name
        if isinstance(parent, (cst.FunctionDef, cst.ClassDef, cst.ImportAlias, cst.ImportFrom, cst.AsName)):
            return False
        return not is_target(name, self.parent)


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """List a node and all syntax below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def collect(module: cst.Module) -> Facts:
    """Walk the module once and give its facts."""
    collector = _Collector(Facts(module))
    collector.walk(module)
    return collector.facts


_LAYOUT = words(
    "lpar rpar comma semicolon equal dot first_line last_line colon lbracket rbracket lbrace rbrace header footer "
    "leading_lines lines_after_decorators lines_after_else trailing_whitespace indent separator newline"
)


@functools.cache
def _child_names(node_type: type[cst.CSTNode]) -> tuple[str, ...]:
    """List the fields of a node type that hold syntax: everything but brackets, commas, comments and blanks."""
    names = (each.name for each in dataclasses.fields(node_type))
    return tuple(name for name in names if name not in _LAYOUT and not name.startswith("whitespace"))


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """List the syntax below a node, in order. libcst's own `children` takes ten times as long."""
    for name in _child_names(type(node)):
        value = getattr(node, name)
        if isinstance(value, (tuple, list)):
            yield from value
        elif value is not None and hasattr(value, "visit"):
            yield value


def self_attribute(node: cst.CSTNode | None) -> str | None:
    """Give `x` for `self.x`; None for anything else."""
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == "self":
        return node.attr.value
    return None


def dotted(node: cst.CSTNode | None) -> str:
    """Write `a.b.c` for names joined by dots; empty for anything else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        left = dotted(node.value)
        return f"{left}.{node.attr.value}" if left else ""
    return ""


def targets(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """List the simple targets (names, attributes, subscripts) inside a target of an assignment or loop."""
    if isinstance(node, (cst.Tuple, cst.List)):
        for element in node.elements:
            yield from targets(element.value)
    elif isinstance(node, cst.BaseExpression):
        yield node


def is_target(node: cst.CSTNode, parent: dict[cst.CSTNode, cst.CSTNode]) -> bool:
    """Tell whether `node` is bound by an assignment, a loop or a comprehension."""
    child, above = node, parent.get(node)
    while isinstance(above, (cst.Element, cst.Tuple, cst.List, cst.StarredElement)):
        child, above = above, parent.get(above)
    if isinstance(
        above, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.CompFor, cst.NamedExpr)
    ):
        return above.target is child
    return False


def imported(node: cst.Import | cst.ImportFrom) -> Iterator[tuple[str, str, cst.ImportAlias]]:
    """List what an import binds: the name, what it means (`math`, `math.sqrt`), and where it stands."""
    if isinstance(node.names, cst.ImportStar):
        return
    before = f"{dotted(node.module)}." if isinstance(node, cst.ImportFrom) else ""
    for alias in node.names:
        name = dotted(alias.name)
        as_name = alias.asname.name if alias.asname else None
        local = as_name.value if isinstance(as_name, cst.Name) else name.split(".")[0]
        yield local, before + name, alias


_DEFINITIONS = frozenset({cst.FunctionDef, cst.ClassDef})
_BINDERS = frozenset(
    {cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.CompFor, cst.NamedExpr}
    | {cst.Param, cst.Import, cst.ImportFrom, cst.Return}
)


class _Collector:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.function: FunctionFacts | None = None
        self.owner: ClassFacts | None = None
        self.in_annotation = False

    def walk(self, node: cst.CSTNode) -> None:
        """Take note of a node and of everything below it. The depth was bounded before."""
        facts, around = self.facts, (self.function, self.owner, self.in_annotation)
        kind = type(node)
        if kind in _DEFINITIONS:
            self._define(node)
        facts.function_at[node] = self.function
        facts.class_at[node] = self.owner
        self.in_annotation = self.in_annotation or kind is cst.Annotation
        if self.in_annotation:
            facts.annotations.add(node)
        if kind in _BINDERS:
            self._bind(node)
        for child in children(node):
            facts.parent[child] = node
            self.walk(child)
        self.function, self.owner, self.in_annotation = around

    def _define(self, node: cst.CSTNode) -> None:
        """Enter a function or a class. Those inside functions belong to the function around them."""
        if isinstance(node, cst.FunctionDef) and self.function is None:
            given = node.params
            every = [*given.posonly_params, *given.params, *given.kwonly_params]
            names = tuple(each.name.value for each in every)
            owner = self.owner.name if self.owner else None
            self.function = FunctionFacts(node.name.value, owner, node, names, set(names))
            self.facts.functions.append(self.function)
            if self.owner is not None:
                self.owner.methods[node.name.value] = self.function
            else:
                self.facts.module_names.add(node.name.value)
        elif isinstance(node, cst.FunctionDef) and self.function is not None:
            self.function.bound.add(node.name.value)
        elif isinstance(node, cst.ClassDef) and self.function is None and self.owner is None:
            self.owner = ClassFacts(node.name.value, node)
            self.facts.classes[node.name.value] = self.owner
            self.facts.module_names.add(node.name.value)

    def _bind(self, node: cst.CSTNode) -> None:
        if isinstance(
            node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.CompFor, cst.NamedExpr)
        ):
            for each in targets(node.target):
                self._bind_one(each)
        elif isinstance(node, cst.Param):
            self._bind_one(node.name)
        elif isinstance(node, (cst.Import, cst.ImportFrom)):
            self._import(node)
        elif isinstance(node, cst.Return) and self.function is not None:
            self.function.returns.append(node)

    def _bind_one(self, target: cst.CSTNode) -> None:
        if isinstance(target, cst.Name):
            if self.function is not None:
                self.function.bound.add(target.value)
            elif self.owner is not None:
                self.owner.body_names.add(target.value)
            else:
                self.facts.module_names.add(target.value)
        attribute = self_attribute(target)
        if attribute and self.owner and self.function and self.function.name == "__init__":
            self.owner.initial.add(attribute)

    def _import(self, node: cst.Import | cst.ImportFrom) -> None:
        for local, meaning, _ in imported(node):
            if isinstance(node, cst.Import):
                self.facts.imported_modules[local] = meaning
            else:
                module, _, name = meaning.rpartition(".")
                self.facts.imported_names[local] = (module, name)
            (self.function.bound if self.function else self.facts.module_names).add(local)
