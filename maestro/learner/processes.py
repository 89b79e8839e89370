"""Which process of a training run does what: each says so in its own name, which the system shows everyone.

sample-factory spawns its processes, so that all look alike from outside. Those of ours that run inside them (learner, model,
games) name them; `ps`, `top` and the supervisor read the same name.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import psutil

TRAINER, LEARNER, INFERENCE, GAMES = "trainer", "learner", "inference", "games"
KINDS = (TRAINER, LEARNER, INFERENCE, GAMES)
_PREFIX = "mstr-"
_COMM = Path("/proc/self/comm")
"""Name of this process's main thread, whichever thread writes it; 15 letters at most. Linux only."""


def name_process(kind: str, *, unless_named: bool = False) -> None:
    """Name this process after what it does; `unless_named` leaves a name that was given before."""
    with contextlib.suppress(OSError):
        if not (unless_named and _COMM.read_text().startswith(_PREFIX)):
            _COMM.write_text(_PREFIX + kind)


def kind_of(process: psutil.Process) -> str | None:
    """Say what a process of a run does; None for helpers, for one that has not said it yet, and for one that is gone."""
    try:
        name = process.name()
    except psutil.Error:
        return None
    kind = name.removeprefix(_PREFIX)
    return kind if name.startswith(_PREFIX) and kind in KINDS else None
