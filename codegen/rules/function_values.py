"""Refuse functions, and the class, where they would be kept or handed around."""

from __future__ import annotations

import libcst as cst

from codegen.facts import dotted, self_attribute
from codegen.rules._rule import Rule

_HINT = "Call it, or hand it straight to map, filter or `key=`."


class FunctionValues(Rule):
    """Keep `self` what it says, and functions where it can be seen what they call.

    A method taken from its class can be called with any object in the place of `self`, of which rules that judge
    `self.x` by the members of the class know nothing. A function that is kept can be given to itself, and so recurse.
    """

    def visit_Name(self, node: cst.Name) -> None:
        """Check where names of functions and of the class are read."""
        if node in self.facts.annotations or not self.facts.is_read(node):
            return
        function, owner = self.facts.function_at.get(node), self.facts.class_at.get(node)
        if node.value == "self":
            above = self.facts.parent.get(node)
            if not isinstance(above, cst.Attribute):
                self.report(node, "`self` is used as a value", "Hand over what is needed of it: `self.x`.")
        elif owner is not None and function is None and node.value in owner.methods:
            hint = f"Write self.{node.value} in a method."
            self.report(node, f"the method {node.value!r} is used in the body of the class", hint)
        elif node.value in self._classes():
            if self.context.kind != "test" or not self._is_called(node):
                hint = "Call its methods with `self.`; the class itself is needed by nothing."
                self.report(node, f"the class {node.value!r} is used as a value", hint)
        elif node.value in self._functions() and not self._is_handed_over(node):
            self.report(node, f"the function {node.value!r} is used as a value", _HINT)

    def visit_Attribute(self, node: cst.Attribute) -> None:
        """Check where `self.method` is read."""
        name, owner = self_attribute(node), self.facts.class_at.get(node)
        if name is None or owner is None or name not in {*owner.methods, *self.contract.given}:
            return
        if not self._is_handed_over(node):
            self.report(node, f"the method {name!r} is used as a value", _HINT)

    def visit_Lambda(self, node: cst.Lambda) -> None:
        """Check that a lambda is used at once: one that is kept could be given to itself."""
        if isinstance(self.facts.parent.get(node), cst.Arg) and not self._is_handed_over(node):
            hint = "Hand it to map, filter or `key=`, or write a function with `def`."
            self.report(node, "the lambda is used as a value", hint)

    def _classes(self) -> frozenset[str]:
        tested = self.context.tested.classes if self.context.tested is not None else {}
        return frozenset(self.facts.classes) | frozenset(tested)

    def _functions(self) -> frozenset[str]:
        tested = self.context.tested.module_functions if self.context.tested is not None else {}
        return frozenset(self.facts.module_functions) | frozenset(tested)

    def _is_called(self, node: cst.CSTNode) -> bool:
        above = self.facts.parent.get(node)
        return isinstance(above, cst.Call) and above.func is node

    def _is_handed_over(self, node: cst.CSTNode) -> bool:
        """Tell whether this is called, or an argument that map, filter, a sort or a defaultdict calls and drops."""
        above = self.facts.parent.get(node)
        if not isinstance(above, cst.Arg):
            return self._is_called(node)
        call = self.facts.parent.get(above)
        if not isinstance(call, cst.Call) or above.star:
            return False
        taker = self._taker(call.func)
        if above.keyword is not None:
            return above.keyword.value == "key" and taker in ("max", "min", "sorted", "sort")
        return taker in ("map", "filter", "collections.defaultdict") and call.args[0] is above

    def _taker(self, called: cst.BaseExpression) -> str:
        """Name what is called, unless it is the module's own: that could keep what it is given."""
        if isinstance(called, cst.Name):
            module, member = self.facts.imported_names.get(called.value, ("", called.value))
            own = not module and called.value in self.facts.module_names
            return "" if own else f"{module}.{member}".lstrip(".")
        if not isinstance(called, cst.Attribute) or self_attribute(called) is not None:
            return ""
        module = self.facts.imported_modules.get(dotted(called.value), "")
        return f"{module}.{called.attr.value}".lstrip(".")
