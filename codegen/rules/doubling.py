"""Refuse values that are multiplied by themselves again and again: after sixty rounds nothing holds them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from codegen.facts import children, targets, walk
from codegen.flow import Key
from codegen.rules._numbers import upper_bound
from codegen.rules._rule import Context, Rule

_JOINING = frozenset({"join", "extend", "update", "appendleft", "append", "insert"})


_FRESH = frozenset({"len", "sum"})


class Doubling(Rule):
    """Check, in loops and for attributes (which live from call to call), values that grow by their own size.

    Variables that are made of each other in turn (`b = a + a`, then `a = b`) count as one.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._families: dict[Key, frozenset[Key]] = {}
        self._made_of: dict[Key, set[Key]] | None = None

    def visit_Assign(self, node: cst.Assign) -> None:
        """Check `x = x * y`, `x = x + x`, `x = [x, x]`."""
        for target, value in _pairs(node):
            key = self._target(target)
            if key is not None and self._repeats(node, key) and self._grows(value, self._family(key)):
                self._refuse(node)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        """Check `x *= y` and `x += x`."""
        key = self._target(node.target)
        if key is None or not self._repeats(node, key):
            return
        by_itself = self._mentions(node.value, self._family(key))
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
        if key is None or not self._repeats(node, key):
            return
        if any(self._mentions(arg, self._family(key)) for arg in node.args):
            self._refuse(node)

    def _target(self, node: cst.CSTNode) -> Key | None:
        """Give the variable that is assigned, or in which a place is assigned."""
        while isinstance(node, cst.Subscript):
            node = node.value
        return self.flow.key(node)

    def _repeats(self, node: cst.CSTNode, key: Key) -> bool:
        return key[1].startswith("self.") or any(
            isinstance(each, cst.For) for each in self.facts.ancestors(node)
        )

    def _family(self, key: Key) -> frozenset[Key]:
        """List the variables that are made of this one and of which it is made, itself among them."""
        if self._made_of is None:
            self._made_of = self._dependencies()
        if key not in self._families:
            made_of = self._made_of
            below = _reached(key, made_of)
            self._families[key] = frozenset(
                {key} | {each for each in below if key in _reached(each, made_of)}
            )
        return self._families[key]

    def _dependencies(self) -> dict[Key, set[Key]]:
        """Note for every variable that is assigned again and again of which variables it is made."""
        found: dict[Key, set[Key]] = {}
        for node in self.facts.function_at:
            if not isinstance(node, (cst.Assign, cst.AugAssign)):
                continue
            pairs = _pairs(node) if isinstance(node, cst.Assign) else [(node.target, node.value)]
            for target, value in pairs:
                key = self._target(target)
                if key is not None and self._repeats(node, key):
                    found.setdefault(key, set()).update(self._parts(value))
        return found

    def _parts(self, value: cst.CSTNode) -> set[Key]:
        """List the variables that a value is made of: its size and its elements are none."""
        if _is_cut(value):
            return set()
        key = self.flow.key(value)
        own = {key} if key is not None else set()
        return own.union(*(self._parts(part) for part in children(value)))

    def _grows(self, value: cst.BaseExpression, family: frozenset[Key]) -> bool:
        for node in walk(value):
            if isinstance(node, cst.BinaryOperation):
                left, right = self._mentions(node.left, family), self._mentions(node.right, family)
                if isinstance(node.operator, cst.Add) and left and right and not self._is_halved(node):
                    return True
                if isinstance(node.operator, cst.Multiply) and left and right:
                    return True
                if isinstance(node.operator, cst.Multiply) and (left or right):
                    other = upper_bound(node.right if left else node.left, self.flow)
                    if other is None or other > 10:
                        return True
                if isinstance(node.operator, cst.Power) and (left or right):
                    return True
            elif (
                isinstance(node, (cst.List, cst.Tuple, cst.FormattedString)) and self._count(node, family) > 1
            ):
                return True
        return False

    def _is_halved(self, node: cst.BinaryOperation) -> bool:
        """Tell whether this is the sum in `(low + high) // 2`, which is no more than the larger of the two."""
        above = self.facts.parent.get(node)
        if not isinstance(above, cst.BinaryOperation) or above.left is not node:
            return False
        plain = all(self.flow.key(each) is not None for each in (node.left, node.right))
        halved = isinstance(above.operator, (cst.Divide, cst.FloorDivide))
        number = above.right.evaluated_value if isinstance(above.right, cst.Integer) else 0
        return plain and halved and number >= 2

    def _count(self, value: cst.CSTNode, family: frozenset[Key]) -> int:
        return sum(self.flow.key(part) in family for part in walk(value))

    def _mentions(self, value: cst.CSTNode, family: frozenset[Key]) -> bool:
        """Tell whether the value, or a part of what it is made of, is one of the variables: lengths are not."""
        return not self._parts(value).isdisjoint(family)

    def _refuse(self, node: cst.CSTNode) -> None:
        self.report(
            node, "the value can grow without bound", "Add a number instead, or cut it off with min(x, 1000)."
        )


def _pairs(node: cst.Assign) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression]]:
    """List what is assigned to what: `a, b = b, a` are two assignments."""
    for target in node.targets:
        given = list(node.value.elements) if isinstance(node.value, (cst.Tuple, cst.List)) else []
        wanted = list(targets(target.target))
        matching = isinstance(target.target, (cst.Tuple, cst.List)) and len(given) == len(wanted)
        for position, each in enumerate(wanted):
            yield each, given[position].value if matching else node.value


def _is_cut(value: cst.CSTNode) -> bool:
    """Tell whether a value says only how large others are, which of them, or how they compare."""
    if isinstance(value, cst.Call) and isinstance(value.func, cst.Name) and value.func.value in _FRESH:
        return True
    return isinstance(value, (cst.Comparison, cst.Subscript))


def _reached(start: Key, made_of: dict[Key, set[Key]]) -> set[Key]:
    """List every variable that `start` is made of, directly or through others."""
    found: set[Key] = set()
    waiting = [start]
    while waiting:
        for each in made_of.get(waiting.pop(), set()) - found:
            found.add(each)
            waiting.append(each)
    return found
