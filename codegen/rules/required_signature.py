"""Demand the functions of the interface, with exactly their parameters."""

from __future__ import annotations

import libcst as cst

from codegen.contract import RequiredFunction, did_you_mean
from codegen.facts import FunctionFacts
from codegen.rules._rule import MODULE_KINDS, Rule


class RequiredSignature(Rule):
    """Check that what the contract asks for is there, once, where it belongs, and is called as agreed."""

    kinds = MODULE_KINDS

    def visit_Module(self, node: cst.Module) -> None:
        """Look for the class, the functions, their parameters, and definitions that come twice."""
        wanted = self.contract.class_name
        place: cst.CSTNode = node.body[-1] if node.body else node
        if wanted is None:
            self._check_functions(place, self.facts.module_functions, method=False)
        elif wanted not in self.facts.classes:
            hint = did_you_mean(wanted, self.facts.classes)
            self.report(place, f"there is no class {wanted}", f"Write `class {wanted}:`. {hint}".strip())
        else:
            found = self.facts.classes[wanted]
            self._check_functions(found.node, found.methods, method=True)
            self._check_init(found.methods.get("__init__"))
        self._check_twice()

    def _check_functions(self, place: cst.CSTNode, found: dict[str, FunctionFacts], method: bool) -> None:
        for required in self.contract.functions:
            signature = required.signature(method)
            if required.name in found:
                self._check_parameters(found[required.name], required, method)
            elif not required.optional:
                hint = f"Write `{signature}:`. {did_you_mean(required.name, found)}".strip()
                self.report(place, f"there is no function {required.name}", hint)

    def _check_parameters(self, function: FunctionFacts, required: RequiredFunction, method: bool) -> None:
        expected = (*(["self"] if method else []), *(each.name for each in required.parameters))
        given = function.node.params
        has_default = any(each.default is not None for each in (*given.params, *given.kwonly_params))
        if function.parameters != expected or given.kwonly_params or given.posonly_params or has_default:
            actual = ", ".join(function.parameters)
            self.report(
                function.node.name, f"{function.name} has the parameters ({actual})",
                f"Write `{required.signature(method)}:`.",
            )  # fmt: skip

    def _check_init(self, init: FunctionFacts | None) -> None:
        if init is not None and init.parameters != ("self",):
            self.report(init.node.name, "__init__ has parameters", "Write `def __init__(self):`.")

    def _check_twice(self) -> None:
        seen: dict[tuple[str | None, str], FunctionFacts] = {}
        for function in self.facts.functions:
            key = (function.owner, function.name)
            if key in seen:
                self.report(function.node.name, f"{function.title} is defined twice", "Keep one of them.")
            seen[key] = function
