"""How much memory there is for what is about to be started."""

from __future__ import annotations

import contextlib
from pathlib import Path

import psutil


def available_bytes() -> float:
    """Give the bytes that are free, for this machine and for the container that this process may be in."""
    free = float(psutil.virtual_memory().available)
    with contextlib.suppress(OSError, ValueError):
        limit = float(Path("/sys/fs/cgroup/memory.max").read_text())
        used = float(Path("/sys/fs/cgroup/memory.current").read_text())
        free = min(free, limit - used)
    return free
