"""Refuse loops whose end cannot be seen."""

from __future__ import annotations

import libcst as cst

from codegen.rules._loops import loops_around, range_bound, rounds
from codegen.rules._rule import Rule

MAX_RANGE = 10_000
MAX_NESTED = 100_000


class BoundedLoops(Rule):
    """Check ranges and the product of nested ranges. What loops over a list that grows is refused by another rule."""

    def visit_Name(self, node: cst.Name) -> None:
        """Check that `range` is only called: handed to `map`, it would be given numbers that no rule sees."""
        if node.value != "range" or node in self.facts.annotations or not self.facts.is_read(node):
            return
        above = self.facts.parent.get(node)
        if not isinstance(above, cst.Call) or above.func is not node:
            self.report(node, "range is used as a value", "Call it where it is looped over.")

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
