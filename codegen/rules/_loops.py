"""How often loops run, as far as the source says."""

from __future__ import annotations

import libcst as cst

from codegen.facts import Facts
from codegen.flow import Flow
from codegen.rules._numbers import upper_bound

UNKNOWN_SIZE = 10
"""Counted for a loop over values whose number is not written in the source: skills, names in view."""
FIELD_BOUND = 1000
"""Counted for a number that is a field of the state."""

Loop = cst.For | cst.CompFor


def range_bound(value: cst.BaseExpression, flow: Flow) -> float | None:
    """Give a number that an argument of `range` does not exceed, or None where that cannot be seen."""
    if isinstance(value, cst.Attribute) and flow.is_state(value.value):
        return FIELD_BOUND
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, (cst.Add, cst.Subtract)):
        left, right = range_bound(value.left, flow), range_bound(value.right, flow)
        if left is not None and right is not None:
            return left + right
    return upper_bound(value, flow)


def loop_size(loop: Loop, flow: Flow) -> float:
    """Give how often a loop can run."""
    values = loop.iter
    if (
        not isinstance(values, cst.Call)
        or not isinstance(values.func, cst.Name)
        or values.func.value != "range"
    ):
        return UNKNOWN_SIZE
    bounds = [range_bound(arg.value, flow) for arg in values.args[:2]]
    return max(1.0, sum(each for each in bounds if each is not None))


def loops_around(node: cst.CSTNode, facts: Facts) -> list[Loop]:
    """List the loops in whose rounds a node is evaluated; what a loop runs over is evaluated before it."""
    found: list[Loop] = []
    child = node
    for above in facts.ancestors(node):
        if isinstance(above, (cst.For, cst.CompFor)) and child is not above.iter:
            found.append(above)
        elif isinstance(above, (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)):
            inner = above.for_in if child is not above.for_in else None
            while inner is not None:
                found.append(inner)
                inner = inner.inner_for_in
        child = above
    return found


def rounds(loops: list[Loop], flow: Flow) -> float:
    """Multiply the sizes of nested loops."""
    product = 1.0
    for loop in loops:
        product = min(1e15, product * loop_size(loop, flow))
    return product
