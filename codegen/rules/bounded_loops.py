"""Refuse loops whose end cannot be seen."""

from __future__ import annotations

import libcst as cst

from codegen.contract import words
from codegen.facts import walk
from codegen.flow import Key
from codegen.rules._loops import loops_around, range_bound, rounds
from codegen.rules._rule import Rule

MAX_RANGE = 10_000
MAX_NESTED = 100_000
_GROWING = words("append appendleft extend extendleft insert add update setdefault rotate")


class BoundedLoops(Rule):
    """Check ranges, the product of nested ranges, and that no loop feeds what it loops over."""

    def visit_Call(self, node: cst.Call) -> None:
        """Check `range(n)`: n must be a number, a field of the state, a length, or cut off by `min`."""
        if not isinstance(node.func, cst.Name) or node.func.value != "range":
            return
        for arg in node.args[:2]:
            bound = range_bound(arg.value, self.flow)
            if bound is None:
                hint = "Write `range(min(n, 1000))`."
                self.report(arg, "it cannot be seen how long this range is", hint)
            elif bound > MAX_RANGE:
                self.report(arg, f"the range is longer than {MAX_RANGE}", f"Stay below {MAX_RANGE}.")

    def visit_For(self, node: cst.For) -> None:
        """Check a loop."""
        self._check(node)

    def visit_CompFor(self, node: cst.CompFor) -> None:
        """Check a loop inside brackets."""
        self._check(node)

    def _check(self, node: cst.For | cst.CompFor) -> None:
        size = rounds([node, *loops_around(node, self.facts)], self.flow)
        if size > MAX_NESTED:
            self.report(
                node, f"nested loops run up to {int(size)} times, more than {MAX_NESTED}", "Loop over less."
            )
        if isinstance(node, cst.For):
            self._check_growth(node)

    def _check_growth(self, loop: cst.For) -> None:
        """Refuse `for x in xs: xs.append(x)`, also through another name for the same list."""
        source = loop.iter
        if isinstance(source, cst.Call) and isinstance(source.func, cst.Name):
            if source.func.value not in ("enumerate", "zip", "map", "filter", "reversed"):
                return
            sources = [arg.value for arg in source.args]
        else:
            sources = [source]
        keys = set().union(*(self._aliases(self.flow.key(each)) for each in sources))
        for node in walk(loop.body):
            grown: cst.CSTNode | None = None
            if (
                isinstance(node, cst.Call)
                and isinstance(node.func, cst.Attribute)
                and node.func.attr.value in _GROWING
            ):
                grown = node.func.value
            elif isinstance(node, cst.AugAssign):
                grown = node.target
            if grown is not None and self.flow.key(grown) in keys:
                hint = "Loop over a copy: `for x in list(values)`."
                self.report(node, "the loop changes what it loops over", hint)

    def _aliases(self, key: Key | None) -> set[Key]:
        """List the variables that may hold the same object, by plain assignments from one to another."""
        if key is None:
            return set()
        pairs = [
            (left, right)
            for left, values in self.flow.assignments.items()
            for right in map(self.flow.key, values)
            if right is not None
        ]
        found, before = {key}, 0
        while len(found) != before:
            before = len(found)
            for left, right in pairs:
                if left in found or right in found:
                    found |= {left, right}
        return found
