"""Allow only documented fields after a state."""

from __future__ import annotations

import libcst as cst

from codegen.contract import did_you_mean
from codegen.rules._rule import Rule


class StateFields(Rule):
    """Refuse `state.x` for an x that is no field, wherever the state came from."""

    def visit_Attribute(self, node: cst.Attribute) -> None:
        """Check what stands after an expression that is known to be a state."""
        if node in self.facts.annotations or not self.flow.is_state(node.value):
            return
        self._check(node.attr, node.attr.value)

    def visit_Call(self, node: cst.Call) -> None:
        """Check the keywords of a state that a test makes, and that a state is never called."""
        if isinstance(node.func, cst.Name) and node.func.value == self.contract.state_name:
            for arg in node.args:
                if arg.keyword is None:
                    self.report(arg, "a state is made with keywords only", "Write `State(depth=1)`.")
                else:
                    self._check(arg.keyword, arg.keyword.value)

    def _check(self, node: cst.CSTNode, name: str) -> None:
        fields = self.contract.field_names
        if name not in fields and not name.startswith("__"):
            hint = did_you_mean(name, fields) or f"Fields: {', '.join(fields)}."
            self.report(node, f"{name!r} is not a field of the state", hint)
