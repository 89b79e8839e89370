"""The client's own cost, against a server that answers at once; counted in processor time, so that load is harmless."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

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


@pytest.mark.slow
@pytest.mark.parametrize("in_flight", [16, 64, 256])
def test_completions_per_second_of_one_core(in_flight, instant_server, open_model):
    """Annotation asks each pair in both orders: 500 judged pairs/s are 1,000 completions/s."""
    model = open_model(instant_server, max_in_flight=in_flight)
    list(model.complete_many(pairs(200)))
    begun, cpu = time.monotonic(), _cpu_s()
    outcomes = [outcome for _, outcome in model.complete_many(pairs(4000))]
    wall, cpu = time.monotonic() - begun, _cpu_s() - cpu
    print(
        f"{in_flight} in flight: {4000 / wall:.0f} completions/s, {4000 / cpu:.0f} per second of processor time"
    )
    assert all(isinstance(outcome, Reply) for outcome in outcomes)
    assert 4000 / cpu > 1000


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
