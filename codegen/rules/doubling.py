"""Refuse values that are multiplied by themselves again and again: after sixty rounds nothing holds them."""

from __future__ import annotations

import libcst as cst

from codegen.facts import children, targets, walk
from codegen.flow import Key
from codegen.rules._numbers import upper_bound
from codegen.rules._rule import Rule

_JOINING = frozenset({"join", "extend", "update", "appendleft", "append", "insert"})


class Doubling(Rule):
    """Check, in loops and for attributes (which live from call to call), values that grow by their own size."""

    def visit_Assign(self, node: cst.Assign) -> None:
        """Check `x = x * y`, `x = x + x`, `x = [x, x]`."""
        for target in node.targets:
            for each in targets(target.target):
                key = self.flow.key(each)
                if key is not None and self._repeats(node, key) and self._grows(node.value, key):
                    self._refuse(node)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        """Check `x *= y` and `x += x`."""
        key = self.flow.key(node.target)
        if key is None or not self._repeats(node, key):
            return
        by_itself = self._mentions(node.value, key)
        if isinstance(node.operator, cst.MultiplyAssign):
            bound = upper_bound(node.value, self.flow)
            if by_itself or bound is None or bound > 10:
                self._refuse(node)
        elif isinstance(node.operator, cst.AddAssign) and by_itself:
            self._refuse(node)

    def visit_Call(self, node: cst.Call) -> None:
        """Check `x.extend(x)` and the like."""
        if not isinstance(node.func, cst.Attribute) or node.func.attr.value not in _JOINING:
            return
        key = self.flow.key(node.func.value)
        if (
            key is not None
            and self._repeats(node, key)
            and any(self._mentions(arg, key) for arg in node.args)
        ):
            self._refuse(node)

    def _repeats(self, node: cst.CSTNode, key: Key) -> bool:
        return key[1].startswith("self.") or any(
            isinstance(each, cst.For) for each in self.facts.ancestors(node)
        )

    def _grows(self, value: cst.BaseExpression, key: Key) -> bool:
        for node in walk(value):
            if isinstance(node, cst.BinaryOperation):
                left, right = self._mentions(node.left, key), self._mentions(node.right, key)
                if isinstance(node.operator, (cst.Add, cst.Multiply)) and left and right:
                    return True
                if isinstance(node.operator, cst.Multiply) and (left or right):
                    other = upper_bound(node.right if left else node.left, self.flow)
                    if other is None or other > 10:
                        return True
            elif isinstance(node, (cst.List, cst.Tuple, cst.FormattedString)) and self._count(node, key) > 1:
                return True
        return False

    def _count(self, value: cst.CSTNode, key: Key) -> int:
        return sum(self.flow.key(part) == key for part in walk(value))

    def _mentions(self, value: cst.CSTNode, key: Key) -> bool:
        """Tell whether the value, or a part of what it is made of, is the variable itself: lengths are not."""
        if (
            isinstance(value, cst.Call)
            and isinstance(value.func, cst.Name)
            and value.func.value in ("len", "sum")
        ):
            return False
        if isinstance(value, (cst.Comparison, cst.Subscript)):
            return False
        return self.flow.key(value) == key or any(self._mentions(part, key) for part in children(value))

    def _refuse(self, node: cst.CSTNode) -> None:
        self.report(
            node, "the value can grow without bound", "Add a number instead, or cut it off with min(x, 1000)."
        )
