"""Refuse names that begin with an underscore where they could reach into the interpreter."""

from __future__ import annotations

import libcst as cst

from codegen.facts import self_attribute
from codegen.rules._rule import Rule


class PrivateNames(Rule):
    """Refuse attributes beginning with an underscore except `self._x`, and double underscores except `__init__`."""

    def visit_Attribute(self, node: cst.Attribute) -> None:
        """Check what stands after a dot."""
        name = node.attr.value
        if not name.startswith("_"):
            return
        if name.startswith("__"):
            self.report(
                node.attr,
                f"the attribute {name!r} is not allowed",
                "Python's own attributes are out of reach.",
            )
        elif self_attribute(node) is None and self.context.kind != "test":
            self.report(
                node.attr, f"the attribute {name!r} is not allowed", "Only `self._x` may begin with `_`."
            )

    def visit_Name(self, node: cst.Name) -> None:
        """Check variables, functions, classes, parameters and keywords."""
        name = node.value
        parent = self.facts.parent.get(node)
        if not name.startswith("__") or isinstance(parent, cst.Attribute):
            return
        if isinstance(parent, cst.FunctionDef) and name == "__init__" and self.facts.class_at.get(parent):
            return
        self.report(node, f"the name {name!r} is not allowed", "Begin names with a letter.")
