"""What all tests need: Ctrl-C must reach the programs they start, and no example has a deadline."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts pytest in the background ignores Ctrl-C for it and for all it starts; the tests of Ctrl-C would
    # wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no fault of the code: how long an example or its making took decides nothing.
settings.register_profile("maestro", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("maestro")
