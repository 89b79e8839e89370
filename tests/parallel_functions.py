"""What the tests of `maestro.parallel` map; in a file of its own, because worker processes import it by name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from maestro.errors import StoreError


def square(number: int) -> int:
    return number * number


def slow_first(number: int) -> int:
    time.sleep(0.3 if number == 0 else 0.0)
    return number


def die_once(task: tuple[int, str]) -> int:
    number, folder = task
    mark = Path(folder) / str(number)
    if number % 3 == 0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def die(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def fail(number: int) -> int:
    if number == 3:
        raise StoreError("it is broken", where="there")
    if number == 4:
        raise ValueError("four")
    return number
