"""Allow imports of a few modules, at the top, by their names."""

from __future__ import annotations

import libcst as cst

from codegen.contract import did_you_mean
from codegen.facts import dotted
from codegen.rules._rule import Rule


class Imports(Rule):
    """Refuse modules and names that the contract does not list, star imports, and imports inside functions."""

    def visit_Import(self, node: cst.Import) -> None:
        """Check `import x` and `import x as y`."""
        self._at_top(node)
        for alias in node.names:
            self._module(alias, dotted(alias.name))

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        """Check `from x import y`."""
        self._at_top(node)
        module = "." * len(node.relative) + dotted(node.module)
        if not self._module(node, module):
            return
        if isinstance(node.names, cst.ImportStar):
            self.report(node, f"`from {module} import *` is not allowed", "Import the names that are needed.")
            return
        allowed = self.contract.imports[module]
        for alias in node.names:
            name = dotted(alias.name)
            if name not in allowed:
                hint = did_you_mean(name, allowed) or f"Allowed: {', '.join(sorted(allowed))}."
                self.report(alias, f"{name!r} may not be imported from {module}", hint)

    def _at_top(self, node: cst.CSTNode) -> None:
        if self.facts.function_at.get(node) or self.facts.class_at.get(node):
            self.report(node, "imports belong to the top of the module", "Move it there.")

    def _module(self, node: cst.CSTNode, module: str) -> bool:
        if module in self.contract.imports:
            return True
        if module == "__future__":
            hint = "Leave it out: annotations are never evaluated."
        else:
            hint = f"Allowed: {', '.join(sorted(self.contract.imports))}."
        self.report(node, f"the module {module!r} may not be imported", hint)
        return False
