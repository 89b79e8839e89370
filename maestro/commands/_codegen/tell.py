"""Say what goes on: one line an attempt, what was wrong with it, what came of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from codegen.repair import Attempt
from maestro.commands._codegen.jobs import Job
from maestro.llm.messages import shorten

MOST_SHOWN = 3
_WORDS = {
    "extract": "no usable module in the reply",
    "validate": "breaks rules and was not run",
    "merge": "does not fit the training policy's methods",
    "sandbox": "failed when it ran",
    "check": "runs, but does not behave",
    "judge": "judged unsound by the model itself",
    "done": "good",
}


def to_people(is_json: bool) -> Callable[[str], None]:
    """Give the function that prints a line: beside the JSON document where there is one."""
    stream = sys.stderr if is_json else sys.stdout
    return lambda text: print(text, file=stream, flush=True)


def attempt_lines(attempt: Attempt, of: int, note: str) -> list[str]:
    """Describe one attempt; `note` is what to add to one that is good."""
    tokens = f", {attempt.tokens} tokens" if attempt.tokens else ""
    words = _WORDS[attempt.stage] + (f": {note}" if note and attempt.stage == "done" else "")
    lines = [f"  attempt {attempt.number} of {of}: {words} ({attempt.seconds:.1f} s{tokens})"]
    lines += [f"    - {shorten(' '.join(problem.split()), 300)}" for problem in attempt.problems[:MOST_SHOWN]]
    left_out = len(attempt.problems) - MOST_SHOWN
    return [*lines, f"    - and {left_out} more"] if left_out > 0 else lines


def attempt_json(attempt: Attempt) -> dict[str, Any]:
    """Give an attempt as plain data."""
    return {
        "number": attempt.number,
        "stage": attempt.stage,
        "problems": list(attempt.problems),
        "tokens": attempt.tokens,
        "seconds": round(attempt.seconds, 3),
    }


def print_prompt(job: Job, messages: Any) -> None:
    """Print what a model would be sent."""
    for message in messages:
        print(f"=== {job.label}: {message.role} ===\n{message.content.rstrip()}\n")
