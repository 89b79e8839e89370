"""Run a module through a script of requests and give one outcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from codegen.contract import Contract
from codegen.sandbox.outcome import Answer, Limits, Request, SandboxFailure, SandboxResult
from codegen.sandbox.process import open_session


def run(
    source: str, requests: Iterable[Request], contract: Contract, *, limits: Limits | None = None, seed: int = 0,
    bubblewrap: str | None = None, restricted: bool = True,
) -> SandboxResult | SandboxFailure:  # fmt: skip
    """Load a module in a sandbox and answer the requests in order, stopping at the first failure.

    Exceptions that the module raises in a call are answers; a failure carries the answers that came before it.
    For requests that depend on earlier answers use `open_session`.
    """
    answers: list[Answer] = []
    with open_session(
        source, contract, limits=limits, seed=seed, bubblewrap=bubblewrap, restricted=restricted
    ) as session:
        if isinstance(session, SandboxFailure):
            return session
        for request in requests:
            answer = session.ask(request)
            if isinstance(answer, SandboxFailure):
                return replace(answer, answers=tuple(answers))
            answers.append(answer)
        stderr = session.stderr.decode("utf-8", "replace")
        return SandboxResult(tuple(answers), session.layers, stderr, session.duration_s)
