"""Word that a process of a run leaves when it cannot go on: one that dies cannot answer, and sample-factory waits for ever."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path

from maestro.runs import write_atomically

FAULT = "fault.json"


def report_fault(run: Path, text: str) -> None:
    """Say why; the supervisor reads it and ends the run."""
    write_atomically(run / FAULT, json.dumps({"time": time.time(), "fault": text}) + "\n")


def read_fault(run: Path) -> str | None:
    """Return what was reported since the processes were started; None if nothing was."""
    try:
        return json.loads((run / FAULT).read_text(encoding="utf-8"))["fault"]
    except FileNotFoundError:
        return None


def forget_fault(run: Path) -> None:
    """Remove what an earlier start reported."""
    with contextlib.suppress(FileNotFoundError):
        (run / FAULT).unlink()
