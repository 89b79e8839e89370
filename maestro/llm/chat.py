"""What every language model here can do, and what it answers.

    with load_chat_model("openai:llama@http://localhost:8000/v1") as model:
        reply = model.complete([{"role": "user", "content": "Which is better, 1 or 2?"}], choices=("1", "2"))
        for index, outcome in model.complete_many(requests):
            ...

Only chat messages are ever sent: the server applies its model's own template. Requests run concurrently in an event
loop of the model's own thread, at most `max_in_flight` at a time whoever asks, so the same object serves plain code,
many threads and asyncio. A model belongs to the process that opened it.
"""

from __future__ import annotations

import abc
import asyncio
import queue
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import pydantic
from pydantic import Field

from maestro.llm.loop import LoopThread
from maestro.llm.messages import (
    Message,
    Outcome,
    Reply,
    ReplyFailed,
    Request,
    Sampling,
    ServerInfo,
    Usage,
    check_choice,
)

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass
class Totals:
    """What a model was asked since it was opened."""

    num_requests: int = 0
    num_replies: int = 0
    num_failed: int = 0
    num_retries: int = 0
    num_in_flight: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    """In the currency of the prices in the settings; None when they name none."""
    failures: dict[str, int] = field(default_factory=dict)
    """Reason to number of questions that failed for it."""


class ChatSettings(pydantic.BaseModel):
    """Settings that every backend understands."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    max_in_flight: int = Field(default=32, ge=1)
    """Questions on their way at once, over all servers and callers."""
    price_prompt: float | None = Field(default=None, ge=0)
    """Price of a million prompt tokens."""
    price_completion: float | None = Field(default=None, ge=0)
    """Price of a million tokens of answers."""


class ChatModel(abc.ABC):
    """A language model behind one backend; see the module for how to use it."""

    live = True
    """Whether a model answers now; False where answers are recorded."""

    def __init__(self, spec: str, settings: ChatSettings) -> None:
        self.spec = spec
        self.settings = settings
        self.totals = Totals(cost=None if self._prices() is None else 0.0)
        self._thread = LoopThread()
        self._places: asyncio.Semaphore | None = None

    # What a backend writes ------------------------------------------------------------------------------------

    @abc.abstractmethod
    async def answer(self, request: Request, *, server: str | None = None) -> Outcome:
        """Answer on the model's event loop; `server` insists on one of `servers`. Never raises for a bad answer."""

    @property
    @abc.abstractmethod
    def servers(self) -> tuple[str, ...]:
        """Name where the answers come from."""

    @abc.abstractmethod
    def describe(self) -> list[ServerInfo]:
        """Ask each server which models it has; a server that does not say is listed with its error."""

    # What everybody uses --------------------------------------------------------------------------------------

    def complete(
        self,
        messages: Sequence[Message],
        *,
        temperature: float = 0.0,
        max_tokens: int = 1024,
        seed: int | None = None,
        choices: Sequence[str] | None = None,
        top_logprobs: int = 0,
        label: str = "",
    ) -> Reply:
        """Ask one question and wait for its answer; raises ChatError when there is none that can be used."""
        chosen = None if choices is None else tuple(choices)
        sampling = Sampling(temperature, max_tokens, seed, chosen, top_logprobs)
        return _reply(self.ask(Request(tuple(messages), sampling, label)))

    async def acomplete(self, messages: Sequence[Message], **options: Any) -> Reply:
        """Do what `complete` does, with its options, from any event loop."""
        label = options.pop("label", "")
        if options.get("choices") is not None:
            options["choices"] = tuple(options["choices"])
        return _reply(await self.aask(Request(tuple(messages), Sampling(**options), label)))

    def ask(self, request: Request, *, server: str | None = None) -> Outcome:
        """Ask one question; a failure is an outcome, not an exception."""
        return self._thread.submit(self._bounded(request, server)).result()

    async def aask(self, request: Request) -> Outcome:
        """Do what `ask` does, from any event loop; cancelling it gives the question up."""
        return await asyncio.wrap_future(self._thread.submit(self._bounded(request)))

    def complete_many(self, requests: Iterable[Request]) -> Iterator[tuple[int, Outcome]]:
        """Ask many questions at once and yield (position in `requests`, outcome) as the answers arrive.

        `requests` may be endless: it is read ahead by at most twice `max_in_flight`. Leaving the loop early gives up
        what is on its way.
        """
        numbered = enumerate(requests)
        results: queue.SimpleQueue[tuple[int, asyncio.Task[Outcome]]] = queue.SimpleQueue()
        tasks: set[asyncio.Task[Outcome]] = set()
        loop = self._thread.start()

        def begin(batch: list[tuple[int, Request]]) -> None:
            for index, request in batch:
                task = loop.create_task(self._bounded(request))
                tasks.add(task)
                task.add_done_callback(
                    lambda done, index=index: (tasks.discard(done), results.put((index, done)))
                )

        limit, waiting = 2 * self.settings.max_in_flight, 0
        try:
            while True:
                batch = list(islice(numbered, limit - waiting))
                if batch:
                    waiting += len(batch)
                    loop.call_soon_threadsafe(begin, batch)
                if not waiting:
                    return
                arrived = [results.get()]
                while not results.empty():  # one wake-up serves all that has arrived
                    arrived.append(results.get())
                waiting -= len(arrived)
                for index, task in arrived:
                    yield index, task.result()
        finally:
            if waiting and loop.is_running():
                loop.call_soon_threadsafe(lambda: [task.cancel() for task in list(tasks)])

    def close(self) -> None:
        """Give up what is on its way and free connections; the model cannot be used afterwards."""
        self._thread.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.spec}>"

    # The inside -----------------------------------------------------------------------------------------------

    async def _bounded(self, request: Request, server: str | None = None) -> Outcome:
        """Wait for a place, answer, count."""
        if self._places is None:
            self._places = asyncio.Semaphore(self.settings.max_in_flight)
        totals = self.totals
        totals.num_requests += 1
        async with self._places:
            totals.num_in_flight += 1
            try:
                outcome = await self.answer(request, server=server)
            finally:
                totals.num_in_flight -= 1
        if isinstance(outcome, Reply):
            outcome = check_choice(request, outcome)
        self._count(outcome)
        return outcome

    def _count(self, outcome: Outcome) -> None:
        totals = self.totals
        totals.num_retries += outcome.num_attempts - 1
        self._count_tokens(outcome.usage)  # an answer that cannot be used is paid for all the same
        if isinstance(outcome, ReplyFailed):
            totals.num_failed += 1
            totals.failures[outcome.reason] = totals.failures.get(outcome.reason, 0) + 1
        else:
            totals.num_replies += 1

    def _count_tokens(self, usage: Usage) -> None:
        self.totals.prompt_tokens += usage.prompt_tokens
        self.totals.completion_tokens += usage.completion_tokens
        prices = self._prices()
        if prices is not None and self.totals.cost is not None:
            self.totals.cost += (
                prices[0] * usage.prompt_tokens + prices[1] * usage.completion_tokens
            ) / 1_000_000

    def _prices(self) -> tuple[float, float] | None:
        prompt, completion = self.settings.price_prompt, self.settings.price_completion
        return None if prompt is None and completion is None else (prompt or 0.0, completion or 0.0)


def _reply(outcome: Outcome) -> Reply:
    if isinstance(outcome, ReplyFailed):
        raise outcome.to_error()
    return outcome
