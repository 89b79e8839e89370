"""Allow assignments to variables, to attributes of `self`, and to places in what these hold."""

from __future__ import annotations

import libcst as cst

from codegen.facts import self_attribute, targets
from codegen.rules._rule import Rule


class AssignedTargets(Rule):
    """Refuse assignments to attributes of anything but `self`, to places in a state, and starred targets."""

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        """Check `target = value`."""
        self._check(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        """Check `target += value`."""
        self._check(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        """Check `target: type = value`."""
        self._check(node.target)

    def visit_For(self, node: cst.For) -> None:
        """Check `for target in values`."""
        self._check(node.target)

    def visit_CompFor(self, node: cst.CompFor) -> None:
        """Check `for target in values` inside brackets."""
        self._check(node.target)

    def _check(self, target: cst.CSTNode) -> None:
        for each in targets(target):
            if isinstance(each, cst.Subscript):
                self._check_place(each)
            elif isinstance(each, cst.Attribute):
                if self_attribute(each) is None or self.facts.class_at.get(each) is None:
                    hint = "A state cannot be changed; keep values in `self.x`."
                    self.report(each, "only attributes of `self` may be assigned", hint)
            elif not isinstance(each, cst.Name):
                self.report(each, "this cannot be assigned", "Assign to a variable.")
            elif each.value == "self":
                self.report(each, "`self` may not be assigned", "Use another name.")

    def _check_place(self, target: cst.Subscript) -> None:
        base = target.value
        while isinstance(base, cst.Subscript):
            base = base.value
        if isinstance(base, cst.Name) or self_attribute(base) is not None:
            return
        self.report(
            target, "only places in a variable or in `self.x` may be assigned", "Give the container a name."
        )
