"""Refuse what Python itself refuses, in Python's own words, and what is nested too deeply to be analysed."""

from __future__ import annotations
import __future__

import ast
import warnings
from collections.abc import Iterator

from codegen.contract import Contract, Violation
from codegen.rules._rule import TextRule

MAX_DEPTH = 40
"""Levels of the syntax tree; an `elif` counts a quarter. Hand-written policies stay below 20."""


class PythonSyntax(TextRule):
    """Compile the source without running it; the interpreter that will run it explains best what is wrong."""

    def check(self, source: str, contract: Contract) -> Iterator[Violation]:
        """Parse, measure the depth, compile."""
        if len(source) > 4 * contract.max_bytes:
            return  # refused by its size; parsing it would only take time
        flags = __future__.annotations.compiler_flag
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(source)
                deep = _too_deep(tree)
                if deep is not None:
                    line, column = deep
                    hint = "Give parts of it names, or make them functions of their own."
                    yield self.violation(contract, line, column, "the code is nested too deeply", hint)
                    return
                compile(source, contract.file, "exec", flags=flags, dont_inherit=True)
        except SyntaxError as error:
            hint = "Write spaces, never tabs." if isinstance(error, TabError) else ""
            text = f"not valid Python: {error.msg}"
            yield self.violation(contract, error.lineno or 1, max(1, error.offset or 1), text, hint)
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            text = f"not valid Python: {error or 'nested too deeply'}"
            yield self.violation(contract, 1, 1, text)


def _too_deep(tree: ast.AST) -> tuple[int, int] | None:
    """Find the first node below the greatest depth; walks without recursion, for the tree may be deep."""
    stack: list[tuple[ast.AST, float]] = [(tree, 0)]
    place = (1, 1)
    while stack:
        node, depth = stack.pop()
        if isinstance(node, (ast.expr, ast.stmt)):
            place = (node.lineno, node.col_offset + 1)
        if depth > MAX_DEPTH:
            return place
        for child in ast.iter_child_nodes(node):
            is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and child in node.orelse
            stack.append((child, depth + (0.25 if is_elif else 1)))
    return None
