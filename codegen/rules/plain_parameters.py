"""Allow plain parameters with constant defaults."""

from __future__ import annotations

import libcst as cst

from codegen.rules._rule import Rule

_CONSTANTS = (cst.Integer, cst.Float, cst.SimpleString)


class PlainParameters(Rule):
    """Refuse `*args`, `**kwargs`, and defaults that are computed or can change."""

    def visit_Parameters(self, node: cst.Parameters) -> None:
        """Check all parameters of one function or lambda."""
        stars = [node.star_kwarg, node.star_arg if isinstance(node.star_arg, cst.Param) else None]
        for star in stars:
            if star is not None:
                self.report(star, f"`{star.star}{star.name.value}` is not allowed", "Name every parameter.")
        in_lambda = isinstance(self.facts.parent.get(node), cst.Lambda)
        for each in (*node.posonly_params, *node.params, *node.kwonly_params):
            if each.default is None:
                continue
            if in_lambda:
                self.report(
                    each.default, "a lambda's parameter may have no default", "Write a function with `def`."
                )
            elif not _is_constant(each.default):
                self.report(each.default, "a default must be a constant", "Use None, a number or a text.")


def _is_constant(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.UnaryOperation):
        return isinstance(node.operator, cst.Minus) and isinstance(node.expression, (cst.Integer, cst.Float))
    if isinstance(node, cst.Name):
        return node.value in ("True", "False", "None")
    return isinstance(node, _CONSTANTS) or (isinstance(node, cst.Tuple) and not node.elements)
