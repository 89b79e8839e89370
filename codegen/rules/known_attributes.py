"""Allow only attributes that are fields of the state or harmless methods of plain values."""

from __future__ import annotations

import libcst as cst

from codegen.contract import did_you_mean, words
from codegen.rules._rule import Rule

METHODS = words(
    # collections
    "append appendleft extend extendleft insert remove pop popleft popitem clear index count sort reverse copy rotate "
    "add discard update union intersection difference symmetric_difference intersection_update difference_update "
    "isdisjoint issubset issuperset get keys values items setdefault fromkeys most_common elements total maxlen "
    "move_to_end "
    # texts and numbers
    "lower upper title capitalize casefold strip lstrip rstrip split rsplit splitlines startswith endswith find rfind "
    "join isdigit isalpha isalnum islower isupper isspace partition rpartition removeprefix removesuffix "
    "bit_length is_integer"
)
"""Methods of list, dict, set, str, int, float, deque and Counter. `format` and `replace` are left out on purpose."""


class KnownAttributes(Rule):
    """Refuse every attribute that is on no list, so that no object leads to another that was not meant to be seen."""

    def visit_Attribute(self, node: cst.Attribute) -> None:
        """Check what stands after anything but `self`, a state or a module: those have rules of their own."""
        name = node.attr.value
        if name.startswith("_") or node in self.facts.annotations or self.flow.is_state(node.value):
            return
        if isinstance(node.value, cst.Name) and (
            (node.value.value == "self" and self.facts.class_at.get(node) is not None)
            or node.value.value in self.facts.imported_modules
        ):
            return
        allowed = METHODS | frozenset(self.contract.field_names) | self._members_in_test()
        if name in allowed:
            return
        if name in ("format", "format_map"):
            hint = 'Write an f-string: f"{x}".'
        else:
            hint = did_you_mean(name, allowed) or "Use fields of the state and methods of plain values only."
        self.report(node.attr, f"the attribute {name!r} is not known", hint)

    def _members_in_test(self) -> frozenset[str]:
        """List what a test may read of the tested class."""
        tested = self.context.tested
        if tested is None:
            return frozenset()
        return frozenset(member for each in tested.classes.values() for member in each.members)
