"""A server that judges at once, in a process of its own; it remembers how often it was asked each question.

    python judge_server.py [--mode judge|always-first|gibberish|half|mends|ignores-choices|other-model|refuse-some] [--delay S]

Prints its port, then serves until its stdin closes. `GET /counts` gives {hash of the messages: times asked}.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import sys
from collections import Counter

counts: Counter[str] = Counter()
_LOGPROBS = {
    "1": {"content": [{"token": "1", "logprob": -0.1, "bytes": None, "top_logprobs": [
        {"token": "1", "logprob": -0.105}, {"token": "2", "logprob": -2.996}, {"token": "none", "logprob": -2.996}]}]},
    "2": {"content": [{"token": "2", "logprob": -0.1, "bytes": None, "top_logprobs": [
        {"token": "2", "logprob": -0.105}, {"token": "1", "logprob": -2.996}, {"token": "none", "logprob": -2.996}]}]},
    "none": {"content": [{"token": "none", "logprob": -0.1, "bytes": None, "top_logprobs": [
        {"token": "none", "logprob": -0.105}, {"token": "1", "logprob": -2.996}, {"token": "2", "logprob": -2.996}]}]},
}  # fmt: skip


def judge(body: dict, mode: str) -> tuple[int, str, str]:
    """Give status, text and model: the longer caption is the better one, equal lengths are a tie."""
    text = body["messages"][1]["content"] if len(body["messages"]) > 1 else ""
    choices = (body.get("structured_outputs") or {}).get("choice")
    last = body["messages"][-1]["content"]
    number = sum(counts.values())
    if mode == "ignores-choices" and choices:
        return 200, "Paris", body["model"]
    if choices == ["zebra", "violin"]:
        return 200, "zebra", body["model"]
    if mode == "always-first":
        return 200, "1", body["model"]
    if mode == "gibberish" or (mode == "half" and int(hashlib.sha256(text.encode()).hexdigest(), 16) % 2):
        return 200, "perhaps", body["model"]
    if mode == "mends" and "none of the three" not in last:
        return 200, "perhaps", body["model"]
    if mode == "refuse-some" and int(hashlib.sha256(text.encode()).hexdigest(), 16) % 50 == 0:
        return 400, "", body["model"]
    if mode == "other-model" and number > 60:
        return 200, "1", "another"
    if choices is None and "Do not answer yet" in last:
        return 200, "Both are moments of a game.", body["model"]
    first, _, second = text.partition("Second moment:")
    one = len(first.partition("First moment:")[2].strip())
    two = len(
        second.rpartition("\n\n")[0].strip()
        if "Your answer" in second
        else second.partition("Before you")[0].strip()
    )
    verdict = "1" if one > two + 3 else "2" if two > one + 3 else "none"
    return 200, verdict, body["model"]


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, mode: str, delay: float) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET /counts"):
                await send(writer, 200, json.dumps(counts).encode())
                continue
            if head.startswith(b"GET"):
                await send(writer, 200, json.dumps({"object": "list", "data": [{"id": "m"}]}).encode())
                continue
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            body = json.loads(await reader.readexactly(length))
            status, text, model = judge(body, mode)
            asked = json.dumps(body["messages"]).encode()
            counts[hashlib.sha256(asked).hexdigest()] += 1
            if delay:
                await asyncio.sleep(delay)
            if status != 200:
                await send(writer, status, b'{"error": {"message": "too long"}}')
                continue
            reply = {
                "id": "x", "object": "chat.completion", "created": 1, "model": model,
                "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop",
                             "logprobs": _LOGPROBS.get(text) if body.get("logprobs") else None}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101},
            }  # fmt: skip
            await send(writer, 200, json.dumps(reply).encode())
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def send(writer: asyncio.StreamWriter, status: int, body: bytes) -> None:
    writer.write(
        f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    await writer.drain()


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="judge")
    parser.add_argument("--delay", type=float, default=0.0)
    options = parser.parse_args()
    server = await asyncio.start_server(
        lambda r, w: serve(r, w, options.mode, options.delay), "127.0.0.1", 0, limit=1 << 22
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
