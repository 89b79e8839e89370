"""Allow annotations that only name types: whoever loads a module might evaluate them after all."""

from __future__ import annotations

import libcst as cst

from codegen.facts import walk
from codegen.rules._rule import Rule

_PLAIN = (
    cst.Annotation, cst.Name, cst.Attribute, cst.Subscript, cst.SubscriptElement, cst.Index, cst.BinaryOperation,
    cst.BitOr, cst.SimpleString, cst.List, cst.Element, cst.Tuple, cst.Ellipsis, cst.Integer,
)  # fmt: skip


class PlainAnnotations(Rule):
    """Refuse calls, operations and anything else that does something inside an annotation."""

    def visit_Annotation(self, node: cst.Annotation) -> None:
        """Check one annotation."""
        for part in walk(node.annotation):
            if not isinstance(part, _PLAIN):
                self.report(
                    node, "the annotation is more than a type", "Write a type such as `int`, or leave it out."
                )
                return
