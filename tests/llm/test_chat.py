"""The protocol itself: finding backends, threads, processes, keys of questions."""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import maestro.llm
from maestro.errors import ChatError, DependencyError, SpecError, UnknownNameError
from maestro.llm import ReplyFailed, Request, Sampling, Usage, backend_names, load_chat_model

HELLO = Request(({"role": "user", "content": "hello"},))


def test_backends_are_found_by_name():
    assert backend_names() == ["hf", "openai", "replay", "vllm"]


def test_unknown_backend_gets_suggestions():
    with pytest.raises(UnknownNameError, match="did you mean 'openai'"):
        load_chat_model("opneai:m@http://h")


def test_unknown_setting_gets_suggestions():
    with pytest.raises(SpecError, match="did you mean 'max_in_flight'"):
        load_chat_model("replay", max_inflight=3)


def test_one_more_backend_is_one_file(tmp_path, monkeypatch):
    (tmp_path / "parrot.py").write_text(
        """
from maestro.llm.chat import ChatModel, ChatSettings as Settings
from maestro.llm.messages import Reply, Usage
NAME = "parrot"
def open_model(rest, settings):
    return Parrot("parrot:" + rest, settings)
class Parrot(ChatModel):
    servers = ("parrot",)
    def describe(self):
        return []
    async def answer(self, request, *, server=None):
        return Reply(request.messages[-1]["content"], None, Usage(), "parrot", "here")
"""
    )
    monkeypatch.setattr(maestro.llm, "__path__", [*maestro.llm.__path__, str(tmp_path)])
    with load_chat_model("parrot:grey") as model:
        assert (
            model.complete([{"role": "user", "content": "polly"}], choices=["polly", "cracker"]).text
            == "polly"
        )
    sys.modules.pop("maestro.llm.parrot")


def test_key_never_changes():
    """Recorded replies and judgements are found by it."""
    assert HELLO.key == "252659e86aa1b9df8e2845ba8d13115857d980e6f640891ff36e74bb40384d4c"


def test_key_tells_questions_apart():
    assert Request(HELLO.messages, Sampling(temperature=0)).key == HELLO.key
    assert Request(HELLO.messages, label="other").key == HELLO.key
    others = [
        Request(({"role": "system", "content": "hello"},)),
        Request(({"role": "user", "content": "hello "},)),
        Request((*HELLO.messages, *HELLO.messages)),
        *(
            Request(HELLO.messages, sampling)
            for sampling in (
                Sampling(temperature=0.1),
                Sampling(max_tokens=5),
                Sampling(seed=0),
                Sampling(choices=("a", "b")),
                Sampling(choices=("b", "a")),
                Sampling(top_logprobs=1),
            )
        ),
    ]
    assert len({HELLO.key, *(other.key for other in others)}) == len(others) + 1


def test_one_model_serves_many_threads(serve, open_model, fake):
    model = open_model(serve(fake.echo).spec, max_in_flight=8)

    def ask(number: int) -> str:
        return model.complete([{"role": "user", "content": str(number)}]).text

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(ask, range(100))) == [str(n) for n in range(100)]
    assert model.totals.num_replies == 100


def _ask_in_child(model, queue):
    try:
        model.ask(HELLO)
    except ChatError as error:
        queue.put(str(error))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_is_told_to_open_its_own(serve, open_model, fake):
    model = open_model(serve(fake.answer()).spec)
    model.ask(HELLO)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_ask_in_child, args=(model, queue))
    child.start()
    said = queue.get(timeout=20)
    child.join(20)
    assert "opened by the parent" in said
    assert model.ask(HELLO).text == "hello"


def test_program_that_forgets_to_close_ends_quietly(serve, fake):
    server = serve([fake.answer(), fake.stall])
    code = f"""
from maestro.llm import Request, load_chat_model
model = load_chat_model({server.spec!r})
print(model.complete([{{"role": "user", "content": "x"}}]).text)
outcomes = model.complete_many([Request(({{"role": "user", "content": "x"}},))] * 5)
model._thread.submit(model.aask(Request(({{"role": "user", "content": "y"}},))))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "hello\n"
    assert done.stderr == ""


def test_closing_leaves_no_thread(serve, open_model, fake):
    before = threading.active_count()
    model = open_model(serve(fake.answer()).spec)
    model.ask(HELLO)
    model.close()
    assert threading.active_count() == before + 1  # the fake server's


def test_dropped_model_ends_its_thread(serve, fake):
    server = serve(fake.answer())
    before = threading.active_count()
    for _ in range(3):
        load_chat_model(server.spec).ask(HELLO)
    import gc

    gc.collect()
    assert threading.active_count() == before


def test_vllm_says_how_to_get_it(monkeypatch):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)
    with pytest.raises(DependencyError, match="vllm serve"):
        load_chat_model("vllm:some/model")


def test_missing_aiohttp_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    monkeypatch.delitem(sys.modules, "maestro.llm._hub", raising=False)
    with pytest.raises(DependencyError, match=r"huggingface_hub\[inference\]"):
        load_chat_model("openai:m@http://localhost:1/v1")


@pytest.mark.parametrize("how", ["ask(requests[0])", "complete_many(requests)"])
def test_interrupt_ends_a_program_at_once(how, serve, fake):
    server = serve(fake.stall)
    code = f"""
from maestro.llm import Request, load_chat_model
requests = [Request(({{"role": "user", "content": str(n)}},)) for n in range(100)]
with load_chat_model({server.spec!r}) as model:
    try:
        print("waiting", flush=True)
        print(list(model.{how}))
    except KeyboardInterrupt:
        print("interrupted", model.totals.num_replies)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    deadline = time.monotonic() + 20
    while not server.requests and time.monotonic() < deadline:
        time.sleep(0.02)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    said, complaints = process.communicate(timeout=30)
    assert (said, complaints, process.returncode) == ("interrupted 0\n", "", 0)
    assert time.monotonic() - begun < 15


@pytest.mark.parametrize("how", ["none of the choices", "another model", "only reasoning"])
def test_a_paid_answer_that_cannot_be_used_counts(how, serve, open_model, fake):
    answers = {
        "none of the choices": fake.answer("perhaps"),
        "another model": fake.answer("yes", model="other"),
        "only reasoning": fake.answer(None),
    }
    server = serve(answers[how])
    model = open_model(server.spec, price_prompt=1_000_000.0, price_completion=0.0)
    outcome = model.ask(Request(({"role": "user", "content": "hi"},), Sampling(choices=("yes", "no"))))
    assert isinstance(outcome, ReplyFailed)
    assert outcome.usage == Usage(10, 2)
    assert (model.totals.prompt_tokens, model.totals.completion_tokens) == (10, 2)
    assert model.totals.cost == 10.0
    assert model.totals.num_replies == 0
