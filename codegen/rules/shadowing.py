"""Refuse names that hide builtins, modules or the interface."""

from __future__ import annotations

import builtins

import libcst as cst

from codegen.facts import is_target
from codegen.rules._rule import Rule

_HARMLESS = frozenset({"copyright", "credits", "license", "exit", "quit", "help"})
"""Put there by `site`, and absent where generated code runs."""


class Shadowing(Rule):
    """Check every name that is bound: variables, parameters, functions, classes, imports."""

    def visit_Param(self, node: cst.Param) -> None:
        """Check a parameter."""
        self._check(node.name)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        """Check a function's name; a method hides nothing."""
        if self.facts.class_at.get(node) is None:
            self._check(node.name)

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        """Check a class's name."""
        self._check(node.name)

    def visit_AsName(self, node: cst.AsName) -> None:
        """Check `import x as y`."""
        if isinstance(node.name, cst.Name):
            self._check(node.name)

    def visit_Name(self, node: cst.Name) -> None:
        """Check assigned names."""
        if is_target(node, self.facts.parent):
            self._check(node)
            self._check_top(node)

    def _check_top(self, node: cst.Name) -> None:
        """Check that a variable at the top does not replace a function or class."""
        inside = self.facts.function_at.get(node) or self.facts.class_at.get(node)
        if not inside and (node.value in self.facts.module_functions or node.value in self.facts.classes):
            self.report(node, f"{node.value!r} is defined twice", "Use another name.")

    def _check(self, node: cst.Name) -> None:
        name = node.value
        if hasattr(builtins, name) and name not in _HARMLESS and not name.startswith("__"):
            self.report(
                node, f"{name!r} hides the builtin of that name", f"Use another name, for example `{name}_`."
            )
        elif name in self.contract.imports:
            self.report(node, f"{name!r} hides the module of that name", "Use another name.")
        elif name == self.contract.state_name:
            self.report(node, f"{name!r} is given and may not be defined", "Leave the definition out.")
