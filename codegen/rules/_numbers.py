"""Bounds of numbers that can be read off the source."""

from __future__ import annotations

import libcst as cst

from codegen.flow import Flow

HUGE = 10**15
"""Stands for every number that is larger still; products are cut off here, so that nothing large is ever computed."""


def upper_bound(node: cst.CSTNode, flow: Flow, depth: int = 8) -> float | None:
    """Give a number that the absolute value of `node` cannot exceed, or None where that cannot be seen."""
    if depth == 0:
        return None
    if isinstance(node, (cst.Integer, cst.Float)):
        value = abs(node.evaluated_value)
        return min(HUGE, value) if value == value else None
    if isinstance(node, cst.UnaryOperation):
        return upper_bound(node.expression, flow, depth - 1)
    if isinstance(node, cst.IfExp):
        return _most([upper_bound(each, flow, depth - 1) for each in (node.body, node.orelse)])
    if isinstance(node, cst.BinaryOperation):
        return _binary(node, flow, depth)
    if isinstance(node, cst.Call):
        return _call(node, flow, depth)
    key = flow.key(node)
    values = flow.assignments.get(key, []) if key is not None else []
    if key is None or len(values) != 1 or _bound_otherwise(node, flow):
        return None
    return upper_bound(values[0], flow, depth - 1)


def _most(bounds: list[float | None]) -> float | None:
    known = [each for each in bounds if each is not None]
    return max(known) if known and len(known) == len(bounds) else None


def _binary(node: cst.BinaryOperation, flow: Flow, depth: int) -> float | None:
    left, right = upper_bound(node.left, flow, depth - 1), upper_bound(node.right, flow, depth - 1)
    if isinstance(node.operator, cst.Modulo):
        return right
    if left is None or (right is None and not isinstance(node.operator, cst.FloorDivide)):
        return None
    if isinstance(node.operator, cst.FloorDivide):
        return left
    if right is None:
        return None
    if isinstance(node.operator, (cst.Add, cst.Subtract)):
        return min(HUGE, left + right)
    if isinstance(node.operator, cst.Multiply):
        return min(HUGE, left * right)
    if isinstance(node.operator, cst.Power):
        return HUGE if right > 50 else min(HUGE, max(1.0, float(left)) ** right)
    return None


def _call(node: cst.Call, flow: Flow, depth: int) -> float | None:
    """Bound `min(x, 100)`, `max(3, 4)`, `len(x)`, `int(x)` and `abs(x)`; what is in memory has a bounded length."""
    name = node.func.value if isinstance(node.func, cst.Name) else ""
    if name == "len":
        return 1000
    bounds = [
        upper_bound(arg.value, flow, depth - 1) for arg in node.args if arg.star == "" and arg.keyword is None
    ]
    known = [each for each in bounds if each is not None]
    if name == "min" and len(node.args) > 1 and known:
        return min(known)
    if name in ("max", "int", "abs", "round") and bounds:
        return _most(bounds[:1] if name == "round" else bounds)
    return None


def _bound_otherwise(node: cst.CSTNode, flow: Flow) -> bool:
    """Tell whether a variable is also a parameter, the target of a loop, or changed by `+=` somewhere."""
    key = flow.key(node)
    function = flow.facts.function_at.get(node)
    if function is not None and isinstance(node, cst.Name) and node.value in function.parameters:
        return True
    return key in flow.changed
