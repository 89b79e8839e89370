"""What a model is told about an attempt that did not pass, in plain words. A caller with templates of its own uses
the parts of `Feedback` and leaves `explain` aside.
"""

from __future__ import annotations

from dataclasses import dataclass

from codegen.contract import Violation

MAX_PROBLEMS = 20
MAX_TRACE = 6000


@dataclass(frozen=True)
class Feedback:
    """Where an attempt ended and why. `violations` are there where a rule was broken; `trace` is what ran and printed."""

    stage: str
    problems: tuple[str, ...]
    source: str = ""
    trace: str = ""
    violations: tuple[Violation, ...] = ()


_OPENINGS = {
    "extract": "I could not take a module out of your reply.",
    "validate": "The module breaks rules, and was not run.",
    "merge": "The module cannot be joined with the methods it was given.",
    "sandbox": "The module is valid, but it failed when it ran.",
    "check": "The module runs, but it does not behave as it must.",
    "judge": "The module runs, but its trace does not show what was asked for.",
}


def explain(feedback: Feedback) -> str:
    """Write the message that asks for a rewrite: what is wrong, line by line, what was printed, what to do."""
    parts = [_OPENINGS.get(feedback.stage, "The module did not pass."), ""]
    parts += problem_lines(feedback)
    if feedback.trace.strip():
        parts += ["", "It printed:", "```text", clip(feedback.trace), "```"]
    parts += [
        "",
        "First find the cause of each point. Then write the whole module again, with its unit test, in exactly one "
        "fenced block of Python.",
    ]
    return "\n".join(parts)


def problem_lines(feedback: Feedback) -> list[str]:
    """List the problems, each with the line of source it is about, and say how many were left out."""
    lines: list[str] = []
    source = feedback.source.split("\n")
    for number, problem in enumerate(feedback.problems[:MAX_PROBLEMS]):
        lines.append(f"- {problem}")
        violation = feedback.violations[number] if number < len(feedback.violations) else None
        if (
            violation is not None
            and not violation.file.startswith("unit test")
            and violation.line <= len(source)
        ):
            lines.append(f"    {violation.line} | {source[violation.line - 1].strip()}")
    left_out = len(feedback.problems) - MAX_PROBLEMS
    return [*lines, f"- and {left_out} more"] if left_out > 0 else lines


def clip(text: str, limit: int = MAX_TRACE) -> str:
    """Keep the beginning and the end of a long text. Fences in it are broken, so that they close nothing."""
    text = text.replace("```", "'''").rstrip()
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n... ({len(text) - 2 * half} characters left out) ...\n{text[-half:]}"
