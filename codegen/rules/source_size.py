"""Keep the source small enough to be read and to be analysed quickly."""

from __future__ import annotations

from collections.abc import Iterator

from codegen.contract import Contract, Violation
from codegen.rules._rule import TextRule

MAX_LINE = 300


class SourceSize(TextRule):
    """Refuse more lines or bytes than the contract allows, and lines longer than any reader wants."""

    def check(self, source: str, contract: Contract) -> Iterator[Violation]:
        """Count lines, bytes and the length of every line."""
        lines = source.split("\n")
        if not source.strip():
            yield self.violation(contract, 1, 1, "the module is empty", "Write the whole module.")
            return
        num_lines = len(lines) - (lines[-1] == "")
        if num_lines > contract.max_lines:
            text = f"the module has {num_lines} lines, more than {contract.max_lines}"
            yield self.violation(contract, contract.max_lines + 1, 1, text, "Say the same in less code.")
        num_bytes = len(source.encode("utf-8", "surrogatepass"))
        if num_bytes > contract.max_bytes:
            text = f"the module has {num_bytes} bytes, more than {contract.max_bytes}"
            yield self.violation(contract, 1, 1, text, "Say the same in less code.")
        for number, line in enumerate(lines, 1):
            if len(line) > MAX_LINE:
                text = f"the line has {len(line)} characters, more than {MAX_LINE}"
                yield self.violation(contract, number, MAX_LINE + 1, text, "Break it.")
                return
