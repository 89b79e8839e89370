"""A contract of a small world, and short ways to validate sources against it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import replace

import pytest

from codegen.contract import Contract, StateField, initiation_contract, policy_contract, termination_contract
from codegen.validate import validate, validate_test

FIELDS = (
    StateField("turn", "int", "The clock."),
    StateField("depth", "int", "Levels below the surface.", default=1),
    StateField("gold", "int"),
    StateField("hunger", "str", default="Not hungry", values=("Not hungry", "Hungry", "Weak")),
    StateField("branch_depth", "int | None"),
    StateField("nearby", "frozenset[str]", default=frozenset()),
    StateField("blind", "bool"),
)
SKILLS = ("discoverer", "descender", "ascender", "merchant")


@pytest.fixture(scope="session")
def contracts() -> dict[str, Contract]:
    """Contracts by kind."""
    return {
        "initiation": initiation_contract(FIELDS, SKILLS),
        "termination": termination_contract(FIELDS, SKILLS),
        "policy": policy_contract(FIELDS, SKILLS),
    }


@pytest.fixture(scope="session")
def found(contracts: dict[str, Contract]) -> Callable[..., list[str]]:
    """List the violations of one rule (or of all) as texts `line:column: message hint`."""

    def find(source: str, rule: str | None = None, kind: str = "policy", **changes: object) -> list[str]:
        contract = replace(contracts[kind], **changes)  # type: ignore[arg-type]
        violations = validate(textwrap.dedent(source).lstrip("\n"), contract)
        return [str(each).partition(":")[2] for each in violations if rule is None or each.rule == rule]

    return find


@pytest.fixture(scope="session")
def found_in_test(contracts: dict[str, Contract]) -> Callable[..., list[str]]:
    """List the violations of a unit test of `POLICY`."""

    def find(test_source: str, rule: str | None = None) -> list[str]:
        violations = validate_test(textwrap.dedent(test_source).lstrip("\n"), POLICY, contracts["policy"])
        return [str(each).partition(":")[2] for each in violations if rule is None or each.rule == rule]

    return find


POLICY = '''
class Policy:
    """Go down to level 4, then come back."""

    def __init__(self):
        self.goal = 4
        self.seen = set()

    def observe(self, state):
        self.seen.add(state.depth)

    def select_skill(self, state, finished, startable):
        if "merchant" in startable and finished != "merchant":
            return "merchant"
        return self.toward(state)

    def toward(self, state):
        return "descender" if state.depth < self.goal else "ascender"
'''


@pytest.fixture(scope="session")
def policy() -> str:
    """A valid policy."""
    return POLICY


@pytest.fixture(scope="session")
def in_policy() -> Callable[[str], str]:
    """Put lines into `select_skill` of an otherwise valid policy; they begin in line 6, column 9."""

    def build(lines: str) -> str:
        body = textwrap.indent(textwrap.dedent(lines).strip("\n"), " " * 8)
        return (
            "class Policy:\n    def __init__(self):\n        self.goal = 4\n        self.names = []\n"
            f"    def select_skill(self, state, finished, startable):\n{body}\n        return 'discoverer'\n"
        )

    return build
