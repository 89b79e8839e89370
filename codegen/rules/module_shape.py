"""Keep modules to a docstring, imports, constants, functions and the one class."""

from __future__ import annotations

import libcst as cst

from codegen.facts import children, targets
from codegen.rules._rule import Rule

_MAKERS = frozenset({"frozenset", "set", "tuple", "list", "dict", "float"})


class ModuleShape(Rule):
    """Refuse statements that do something while the module is loaded, nested definitions, bases and other classes."""

    def visit_Module(self, node: cst.Module) -> None:
        """Check what stands at the top."""
        for statement in node.body:
            if isinstance(statement, cst.SimpleStatementLine):
                for small in statement.body:
                    self._check_small(small, "at the top of the module")
            elif not isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
                self.report(
                    statement, "this may not stand at the top of the module", "Put it into a function."
                )

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        """Check what stands in a class, and that it is the class the contract asks for."""
        if self.context.kind == "test" or node.name.value != self.contract.class_name:
            wanted = self.contract.class_name
            hint = f"Write methods of {wanted}." if wanted else "Write plain functions."
            self.report(node.name, f"the class {node.name.value!r} is one too many", hint)
        if node.bases or node.keywords:
            self.report(node.name, "the class has bases", f"Write `class {node.name.value}:`.")
        if self.facts.function_at.get(node) is not None:
            self.report(node, "a class inside a function is not allowed", "Move it out.")
        for statement in node.body.body:
            if isinstance(statement, cst.SimpleStatementLine):
                for small in statement.body:
                    self._check_small(small, "in the body of the class")
            elif not isinstance(statement, (cst.FunctionDef, cst.BaseSmallStatement)):
                self.report(statement, "this may not stand in the body of the class", "Put it into a method.")

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        """Check that functions stand at the top or in the class, and methods begin with `self`."""
        function = self.facts.function_at.get(node)
        if function is not None and function.node is not node:
            self.report(
                node.name, f"the function {node.name.value!r} is nested", "Move it out, or make it a method."
            )
            return
        if function is None:
            return
        if function.owner is not None and function.parameters[:1] != ("self",):
            self.report(node.name, f"{function.title} has no `self`", "Write `self` as the first parameter.")
        if self.context.kind == "test" and node.name.value.startswith("test") and function.parameters:
            self.report(node.name, "a test has no parameters", f"Write `def {node.name.value}():`.")

    def _check_small(self, small: cst.BaseSmallStatement, where: str) -> None:
        if isinstance(small, (cst.Import, cst.ImportFrom, cst.Pass)):
            return
        if isinstance(small, cst.Expr) and isinstance(
            small.value, (cst.SimpleString, cst.ConcatenatedString)
        ):
            return
        if isinstance(small, cst.Assign):
            names = [each for target in small.targets for each in targets(target.target)]
            if all(isinstance(each, cst.Name) for each in names) and self._is_constant(small.value):
                return
        if isinstance(small, cst.AnnAssign) and (small.value is None or self._is_constant(small.value)):
            return
        hint = "Only imports and constants stand there; put the rest into functions."
        self.report(small, f"this may not stand {where}", hint)

    def _is_constant(self, value: cst.CSTNode) -> bool:
        """Tell whether a value is made of literals, names, and the makers of plain collections."""
        if isinstance(value, cst.Call):
            if not isinstance(value.func, cst.Name) or value.func.value not in _MAKERS:
                return False
            return all(self._is_constant(arg.value) for arg in value.args)
        if isinstance(value, (cst.Lambda, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)):
            return False
        return all(self._is_constant(child) for child in children(value))
