"""What all tests need: Ctrl-C must reach the programs they start, no example has a deadline, and two processes share the suite."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts pytest in the background ignores Ctrl-C for it and for all it starts; the tests of Ctrl-C would
    # wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no fault of the code: how long an example or its making took decides nothing.
settings.register_profile("maestro", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("maestro")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Let two processes share the whole default suite; what measures speed or trains needs the machine for itself.

    A few named files are done sooner without the start of two processes. `-n 0` and `-n 4` overrule it.
    """
    is_whole = config.args == config.getini("testpaths") and config.option.markexpr in config.getini(
        "addopts"
    )
    return min(2, os.cpu_count() or 1) if is_whole else 0
