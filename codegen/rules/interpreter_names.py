"""Refuse the names under which generators, frames, tracebacks and code lead into the interpreter."""

from __future__ import annotations

import re

import libcst as cst

from codegen.facts import targets
from codegen.rules._rule import Rule

INTERPRETER_NAMES = re.compile(r"(gi|cr|ag|f|tb|co|func)_|(mro|with_traceback|send|throw)$")
"""From a running generator, `gi_frame`, `f_back` and `f_builtins` lead to every module of the process."""


class InterpreterNames(Rule):
    """Refuse these names after any dot and for any member: whatever else is known, they are known to nobody.

    A member of the class by such a name would make it a known attribute, which other rules then let pass.
    """

    def visit_Attribute(self, node: cst.Attribute) -> None:
        """Check what stands after a dot; annotations are never evaluated."""
        if node not in self.facts.annotations:
            self._check(node.attr)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        """Check the name of a method."""
        if self.facts.class_at.get(node) is not None:
            self._check(node.name)

    def visit_Assign(self, node: cst.Assign) -> None:
        """Check names assigned in the body of the class."""
        for target in node.targets:
            self._check_member(target.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        """Check `name: type` in the body of the class, with or without a value."""
        self._check_member(node.target)

    def _check_member(self, target: cst.CSTNode) -> None:
        if self.facts.class_at.get(target) is None or self.facts.function_at.get(target) is not None:
            return
        for each in targets(target):
            if isinstance(each, cst.Name):
                self._check(each)

    def _check(self, node: cst.Name) -> None:
        if INTERPRETER_NAMES.match(node.value):
            self.report(node, f"the name {node.value!r} belongs to the interpreter", "Give it another name.")
