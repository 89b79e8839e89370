"""Keys from a pseudo-terminal arrive one by one, and the terminal is put back."""

from __future__ import annotations

import os
import pty
import termios

import pytest

from maestro.commands._keyboard import Keyboard


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        (b" ", [" "]),
        (b"qn", ["q", "n"]),
        (b"\x1b[A\x1b[B\x1bOC\x1b[D", ["up", "down", "right", "left"]),
        (b"\x1b", ["escape"]),
        (b"\x1b[Zx", ["", "x"]),
    ],
)
def test_keys_arrive_one_by_one(sent: bytes, keys: list[str]):
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    with os.fdopen(theirs) as stream:
        with Keyboard(stream) as keyboard:
            os.write(ours, sent)
            assert [keyboard.read(5.0) for _ in keys] == keys
            assert keyboard.read(0.01) == ""
        assert termios.tcgetattr(theirs) == before
    os.close(ours)
