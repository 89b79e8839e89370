"""huggingface_hub's asynchronous chat client with one connection pool, and its answers as our Reply.

Version 0.36 opens a new connection for every question: 230 answers/s were seen from a vLLM server with it, and at
some hundreds a second the machine runs out of ports. `PooledClient` lends the client one aiohttp session instead.
Versions from 1.0 on keep connections by themselves; there it changes nothing. docs/decisions/016-chat-client.md has the figures.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any

import huggingface_hub
from huggingface_hub import AsyncInferenceClient

from maestro.errors import DependencyError
from maestro.llm.faults import BadReplyError
from maestro.llm.messages import Reply, TokenLogprob, Usage, shorten
from maestro.llm.secrets import redact
from maestro.llm.servers import is_local

aiohttp: Any = None
try:
    aiohttp = importlib.import_module("aiohttp")
except ImportError as error:
    if huggingface_hub.__version__.startswith("0."):
        raise DependencyError(
            "huggingface_hub's asynchronous client needs aiohttp, which is not installed",
            where="language models",
            hint="pip install 'huggingface_hub[inference]>=0.36,<1'",
        ) from error

_CONNECT_S = 10.0
_KEEP_ALIVE_S = 4.0  # uvicorn, under vLLM, drops idle connections after 5 s: be quicker
_CHUNK = 1 << 16
_IMPOSSIBLE = -1000.0  # vLLM gives tokens that the choices rule out a logprob of -9999


class PooledClient(AsyncInferenceClient):
    """An AsyncInferenceClient that keeps its connections, bounds the size of answers and follows no redirect."""

    def __init__(self, *, url: str, max_reply_bytes: int, timeout: float, **options: Any) -> None:
        super().__init__(timeout=timeout, **options)
        self._url = url
        self._max_reply_bytes = max_reply_bytes
        self._shared: Any = None

    def _get_client_session(self, headers: dict[str, Any] | None = None) -> Any:
        """Lend the one session, where version 0.36 would make one per question."""
        if self._shared is None:
            self._shared = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                response_class=_bounded_response(self._max_reply_bytes),
                timeout=aiohttp.ClientTimeout(self.timeout, sock_connect=_CONNECT_S),
                trust_env=not is_local(self._url),  # proxies of the environment are for far servers
            )
        return _LentSession(self._shared, {**self.headers, **(headers or {})})

    async def close(self) -> None:
        """Close the connections."""
        if self._shared is not None:
            await self._shared.close()
            self._shared = None
        await super().close()


class _LentSession:
    """What version 0.36 uses of a session; closing it gives it back."""

    def __init__(self, session: Any, headers: Mapping[str, Any]) -> None:
        self._session = session
        self._headers = headers

    async def post(self, url: str, **options: Any) -> Any:
        # a redirect could carry key and prompt to another host, and turns POST into GET
        response = await self._session.post(url, headers=self._headers, allow_redirects=False, **options)
        if 300 <= response.status < 400:
            target = response.headers.get("Location", "nowhere")
            response.release()
            raise BadReplyError(
                f"the server redirects to {shorten(target)!r}",
                hint="name the server's own address in the spec",
            )
        return response

    async def close(self) -> None:
        pass


def _bounded_response(limit: int) -> type:
    """Make the response class that gives up on an answer of more than `limit` bytes."""

    class BoundedResponse(aiohttp.ClientResponse):
        async def read(self) -> bytes:
            size, chunks = 0, []
            async for chunk in self.content.iter_chunked(_CHUNK):
                size += len(chunk)
                if size > limit:
                    self.close()
                    raise BadReplyError(
                        f"the answer is larger than {limit:,} bytes",
                        hint="raise max_reply_bytes if such answers are wanted",
                    )
                chunks.append(chunk)
            if chunks:  # the second call, by json(), finds the stream empty
                self._whole = b"".join(chunks)
            return getattr(self, "_whole", b"")

        async def json(self, **_: Any) -> Any:
            return json.loads(await self.read())

    return BoundedResponse


def read_reply(output: Any, server: str) -> Reply:
    """Turn hub's ChatCompletionOutput into a Reply; raises BadReplyError for whatever is missing."""
    choices = getattr(output, "choices", None)
    if not isinstance(choices, list) or not choices:
        raise BadReplyError("the answer has no choices", sample=shorten(str(output)))
    message = getattr(choices[0], "message", None)
    content = getattr(message, "content", None)
    finish_reason = _word(getattr(choices[0], "finish_reason", None) or "stop")
    if not isinstance(content, str):
        thought = getattr(message, "reasoning", None) or getattr(message, "reasoning_content", None)
        raise BadReplyError(
            f"the answer has no text (finish_reason {finish_reason!r}"
            + (", only reasoning)" if thought else ")"),
            hint="raise max_tokens: it was used up by reasoning" if thought else None,
            usage=_usage(getattr(output, "usage", None)),
        )
    return Reply(
        text=redact(clean(content)),
        logprobs=_logprobs(getattr(choices[0], "logprobs", None)),
        usage=_usage(getattr(output, "usage", None)),
        model=_word(getattr(output, "model", None) or ""),
        server=server,
        finish_reason=finish_reason,
    )


def clean(text: str) -> str:
    """Replace lone surrogates, which JSON can carry and files cannot."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _word(value: Any) -> str:
    """Trust nothing that a server says: bound its length, and blank out keys."""
    return shorten(redact(clean(str(value))))


def _usage(usage: Any) -> Usage:
    def count(name: str) -> int:
        value = getattr(usage, name, None)
        return value if isinstance(value, int) and value >= 0 else 0

    return Usage(count("prompt_tokens"), count("completion_tokens"))


def _logprobs(logprobs: Any) -> tuple[TokenLogprob, ...] | None:
    """Read the logprobs; malformed ones count as none, for they are an extra."""
    try:
        content = logprobs.content
        if not content:
            return None
        return tuple(
            TokenLogprob(
                item.token,
                float(item.logprob),
                {
                    other.token: float(other.logprob)
                    for other in item.top_logprobs or ()
                    if other.logprob > _IMPOSSIBLE
                },
            )
            for item in content
        )
    except (AttributeError, TypeError, ValueError):
        return None
