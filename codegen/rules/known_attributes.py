"""Allow only attributes that are fields of the state or harmless methods of plain values."""

from __future__ import annotations

import libcst as cst

from codegen.contract import did_you_mean, words
from codegen.rules._rule import Rule

METHODS = words(
    # collections
    "append appendleft extend extendleft insert remove pop popleft popitem clear index count sort reverse copy rotate "
    "add discard update union intersection difference symmetric_difference intersection_update difference_update "
    "isdisjoint issubset issuperset get keys values items setdefault fromkeys most_common total maxlen "
    "move_to_end "
    # texts and numbers
    "lower upper title capitalize casefold strip lstrip rstrip split rsplit splitlines startswith endswith find rfind "
    "join isdigit isalpha isalnum islower isupper isspace partition rpartition removeprefix removesuffix "
    "bit_length is_integer"
)
"""Methods of list, dict, set, str, int, float, deque and Counter.

`format`, `replace` and `elements`, whose results have no bound that can be seen, are left out on purpose.
"""


class KnownAttributes(Rule):
    """Refuse every attribute that is on no list, so that no object leads to another that was not meant to be seen."""

    def visit_Attribute(self, node: cst.Attribute) -> None:
        """Check what stands after anything but `self`, a state or a module: those have rules of their own."""
        name = node.attr.value
        if name.startswith("_") or node in self.facts.annotations or self.flow.is_state(node.value):
            return
        if self._has_a_rule_of_its_own(node.value):
            return
        allowed = METHODS | frozenset(self.contract.field_names) | self._members_in_test()
        if name in allowed:
            return
        if name in ("format", "format_map"):
            hint = 'Write an f-string: f"{x}".'
        else:
            hint = did_you_mean(name, allowed) or "Use fields of the state and methods of plain values only."
        self.report(node.attr, f"the attribute {name!r} is not known", hint)

    def _has_a_rule_of_its_own(self, value: cst.CSTNode) -> bool:
        """Tell whether this is `self` in a method or an imported module, and no variable of such a name."""
        if not isinstance(value, cst.Name):
            return False
        function, owner = self.facts.function_at.get(value), self.facts.class_at.get(value)
        if value.value == "self":
            return function is not None and owner is not None and function.parameters[:1] == ("self",)
        bound = function.bound if function is not None else owner.body_names if owner is not None else ()
        return value.value in self.facts.imported_modules and value.value not in bound

    def _members_in_test(self) -> frozenset[str]:
        """List what a test may read of the tested class."""
        tested = self.context.tested
        if tested is None:
            return frozenset()
        return frozenset(member for each in tested.classes.values() for member in each.members)
