"""Refuse formatting that can reach attributes or write texts of any length."""

from __future__ import annotations

import re

import libcst as cst

from codegen.rules._rule import Rule

_WIDE = re.compile(r"%[-+ #0]*(\*|\d{3,}|\d*\.(\*|\d{3,}))")
_LARGE_NUMBER = re.compile(r"\d{3,}")


class Formatting(Rule):
    """Check format specifications of f-strings and texts left of `%`. `str.format` is no known attribute at all."""

    def visit_FormattedStringExpression(self, node: cst.FormattedStringExpression) -> None:
        """Check what stands after the colon in `{x:...}`."""
        for part in node.format_spec or ():
            if not isinstance(part, cst.FormattedStringText):
                self.report(part, "a computed format is not allowed", "Write the width as a number.")
            elif _LARGE_NUMBER.search(part.value):
                self.report(part, f"the format {part.value!r} is too wide", "Use a width below 100.")

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        """Check texts that could stand left of `%`, wherever they stand."""
        if _WIDE.search(node.value):
            self.report(
                node, "the text holds a wide or computed `%` format", "Use an f-string and a width below 100."
            )
