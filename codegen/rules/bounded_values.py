"""Refuse operations whose result can be too large for memory or time."""

from __future__ import annotations

import libcst as cst

from codegen.rules._numbers import upper_bound
from codegen.rules._rule import Rule

MAX_NUMBER = 10**12
MAX_EXPONENT = 8
MAX_REPEATS = 10_000
MAX_CHOICES = 1000
_SEQUENCES = (
    cst.SimpleString,
    cst.FormattedString,
    cst.ConcatenatedString,
    cst.List,
    cst.Tuple,
    cst.ListComp,
)


class BoundedValues(Rule):
    """Check numbers, powers, repeated sequences, and the few functions whose arguments say how large the result is."""

    def visit_Integer(self, node: cst.Integer) -> None:
        """Check a number."""
        if len(node.value) > 40 or node.evaluated_value > MAX_NUMBER:
            self.report(
                node, f"the number is larger than {MAX_NUMBER}", "Write float('inf') for a number above all."
            )

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        """Check `x ** y` and `sequence * n`."""
        if isinstance(node.operator, cst.Power):
            bound = upper_bound(node.right, self.flow)
            base = upper_bound(node.left, self.flow)
            small = bound is not None and (
                bound <= MAX_EXPONENT or (base is not None and base <= 10 and bound <= 12)
            )
            if not small:
                hint = f"Write the exponent as a number up to {MAX_EXPONENT}, or use math.pow."
                self.report(node, "the power can be too large", hint)
        elif isinstance(node.operator, cst.Multiply):
            self._check_repeat(node, node.left, node.right)
            self._check_repeat(node, node.right, node.left)

    def _check_repeat(
        self, node: cst.CSTNode, sequence: cst.BaseExpression, times: cst.BaseExpression
    ) -> None:
        if not self._is_sequence(sequence):
            return
        bound = upper_bound(times, self.flow)
        if bound is None or bound > MAX_REPEATS:
            self.report(
                node, "it cannot be seen how long this becomes", f"Repeat at most {MAX_REPEATS} times."
            )
        elif isinstance(sequence, cst.BinaryOperation):
            self.report(node, "a sequence is repeated twice over", "Repeat it once.")

    def _is_sequence(self, value: cst.CSTNode, depth: int = 4) -> bool:
        if isinstance(value, _SEQUENCES):
            return True
        if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, (cst.Add, cst.Multiply)):
            return depth > 0 and (
                self._is_sequence(value.left, depth - 1) or self._is_sequence(value.right, depth - 1)
            )
        if isinstance(value, cst.Call) and isinstance(value.func, cst.Name):
            return value.func.value in ("str", "list", "tuple", "sorted")
        key = self.flow.key(value)
        values = self.flow.assignments.get(key, []) if key is not None else []
        return depth > 0 and any(self._is_sequence(each, depth - 1) for each in values)

    def visit_Name(self, node: cst.Name) -> None:
        """Check that `round` is only called: handed to `map`, its number of digits would be seen by no rule."""
        if node.value != "round" or node in self.facts.annotations or not self.facts.is_read(node):
            return
        above = self.facts.parent.get(node)
        if not isinstance(above, cst.Call) or above.func is not node:
            self.report(node, "round is used as a value", "Call it: `[round(x) for x in values]`.")

    def visit_Call(self, node: cst.Call) -> None:
        """Check `round(x, n)`, `random.choices(x, k=n)`, `random.sample`; a deque's maximal length needs no check."""
        name = node.func.value if isinstance(node.func, cst.Name) else ""
        name = self.facts.imported_names.get(name, ("", name))[1]
        if isinstance(node.func, cst.Attribute):
            name = node.func.attr.value
        if name == "round" and len(node.args) > 1:
            self._check_argument(node.args[1], 20, "the number of digits")
        elif name == "choices":
            for position, arg in enumerate(node.args):
                if (arg.keyword and arg.keyword.value == "k") or (arg.keyword is None and position > 2):
                    self._check_argument(arg, MAX_CHOICES, "the number of choices")
        elif name == "sample":
            for arg in node.args:
                if arg.keyword is not None and arg.keyword.value == "counts":
                    self.report(arg, "sample() takes no counts here", "Repeat the values in the list.")
        elif name == "int" and len(node.args) > 1:
            self.report(node.args[1], "int() takes one argument here", "Leave the base out.")

    def _check_argument(self, arg: cst.Arg, limit: int, what: str) -> None:
        bound = upper_bound(arg.value, self.flow)
        if bound is None or bound > limit:
            self.report(arg, f"{what} can be too large", f"Write a number up to {limit}.")
