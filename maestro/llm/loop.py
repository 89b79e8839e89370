"""An event loop in a thread of its own, started when it is first needed."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from maestro.errors import ChatError

T = TypeVar("T")
Closer = Callable[[], Awaitable[None]]
_CLOSE_S = 5.0  # a connection that does not close within this is left to the system


class LoopThread:
    """Run coroutines from any thread; what is in `closers` is awaited on the loop before it stops.

    The thread is a daemon and is stopped at the latest when the interpreter ends, so that a program which forgot to
    close its model neither hangs nor complains.
    """

    def __init__(self) -> None:
        self.closers: list[Closer] = []
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0
        self._closed = False
        self._finalize: weakref.finalize[Any, Any] | None = None

    def start(self) -> asyncio.AbstractEventLoop:
        """Give the running loop; raises ChatError after `stop` and in a forked child."""
        with self._lock:
            if self._closed:
                raise ChatError("this model was closed", hint="open it again with load_chat_model")
            if self._loop is None:
                loop = asyncio.new_event_loop()
                thread = threading.Thread(target=_run, args=(loop,), name="maestro-chat", daemon=True)
                thread.start()
                self._loop, self._pid = loop, os.getpid()
                # the finalizer must not refer to self or to the model, which would then live for ever
                self._finalize = weakref.finalize(self, _stop, loop, thread, self.closers, self._pid)
            elif self._pid != os.getpid():
                raise ChatError(
                    "this model was opened by the parent of this process",
                    hint="open one model in each process with load_chat_model",
                )
            return self._loop

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine on the loop."""
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self.start())
        except ChatError:
            coroutine.close()
            raise

    def stop(self) -> None:
        """Cancel what runs, await the closers, stop. Harmless when repeated."""
        with self._lock:
            self._closed = True
            if self._finalize is not None:
                self._finalize()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.close()


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread, closers: list[Closer], pid: int) -> None:
    if pid != os.getpid() or not thread.is_alive():
        return

    async def end() -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for close in closers:
            await close()

    done = asyncio.run_coroutine_threadsafe(end(), loop)
    done.add_done_callback(lambda _: loop.call_soon_threadsafe(loop.stop))
    if threading.current_thread() is thread:  # the garbage collector may call from anywhere
        return
    with contextlib.suppress(concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
        done.result(timeout=_CLOSE_S)
    thread.join(timeout=_CLOSE_S)
