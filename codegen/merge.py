"""Carry helper methods of an earlier class into a new module, on the syntax tree.

What the new class calls and does not define is taken from the earlier class, with what that needs in turn: further
methods, the lines of `__init__` that give its attributes their first values, names at the top of the module, imports.
Names are kept; nothing of the new module is changed or replaced; comments go with what they stand above.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import libcst as cst

from codegen.contract import Contract, Violation
from codegen.facts import ClassFacts, Facts, collect, self_attribute, targets, walk
from codegen.validate import parse, validate


@dataclass(frozen=True)
class Merged:
    """The merged module and the names of the methods that were carried over, in the earlier class's order."""

    source: str
    carried: tuple[str, ...]


@dataclass(frozen=True)
class MergeRefused:
    """The modules do not fit together: why, in a word, which names, and in a sentence for the model.

    `invalid` has the violations of the new module, the earlier one, or the result.
    """

    reason: Literal["duplicate", "missing", "entangled", "invalid"]
    names: tuple[str, ...]
    message: str
    violations: tuple[Violation, ...] = ()

    def __str__(self) -> str:
        """Give the sentence."""
        return self.message


@dataclass
class _Needs:
    """What must be carried over, in the order of the earlier module."""

    methods: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    top: set[str] = field(default_factory=set)
    entangled: set[str] = field(default_factory=set)


def helper_names(helpers_source: str, contract: Contract) -> tuple[str, ...]:
    """List the methods of the earlier class that may be carried over: all but the interface itself and `__init__`.

    They go into `Contract.given` while the new module is validated by itself. Empty for a source that is not valid.
    """
    tree = parse(helpers_source, contract)
    if not isinstance(tree, cst.Module) or contract.class_name is None:
        return ()
    found = collect(tree).classes.get(contract.class_name)
    interface = {"__init__", *(each.name for each in contract.functions)}
    return tuple(name for name in found.methods if name not in interface) if found else ()


def merge(
    module_source: str, helpers_source: str, contract: Contract, names: Iterable[str] | None = None
) -> Merged | MergeRefused:
    """Complete a module with the helper methods it calls, or with those in `names`.

    A module that needs nothing comes back byte for byte. The result is validated; `contract.given` does not count.
    """
    contract = replace(contract, given=())
    trees: list[cst.Module] = []
    for source in (module_source, helpers_source):
        tree = parse(source, contract)
        if not isinstance(tree, cst.Module):
            return MergeRefused("invalid", (), str(tree[0]), tuple(tree))
        trees.append(tree)
    new, old = collect(trees[0]), collect(trees[1])
    wanted = contract.class_name or ""
    if wanted not in new.classes or wanted not in old.classes:
        return MergeRefused("missing", (wanted,), f"There is no class {wanted} to merge.")
    taker, giver = new.classes[wanted], old.classes[wanted]
    asked = set(names) if names is not None else _missing(new, taker) & set(giver.methods)
    if not asked <= set(giver.methods):
        absent = tuple(sorted(asked - set(giver.methods)))
        return MergeRefused("missing", absent, f"There is no method {', '.join(absent)} to carry over.")
    needs = _close(asked, old, giver)
    refused = _conflicts(needs, new, taker, old)
    if refused is not None:
        return refused
    if not (needs.methods or needs.attributes or needs.top):
        return Merged(module_source, ())
    source = _build(trees[0], trees[1], taker, giver, needs).code
    violations = validate(source, contract)
    if violations:
        return MergeRefused("invalid", (), str(violations[0]), tuple(violations))
    return Merged(source, tuple(name for name in giver.methods if name in needs.methods))


def _missing(facts: Facts, owner: ClassFacts) -> set[str]:
    """List the attributes that a class uses and does not define."""
    return {name for node in walk(owner.node) if (name := self_attribute(node))} - owner.members


def _close(asked: set[str], old: Facts, giver: ClassFacts) -> _Needs:
    """Add everything that the asked methods need of the earlier module."""
    needs = _Needs()
    waiting: list[cst.CSTNode] = [giver.methods[name].node for name in sorted(asked)]
    needs.methods |= asked
    while waiting:
        for node in walk(waiting.pop()):
            waiting += _need(node, needs, old, giver)
    return needs


def _need(node: cst.CSTNode, needs: _Needs, old: Facts, giver: ClassFacts) -> list[cst.CSTNode]:
    """Note what one node needs, and give the further nodes that have to be looked at."""
    attribute = self_attribute(node)
    if attribute is not None and attribute in giver.methods and attribute not in needs.methods:
        needs.methods.add(attribute)
        return [giver.methods[attribute].node]
    if attribute is not None and attribute in giver.members - set(giver.methods) - needs.attributes:
        needs.attributes.add(attribute)
        lines = _initial_lines(giver, {attribute})
        function = giver.methods.get("__init__")
        bound = function.bound - {"self"} if function else set()
        if not lines or any(
            isinstance(n, cst.Name) and n.value in bound for line in lines for n in walk(line)
        ):
            needs.entangled.add(attribute)
        return list(lines)
    if isinstance(node, cst.Name) and old.is_read(node) and node.value in old.module_names - needs.top:
        needs.top.add(node.value)
        return [each for each in old.module.body if node.value in _top_names(each)]
    return []


def _conflicts(needs: _Needs, new: Facts, taker: ClassFacts, old: Facts) -> MergeRefused | None:
    if needs.entangled:
        names = tuple(sorted(needs.entangled))
        text = f"The first value of {', '.join(f'self.{name}' for name in names)} cannot be carried over."
        return MergeRefused("entangled", names, text)
    if taker.name in needs.top:
        return MergeRefused("entangled", (taker.name,), f"A helper names the class {taker.name} itself.")
    twice = (needs.methods | needs.attributes) & taker.members
    twice |= {name for name in needs.top & new.module_names if _top_code(name, new) != _top_code(name, old)}
    if not twice:
        return None
    names = tuple(sorted(twice))
    text = (
        f"{', '.join(names)} would be defined twice: the given methods have {'it' if len(names) == 1 else 'them'} "
        "already. Leave your definition out, or give yours another name."
    )
    return MergeRefused("duplicate", names, text)


def _top_names(statement: cst.CSTNode) -> set[str]:
    """List the names that a statement at the top of a module defines."""
    if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
        return {statement.name.value}
    found: set[str] = set()
    for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
        if isinstance(small, cst.Assign):
            found |= {n.value for t in small.targets for n in targets(t.target) if isinstance(n, cst.Name)}
        elif isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
            found.add(small.target.value)
        elif isinstance(small, (cst.Import, cst.ImportFrom)) and not isinstance(small.names, cst.ImportStar):
            for alias in small.names:
                name = alias.asname.name if alias.asname else alias.name
                found |= {name.value} if isinstance(name, cst.Name) else set()
    return found


def _top_code(name: str, facts: Facts) -> list[str]:
    """Write the statements that define a name, without comments around them, to compare two definitions."""
    module = cst.Module([])
    found = [each for each in facts.module.body if name in _top_names(each)]
    return [module.code_for_node(each.with_changes(leading_lines=())).strip() for each in found]


def _initial_lines(owner: ClassFacts, attributes: set[str]) -> list[cst.BaseStatement]:
    """List the lines of `__init__` and of the class body that give these attributes their first values."""
    init = owner.methods.get("__init__")
    lines = [*owner.node.body.body, *(init.node.body.body if init else ())]
    return [
        line for line in lines if isinstance(line, cst.SimpleStatementLine) and _assigned(line) & attributes
    ]


def _assigned(line: cst.SimpleStatementLine) -> set[str]:
    found: set[str] = set()
    for small in line.body:
        given = [t.target for t in small.targets] if isinstance(small, cst.Assign) else []
        given += [small.target] if isinstance(small, cst.AnnAssign) else []
        for target in given:
            for each in targets(target):
                name = self_attribute(each) or (each.value if isinstance(each, cst.Name) else None)
                found |= {name} if name else set()
    return found


def _build(
    new: cst.Module, old: cst.Module, taker: ClassFacts, giver: ClassFacts, needs: _Needs
) -> cst.Module:  # fmt: skip
    """Put the parts together."""
    body: list[Any] = list(taker.node.body.body)
    lines = _initial_lines(giver, needs.attributes)
    in_class = [line for line in lines if line in giver.node.body.body]
    in_init = [line for line in lines if line not in in_class]
    start = _after_docstring(body)
    body[start:start] = _below(in_class, start)
    if in_init:
        body = _with_initial(body, in_init, giver)
    methods = [giver.methods[name].node for name in giver.methods if name in needs.methods]
    body += [_set_apart(method) for method in methods]
    block = taker.node.body.with_changes(body=_without_pass(body))
    top = list(new.body)
    place = top.index(taker.node)
    top[place] = taker.node.with_changes(body=block)
    present = set().union(*(_top_names(each) for each in new.body))
    missing = [each for each in old.body if _top_names(each) & (needs.top - present)]
    imports = [each for each in missing if _is_import(each)]
    others = [each for each in missing if not _is_import(each)]
    top[place:place] = others
    after_imports = max(
        (i + 1 for i, each in enumerate(top) if _is_import(each)), default=_after_docstring(top)
    )
    has_imports = after_imports > 0 and _is_import(top[after_imports - 1])
    top[after_imports:after_imports] = _below(imports, 0 if has_imports else after_imports)
    return new.with_changes(body=top)


def _below(statements: Sequence[Any], place: int) -> list[Any]:
    """Let statements that come below a docstring begin with a blank line, and those at the very top without."""
    if not statements:
        return []
    comments = [line for line in statements[0].leading_lines if line.comment is not None]
    first = statements[0].with_changes(leading_lines=[cst.EmptyLine(indent=False)] * (place > 0) + comments)
    return [first, *statements[1:]]


def _with_initial(
    body: Sequence[cst.BaseStatement], lines: Sequence[cst.BaseStatement], giver: ClassFacts
) -> list[cst.BaseStatement]:
    """Put lines at the start of `__init__`, which is taken over from the earlier class where there is none."""
    done: list[cst.BaseStatement] = []
    found = False
    for each in body:
        if isinstance(each, cst.FunctionDef) and each.name.value == "__init__":
            inner: list[Any] = list(each.body.body)
            start = _after_docstring(inner)
            inner[start:start] = lines
            each = each.with_changes(body=each.body.with_changes(body=_without_pass(inner)))
            found = True
        done.append(each)
    if not found:
        init = giver.methods["__init__"].node
        init = init.with_changes(body=init.body.with_changes(body=list(lines)))
        place = next((i for i, each in enumerate(done) if isinstance(each, cst.FunctionDef)), len(done))
        done.insert(place, _set_apart(init) if place else init.with_changes(leading_lines=()))
        if place + 1 < len(done) and isinstance(done[place + 1], cst.FunctionDef):
            done[place + 1] = _set_apart(done[place + 1])  # type: ignore[arg-type]
    return done


def _set_apart(method: cst.FunctionDef) -> cst.FunctionDef:
    """Let a method begin with exactly one blank line, then its comments."""
    comments = [line for line in method.leading_lines if line.comment is not None]
    return method.with_changes(leading_lines=[cst.EmptyLine(indent=False), *comments])


def _without_pass(body: list[Any]) -> list[Any]:
    """Drop the `pass` that stood for an empty block."""
    rest = [
        each
        for each in body
        if not (isinstance(each, cst.SimpleStatementLine) and all(isinstance(s, cst.Pass) for s in each.body))
    ]
    return rest or body


def _after_docstring(body: Sequence[cst.CSTNode]) -> int:
    first = body[0] if body else None
    is_text = isinstance(first, cst.SimpleStatementLine) and isinstance(first.body[0], cst.Expr)
    return int(is_text and isinstance(first.body[0].value, (cst.SimpleString, cst.ConcatenatedString)))  # type: ignore


def _is_import(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and isinstance(
        statement.body[0], (cst.Import, cst.ImportFrom)
    )
