"""Which variables, and which elements of them, may be the same list: coarse, in both directions."""

from __future__ import annotations

import libcst as cst

from codegen.contract import words
from codegen.facts import Facts, targets
from codegen.flow import Flow, Key

LAZY = words("enumerate zip map filter reversed")
"""Builtins that take elements one by one while the loop around them runs."""
_KEEPING = words("append appendleft insert add setdefault")
_ELEMENTS = words("get pop popleft setdefault")
_VIEWS = words("values items")

Place = tuple[Key, bool]
"""A variable, or (True) anything inside it, however deep."""


class Places:
    """Answers which list an expression may be, after following assignments, loops, arguments and returns."""

    def __init__(self, facts: Facts, flow: Flow) -> None:
        self.facts, self.flow = facts, flow
        self.links: dict[Place, set[Place]] = {}
        for key, values in flow.assignments.items():
            for value in values:
                self._link({(key, False)}, self.of(value))
                self._link({(key, True)}, self._elements(value))
        for node in facts.function_at:
            if isinstance(node, (cst.For, cst.CompFor)):
                for target in targets(node.target):
                    self._link(self.of(target), self._elements(node.iter))
            elif isinstance(node, (cst.AssignTarget, cst.AnnAssign)):
                self._link_place(node)
            elif isinstance(node, cst.Call):
                self._link_call(node)

    def of(self, value: cst.CSTNode, depth: int = 6) -> set[Place]:
        """List the places that an expression may be; a new container is none."""
        if depth == 0:
            return set()
        key = self.flow.key(value)
        if key is not None:
            return {(key, False)}
        if isinstance(value, cst.Subscript):
            if any(isinstance(each.slice, cst.Slice) for each in value.slice):
                return set()
            return {(key, True) for key, _ in self.of(value.value, depth - 1)}
        if isinstance(value, cst.IfExp):
            return self.of(value.body, depth - 1) | self.of(value.orelse, depth - 1)
        if isinstance(value, cst.BooleanOperation):
            return self.of(value.left, depth - 1) | self.of(value.right, depth - 1)
        if isinstance(value, cst.GeneratorExp):
            return self._through(value.for_in, depth)
        return self._of_call(value, depth) if isinstance(value, cst.Call) else set()

    def _through(self, loop: cst.CompFor, depth: int) -> set[Place]:
        inner = self._through(loop.inner_for_in, depth) if loop.inner_for_in is not None else set()
        return self.of(loop.iter, depth - 1) | inner

    def _of_call(self, call: cst.Call, depth: int) -> set[Place]:
        arguments = [place for arg in call.args for place in self.of(arg.value, depth - 1)]
        called = self.facts.called(call.func, call)
        if called is not None:
            returned = [each.value for each in called.returns if each.value is not None]
            return {place for each in returned for place in self.of(each, depth - 1)}
        if isinstance(call.func, cst.Name):
            return set(arguments) if call.func.value in LAZY else set()
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in _ELEMENTS:
            return {(key, True) for key, _ in self.of(call.func.value, depth - 1)} | set(arguments[1:])
        return set()

    def _elements(self, value: cst.CSTNode, depth: int = 6) -> set[Place]:
        """List the places that an element of a value may be."""
        if depth == 0:
            return set()
        if isinstance(value, (cst.List, cst.Tuple, cst.Set, cst.Dict)):
            parts = [each.value for each in value.elements]
            return {place for part in parts for place in self.of(part) | self._elements(part, depth - 1)}
        if isinstance(value, (cst.ListComp, cst.SetComp, cst.GeneratorExp)):
            return self.of(value.elt) | self._elements(value.elt, depth - 1)
        if isinstance(value, cst.DictComp):
            return self.of(value.value) | self._elements(value.value, depth - 1)
        if isinstance(value, cst.Call) and isinstance(value.func, cst.Name):
            return {place for arg in value.args for place in self._elements(arg.value, depth - 1)}
        if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute):
            base = self.of(value.func.value) if value.func.attr.value in _VIEWS else self.of(value)
            return {(key, True) for key, _ in base}
        return {(key, True) for key, _ in self.of(value)}

    def _link_place(self, node: cst.AssignTarget | cst.AnnAssign) -> None:
        """Follow `xs[i] = ys`: what is assigned lies inside from then on."""
        above = self.facts.parent.get(node) if isinstance(node, cst.AssignTarget) else node
        value = above.value if isinstance(above, (cst.Assign, cst.AnnAssign)) else None
        if value is not None:
            for each in targets(node.target):
                if isinstance(each, cst.Subscript):
                    self._link(self.of(each), self.of(value) | self._elements(value))

    def _link_call(self, call: cst.Call) -> None:
        """Follow arguments into parameters, and what is put into containers."""
        called = self.facts.called(call.func, call)
        if called is not None:
            names = called.parameters[1:] if called.owner else called.parameters
            for position, arg in enumerate(call.args):
                own = names[position] if position < len(names) else ""
                name = arg.keyword.value if arg.keyword is not None else own
                self._link({((id(called), name), False)}, self.of(arg.value))
                self._link({((id(called), name), True)}, self._elements(arg.value))
        elif isinstance(call.func, cst.Attribute) and call.func.attr.value in _KEEPING:
            inside = {(key, True) for key, _ in self.of(call.func.value)}
            for arg in call.args:
                self._link(inside, self.of(arg.value))

    def _link(self, left: set[Place], right: set[Place]) -> None:
        for one in left:
            for other in right:
                self.links.setdefault(one, set()).add(other)
                self.links.setdefault(other, set()).add(one)

    def looped(self, values: list[cst.BaseExpression]) -> set[Place]:
        """List the places whose elements are taken one by one when values are looped over, with all their names."""
        found = {place for value in values for place in self.of(value)}
        waiting = list(found)
        while waiting:
            for each in self.links.get(waiting.pop(), set()) - found:
                found.add(each)
                waiting.append(each)
        return found

    def same(self, places: set[Place], looped: set[Place]) -> bool:
        """Tell whether one of the places is among those that are looped over."""
        return bool(places & looped)

    def is_lazy(self, value: cst.CSTNode, depth: int = 4) -> bool:
        """Tell whether the elements of a value are made only while it is looped over."""
        if isinstance(value, cst.GeneratorExp):
            return True
        if isinstance(value, cst.Call) and isinstance(value.func, cst.Name) and value.func.value in LAZY:
            return True
        key = self.flow.key(value)
        values = self.flow.assignments.get(key, []) if key is not None and depth else []
        return any(self.is_lazy(each, depth - 1) for each in values)
