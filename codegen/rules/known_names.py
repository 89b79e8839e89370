"""Refuse names that nothing defines, and builtins beyond the allowed ones."""

from __future__ import annotations

import builtins

import libcst as cst

from codegen.contract import did_you_mean
from codegen.rules._rule import Rule

_HINTS = {
    "print": "Printing belongs into the unit test.",
    "getattr": "Write `state.x` with the field's name.",
    "setattr": "Write `self.x = ...`.",
    "hasattr": "Every attribute is set in `__init__`.",
    "open": "There are no files here.",
    "input": "There is nobody to ask.",
    "iter": "Loop over the values directly.",
    "next": "Loop over the values, or take `list(values)[0]`.",
    "super": "The class has no base.",
    "type": "Use isinstance(x, int).",
    "pow": "Write `x ** 2`.",
    "repr": "Use str(x).",
}


class KnownNames(Rule):
    """Look up every name that is read: local, at the top of the module, imported, or an allowed builtin."""

    def visit_Name(self, node: cst.Name) -> None:
        """Check one name; those in annotations are never evaluated."""
        name = node.value
        if node in self.facts.annotations or not self.facts.is_read(node) or name.startswith("__"):
            return
        if name in ("True", "False", "None"):
            return
        known = set(self.facts.module_names) | self.contract.builtins | self.context.names_in_test()
        function, owner = self.facts.function_at.get(node), self.facts.class_at.get(node)
        if function is not None:
            known |= function.bound
        elif owner is not None:
            known |= owner.body_names
        if name in known:
            return
        if name in _HINTS:
            hint = _HINTS[name]
        elif hasattr(builtins, name):
            hint = f"Allowed builtins: {', '.join(sorted(self.contract.builtins))}."
        elif name in self.contract.imports:
            hint = f"Write `import {name}` at the top."
        else:
            hint = self._hint(name, known)
        what = "is not allowed" if hasattr(builtins, name) else "is not defined"
        self.report(node, f"{name!r} {what}", hint)

    def _hint(self, name: str, known: set[str]) -> str:
        if name in self.contract.field_names:
            return f"The state has it: state.{name}."
        owners = self.facts.classes.values()
        if any(name in each.members for each in owners):
            return f"Write self.{name}."
        return did_you_mean(name, known)
