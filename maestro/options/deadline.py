"""A deadline for generated code: a call that has used ten seconds of processor time is ended by an exception.

Validation bounds loops but cannot tell how long they take, and a call that never ends would stop a training or an
evaluation for good. Asking the clock at every call would cost more than most calls. So a thread looks once a second at a
number that the caller counts up when it goes in and when it comes out: where the number is odd and stays the same,
somebody is still inside. Time is that of the process's processors: a machine that sleeps and one that is busy end nothing.

The exception comes between two instructions of Python: work done in one piece in C, as in `10 ** 10 ** 10`, is not ended.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
import weakref

LIMIT = 10.0
"""Seconds of processor time that one call may take; a usual one takes two microseconds."""
LOOK = 1.0
"""Seconds between two looks."""


class CallTooLong(Exception):
    """Raised inside generated code, from outside, when its time is over."""

    def __init__(self) -> None:
        super().__init__(f"it was ended after {LIMIT:g} seconds of processor time")


class Calls:
    """The calls of one caller into generated code. Add 1 to `number` before a call and after it; odd means inside."""

    def __init__(self) -> None:
        self.number = 0
        self.thread = 0

    def watch(self) -> None:
        """Have the calls to come, made by the current thread, watched until the object is gone."""
        self.thread = threading.get_ident()
        _watcher.watch(self)


class _Watcher:
    """The thread that looks; started with the first to be watched, and anew in a process that was forked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: weakref.WeakSet[Calls] = weakref.WeakSet()
        self._inside: weakref.WeakKeyDictionary[Calls, tuple[int, float]] = weakref.WeakKeyDictionary()
        """The number a caller had when it was first seen, and the process's time then."""
        self._thread: threading.Thread | None = None

    def watch(self, calls: Calls) -> None:
        with self._lock:
            self._watched.add(calls)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="generated-code-deadline", daemon=True)
                # Signals are the other threads' affair: one that holds them back for a moment must not be passed by here.
                held = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
                self._thread.start()  # it takes over what is held back
                signal.pthread_sigmask(signal.SIG_SETMASK, held)

    def _run(self) -> None:
        while True:
            time.sleep(LOOK)
            self._look(time.process_time())

    def _look(self, now: float) -> None:
        with self._lock:
            watched = list(self._watched)
        for calls in watched:
            number, since = self._inside.get(calls, (-1, now))
            if calls.number != number:
                self._inside[calls] = (calls.number, now)
            elif number % 2 and now - since > LIMIT:
                _end(calls, number)
                self._inside[calls] = (number, now)  # code that catches it and goes on is ended again


def _end(calls: Calls, number: int) -> None:
    """Raise CallTooLong in the thread whose call has this number, unless it has come out meanwhile."""
    thread = ctypes.c_ulong(calls.thread)
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    if calls.number == number:
        raise_in(thread, ctypes.py_object(CallTooLong))
    if calls.number != number:
        raise_in(thread, None)


_watcher = _Watcher()


def _forget() -> None:
    """Begin anew in a forked child: it has no watching thread, and nobody who would give back a lock held just then."""
    global _watcher
    _watcher = _Watcher()


os.register_at_fork(after_in_child=_forget)
