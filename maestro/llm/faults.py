"""Tell from an exception of the HTTP client what went wrong, without knowing that client's classes.

huggingface_hub talks through aiohttp, requests or httpx depending on its version, and passes their exceptions on;
what they share is a status, headers and Python's own exception types.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from maestro.llm.messages import Reason, ReplyFailed, Usage, shorten
from maestro.llm.secrets import key_variable, redact

_HINTS: dict[str, str] = {
    "unreachable": "check the address and that the server runs; `maestro doctor --llm` tells more",
    "timeout": "raise timeout_s, or lower max_in_flight or max_tokens",
    "rate_limited": "lower max_in_flight, or raise total_s to wait longer",
    "server_error": "look into the server's log",
    "bad_reply": "check that the address is that of an OpenAI-compatible server",
}


class BadReplyError(Exception):
    """An answer came and is no usable chat completion."""

    def __init__(
        self, what: str, sample: str = "", hint: str | None = None, usage: Usage | None = None
    ) -> None:
        super().__init__(what)
        self.sample = sample
        self.hint = hint
        self.usage = usage or Usage()


def failure_of(error: Exception, server: str, timeout_s: float) -> ReplyFailed:
    """Describe an exception that a request to `server` ended with."""
    if isinstance(error, (asyncio.TimeoutError, TimeoutError)):
        return _failure("timeout", f"no complete answer within {timeout_s:g} s", server)
    if isinstance(error, BadReplyError):
        failure = _failure("bad_reply", str(error), server, hint=error.hint, sample=error.sample)
        return replace(failure, usage=error.usage)
    status = status_of(error)
    if status is not None:
        return _status_failure(status, error, server)
    if isinstance(error, (UnicodeDecodeError, json.JSONDecodeError, RecursionError)):
        return _failure("bad_reply", f"the answer is not JSON: {_brief(error)}", server)
    if _is_refusal_of_hub(error):
        return _failure("refused", f"huggingface_hub refuses the question: {_brief(error)}", server)
    if isinstance(error, (ValueError, TypeError, KeyError, AttributeError)) and not isinstance(
        error, OSError
    ):
        return _failure("bad_reply", f"the answer is no chat completion: {_brief(error)}", server)
    # what is left is the connection: refused, reset, closed too early, not HTTP at all, no certificate, ...
    return _failure("unreachable", f"the connection failed: {_brief(_cause(error))}", server)


def status_of(error: BaseException) -> int | None:
    """Find the HTTP status that an exception stands for."""
    response = getattr(error, "response", None)
    status = getattr(error, "status", None) or getattr(response, "status_code", None)
    return status if isinstance(status, int) and status >= 300 else None


def retry_after_s(headers: Mapping[str, str] | None, now: float | None = None) -> float | None:
    """Read `Retry-After`, seconds or a date; None when it is absent or makes no sense."""
    value = (headers or {}).get("Retry-After")
    if value is None:
        return None
    try:
        return max(float(value), 0.0) if float(value) < float("inf") else None
    except ValueError:
        pass
    try:
        moment = email.utils.parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(moment - (time.time() if now is None else now), 0.0)


def _status_failure(status: int, error: Exception, server: str) -> ReplyFailed:
    said = _server_message(error)
    tail = f": {said}" if said else ""
    if status in (401, 403):
        name = key_variable(server)
        hint = (
            f"the key in {name} is not accepted there"
            if name
            else "set MAESTRO_API_KEY (or HF_TOKEN, OPENAI_API_KEY for those services) in the environment"
        )
        return _failure("unauthorised", f"the server refuses access (HTTP {status}){tail}", server, hint=hint)
    if status == 429 or status >= 500:
        reason: Reason = "rate_limited" if status == 429 else "server_error"
        what = f"the server {'is asked too often' if status == 429 else 'failed'} (HTTP {status}){tail}"
        headers = getattr(error, "headers", None) or getattr(
            getattr(error, "response", None), "headers", None
        )
        return _failure(reason, what, server, retry_after=retry_after_s(headers))
    hint = "`maestro doctor --llm` lists the models that the server has" if status == 404 else None
    return _failure("refused", f"the server refuses the question (HTTP {status}){tail}", server, hint=hint)


def _server_message(error: Exception) -> str:
    """Dig out what the server itself says is wrong."""
    said: Any = getattr(error, "response_error_payload", None) or getattr(error, "server_message", None)
    for key in ("error", "message", "detail"):
        if isinstance(said, Mapping) and said.get(key):
            said = said[key]
    return shorten(redact(" ".join(str(said).split())), 300) if said else ""


def _failure(
    reason: Reason,
    what: str,
    server: str,
    *,
    hint: str | None = None,
    sample: str = "",
    retry_after: float | None = None,
) -> ReplyFailed:
    return ReplyFailed(
        reason,
        redact(what),
        server,
        sample=redact(sample),
        hint=hint or _HINTS.get(reason),
        retry_after_s=retry_after,
    )


def _is_refusal_of_hub(error: Exception) -> bool:
    """Tell what the client says before it sends anything (unknown provider, a model nobody serves) from bad answers."""
    if type(error).__name__ == "OfflineModeIsEnabled":  # HF_HUB_OFFLINE is set
        return True
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, StopIteration):
        return True  # it looked for the first provider of a model that has none
    return type(error) is ValueError and not str(error).startswith(("Invalid data", "Invalid input"))


def _cause(error: BaseException) -> BaseException:
    """Look behind a NameError: hub 0.36 raises one where the server does not speak HTTP."""
    return error.__context__ if isinstance(error, NameError) and error.__context__ else error


def _brief(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return shorten(f"{type(error).__name__}: {text}" if text else type(error).__name__, 200)
