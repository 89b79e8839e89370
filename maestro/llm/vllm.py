"""`vllm:<model>`: a model that vLLM runs in this process, where it is installed and has a GPU.

The model's own chat template is applied. Questions that wait are answered together, as one batch: ask many at once.
`max_in_flight` is the largest batch. For several GPUs, several machines or the newest vLLM, run `vllm serve` and use
`openai:<model>@<url>`: beside sample-factory only vLLM 0.12 to 0.14 can be installed.
"""

from __future__ import annotations

import asyncio
import atexit
import importlib
import importlib.util
import time
import weakref
from typing import Any

from pydantic import Field

from maestro.errors import DependencyError, SpecError
from maestro.llm.chat import ChatModel, ChatSettings
from maestro.llm.messages import (
    Outcome,
    Reply,
    ReplyFailed,
    Request,
    Sampling,
    ServerInfo,
    TokenLogprob,
    Usage,
    shorten,
)

NAME = "vllm"
_IMPOSSIBLE = -1000.0  # what the choices rule out has a logprob of minus infinity or -9999
_GATHER_S = 0.005  # wait this long for more questions before a batch begins


class Settings(ChatSettings):
    """Settings of the engine in this process."""

    max_in_flight: int = Field(default=256, ge=1)
    engine: dict[str, Any] = Field(default_factory=dict)
    """Further arguments of `vllm.LLM`, such as {"max_model_len": 8192, "gpu_memory_utilization": 0.5}."""


def open_model(rest: str, settings: Settings) -> VllmModel:
    """Prepare the model after `vllm:`; raises DependencyError without vLLM. It is loaded at the first question."""
    if not rest.strip():
        raise SpecError("it names no model", where="model spec 'vllm:'", expected="vllm:<model or folder>")
    if importlib.util.find_spec("vllm") is None:
        raise DependencyError(
            "vLLM is not installed in this environment",
            where=f"model spec 'vllm:{rest}'",
            hint="pip install 'maestro-skills[vllm]', or serve the model elsewhere with `vllm serve` and name it as "
            "openai:<model>@http://<host>:8000/v1",
        )
    return VllmModel(rest.strip(), settings)


class VllmModel(ChatModel):
    """A vLLM engine of our own, fed with batches by one worker on the event loop."""

    settings: Settings

    def __init__(self, model: str, settings: Settings) -> None:
        super().__init__(f"vllm:{model}", settings)
        self.model = model
        self._engine: Any = None
        self._waiting: list[tuple[Request, asyncio.Future[Outcome]]] = []
        self._worker: asyncio.Task[None] | None = None

    @property
    def servers(self) -> tuple[str, ...]:
        return (self.spec,)

    def describe(self) -> list[ServerInfo]:
        version = getattr(_vllm(), "__version__", "of an unknown version")
        return [ServerInfo(self.spec, models=(self.model,), version=f"vLLM {version}")]

    async def answer(self, request: Request, *, server: str | None = None) -> Outcome:
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await future

    def close(self) -> None:
        """Give up what is on its way and end the engine's processes."""
        super().close()
        engine, self._engine = self._engine, None
        core = getattr(getattr(engine, "llm_engine", None), "engine_core", None)
        if core is not None:
            core.shutdown()

    async def _work(self) -> None:
        """Answer batches until nothing waits."""
        while self._waiting:
            await asyncio.sleep(_GATHER_S)
            batch = [(request, future) for request, future in self._waiting if not future.done()]
            batch, later = batch[: self.settings.max_in_flight], batch[self.settings.max_in_flight :]
            self._waiting = later
            if not batch:
                continue
            outcomes = await asyncio.to_thread(self._generate, [request for request, _ in batch])
            for (_, future), outcome in zip(batch, outcomes, strict=True):
                if not future.done():
                    future.set_result(outcome)

    def _generate(self, requests: list[Request]) -> list[Outcome]:
        """Answer a batch, in a thread of its own; every question gets an outcome."""
        begun = time.monotonic()
        try:
            if self._engine is None:
                self._engine = self._load()
                # multiprocessing waits for the engine's processes when the program ends: end them before that
                atexit.register(_close, weakref.ref(self))
            return [self._outcome(output, begun) for output in self._chat(requests)]
        except Exception as error:  # noqa: BLE001  the engine raises many kinds, and a batch must have outcomes
            if self._engine is not None and len(requests) > 1:
                # one question that cannot be served must not take the others with it
                return [outcome for request in requests for outcome in self._generate([request])]
            deed = "cannot answer" if self._engine is not None else "cannot load the model"
            what = f"vLLM {deed}: {shorten(f'{type(error).__name__}: {error}', 400)}"
            failure = ReplyFailed("refused", what, self.spec, seconds=time.monotonic() - begun)
            return [failure] * len(requests)

    def _load(self) -> Any:
        options = {"max_num_seqs": self.settings.max_in_flight, "max_logprobs": 20, **self.settings.engine}
        return _vllm().LLM(model=self.model, **options)

    def _chat(self, requests: list[Request]) -> list[Any]:
        return self._engine.chat(
            [[dict(message) for message in request.messages] for request in requests],
            sampling_params=[sampling_params(request.sampling) for request in requests],
            use_tqdm=False,
        )

    def _outcome(self, output: Any, begun: float) -> Outcome:
        answer = output.outputs[0]
        return Reply(
            text=answer.text,
            logprobs=_logprobs(answer),
            usage=Usage(len(output.prompt_token_ids or ()), len(answer.token_ids)),
            model=self.model,
            server=self.spec,
            finish_reason=str(answer.finish_reason or "stop"),
            seconds=time.monotonic() - begun,
            author=self.model,
        )


def sampling_params(sampling: Sampling) -> Any:
    """Say a Sampling in vLLM's words (0.12 and later)."""
    structured = importlib.import_module("vllm.sampling_params").StructuredOutputsParams
    choices = sampling.choices
    return _vllm().SamplingParams(
        temperature=sampling.temperature,
        max_tokens=sampling.max_tokens,
        seed=sampling.seed,
        logprobs=sampling.top_logprobs or None,
        structured_outputs=structured(choice=list(choices)) if choices else None,
    )


def _close(model: weakref.ref[VllmModel]) -> None:
    alive = model()
    if alive is not None:
        alive.close()


def _vllm() -> Any:
    """Import vLLM when it is needed: that takes seconds, and type checkers take this file for it."""
    return importlib.import_module("vllm")


def _logprobs(answer: Any) -> tuple[TokenLogprob, ...] | None:
    if not answer.logprobs:
        return None
    found = []
    for token_id, candidates in zip(answer.token_ids, answer.logprobs, strict=False):
        chosen = candidates[token_id]
        top = {c.decoded_token: c.logprob for c in candidates.values() if c.logprob > _IMPOSSIBLE}
        found.append(TokenLogprob(chosen.decoded_token or "", chosen.logprob, top))
    return tuple(found)
