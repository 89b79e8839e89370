"""`openai:<model>@<url>[,<url>...]`: any server that speaks OpenAI's chat completions, above all `vllm serve`.

Several addresses serve one model: each question goes to the least loaded server that answers. Only what may work the
second time is asked again: broken connections, timeouts, 429 and 5xx, with `Retry-After` honoured and the whole
capped by `total_s`. A prompt that the server refuses, or an answer that cannot be used, is reported at once.

Soft labels: `top_logprobs=n` asks for `logprobs` and `top_logprobs` together. With `logprobs` alone a vLLM server
lists each token without alternatives, and without either it sends none. With choices, vLLM gives the probabilities
after ruling out everything else.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import Field

from maestro.errors import SpecError
from maestro.llm.chat import ChatModel, ChatSettings
from maestro.llm.faults import failure_of
from maestro.llm.listing import list_models
from maestro.llm.messages import RETRYABLE, Outcome, Reply, ReplyFailed, Request, ServerInfo
from maestro.llm.secrets import key_for
from maestro.llm.servers import Server, ServerPool

if TYPE_CHECKING:
    from maestro.llm._hub import PooledClient

NAME = "openai"
_SPEC = "openai:<model>@<url>[,<url>...], for example openai:llama@http://localhost:8000/v1"
_DATE = re.compile(r"-\d[\d-]*")


class Settings(ChatSettings):
    """Settings of a server that is asked over HTTP."""

    timeout_s: float = Field(default=120.0, gt=0)
    """For one attempt, from connecting to the last byte."""
    total_s: float = Field(default=600.0, gt=0)
    """For one question with all its attempts and pauses."""
    max_retries: int = Field(default=5, ge=0)
    backoff_s: float = Field(default=0.5, ge=0)
    """Pause before the first retry; it doubles with each, up to `max_backoff_s`, less up to half at random."""
    max_backoff_s: float = Field(default=30.0, ge=0)
    max_reply_bytes: int = Field(default=8 << 20, ge=1024)
    constrain: Literal["structured_outputs", "ask"] = "structured_outputs"
    """How choices are told to the server: as vLLM's parameter, or not at all (the prompt asks). The answer is
    checked either way."""
    any_model: bool = False
    """Accept answers of another model than the one asked for."""


def open_model(rest: str, settings: Settings) -> OpenAIModel:
    """Open the model and servers that stand after `openai:`."""
    match = re.fullmatch(r"(?P<model>.+?)@(?P<urls>https?://.*)", rest.strip())
    if match is None:
        raise SpecError("it names no model and server", where=_where(rest), expected=_SPEC)
    urls = [_normalised(url, rest) for url in match["urls"].split(",") if url.strip()]
    if len(set(urls)) < len(urls):
        raise SpecError("it names one server twice", where=_where(rest))
    return OpenAIModel(f"openai:{match['model']}@{','.join(urls)}", match["model"], urls, settings)


class OpenAIModel(ChatModel):
    """A model behind one or several OpenAI-compatible servers."""

    settings: Settings

    def __init__(self, spec: str, model: str, urls: list[str], settings: Settings) -> None:
        super().__init__(spec, settings)
        self.model = model
        self._pool = ServerPool(urls)
        self._clients = {url: self._make_client(url) for url in urls}
        self._thread.closers.extend(client.close for client in self._clients.values())

    @property
    def servers(self) -> tuple[str, ...]:
        return tuple(server.url for server in self._pool.servers)

    def describe(self) -> list[ServerInfo]:
        return [list_models(url) for url in self.servers]

    async def answer(self, request: Request, *, server: str | None = None) -> Outcome:
        begun = time.monotonic()
        deadline = begun + self.settings.total_s
        failure: ReplyFailed | None = None
        for attempt in range(1, self.settings.max_retries + 2):
            chosen = await self._free_server(server, failure, attempt, deadline)
            if chosen is None:
                break
            outcome = await self._attempt(chosen, request, deadline)
            seconds = time.monotonic() - begun
            outcome = replace(outcome, num_attempts=attempt, seconds=seconds)
            if isinstance(outcome, Reply) or outcome.reason not in RETRYABLE:
                return outcome
            failure = outcome
        return self._given_up(failure, server, begun)

    def _make_client(self, url: str) -> PooledClient:
        from maestro.llm._hub import PooledClient  # takes half a second, and not every command needs it

        return PooledClient(
            url=url,
            base_url=url,
            api_key=key_for(url).get_secret_value(),
            timeout=self.settings.timeout_s,
            max_reply_bytes=self.settings.max_reply_bytes,
        )

    async def _free_server(
        self, only: str | None, failure: ReplyFailed | None, attempt: int, deadline: float
    ) -> Server | None:
        """Wait until a server may be asked; None when that would be after `deadline`."""
        avoid = failure.server if failure else None
        chosen, wait = self._pool.pick(only=only, avoid=avoid)
        if failure is not None and wait <= 0 and chosen.url == avoid:  # another server is asked at once
            wait = self._backoff(attempt - 1)
        while wait > 0:
            wait *= 1 + 0.1 * random.random()  # not everybody at the same moment
            if time.monotonic() + wait >= deadline:
                return None
            await asyncio.sleep(wait)
            chosen, wait = self._pool.pick(only=only, avoid=avoid)
        return chosen

    def _backoff(self, num_failures: int) -> float:
        longest = min(self.settings.backoff_s * 2.0 ** (num_failures - 1), self.settings.max_backoff_s)
        return longest * random.uniform(0.5, 1.0)

    async def _attempt(self, server: Server, request: Request, deadline: float) -> Outcome:
        """Ask once and note how the server did."""
        timeout_s = max(min(self.settings.timeout_s, deadline - time.monotonic()), 0.001)
        server.num_in_flight += 1
        sent_at = self._pool.now()
        try:
            output = await asyncio.wait_for(self._send(server.url, request), timeout_s)
            reply = self._read(output, server.url)
        except Exception as error:  # noqa: BLE001  the client's exceptions differ between its versions
            failure = failure_of(error, server.url, timeout_s)
            if failure.reason in ("unreachable", "timeout"):
                self._pool.failed(server, failure.what, sent_at)
            else:
                self._pool.answered(server)
            if failure.retry_after_s is not None:
                self._pool.told_to_wait(server, failure.retry_after_s)
            return failure
        finally:
            server.num_in_flight -= 1
        self._pool.answered(server)
        return self._same_model(reply)

    async def _send(self, url: str, request: Request) -> Any:
        sampling = request.sampling
        extra: dict[str, Any] = {}
        if sampling.choices is not None and self.settings.constrain == "structured_outputs":
            extra["structured_outputs"] = {"choice": list(sampling.choices)}
        return await self._clients[url].chat_completion(
            [dict(message) for message in request.messages],
            model=self.model,
            temperature=float(sampling.temperature),
            max_tokens=sampling.max_tokens,
            seed=sampling.seed,
            logprobs=True if sampling.top_logprobs else None,
            top_logprobs=sampling.top_logprobs or None,
            extra_body=extra or None,
        )

    def _read(self, output: Any, server: str) -> Reply:
        from maestro.llm._hub import read_reply

        reply = read_reply(output, server)
        return replace(reply, model=reply.model or self.model, author=reply.model or self.model)

    def _same_model(self, reply: Reply) -> Outcome:
        if self.settings.any_model or same_model(self.model, reply.model):
            return reply
        return ReplyFailed(
            "wrong_model",
            f"{reply.model!r} answered instead of {self.model!r}",
            reply.server,
            hint="correct the spec, or set any_model if that is what you want",
            usage=reply.usage,
        )

    def _given_up(self, failure: ReplyFailed | None, only: str | None, begun: float) -> ReplyFailed:
        seconds = time.monotonic() - begun
        if failure is None:
            where = only or ", ".join(self.servers)
            return ReplyFailed("unreachable", "no server was free to be asked in time", where, 1, seconds)
        if failure.num_attempts <= self.settings.max_retries:
            asked = failure.retry_after_s
            why = (
                f"the server asks to wait {asked:.0f} s more"
                if asked
                else f"total_s is {self.settings.total_s:g}"
            )
            return replace(failure, what=f"{failure.what}; given up: {why}", seconds=seconds)
        return replace(failure, seconds=seconds)


def same_model(asked: str, said: str) -> bool:
    """Compare model names as servers write them: letter case, organisation and a date at the end aside."""
    asked, said = asked.lower(), said.lower()
    if asked == said or asked.rsplit("/", 1)[-1] == said.rsplit("/", 1)[-1]:
        return True
    return said.startswith(asked) and _DATE.fullmatch(said[len(asked) :]) is not None


def _normalised(url: str, rest: str) -> str:
    """Check a base URL and bring it into one form: no slash at the end, `/v1` where there was no path."""
    where = _where(rest)
    parts = urlsplit(url.strip())
    if "@" in parts.netloc or parts.query:
        raise SpecError(
            "a server's address holds a password or a query",
            where=where,
            hint="put the key into the environment: MAESTRO_API_KEY",
        )
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
        raise SpecError(f"{url.strip()!r} is no address of a server", where=where, expected=_SPEC)
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return urlunsplit((parts.scheme, parts.netloc, path or "/v1", "", ""))


def _where(rest: str) -> str:
    """Show a spec, without what may be a secret in it."""
    return "model spec 'openai:" + re.sub(r"//[^/@]*@", "//...@", re.sub(r"\?.*", "?...", rest)) + "'"
