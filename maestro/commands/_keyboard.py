"""Read single keys from a terminal, without waiting for Enter and without showing them."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from typing import Any, TextIO

_SEQUENCES = {
    "[A": "up",
    "[B": "down",
    "[C": "right",
    "[D": "left",
    "OA": "up",
    "OB": "down",
    "OC": "right",
    "OD": "left",
}
_ESCAPE_WAIT_S = 0.05


class Keyboard:
    """A terminal whose keys arrive one by one; a context manager that puts its settings back. Ctrl-C still works."""

    def __init__(self, stream: TextIO = sys.stdin) -> None:
        self._fd = stream.fileno()
        self._settings: list[Any] = []

    def __enter__(self) -> Keyboard:
        self._settings = termios.tcgetattr(self._fd)
        tty.setcbreak(self._fd)
        return self

    def __exit__(self, *_: object) -> None:
        termios.tcsetattr(self._fd, termios.TCSADRAIN, self._settings)

    def read(self, timeout_s: float | None) -> str:
        """Wait for a key; "" if none came in time. Arrows are "up", "down", "left", "right"; a closed terminal is "q"."""
        if not self._waits(timeout_s):
            return ""
        key = os.read(self._fd, 1)
        if not key:
            return "q"
        if key != b"\x1b":
            return key.decode("latin-1")
        sequence = b""
        while len(sequence) < 2 and self._waits(_ESCAPE_WAIT_S):
            sequence += os.read(self._fd, 1)
        return _SEQUENCES.get(sequence.decode("latin-1"), "escape" if not sequence else "")

    def _waits(self, timeout_s: float | None) -> bool:
        return bool(select.select([self._fd], [], [], timeout_s)[0])
