"""Allow only listed members of imported modules."""

from __future__ import annotations

import libcst as cst

from codegen.contract import did_you_mean
from codegen.rules._rule import Rule


class ModuleMembers(Rule):
    """Refuse `math.x` for an x the contract does not list, and modules used as values."""

    def visit_Attribute(self, node: cst.Attribute) -> None:
        """Check `module.member`."""
        module = self._module(node.value)
        if module is None or module not in self.contract.imports:
            return
        allowed = self.contract.imports[module]
        if node.attr.value not in allowed:
            hint = did_you_mean(node.attr.value, allowed) or f"Allowed: {', '.join(sorted(allowed))}."
            self.report(node.attr, f"{module}.{node.attr.value} may not be used", hint)

    def visit_Name(self, node: cst.Name) -> None:
        """Check that a module's name is followed by a dot: a module handed around escapes the list."""
        if self._module(node) is None or not self.facts.is_read(node) or node in self.facts.annotations:
            return
        if not isinstance(self.facts.parent.get(node), cst.Attribute):
            self.report(node, f"the module {node.value!r} is used as a value", "Call its functions directly.")

    def _module(self, node: cst.CSTNode) -> str | None:
        if not isinstance(node, cst.Name) or node.value not in self.facts.imported_modules:
            return None
        function = self.facts.function_at.get(node)
        if function is not None and node.value in function.bound:
            return None
        return self.facts.imported_modules[node.value]
