"""A server for tests that answers as badly as it is told to; the standard library only, one thread.

    with FakeServer([status(429, {"Retry-After": "1"}), answer("yes")]) as server:
        ...                                    # the last behaviour is repeated for ever
        server.requests[0].body["messages"]

A behaviour is a coroutine function of (writer, request); it returns False to have the connection closed.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Asked:
    """One request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    time: float = field(default_factory=time.monotonic)


Behaviour = Callable[[asyncio.StreamWriter, Asked], Awaitable[bool]]


class FakeServer:
    """Serve `behaviours` in order, the last one for ever; `models` is the answer to GET /v1/models."""

    def __init__(self, behaviours: Sequence[Behaviour] | Behaviour, models: Sequence[str] = ("m",)) -> None:
        self.behaviours = list(behaviours) if isinstance(behaviours, Sequence) else [behaviours]
        self.models = models
        self.requests: list[Asked] = []
        self.num_connections = 0
        self.num_open = 0
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def spec(self) -> str:
        return f"openai:m@{self.url}"

    def __enter__(self) -> FakeServer:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        async def end() -> None:
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._loop.stop()

        asyncio.run_coroutine_threadsafe(end(), self._loop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=256, limit=1 << 24)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.num_connections += 1
        self.num_open += 1
        try:
            while (asked := await _read(reader)) is not None:
                if asked.method == "GET":
                    await self._get(writer, asked)
                    continue
                self.requests.append(asked)
                behaviour = self.behaviours[min(len(self.requests), len(self.behaviours)) - 1]
                if not await behaviour(writer, asked):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.num_open -= 1
            writer.close()

    async def _get(self, writer: asyncio.StreamWriter, asked: Asked) -> None:
        if asked.path == "/v1/models":
            listing = {"object": "list", "data": [{"id": name} for name in self.models]}
            await _send(writer, 200, json.dumps(listing).encode())
        else:
            await _send(writer, 404, b"{}")


# Behaviours --------------------------------------------------------------------------------------------------------


def completion(text: Any, *, model: str = "m", logprobs: Any = None, finish: str = "stop") -> dict[str, Any]:
    """Make a chat completion as a server would."""
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "logprobs": logprobs,
                "finish_reason": finish,
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    }


def answer(text: Any = "hello", **options: Any) -> Behaviour:
    """Answer properly."""
    return body(json.dumps(completion(text, **options)).encode())


def choose(index: int = 0) -> Behaviour:
    """Obey constrained choice, as vLLM does, with logprobs; without choices say hello."""

    async def behave(writer: asyncio.StreamWriter, asked: Asked) -> bool:
        choices = asked.body.get("structured_outputs", {}).get("choice") or ["hello", "hello"]
        top = [{"token": choices[index], "logprob": -0.25}, {"token": choices[1 - index], "logprob": -1.5}]
        logprobs = {"content": [{**top[0], "top_logprobs": top}]} if asked.body.get("logprobs") else None
        return await answer(choices[index], logprobs=logprobs)(writer, asked)

    return behave


def echo(writer: asyncio.StreamWriter, asked: Asked) -> Awaitable[bool]:
    """Answer with the last message."""
    return answer(asked.body["messages"][-1]["content"])(writer, asked)


def body(content: bytes, content_type: str = "application/json") -> Behaviour:
    """Answer 200 with any bytes."""

    async def behave(writer: asyncio.StreamWriter, asked: Asked) -> bool:
        await _send(writer, 200, content, {"Content-Type": content_type})
        return True

    return behave


def status(code: int, headers: dict[str, str] | None = None, content: Any = None) -> Behaviour:
    """Answer with an error."""

    async def behave(writer: asyncio.StreamWriter, asked: Asked) -> bool:
        data = {"error": {"message": f"status {code}"}} if content is None else content
        await _send(writer, code, data if isinstance(data, bytes) else json.dumps(data).encode(), headers)
        return True

    return behave


async def stall(writer: asyncio.StreamWriter, asked: Asked) -> bool:
    """Take the question and never answer."""
    await asyncio.sleep(3600)
    return False


def slow(seconds: float, then: Behaviour) -> Behaviour:
    """Think for a while, then do something else."""

    async def behave(writer: asyncio.StreamWriter, asked: Asked) -> bool:
        await asyncio.sleep(seconds)
        return await then(writer, asked)

    return behave


async def drip(writer: asyncio.StreamWriter, asked: Asked) -> bool:
    """Send a good answer so slowly that it never ends, a byte at a time."""
    content = json.dumps(completion("hello")).encode()
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(content)
    )
    for byte in content:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.05)
    return True


async def reset(writer: asyncio.StreamWriter, asked: Asked) -> bool:
    """Break the connection with a TCP reset."""
    import socket
    import struct

    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


async def half_body(writer: asyncio.StreamWriter, asked: Asked) -> bool:
    """Announce more bytes than are sent, then close."""
    content = json.dumps(completion("hello")).encode()
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(content)
    )
    writer.write(content[: len(content) // 2])
    await writer.drain()
    return False


async def http_1_0(writer: asyncio.StreamWriter, asked: Asked) -> bool:
    """Answer as an old proxy does: HTTP/1.0, no length, the end of the connection ends the answer."""
    writer.write(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n")
    writer.write(json.dumps(completion("hello")).encode())
    await writer.drain()
    return False


async def not_http(writer: asyncio.StreamWriter, asked: Asked) -> bool:
    """Speak another protocol."""
    writer.write(b"220 smtp.example.org ESMTP Postfix\r\n")
    await writer.drain()
    return False


async def endless(writer: asyncio.StreamWriter, asked: Asked) -> bool:
    """Send a body without end."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
        await writer.drain()


# The wire ----------------------------------------------------------------------------------------------------------


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    content = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(method, path, headers, json.loads(content) if content else None)


async def _send(
    writer: asyncio.StreamWriter, code: int, content: bytes, headers: dict[str, str] | None = None
) -> None:
    merged = {"Content-Type": "application/json", "Content-Length": str(len(content)), **(headers or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in merged.items())
    writer.write(f"HTTP/1.1 {code} Whatever\r\n{lines}\r\n".encode() + content)
    await writer.drain()
