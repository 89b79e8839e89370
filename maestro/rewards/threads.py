"""How many threads fitting should use: as many as there are idle processors."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


def settle_threads() -> int:
    """Let torch use the processors that others leave idle, and return how many.

    Threads that share a processor with other work wait for one another at every step: on a busy machine two of them were
    seen to be 20 times slower than one. So waiting threads may spin only briefly: long enough for the gap between two
    operations. That can only be said before torch is imported, and holds where it was not imported yet.
    """
    os.environ.setdefault(
        "GOMP_SPINCOUNT", "20000"
    )  # passive waiting was three times slower with two threads
    import torch

    wanted = os.environ.get("OMP_NUM_THREADS", "")
    threads = int(wanted) if wanted.isdigit() and int(wanted) > 0 else idle_processors()
    torch.set_num_threads(threads)
    return threads


def idle_processors() -> int:
    """Count the processors this process may use less those that were busy over the last minute, at least 1."""
    return max(1, len(os.sched_getaffinity(0)) - round(os.getloadavg()[0]))


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute in one thread meanwhile, so that sums are always taken in the same order."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
