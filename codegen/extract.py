"""Take the module and its unit test out of a model's reply.

What is asked for is one fenced block of Python with the module and its own unit test. The reply may hold prose and
blocks in other languages around it; where two blocks of Python are there, the one that defines what the contract asks
for is taken, and more than one such block is refused. Fences follow CommonMark: three or more backticks or tildes, any
indentation, closed by a line of at least as many of the same.

The unit test is split off on the syntax tree. To the test belong functions at the top whose names begin with `test`,
and every other function at the top that is used by these and not by what the contract asks for. Everything else is the
module. `if __name__ == "__main__":` and calls of tests at the top are dropped: tests are called anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import libcst as cst

from codegen.contract import Contract
from codegen.facts import walk
from codegen.validate import parse

MAX_REPLY = 400_000
"""Characters of a reply that are looked at; no module within its limits needs more."""

NoExtract = Literal["empty", "too-long", "no-fence", "unclosed", "wrong-language", "several", "empty-block"]

_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*([^\n`]*?)[ \t]*$")
_PYTHON = frozenset({"", "python", "python3", "py", "py3", "python2", "pycon", "{python}", "{.python}"})
_SAMPLES = frozenset(
    {"text", "txt", "console", "bash", "sh", "shell", "output", "plaintext", "json", "toml", "markdown"}
)


@dataclass(frozen=True)
class Extracted:
    """The module and its unit test, each ending in one newline; the test is empty where there is none.

    A block that is no valid Python is all module: validating it says what is wrong and where.
    """

    module_source: str
    test_source: str


@dataclass(frozen=True)
class NotExtracted:
    """There is no module in the reply: why, in a word and in a sentence that the model can act on."""

    reason: NoExtract
    message: str

    def __str__(self) -> str:
        """Give the sentence."""
        return self.message


@dataclass(frozen=True)
class _Block:
    language: str
    text: str
    closed: bool


def extract(reply: str, contract: Contract) -> Extracted | NotExtracted:
    """Find the one block of the reply that is the module, and split its unit test off."""
    if not reply.strip():
        return NotExtracted("empty", "The reply is empty. Return one fenced block of Python.")
    if len(reply) > MAX_REPLY:
        return NotExtracted(
            "too-long", f"The reply has {len(reply)} characters. Return one short block of Python."
        )
    text = reply.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    blocks = _blocks(_after_thoughts(text))
    if not blocks:
        return NotExtracted(
            "no-fence", "There is no fenced block. Put the whole module between ```python and ```."
        )
    chosen = _choose(blocks, contract)
    if isinstance(chosen, NotExtracted):
        return chosen
    if not chosen.closed:
        return NotExtracted(
            "unclosed",
            "The block is not closed: the reply may have been cut off. Write less, and end it with ```.",
        )
    if not chosen.text.strip():
        return NotExtracted(
            "empty-block", "The block is empty. Put the whole module between ```python and ```."
        )
    return split_test(chosen.text.strip("\n") + "\n", contract)


def _after_thoughts(text: str) -> str:
    """Leave out what reasoning models think aloud before they answer."""
    return text.rpartition("</think>")[2]


def _blocks(text: str) -> list[_Block]:
    """List the fenced blocks. A fence inside a block, with more words behind it, is part of the block."""
    blocks: list[_Block] = []
    lines: list[str] = []
    opening: tuple[str, str, str] | None = None
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if opening is None:
            if found:
                opening, lines = (found[1], found[2], found[3]), []
            continue
        indent, fence, language = opening
        if (
            found
            and not found[3]
            and found[2][0] == fence[0]
            and len(found[2]) >= len(fence)
            and _near(found[1], indent)
        ):
            blocks.append(_Block(language, "\n".join(lines), True))
            opening = None
            continue
        lines.append(line.removeprefix(indent))
    if opening is not None:
        blocks.append(_Block(opening[2], "\n".join(lines), False))
    return blocks


def _near(closing: str, opening: str) -> bool:
    """Tell whether a closing fence stands as far left as its opening, give or take three blanks: others are text."""
    return len(closing.expandtabs(4)) <= len(opening.expandtabs(4)) + 3


def _choose(blocks: list[_Block], contract: Contract) -> _Block | NotExtracted:
    python = [block for block in blocks if _word(block.language) in _PYTHON]
    if not python:
        language = next(
            (_word(block.language) for block in blocks if _word(block.language) not in _SAMPLES), ""
        )
        text = f"The block is marked as {language or _word(blocks[0].language)!r}. Return Python, after ```python."
        return NotExtracted("wrong-language", text)
    if len(python) == 1:
        return python[0]
    defining = [block for block in python if _defines(block.text, contract.required_names)]
    if len(defining) == 1:
        return defining[0]
    names = ", ".join(sorted(contract.required_names))
    text = (
        f"There are {len(python)} blocks of Python. Return exactly one, with {names} and the unit test in it."
    )
    return NotExtracted("several", text)


def _word(language: str) -> str:
    return (language.split() or [""])[0].lower()


def _defines(text: str, names: Iterable[str]) -> bool:
    """Tell whether a block defines all these names at its top; by its text, since it may not be valid."""
    return all(
        re.search(rf"^(async\s+)?(class|def)\s+{re.escape(name)}\b", text, re.MULTILINE) for name in names
    )


def split_test(source: str, contract: Contract) -> Extracted:
    """Split the unit test off a module, as the head of this file describes. Comments stay with what follows them."""
    both = replace(contract, max_lines=2 * contract.max_lines, max_bytes=2 * contract.max_bytes)
    tree = parse(source, both)
    if not isinstance(tree, cst.Module):
        return Extracted(source, "")
    test = _test_statements(tree.body, contract.required_names)
    if not test:
        return Extracted(source, "")
    module_body = [each for each in tree.body if each not in test]
    test_body = [each for each in tree.body if each in test and _defined(each)]
    module = tree.with_changes(body=module_body, footer=())
    tests = tree.with_changes(body=test_body, header=())
    return Extracted(_tidy(module.code), _tidy(tests.code))


def _tidy(code: str) -> str:
    return code.strip("\n") + "\n" if code.strip() else ""


def _test_statements(body: Sequence[cst.CSTNode], required: frozenset[str]) -> set[cst.CSTNode]:
    """Choose the statements at the top that belong to the test."""
    test = {each for each in body if _is_test(each)}
    if not test:
        return set()
    uses = {each: _used_names(each) for each in body}
    kept: set[cst.CSTNode] = {each for each in body if each not in test and _defined(each) in required}
    _spread(body, kept, uses, test)
    helpers = set(test)
    _spread(body, helpers, uses, kept)
    functions = {each for each in helpers if isinstance(each, (cst.FunctionDef, cst.ClassDef))}
    return test | (functions - kept)


def _spread(
    body: Sequence[cst.CSTNode],
    chosen: set[cst.CSTNode],
    uses: dict[cst.CSTNode, set[str]],
    barred: set[cst.CSTNode],
) -> None:
    """Add to `chosen` what it uses, and what that uses, except what is barred."""
    before = -1
    while len(chosen) != before:
        before = len(chosen)
        names = set().union(*(uses[each] for each in chosen))
        chosen |= {each for each in body if each not in barred and _defined(each) in names}


def _is_test(statement: cst.CSTNode) -> bool:
    name = _defined(statement)
    if name and isinstance(statement, cst.FunctionDef):
        return name.startswith("test")
    if isinstance(statement, cst.If):
        return any(isinstance(each, cst.Name) and each.value == "__name__" for each in walk(statement.test))
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        value = statement.body[0].value if isinstance(statement.body[0], cst.Expr) else None
        called = value.func if isinstance(value, cst.Call) else None
        return isinstance(called, cst.Name) and called.value.startswith("test")
    return False


def _defined(statement: cst.CSTNode) -> str:
    """Give the name of a function or class at the top; empty for everything else."""
    return statement.name.value if isinstance(statement, (cst.FunctionDef, cst.ClassDef)) else ""


def _used_names(statement: cst.CSTNode) -> set[str]:
    return {each.value for each in walk(statement) if isinstance(each, cst.Name)}
