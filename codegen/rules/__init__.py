"""The rules that generated code must keep to: one file a rule, found by listing this folder.

A file defines exactly one subclass of `Rule` (a visitor of the syntax tree) or `TextRule` (a check of the text before
it is parsed); its name is the rule's name. Add a rule by adding a file and its test; there is no list to edit.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

from codegen.errors import RuleError
from codegen.rules._rule import Context, Rule, TextRule, run_rules

__all__ = ["Context", "Rule", "TextRule", "rule_names", "run_rules", "text_rules", "tree_rules"]


@functools.cache
def _all_rules() -> tuple[type[Rule] | type[TextRule], ...]:
    """Import every file of this folder whose name does not begin with an underscore, in alphabetical order."""
    found: list[type[Rule] | type[TextRule]] = []
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{__name__}.{info.name}")
        own = [
            each
            for each in vars(module).values()
            if isinstance(each, type)
            and issubclass(each, (Rule, TextRule))
            and each.__module__ == module.__name__
        ]
        if len(own) != 1:
            raise RuleError(
                f"{module.__file__} defines {len(own)} rules; expected exactly one subclass of Rule"
            )
        own[0].name = info.name.replace("_", "-")
        found.append(own[0])
    return tuple(found)


def text_rules() -> tuple[type[TextRule], ...]:
    """List the rules that look at the text before it is parsed."""
    return tuple(rule for rule in _all_rules() if issubclass(rule, TextRule))


def tree_rules() -> tuple[type[Rule], ...]:
    """List the rules that visit the syntax tree."""
    return tuple(rule for rule in _all_rules() if issubclass(rule, Rule))


def rule_names() -> tuple[str, ...]:
    """List the names of all rules, as violations carry them."""
    return tuple(rule.name for rule in _all_rules())
