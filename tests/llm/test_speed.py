"""The client's own cost, against a server that answers at once.

Counted in processor time, so that load is harmless, and as a multiple of what bare sockets need for the same bytes in the
same minute, so that a slow machine is: how many completions a second that makes is in docs/benchmarks.md.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from maestro.llm import Reply, Request, Sampling

INSTANT = """
import asyncio, sys
body = sys.argv[1].encode()
answer = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body

class Instant(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.seen = transport, b""
    def data_received(self, data):
        self.seen += data
        while (head := self.seen.find(b"\\r\\n\\r\\n")) >= 0:
            length = int(self.seen[:head].lower().partition(b"content-length:")[2].split(b"\\r\\n")[0])
            if len(self.seen) < head + 4 + length:
                return
            self.seen = self.seen[head + 4 + length:]
            self.transport.write(answer)

async def main():
    server = await asyncio.get_running_loop().create_server(Instant, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""

MOST_TIMES_BARE = 30  # on the machine of docs/benchmarks.md: 1,000 completions a second and core

SYSTEM = {"role": "system", "content": "You compare two captions of a game. " * 20}


def pairs(count: int):
    """Yield questions as annotation asks them: 1.6 kB each, constrained, with logprobs."""
    sampling = Sampling(0.0, 4, 1, ("1", "2", "TIE"), 5)
    for number in range(count):
        yield Request(
            (SYSTEM, {"role": "user", "content": f"Pair {number}: " + "You kill the newt! " * 45}), sampling
        )


@pytest.fixture
def instant_server(fake):
    top = [{"token": token, "logprob": -0.5, "bytes": [49]} for token in ("1", "2", "T", "I", "E")]
    logprobs = {"content": [{**top[0], "top_logprobs": top}]}
    body = json.dumps(fake.completion("1", logprobs=logprobs))
    process = subprocess.Popen([sys.executable, "-c", INSTANT, body], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield f"openai:m@http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    process.kill()
    process.wait()
    process.stdout.close()


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def _exchange(url: str, count: int, in_flight: int) -> None:
    """Ask `count` times over `in_flight` bare sockets, and read the answers as JSON."""
    address, number = urlsplit(url), iter(range(count))

    async def ask() -> None:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        for each in number:
            words = [SYSTEM, {"role": "user", "content": f"Pair {each}: " + "You kill the newt! " * 45}]
            body = json.dumps({"model": "m", "messages": words, "max_tokens": 4, "temperature": 0.0}).encode()
            writer.write(b"POST /v1 HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            assert json.loads(await reader.readexactly(length))["choices"]
        writer.close()

    await asyncio.gather(*(ask() for _ in range(in_flight)))


@pytest.mark.slow
@pytest.mark.parametrize("in_flight", [16, 64, 256])
def test_a_completion_costs_little_more_than_its_bytes(in_flight, instant_server, open_model):
    """Annotation asks each pair in both orders: 500 judged pairs/s are 1,000 completions/s."""
    model = open_model(instant_server, max_in_flight=in_flight)
    list(model.complete_many(pairs(200)))
    ratios = []
    for _ in range(3):
        begun = _cpu_s()
        asyncio.run(_exchange(instant_server.partition("@")[2], 1000, in_flight))
        bare, begun = _cpu_s() - begun, _cpu_s()
        outcomes = [outcome for _, outcome in model.complete_many(pairs(1000))]
        spent = _cpu_s() - begun
        assert len(outcomes) == 1000
        assert all(isinstance(outcome, Reply) for outcome in outcomes)
        ratios.append(spent / bare)
        print(
            f"{in_flight} in flight: {1000 / spent:.0f} a second of processor time, {spent / bare:.1f} times bare sockets"
        )
    assert min(ratios) < MOST_TIMES_BARE


@pytest.mark.slow
def test_memory_stays_flat(instant_server, open_model):
    model = open_model(instant_server, max_in_flight=64)

    def resident_mb() -> float:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 1e6

    for _ in model.complete_many(pairs(2000)):
        pass
    before = resident_mb()
    for _ in model.complete_many(pairs(20_000)):
        pass
    assert resident_mb() - before < 8
