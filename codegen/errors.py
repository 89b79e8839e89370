"""Faults of a program that uses this package. What a model wrote wrongly is never one of them: that is an outcome."""

from __future__ import annotations


class CodegenError(Exception):
    """Base of everything this package raises on purpose."""


class ContractError(CodegenError):
    """A contract contradicts itself, for example by naming a builtin that does not exist."""


class RuleError(CodegenError):
    """A file in `codegen/rules/` does not define exactly one rule."""


class TranscriptError(CodegenError):
    """A transcript cannot be written or read."""


class SandboxError(CodegenError):
    """The sandbox was used wrongly, for example asked something after it was closed."""
