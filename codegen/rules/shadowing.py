"""Refuse names that hide builtins, modules or the interface."""

from __future__ import annotations

import builtins

import libcst as cst

from codegen.facts import imported, is_target
from codegen.rules._rule import Context, Rule

_HARMLESS = frozenset({"copyright", "credits", "license", "exit", "quit", "help"})
"""Put there by `site`, and absent where generated code runs."""


class Shadowing(Rule):
    """Check every name that is bound: variables, parameters, functions, classes, imports."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.imported: dict[str, str] = {}

    def visit_Param(self, node: cst.Param) -> None:
        """Check a parameter; one called `self` is what attributes are believed to belong to."""
        self._check_bound(node.name)
        if node.name.value == "self" and not self._is_first_of_a_method(node):
            hint = "Only the first parameter of a method is called so."
            self.report(node, "a parameter is called `self` outside of a method", hint)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        """Check a function's name; a method hides nothing."""
        if self.facts.class_at.get(node) is None:
            self._check_bound(node.name)
            self._check_self(node.name)
            if node.name.value in self.facts.classes:
                self.report(node.name, f"{node.name.value!r} is defined twice", "Use another name.")

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        """Check a class's name."""
        self._check_bound(node.name)
        self._check_self(node.name)
        known = self.facts.classes.get(node.name.value)
        if known is not None and known.node is not node:
            self.report(node.name, f"{node.name.value!r} is defined twice", "Keep one of them.")

    def visit_Import(self, node: cst.Import) -> None:
        """Check that no two imports share a name: what may be read of it is decided by the last."""
        self._check_imports(node)

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        """Check `from x import y` likewise."""
        self._check_imports(node)

    def visit_AsName(self, node: cst.AsName) -> None:
        """Check `import x as y`."""
        if isinstance(node.name, cst.Name):
            self._check(node.name)
            self._check_self(node.name)

    def visit_Name(self, node: cst.Name) -> None:
        """Check assigned names."""
        if is_target(node, self.facts.parent):
            self._check_bound(node)
            self._check_top(node)

    def _is_first_of_a_method(self, node: cst.Param) -> bool:
        function = self.facts.function_at.get(node)
        if function is None or function.owner is None:
            return False
        parameters = function.node.params.params
        return bool(parameters) and parameters[0] is node

    def _check_self(self, node: cst.Name) -> None:
        if node.value == "self":
            self.report(node, "`self` may not be defined", "Use another name.")

    def _check_imports(self, node: cst.Import | cst.ImportFrom) -> None:
        for local, meaning, alias in imported(node):
            if self.imported.setdefault(local, meaning) != meaning:
                self.report(alias, f"{local!r} is imported twice", "Keep one of them.")

    def _check_bound(self, node: cst.Name) -> None:
        """Check a name that is bound by anything but an import: rules take an import's name for the import."""
        hides = node.value in self.facts.imported_modules or node.value in self.facts.imported_names
        if not self._check(node) and hides:
            self.report(node, f"{node.value!r} hides the import of that name", "Use another name.")

    def _check_top(self, node: cst.Name) -> None:
        """Check that a variable at the top does not replace a function or class."""
        inside = self.facts.function_at.get(node) or self.facts.class_at.get(node)
        if not inside and (node.value in self.facts.module_functions or node.value in self.facts.classes):
            self.report(node, f"{node.value!r} is defined twice", "Use another name.")

    def _check(self, node: cst.Name) -> bool:
        """Refuse a name that is taken; tell whether it was."""
        name = node.value
        if hasattr(builtins, name) and name not in _HARMLESS and not name.startswith("__"):
            hint = f"Use another name, for example `{name}_`."
            self.report(node, f"{name!r} hides the builtin of that name", hint)
        elif name in self.contract.imports:
            self.report(node, f"{name!r} hides the module of that name", "Use another name.")
        elif name == self.contract.state_name:
            self.report(node, f"{name!r} is given and may not be defined", "Leave the definition out.")
        else:
            return False
        return True
