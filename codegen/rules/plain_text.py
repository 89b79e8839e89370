"""Refuse characters that make a source look like something it is not."""

from __future__ import annotations

import io
import tokenize
import unicodedata
from collections.abc import Iterator

from codegen.contract import Contract, Violation
from codegen.rules._rule import TextRule

MAX_REPORTED = 10


class PlainText(TextRule):
    """Refuse control and direction characters anywhere, other letters than ASCII outside of texts and comments, and
    a declared encoding.
    """

    def check(self, source: str, contract: Contract) -> Iterator[Violation]:
        """Look at every character, then at the names."""
        found = list(self._characters(source, contract))
        yield from found[:MAX_REPORTED]
        if not found and not source.isascii():
            yield from list(self._names(source, contract))[:MAX_REPORTED]
        for number, line in enumerate(source.split("\n")[:2], 1):
            if (
                line.lstrip().startswith("#")
                and "coding" in line
                and ("coding:" in line or "coding=" in line)
            ):
                yield self.violation(
                    contract, number, 1, "an encoding is declared", "Leave it out: this is UTF-8."
                )

    def _characters(self, source: str, contract: Contract) -> Iterator[Violation]:
        for number, line in enumerate(source.split("\n"), 1):
            if line.isascii() and line.isprintable():
                continue
            for column, character in enumerate(line, 1):
                category = unicodedata.category(character)
                if character != "\t" and (category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")):
                    text = f"the character U+{ord(character):04X} may not stand in the source"
                    yield self.violation(contract, number, column, text, "Write visible characters only.")

    def _names(self, source: str, contract: Contract) -> Iterator[Violation]:
        try:
            for token in tokenize.generate_tokens(io.StringIO(source).readline):
                if token.string.isascii() or token.type not in (
                    tokenize.NAME,
                    tokenize.ERRORTOKEN,
                    tokenize.OP,
                ):
                    continue
                line, column = token.start
                text = f"{token.string!r} is not written in ASCII letters"
                yield self.violation(contract, line, column + 1, text, "Use the letters a to z for names.")
        except (tokenize.TokenError, SyntaxError):
            return  # the parser says it better
