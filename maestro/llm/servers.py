"""Choose among several servers: the least loaded one that answers. Used on one event loop only."""

from __future__ import annotations

import ipaddress
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

_log = logging.getLogger(__name__)

FAILURES_TO_EJECT = 3
EJECTED_S = 2.0
MAX_EJECTED_S = 60.0
_POLL_S = 0.1  # how long to wait while another question tries a server that was ejected


@dataclass
class Server:
    """One server and what was seen of it."""

    url: str
    num_in_flight: int = 0
    num_failures: int = 0
    """Failures to get any answer, since the last success."""
    blocked_until: float = 0.0
    """On the pool's clock, as is the next."""
    ejected_at: float = float("-inf")
    """When it was left out for the last time."""
    num_answers: int = 0

    @property
    def on_trial(self) -> bool:
        """Say whether the server was ejected and is tried by one question at a time."""
        return self.num_failures >= FAILURES_TO_EJECT


class ServerPool:
    """Servers that take turns.

    A server that fails three times in a row to answer at all is left out for 2 s, then tried with a single question,
    and left out for twice as long each time that fails (60 s at most). One that says when to come back
    (`Retry-After`) is left alone until then, by every question.
    """

    def __init__(self, urls: Iterable[str], clock: Callable[[], float] = time.monotonic) -> None:
        self.servers = [Server(url) for url in urls]
        self._clock = clock

    def pick(self, *, only: str | None = None, avoid: str | None = None) -> tuple[Server, float]:
        """Choose a server and say how many seconds to wait for it; after waiting, pick again.

        `avoid` is the server that just failed: it is chosen only where no other is free.
        """
        now = self._clock()
        candidates = [server for server in self.servers if only in (None, server.url)]
        free = [server for server in candidates if self._is_free(server, now)]
        if free:
            # the number of answers so far makes idle servers take turns
            best = min(free, key=lambda s: (s.url == avoid, s.num_in_flight, s.num_answers))
            return best, 0.0
        soonest = min(candidates, key=lambda server: server.blocked_until)
        return soonest, max(soonest.blocked_until - now, _POLL_S)

    def answered(self, server: Server) -> None:
        """Note any answer, an unwelcome one too: the server is alive."""
        if server.on_trial:
            _log.warning("%s answers again", server.url)
        server.num_failures = 0
        server.num_answers += 1

    def now(self) -> float:
        """Read the pool's clock."""
        return self._clock()

    def failed(self, server: Server, what: str, sent_at: float | None = None) -> None:
        """Note that a server gave no answer to a question sent at `sent_at` (by default now); `what` goes to the log.

        Questions that were on their way when the server was left out tell nothing new: one hiccup fails all of them.
        """
        now = self._clock()
        if sent_at is not None and sent_at < server.ejected_at:
            return
        server.num_failures += 1
        if not server.on_trial:
            return
        server.ejected_at = now
        rounds = server.num_failures - FAILURES_TO_EJECT
        seconds = min(EJECTED_S * 2.0 ** min(rounds, 10), MAX_EJECTED_S)
        server.blocked_until = max(server.blocked_until, now + seconds)
        _log.warning("%s is left out for %.0f s: %s", server.url, seconds, what)

    def told_to_wait(self, server: Server, seconds: float) -> None:
        """Leave a server alone for as long as it asked."""
        server.blocked_until = max(server.blocked_until, self._clock() + seconds)

    def _is_free(self, server: Server, now: float) -> bool:
        return server.blocked_until <= now and not (server.on_trial and server.num_in_flight)


def is_local(url: str) -> bool:
    """Say whether a server is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
