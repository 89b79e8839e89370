"""Refuse predicates that always answer the same."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from codegen.facts import FunctionFacts
from codegen.rules._rule import MODULE_KINDS, Rule


class ConstantPredicates(Rule):
    """Find required predicates whose every reachable answer is the same constant, unless the contract allows it."""

    kinds = MODULE_KINDS

    def visit_Module(self, node: cst.Module) -> None:
        """Check the predicates of the interface; helpers may be constant."""
        for function in self.facts.functions:
            required = (
                self.contract.required(function.name) if function.owner == self.contract.class_name else None
            )
            if required is None or required.returns != "bool":
                continue
            answers = {
                self._truth(value, function) for value in _reachable(function.node.body, self, function)
            }
            if len(answers) == 1:
                answer = answers.pop()
                if answer is not None and answer not in self.contract.may_be_constant:
                    hint = "Let it depend on the state."
                    self.report(function.node.name, f"{function.title} always returns {answer}", hint)

    def _truth(self, value: cst.CSTNode | None, function: FunctionFacts, depth: int = 12) -> bool | None:
        """Give the truth of an expression that has the same truth whatever the state is, else None."""
        if depth == 0 or value is None:
            return None
        if isinstance(value, cst.Name):
            constants = {"True": True, "False": False, "None": False}
            if value.value in constants:
                return constants[value.value]
            key = self.flow.key(value)
            assigned = (
                self.flow.assignments.get(key, []) if key and value.value not in function.parameters else []
            )
            return self._truth(assigned[0], function, depth - 1) if len(assigned) == 1 else None
        if isinstance(value, (cst.Integer, cst.Float, cst.SimpleString)):
            return bool(value.evaluated_value)
        if isinstance(value, cst.UnaryOperation) and isinstance(value.operator, cst.Not):
            inner = self._truth(value.expression, function, depth - 1)
            return None if inner is None else not inner
        if isinstance(value, cst.BooleanOperation):
            return self._either(value, function, depth)
        if isinstance(value, cst.IfExp):
            test = self._truth(value.test, function, depth - 1)
            body, other = (self._truth(each, function, depth - 1) for each in (value.body, value.orelse))
            return (body if test else other) if test is not None else body if body == other else None
        if isinstance(value, cst.Call) and isinstance(value.func, cst.Name) and value.func.value == "bool":
            return self._truth(value.args[0].value, function, depth - 1) if value.args else False
        return self._compared(value)

    def _either(self, value: cst.BooleanOperation, function: FunctionFacts, depth: int) -> bool | None:
        sides = [self._truth(each, function, depth - 1) for each in (value.left, value.right)]
        deciding = isinstance(value.operator, cst.Or)
        if deciding in sides:
            return deciding
        if _opposite(value.left, value.right):
            return deciding
        return None if None in sides else not deciding

    def _compared(self, value: cst.CSTNode) -> bool | None:
        """Decide comparisons of something with itself, or of two literals."""
        if not isinstance(value, cst.Comparison) or len(value.comparisons) != 1:
            return None
        left, right, operator = value.left, value.comparisons[0].comparator, value.comparisons[0].operator
        literal = (cst.Integer, cst.Float, cst.SimpleString)
        if isinstance(left, literal) and isinstance(right, literal):
            equal = left.evaluated_value == right.evaluated_value
        elif isinstance(left, (cst.Name, cst.Attribute)) and left.deep_equals(right):
            equal = True
        else:
            return None
        if isinstance(operator, (cst.Equal, cst.Is)):
            return equal
        if isinstance(operator, (cst.NotEqual, cst.IsNot)):
            return not equal
        if equal and isinstance(operator, (cst.LessThanEqual, cst.GreaterThanEqual)):
            return True
        return False if equal and isinstance(operator, (cst.LessThan, cst.GreaterThan)) else None

    def test_of(self, value: cst.CSTNode, function: FunctionFacts) -> bool | None:
        """Give the truth of a condition, where it is always the same."""
        return self._truth(value, function)


def _opposite(left: cst.CSTNode, right: cst.CSTNode) -> bool:
    """Tell whether one side is `not` the other: `x or not x`."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, cst.UnaryOperation) and isinstance(one.operator, cst.Not):
            inner = one.expression.with_changes(lpar=(), rpar=())
            return inner.deep_equals(other.with_changes(lpar=(), rpar=()))
    return False


def _reachable(
    body: cst.BaseSuite, rule: ConstantPredicates, function: FunctionFacts
) -> Iterator[cst.BaseExpression | None]:
    """List the values of the returns that can be reached, leaving out branches whose condition is constant."""
    for statement in body.body:
        if isinstance(statement, cst.SimpleStatementLine):
            for small in statement.body:
                if isinstance(small, cst.Return):
                    yield small.value
                    return
        elif isinstance(statement, cst.Return):
            yield statement.value
            return
        elif isinstance(statement, cst.If):
            yield from _branches(statement, rule, function)
            if rule.test_of(statement.test, function) is True:
                return
        elif isinstance(statement, cst.For):
            yield from _reachable(statement.body, rule, function)


def _branches(
    statement: cst.If, rule: ConstantPredicates, function: FunctionFacts
) -> Iterator[cst.BaseExpression | None]:
    truth = rule.test_of(statement.test, function)
    if truth is not False:
        yield from _reachable(statement.body, rule, function)
    if truth is not True and statement.orelse is not None:
        if isinstance(statement.orelse, cst.If):
            yield from _branches(statement.orelse, rule, function)
        else:
            yield from _reachable(statement.orelse.body, rule, function)
