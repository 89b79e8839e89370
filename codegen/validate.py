"""Check a module against its contract by every rule, in one pass, before anything of it runs."""

from __future__ import annotations

import libcst as cst

from codegen.contract import Contract, Violation
from codegen.facts import Facts, collect
from codegen.flow import follow
from codegen.rules import Context, run_rules, text_rules, tree_rules
from codegen.version import VALIDATOR_VERSION

__all__ = ["VALIDATOR_VERSION", "parse", "validate", "validate_test"]


def validate(source: str, contract: Contract) -> list[Violation]:
    """List all violations of a module in the order of the source; an empty list says that it may run.

    Never raises for anything that `source` holds, and runs none of it. Source that is not valid Python, or too large,
    is answered with these violations alone: there is no tree to look at.
    """
    return _validate(source, contract, contract.kind, None)


def validate_test(test_source: str, module_source: str, contract: Contract) -> list[Violation]:
    """List the violations of the module's own unit test.

    A test keeps to the same rules, may in addition use the names of the module (which must be valid), `State(...)`,
    `print` and `assert`, and must not return anything in particular. An empty test has no violations.
    """
    if not test_source.strip():
        return []
    module = parse(module_source, contract)
    if not isinstance(module, cst.Module):
        return module
    return _validate(test_source, contract, "test", collect(module))


def parse(source: str, contract: Contract) -> cst.Module | list[Violation]:
    """Parse a source whose size, characters and depth are fit for it; else list what is wrong.

    Where libcst and Python disagree about what is valid, the source is refused.
    """
    violations = [violation for rule in text_rules() for violation in rule().check(source, contract)]
    if violations:
        return sorted(set(violations))
    try:
        return cst.parse_module(source)
    except cst.ParserSyntaxError as error:
        what, hint = f"cannot be analysed: {error.message}", "Write it more plainly."
        return [Violation(error.raw_line, error.raw_column + 1, "python-syntax", what, hint, contract.file)]


def _validate(source: str, contract: Contract, kind: str, tested: Facts | None) -> list[Violation]:
    module = parse(source, contract)
    if not isinstance(module, cst.Module):
        return module
    try:
        facts = collect(module)
        context = Context(contract, kind, facts, follow(facts, contract), tested)
        run_rules([rule(context) for rule in tree_rules() if kind in rule.kinds], facts)
    except RecursionError:  # the caller's stack may have been deep already
        return [
            Violation(
                1, 1, "python-syntax", "the code is nested too deeply", "Write it flatter.", contract.file
            )
        ]
    return sorted(set(context.violations))
