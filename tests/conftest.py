"""What all tests need: Ctrl-C must reach the programs they start."""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts pytest in the background ignores Ctrl-C for it and for all it starts; the tests of Ctrl-C would
    # wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)
