"""Refuse attributes of `self` that nothing defines."""

from __future__ import annotations

import libcst as cst

from codegen.contract import did_you_mean
from codegen.facts import is_target, self_attribute
from codegen.rules._rule import MODULE_KINDS, Rule


class SelfAttributes(Rule):
    """Let `self.x` be used where x is a method, is set in `__init__` or in the class body, or is merged in later."""

    kinds = MODULE_KINDS

    def visit_Attribute(self, node: cst.Attribute) -> None:
        """Check every `self.x`."""
        name = self_attribute(node)
        owner = self.facts.class_at.get(node)
        if name is None or owner is None or name.startswith("__"):
            return
        known = owner.members | frozenset(self.contract.given)
        if name not in known:
            hint = did_you_mean(name, known) or f"Give it a first value in `__init__`: `self.{name} = ...`."
            self.report(node.attr, f"self.{name} is not defined", hint)
        elif (name in owner.methods or name in self.contract.given) and is_target(node, self.facts.parent):
            self.report(
                node.attr, f"the method {name!r} is overwritten", "Give the attribute a name of its own."
            )
