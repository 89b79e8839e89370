"""Refuse loops over a list that grows meanwhile: they never end."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from codegen.contract import words
from codegen.facts import FunctionFacts, children, self_attribute, walk
from codegen.rules._places import Places
from codegen.rules._rule import Context, Rule

_GROWING = words("append appendleft extend extendleft insert add update setdefault rotate")
_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)


class GrowingLoops(Rule):
    """Compare what is looped over with what grows in the loop: there, and in the functions that are called there."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.places = Places(self.facts, self.flow)

    def visit_For(self, node: cst.For) -> None:
        """Check `for x in xs: xs.append(x)`, also through another name for the same list."""
        self._compare([node.iter], node.body)

    def visit_ListComp(self, node: cst.ListComp) -> None:
        """Check a loop inside brackets."""
        self._check_brackets(node)

    def visit_SetComp(self, node: cst.SetComp) -> None:
        """Check a loop inside brackets."""
        self._check_brackets(node)

    def visit_DictComp(self, node: cst.DictComp) -> None:
        """Check a loop inside brackets."""
        self._check_brackets(node)

    def visit_GeneratorExp(self, node: cst.GeneratorExp) -> None:
        """Check a loop inside brackets."""
        self._check_brackets(node)

    def visit_Lambda(self, node: cst.Lambda) -> None:
        """Check that a lambda, which a loop inside `map` or `max` calls, lets nothing grow."""
        self._refuse_growth(node.body)

    def visit_Call(self, node: cst.Call) -> None:
        """Check `xs.extend(x for x in xs)`, and what `map(self.f, xs)` calls for every element."""
        grown = self._grown(node)
        if grown is not None:
            self._check_fed(node, grown, [arg.value for arg in node.args])
        elif isinstance(node.func, cst.Name) and node.func.value in self.contract.builtins:
            self._compare([arg.value for arg in node.args], node)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        """Check `xs += (x for x in xs)`."""
        self._check_fed(node, node.target, [node.value])

    def visit_Attribute(self, node: cst.Attribute) -> None:
        """Check that `append` and its like are called, and of a container itself: handed around, nobody sees of which."""
        if node.attr.value not in _GROWING or node in self.facts.annotations or self._is_own(node):
            return
        above = self.facts.parent.get(node)
        of_a_class = isinstance(node.value, cst.Name) and node.value.value in self.contract.builtins
        if of_a_class or not isinstance(above, cst.Call) or above.func is not node:
            self.report(node, f"{node.attr.value!r} is used as a value", "Call it: `values.append(x)`.")

    def _check_brackets(self, node: cst.CSTNode) -> None:
        self._refuse_growth(node)
        loops = [each.iter for each in walk(node) if isinstance(each, cst.CompFor)]
        self._compare(loops, node)

    def _refuse_growth(self, inside: cst.CSTNode) -> None:
        for node in walk(inside):
            if isinstance(node, cst.Call) and self._grown(node) is not None:
                hint = "Write a `for` loop on lines of its own."
                self.report(node, "a container grows inside an expression that loops", hint)

    def _check_fed(self, node: cst.CSTNode, grown: cst.CSTNode, values: list[cst.BaseExpression]) -> None:
        """Refuse to let a list grow by values that are drawn from itself one by one, while it grows."""
        lazy = [each for each in values if self.places.is_lazy(each)]
        if self.places.same(self.places.of(grown), self.places.looped(lazy)):
            self._refuse(node)

    def _compare(self, sources: list[cst.BaseExpression], body: cst.CSTNode) -> None:
        looped = self.places.looped(sources)
        if not looped:
            return
        for node, grown in self._growth(body, frozenset()):
            if self.places.same(self.places.of(grown), looped):
                self._refuse(node)

    def _growth(
        self, body: cst.CSTNode, above: frozenset[FunctionFacts]
    ) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
        """List what grows below a node, with the nodes that say so; calls stand for what grows in what they name."""
        for node in walk(body):
            if isinstance(node, cst.Call) and (grown := self._grown(node)) is not None:
                yield node, grown
            elif isinstance(node, cst.AugAssign):
                yield node, node.target
            elif isinstance(node, cst.AssignTarget) and _is_slice(node.target):
                yield from (
                    (node, each) for each in children(node.target) if isinstance(each, cst.BaseExpression)
                )
            called = self.facts.called(node, node) if isinstance(node, (cst.Name, cst.Attribute)) else None
            if called is not None and called not in above:
                for _, inner in self._growth(called.node.body, above | {called}):
                    yield node, inner

    def _grown(self, call: cst.Call) -> cst.BaseExpression | None:
        """Give `xs` for `xs.append(x)`; a method of the class by such a name is followed instead."""
        function = call.func
        if not isinstance(function, cst.Attribute) or function.attr.value not in _GROWING:
            return None
        return None if self._is_own(function) else function.value

    def _is_own(self, node: cst.Attribute) -> bool:
        owner, name = self.facts.class_at.get(node), self_attribute(node)
        return owner is not None and name is not None and name in owner.members

    def _refuse(self, node: cst.CSTNode) -> None:
        hint = "Loop over a copy: `for x in list(values)`."
        self.report(node, "the loop changes what it loops over", hint)


def _is_slice(target: cst.CSTNode) -> bool:
    """Tell whether `xs[0:0] = ys` is assigned, by which a list can grow."""
    return isinstance(target, cst.Subscript) and any(
        isinstance(each.slice, cst.Slice) for each in target.slice
    )
