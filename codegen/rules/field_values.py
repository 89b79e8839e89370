"""Refuse comparisons of a state's field with a text it can never have."""

from __future__ import annotations

import libcst as cst

from codegen.contract import StateField, did_you_mean
from codegen.flow import skill_parts
from codegen.rules._rule import Rule


class FieldValues(Rule):
    """Check texts compared with a field whose values are all known."""

    def visit_Comparison(self, node: cst.Comparison) -> None:
        """Check both sides of `state.x == "..."` and `state.x in ("...", ...)`."""
        sides = [node.left, *(each.comparator for each in node.comparisons)]
        for side in sides:
            known = self._field(side)
            if known is None:
                continue
            for other in sides:
                for part in skill_parts(other):
                    if isinstance(part, cst.SimpleString):
                        self._check(part, known)

    def _field(self, node: cst.CSTNode) -> StateField | None:
        if not isinstance(node, cst.Attribute) or not self.flow.is_state(node.value):
            return None
        return next((f for f in self.contract.state_fields if f.name == node.attr.value and f.values), None)

    def _check(self, text: cst.SimpleString, known: StateField) -> None:
        value = text.evaluated_value
        if isinstance(value, str) and value not in known.values:
            hint = f"It is one of {', '.join(map(repr, known.values))}. {did_you_mean(value, known.values)}".strip()
            self.report(text, f"{known.name!r} is never {value!r}", hint)
