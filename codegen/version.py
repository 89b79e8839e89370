"""The version of the validator, by itself: whoever only compares it need not load a parser."""

VALIDATOR_VERSION = 2
"""Raised whenever a rule begins to refuse what it accepted; provenance of generated code records it."""
