"""Allow calls only where it can be seen what is called."""

from __future__ import annotations

import libcst as cst

from codegen.facts import FunctionFacts, self_attribute
from codegen.rules._rule import Rule


class KnownCalls(Rule):
    """Refuse calls of variables, parameters, elements and results, and arguments unpacked into them."""

    def visit_Call(self, node: cst.Call) -> None:
        """Check what is called and how."""
        function = node.func
        if isinstance(function, cst.Name):
            here = self.facts.function_at.get(node)
            if here is not None and function.value in here.bound:
                self._refuse(function, f"the variable {function.value!r} is called")
        elif isinstance(function, cst.Attribute):
            self._check_attribute(function)
        else:
            self._refuse(function, "the result of an expression is called")
        for arg in node.args:
            if arg.star == "**":
                self.report(arg, "`**` in a call is not allowed", "Write every argument.")
            elif arg.star == "*" and not self._takes_many(function):
                self.report(
                    arg, "`*` in a call is only allowed for max, min, zip and print", "Write every argument."
                )

    def visit_Lambda(self, node: cst.Lambda) -> None:
        """Check that a lambda is handed straight to a call: one that is kept could call itself."""
        if not isinstance(self.facts.parent.get(node), cst.Arg):
            hint = "Write a function with `def`."
            self.report(node, "a lambda may only be an argument, as in `max(x, key=lambda ...)`", hint)

    def _check_attribute(self, function: cst.Attribute) -> None:
        name, owner = self_attribute(function), self.facts.class_at.get(function)
        if name is not None and owner is not None:
            known = {**owner.methods, **dict.fromkeys(self.contract.given)}
            if name in owner.members and name not in known:
                self._refuse(function, f"self.{name} is called but is not a method")
        elif self.flow.is_state(function.value) and function.attr.value in self.contract.field_names:
            self.report(function, f"the field {function.attr.value!r} is called", "Leave the brackets out.")

    def _takes_many(self, function: cst.BaseExpression) -> bool:
        return isinstance(function, cst.Name) and function.value in ("max", "min", "zip", "print")

    def _refuse(self, node: cst.CSTNode, message: str) -> None:
        functions: list[FunctionFacts] = self.facts.functions
        names = ", ".join(each.title for each in functions[:8])
        self.report(node, message, f"Call functions by their names{': ' + names if names else ''}.")
