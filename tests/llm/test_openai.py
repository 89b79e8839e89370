"""Ordinary use of an OpenAI-compatible server, and what is sent to it."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from maestro.errors import ChatError, SpecError
from maestro.llm import Reply, ReplyFailed, Request, Sampling
from maestro.llm.openai import same_model

HELLO = [{"role": "user", "content": "hello"}]


def test_reply_says_what_the_server_said(serve, open_model, fake):
    server = serve(fake.choose(1))
    reply = open_model(server.spec).complete(
        HELLO, temperature=0.5, max_tokens=7, seed=3, choices=["FIRST", "SECOND"], top_logprobs=4
    )
    assert reply.text == "SECOND"
    assert (reply.model, reply.server, reply.author) == ("m", server.url, "m")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (10, 2)
    assert reply.logprobs is not None
    assert reply.logprobs[0].top == {"SECOND": -0.25, "FIRST": -1.5}
    assert reply.num_attempts == 1


def test_only_messages_and_sampling_are_sent(serve, open_model, fake):
    server = serve(fake.choose())
    open_model(server.spec).complete(
        HELLO, temperature=0.5, max_tokens=7, seed=3, choices=["a", "b"], top_logprobs=4
    )
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].body == {
        "model": "m",
        "messages": HELLO,
        "temperature": 0.5,
        "max_tokens": 7,
        "seed": 3,
        "logprobs": True,
        "top_logprobs": 4,
        "structured_outputs": {"choice": ["a", "b"]},
        "stream": False,
    }


def test_what_was_not_asked_for_is_not_sent(serve, open_model, fake):
    server = serve(fake.answer())
    open_model(server.spec).complete(HELLO)
    assert set(server.requests[0].body) == {"model", "messages", "temperature", "max_tokens", "stream"}


def test_ask_mode_leaves_the_choices_to_the_prompt_and_still_checks(serve, open_model, fake):
    server = serve([fake.answer(" yes\n"), fake.answer("well, yes")])
    model = open_model(server.spec, constrain="ask")
    assert model.complete(HELLO, choices=["yes", "no"]).text == "yes"
    with pytest.raises(ChatError, match="none of yes, no: 'well, yes'"):
        model.complete(HELLO, choices=["yes", "no"])
    assert all("structured_outputs" not in asked.body for asked in server.requests)


def test_complete_many_pairs_answers_with_questions(serve, open_model, fake):
    server = serve(fake.echo)
    model = open_model(server.spec, max_in_flight=8)
    requests = [Request(({"role": "user", "content": str(n)},)) for n in range(200)]
    outcomes = dict(model.complete_many(iter(requests)))
    assert {index: outcome.text for index, outcome in outcomes.items()} == {n: str(n) for n in range(200)}
    assert server.num_connections <= 8  # connections are kept, not opened for each question
    assert model.totals.num_in_flight == 0


def test_complete_many_reads_ahead_no_further_than_it_must(serve, open_model, fake):
    model = open_model(serve(fake.answer()).spec, max_in_flight=4)
    read = []

    def endless():
        for number in range(10**9):
            read.append(number)
            yield Request(({"role": "user", "content": str(number)},))

    outcomes = model.complete_many(endless())
    for _ in range(20):
        next(outcomes)
    outcomes.close()
    assert len(read) <= 20 + 8 + 8


def test_no_more_are_in_flight_than_allowed(serve, open_model, fake):
    server = serve(fake.slow(0.05, fake.answer()))
    model = open_model(server.spec, max_in_flight=3)
    most = 0

    def watch():
        nonlocal most
        while model.totals.num_replies < 12:
            most = max(most, model.totals.num_in_flight, server.num_open)
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    assert len(list(model.complete_many([Request(tuple(HELLO))] * 12))) == 12
    watcher.join()
    assert most == 3


def test_leaving_early_gives_up_what_is_on_its_way(serve, open_model, fake):
    server = serve([fake.answer(), fake.stall])
    model = open_model(server.spec, max_in_flight=4)
    for _ in model.complete_many([Request(tuple(HELLO))] * 50):
        break
    deadline = time.monotonic() + 5
    while model.totals.num_in_flight and time.monotonic() < deadline:
        time.sleep(0.01)
    assert model.totals.num_in_flight == 0
    assert len(server.requests) <= 9


def test_from_asyncio(serve, open_model, fake):
    model = open_model(serve(fake.echo).spec)

    async def ask() -> list[str]:
        replies = await asyncio.gather(
            *(model.acomplete([{"role": "user", "content": str(n)}], max_tokens=5) for n in range(20))
        )
        return [reply.text for reply in replies]

    assert asyncio.run(ask()) == [str(n) for n in range(20)]


def test_cancelling_gives_a_question_up(serve, open_model, fake):
    model = open_model(serve(fake.stall).spec)

    async def ask() -> None:
        await asyncio.wait_for(model.acomplete(HELLO), 0.2)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(ask())
    deadline = time.monotonic() + 5
    while model.totals.num_in_flight and time.monotonic() < deadline:
        time.sleep(0.01)
    assert model.totals.num_in_flight == 0


def test_tokens_and_cost_are_counted(serve, open_model, fake):
    model = open_model(serve(fake.answer()).spec, price_prompt=2.0, price_completion=10.0)
    list(model.complete_many([Request(tuple(HELLO))] * 5))
    assert (model.totals.prompt_tokens, model.totals.completion_tokens) == (50, 10)
    assert model.totals.cost == pytest.approx((50 * 2 + 10 * 10) / 1e6)
    assert open_model(serve(fake.answer()).spec).totals.cost is None


def test_cut_off_answer_says_so(serve, open_model, fake):
    model = open_model(serve(fake.answer("FIR", finish="length")).spec)
    assert model.complete(HELLO).finish_reason == "length"
    with pytest.raises(ChatError, match="cut off: raise max_tokens"):
        model.complete(HELLO, choices=["FIRST", "SECOND"])


def test_describe_lists_models(serve, open_model, fake):
    server = serve(fake.answer(), models=["m", "other"])
    (info,) = open_model(server.spec).describe()
    assert (info.url, info.models, info.error) == (server.url, ("m", "other"), "")


def test_closed_model_says_so(serve, fake, open_model):
    model = open_model(serve(fake.answer()).spec)
    model.complete(HELLO)
    model.close()
    model.close()
    with pytest.raises(ChatError, match="this model was closed"):
        model.complete(HELLO)


def test_model_is_named_in_a_request_that_was_refused(serve, open_model, fake):
    server = serve(fake.status(404, content={"error": {"message": "The model `m` does not exist."}}))
    with pytest.raises(ChatError) as raised:
        open_model(server.spec).complete(HELLO)
    assert raised.value.reason == "refused"
    assert "The model `m` does not exist" in str(raised.value)
    assert "maestro doctor" in str(raised.value)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("openai:m", "no model and server"),
        ("openai:@http://h/v1", "no model and server"),
        ("openai:m@ftp://h/v1", "no model and server"),
        ("openai:m@http://", "no address"),
        ("openai:m@http://h:99999/v1", "no address"),
        ("openai:m@http://h/v1,h2/v1", "no address"),
        ("openai:m@http://h/v1,http://h/v1/", "twice"),
        ("openai:m@http://h/v1?api-key=hush", "password or a query"),
        ("openai:m@http://user:hush@h/v1", "password or a query"),
    ],
)
def test_malformed_specs(spec, said, open_model):
    with pytest.raises(SpecError, match=said) as raised:
        open_model(spec)
    assert "hush" not in str(raised.value)


def test_addresses_get_one_form(open_model):
    model = open_model("openai:org/m@http://h, http://h:1/v1/,https://h/api/v2/chat/completions")
    assert model.servers == ("http://h/v1", "http://h:1/v1", "https://h/api/v2")
    assert open_model("openai:a@b@http://h").spec == "openai:a@b@http://h/v1"


@pytest.mark.parametrize(
    ("asked", "said", "same"),
    [
        ("m", "m", True),
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("Qwen/Qwen2.5-7B", "qwen2.5-7b", True),
        ("llama-8b", "llama-70b", False),
        ("m", "", False),
    ],
)
def test_same_model(asked, said, same):
    assert same_model(asked, said) is same


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "robot", "content": "x"}],
        [{"role": "user"}],
        [{"role": "user", "content": "x", "name": "y"}],
        [{"role": "user", "content": None}],
    ],
)
def test_malformed_messages_are_refused_before_anything_is_sent(messages, serve, open_model, fake):
    server = serve(fake.answer())
    with pytest.raises(SpecError):
        open_model(server.spec).complete(messages)
    assert not server.requests


@pytest.mark.parametrize(
    "sampling", [{"temperature": -1}, {"max_tokens": 0}, {"choices": ("a",)}, {"choices": ("a ", "b")}]
)
def test_malformed_sampling(sampling):
    with pytest.raises(SpecError):
        Sampling(**sampling)


def test_outcomes_of_both_kinds_arrive(serve, open_model, fake):
    server = serve([fake.answer("a"), fake.status(400), fake.answer("b")])
    model = open_model(server.spec, max_in_flight=1)
    kinds = [type(outcome) for _, outcome in model.complete_many([Request(tuple(HELLO))] * 3)]
    assert kinds == [Reply, ReplyFailed, Reply]
    assert model.totals.failures == {"refused": 1}
