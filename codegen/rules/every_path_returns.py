"""Demand an answer on every path: a skill's name from policies, True or False from predicates."""

from __future__ import annotations

import libcst as cst

from codegen.facts import FunctionFacts
from codegen.flow import is_truth, skill_parts
from codegen.rules._rule import MODULE_KINDS, Rule


class EveryPathReturns(Rule):
    """Check the required functions and the helpers whose results they return."""

    kinds = MODULE_KINDS

    def visit_Module(self, node: cst.Module) -> None:
        """Check every function that must answer."""
        for function in self.facts.functions:
            if function in self.flow.skill_functions:
                self._check_ends(function, "a skill's name")
                self._check_skills(function)
            elif function in self.flow.bool_functions:
                self._check_ends(function, "True or False")
                self._check_truth(function)

    def _check_ends(self, function: FunctionFacts, wanted: str) -> None:
        hint = f"End with `return` and {wanted}."
        if not ends(function.node.body):
            self.report(function.node.name, f"{function.title} can end without returning {wanted}", hint)
        for statement in function.returns:
            if _is_none(statement.value):
                self.report(statement, f"{function.title} returns None here instead of {wanted}", hint)

    def _check_skills(self, function: FunctionFacts) -> None:
        skills = ", ".join(self.contract.skills)
        for statement in function.returns:
            if statement.value is None or _is_none(statement.value):
                continue
            for part in skill_parts(statement.value):
                number = isinstance(
                    part, (cst.Integer, cst.Float, cst.Comparison, cst.BinaryOperation, cst.Dict)
                )
                text = isinstance(part, (cst.FormattedString, cst.ConcatenatedString))
                constant = isinstance(part, cst.Name) and part.value in ("True", "False", "None")
                if number or text or constant:
                    self.report(
                        part,
                        f"{function.title} returns something that is no skill's name",
                        f"Skills: {skills}.",
                    )
            if isinstance(statement.value, (cst.Tuple, cst.List, cst.Set)):
                self.report(statement, f"{function.title} returns several values", "Return one skill's name.")

    def _check_truth(self, function: FunctionFacts) -> None:
        for statement in function.returns:
            value = statement.value
            if value is None or _is_none(value) or is_truth(self.flow, value):
                continue
            hint = "Compare it, or write `bool(...)` around it."
            self.report(value, f"{function.title} may return something else than True or False here", hint)


def _is_none(value: cst.CSTNode | None) -> bool:
    return value is None or (isinstance(value, cst.Name) and value.value == "None")


def ends(body: cst.BaseSuite) -> bool:
    """Tell whether a block returns on every path. Loops do not count: they may run no time at all."""
    statements = list(body.body)
    for statement in statements:
        if isinstance(statement, cst.Return):
            return True
        if isinstance(statement, cst.SimpleStatementLine):
            if any(isinstance(small, (cst.Return, cst.Raise)) for small in statement.body):
                return True
        elif isinstance(statement, cst.If) and _if_ends(statement):
            return True
    return False


def _if_ends(statement: cst.If) -> bool:
    if isinstance(statement.test, cst.Name) and statement.test.value == "True":
        return ends(statement.body)
    if not ends(statement.body) or statement.orelse is None:
        return False
    if isinstance(statement.orelse, cst.If):
        return _if_ends(statement.orelse)
    return ends(statement.orelse.body)
