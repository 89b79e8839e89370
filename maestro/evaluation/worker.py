"""The child's side of an evaluation: plays the episodes its parent hands it and sends back what came of them.

Messages are pairs (kind, content). To the worker: `play` (episode, attempt, part), `stop`. From it: `ready`, `steps` (taken
since the last such message), `finished` (a Finished), `fault` (a MaestroError of the setup), `crash` (a text).
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection

from maestro.errors import MaestroError
from maestro.evaluation.games import Games, Setup

REPORT_EVERY_S = 0.25
_STEPS_BETWEEN_LOOKS_AT_THE_CLOCK = 16


def work(setups: Sequence[Setup], parent: Connection, scratch: str) -> None:
    """Serve one parent until it says `stop` or is gone.

    `scratch` is where temporary files go: the parent removes it, also after a worker that was killed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    tempfile.tempdir = scratch
    games = None
    try:
        games = Games(*setups)
        parent.send(("ready", None))
        _serve(games, parent)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent is gone; whoever opens the run again plays these episodes again
    except MaestroError as error:
        _send_last(parent, ("fault" if games is None else "crash", error if games is None else str(error)))
    except Exception as error:  # noqa: BLE001  whatever it is, the parent must hear of it before this process ends
        frame = traceback.extract_tb(error.__traceback__)[-1]
        text = "".join(traceback.format_exception_only(error)).strip()
        _send_last(parent, ("crash", f"{text} ({os.path.basename(frame.filename)}:{frame.lineno})"))
    finally:
        if games is not None:
            games.close()
        with contextlib.suppress(OSError):
            os.rmdir(scratch)  # only the last one out of an orphaned evaluation finds it empty


def _serve(games: Games, parent: Connection) -> None:
    steps, rounds, reported = 0, 0, time.monotonic()
    while True:
        while games.num_free and parent.poll(0 if games.num_running else None):
            kind, content = parent.recv()
            if kind == "stop":
                return
            games.start(*content)
        steps += games.num_running
        for finished in games.step():
            parent.send(("steps", steps))
            parent.send(("finished", finished))
            steps = 0
        rounds += 1
        if rounds % _STEPS_BETWEEN_LOOKS_AT_THE_CLOCK == 0 and time.monotonic() - reported > REPORT_EVERY_S:
            parent.send(("steps", steps))
            steps, reported = 0, time.monotonic()


def _send_last(parent: Connection, message: tuple) -> None:
    with contextlib.suppress(OSError):
        parent.send(message)
