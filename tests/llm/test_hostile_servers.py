"""Servers that fail, lie, stall and drown: what is retried, what is not, and when it ends."""

from __future__ import annotations

import email.utils
import itertools
import json
import logging
import socket
import time

import pytest

from maestro.errors import ChatError
from maestro.llm import Reply, ReplyFailed, Request
from maestro.llm.faults import retry_after_s
from maestro.llm.servers import ServerPool

HELLO = Request(({"role": "user", "content": "hello"},))
CHOICE = {"choices": ["yes", "no"]}


def dead_url() -> str:
    """Find an address where nothing listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{sock.getsockname()[1]}/v1"


# What is retried -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault", ["status 429", "status 500", "status 503", "reset", "half_body", "not_http", "stall"]
)
def test_passing_fault_is_retried_until_an_answer_comes(fault, serve, open_model, fake):
    bad = fake.status(int(fault[7:])) if fault.startswith("status") else getattr(fake, fault)
    server = serve([bad, bad, fake.answer("at last")])
    model = open_model(server.spec, timeout_s=0.2 if fault == "stall" else 5)
    outcome = model.ask(HELLO)
    assert isinstance(outcome, Reply), outcome
    assert (outcome.text, outcome.num_attempts, len(server.requests)) == ("at last", 3, 3)
    assert model.totals.num_retries == 2


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("status 429", "rate_limited"),
        ("status 502", "server_error"),
        ("reset", "unreachable"),
        ("drip", "timeout"),
    ],
)
def test_lasting_fault_is_given_up_after_max_retries(fault, reason, serve, open_model, fake):
    bad = fake.status(int(fault[7:])) if fault.startswith("status") else getattr(fake, fault)
    server = serve(bad)
    model = open_model(server.spec, max_retries=1, timeout_s=0.2 if fault == "drip" else 5)
    outcome = model.ask(HELLO)
    assert isinstance(outcome, ReplyFailed)
    assert (outcome.reason, outcome.num_attempts, len(server.requests)) == (reason, 2, 2)
    assert "after 2 attempts" in str(outcome.to_error())
    assert outcome.hint


@pytest.mark.parametrize(
    ("fault", "reason", "said"),
    [
        ("status 400", "refused", "status 400"),
        ("status 401", "unauthorised", "HTTP 401"),
        ("status 403", "unauthorised", "HTTP 403"),
        ("status 404", "refused", "HTTP 404"),
        ("status 413", "refused", "HTTP 413"),
        ("status 422", "refused", "HTTP 422"),
        ("truncated", "bad_reply", "JSON"),
        ("html", "bad_reply", "JSON"),
        ("utf8", "bad_reply", "UnicodeDecodeError"),
        ("nested", "bad_reply", "JSON"),
        ("list", "bad_reply", "no chat completion"),
        ("number", "bad_reply", "no chat completion"),
        ("empty", "bad_reply", "JSON"),
        ("no choices", "bad_reply", "no choices"),
        ("null choices", "bad_reply", "no choices"),
        ("choices of text", "bad_reply", "no choices"),
        ("a null choice", "bad_reply", "no chat completion"),
        ("null content", "bad_reply", "no text"),
        ("content of numbers", "bad_reply", "no text"),
        ("other model", "wrong_model", "'llama-1b' answered instead of 'm'"),
        ("free text", "wrong_choice", "none of yes, no"),
        ("megabyte", "wrong_choice", "characters"),
    ],
)
def test_what_cannot_work_the_second_time_is_asked_once(fault, reason, said, serve, open_model, fake):
    good = json.dumps(fake.completion("yes")).encode()
    behaviours = {
        "truncated": fake.body(good[:-40]),
        "html": fake.body(b"<html><body>Welcome to nginx!</body></html>", "text/html"),
        "utf8": fake.body(good.replace(b"yes", b"y\xff\xfes")),
        "nested": fake.body(b"[" * 200_000),
        "list": fake.body(b"[1, 2]"),
        "number": fake.body(b"3"),
        "empty": fake.body(b""),
        "no choices": fake.body(b'{"choices": []}'),
        "null choices": fake.body(b'{"choices": null}'),
        "choices of text": fake.body(b'{"choices": "yes"}'),
        "a null choice": fake.body(b'{"choices": [null]}'),
        "null content": fake.answer(None),
        "content of numbers": fake.answer([1, 2]),
        "other model": fake.answer("yes", model="llama-1b"),
        "free text": fake.answer("I would rather not choose."),
        "megabyte": fake.answer("yes, " * 200_000),
    }
    behaviour = fake.status(int(fault[7:])) if fault.startswith("status") else behaviours[fault]
    server = serve(behaviour)
    with pytest.raises(ChatError) as raised:
        open_model(server.spec).complete([dict(HELLO.messages[0])], **CHOICE)
    assert raised.value.reason == reason
    assert said in str(raised.value)
    assert len(str(raised.value)) < 800
    assert len(server.requests) == 1


def test_a_bad_answer_does_not_spoil_the_next_one(serve, open_model, fake):
    server = serve([fake.body(b"{"), fake.status(500, content=b"\xff not json"), fake.answer("fine")])
    model = open_model(server.spec, max_retries=0)
    outcomes = [model.ask(HELLO) for _ in range(3)]
    assert [type(outcome) for outcome in outcomes] == [ReplyFailed, ReplyFailed, Reply]
    assert server.num_connections == 1


# What is accepted all the same -----------------------------------------------------------------------------------


def test_megabyte_of_text_is_a_reply(serve, open_model, fake):
    text = "long " * 250_000
    assert open_model(serve(fake.answer(text)).spec).complete([dict(HELLO.messages[0])]).text == text


def test_old_http_is_understood(serve, open_model, fake):
    server = serve(fake.http_1_0)
    model = open_model(server.spec)
    assert [model.ask(HELLO).text for _ in range(3)] == ["hello"] * 3
    assert model.totals.num_retries == 0


def test_answer_without_model_usage_and_with_strange_logprobs(serve, open_model, fake):
    content = {
        "choices": [{"message": {"content": "hi"}, "logprobs": {"content": [{"token": 3}]}}],
        "usage": "many",
    }
    outcome = open_model(serve(fake.body(json.dumps(content).encode())).spec).ask(HELLO)
    assert isinstance(outcome, Reply)
    assert (outcome.text, outcome.model, outcome.logprobs) == ("hi", "m", None)
    assert (outcome.usage.prompt_tokens, outcome.usage.completion_tokens) == (0, 0)


def test_lone_surrogates_do_not_reach_files(serve, open_model, fake):
    outcome = open_model(serve(fake.answer("a\ud800b")).spec).ask(HELLO)
    assert isinstance(outcome, Reply)
    assert outcome.text == "a?b"
    outcome.text.encode()


def test_any_model_may_be_accepted(serve, open_model, fake):
    outcome = open_model(serve(fake.answer(model="other")).spec, any_model=True).ask(HELLO)
    assert isinstance(outcome, Reply)
    assert outcome.model == "other"


# Where it ends ---------------------------------------------------------------------------------------------------


def test_answer_without_end_is_cut_off(serve, open_model, fake):
    begun = time.monotonic()
    outcome = open_model(serve(fake.endless).spec, max_reply_bytes=1 << 20).ask(HELLO)
    assert isinstance(outcome, ReplyFailed)
    assert outcome.reason == "bad_reply"
    assert "larger than 1,048,576 bytes" in outcome.what
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("fault", ["stall", "drip"])
def test_one_attempt_has_its_limit(fault, serve, open_model, fake):
    begun = time.monotonic()
    outcome = open_model(serve(getattr(fake, fault)).spec, timeout_s=0.3, max_retries=0).ask(HELLO)
    assert isinstance(outcome, ReplyFailed)
    assert outcome.reason == "timeout"
    assert 0.25 < time.monotonic() - begun < 12


@pytest.mark.parametrize("fault", ["stall", "drip", "status 429", "status 500", "reset"])
def test_total_time_is_capped(fault, serve, open_model, fake):
    bad = fake.status(int(fault[7:])) if fault.startswith("status") else getattr(fake, fault)
    server = serve(bad)
    model = open_model(server.spec, timeout_s=0.4, total_s=1.0, max_retries=1000, backoff_s=0.05)
    begun = time.monotonic()
    outcome = model.ask(HELLO)
    assert isinstance(outcome, ReplyFailed)
    assert time.monotonic() - begun < 12
    assert "given up: total_s is 1" in outcome.what
    assert len(server.requests) > 1


# Retry-After -----------------------------------------------------------------------------------------------------


def test_retry_after_is_honoured(serve, open_model, fake):
    server = serve([fake.status(429, {"Retry-After": "1"}), fake.answer()])
    outcome = open_model(server.spec).ask(HELLO)
    assert isinstance(outcome, Reply)
    first, second = server.requests
    assert 0.98 < second.time - first.time < 2.5


def test_retry_after_holds_every_question_back(serve, open_model, fake):
    server = serve([fake.answer(), fake.status(503, {"Retry-After": "1"}), fake.answer()])
    model = open_model(server.spec, max_in_flight=1)
    outcomes = [model.ask(HELLO) for _ in range(3)]
    assert all(isinstance(outcome, Reply) for outcome in outcomes)
    gaps = [b.time - a.time for a, b in itertools.pairwise(server.requests)]
    assert gaps[1] > 0.98
    assert len(server.requests) == 4


def test_retry_after_beyond_the_total_is_not_waited_for(serve, open_model, fake):
    server = serve(fake.status(429, {"Retry-After": "3600"}))
    begun = time.monotonic()
    outcome = open_model(server.spec).ask(HELLO)
    assert isinstance(outcome, ReplyFailed)
    assert outcome.reason == "rate_limited"
    assert "wait 3600 s" in outcome.what
    assert time.monotonic() - begun < 12
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        (None, None),
    ],
)
def test_reading_retry_after(value, seconds):
    assert retry_after_s({} if value is None else {"Retry-After": value}) == seconds


def test_reading_retry_after_as_a_date():
    date = email.utils.formatdate(1_000_060, usegmt=True)
    assert retry_after_s({"Retry-After": date}, now=1_000_000.0) == 60.0
    assert retry_after_s({"Retry-After": date}, now=2_000_000.0) == 0.0


def test_pauses_grow_between_attempts(serve, open_model, fake):
    server = serve(fake.status(500))
    open_model(server.spec, max_retries=3, backoff_s=0.1, max_backoff_s=10).ask(HELLO)
    times = [asked.time for asked in server.requests]
    pauses = [b - a for a, b in itertools.pairwise(times)]
    for pause, longest in zip(pauses, (0.1, 0.2, 0.4), strict=True):
        assert longest / 2 * 0.95 <= pause < longest + 0.3


def test_storm_of_429_is_weathered(serve, open_model, fake):
    storm = [fake.status(429) if number % 3 else fake.echo for number in range(150)]
    server = serve([*storm, fake.echo])
    model = open_model(server.spec, max_in_flight=16, max_retries=20)
    requests = [Request(({"role": "user", "content": str(n)},)) for n in range(100)]
    outcomes = dict(model.complete_many(requests))
    assert [outcomes[n].text for n in range(100)] == [str(n) for n in range(100)]
    assert len(server.requests) == 100 + model.totals.num_retries == 200


# Several servers -------------------------------------------------------------------------------------------------


def test_load_is_shared(serve, open_model, fake):
    servers = [serve(fake.slow(0.01, fake.answer())) for _ in range(3)]
    model = open_model("openai:m@" + ",".join(server.url for server in servers), max_in_flight=6)
    list(model.complete_many([HELLO] * 90))
    assert all(20 <= len(server.requests) <= 40 for server in servers)


def test_slow_server_gets_less(serve, open_model, fake):
    quick, slow = serve(fake.slow(0.005, fake.answer())), serve(fake.slow(0.2, fake.answer()))
    model = open_model(f"openai:m@{quick.url},{slow.url}", max_in_flight=8)
    list(model.complete_many([HELLO] * 100))
    assert len(slow.requests) < len(quick.requests) / 2


def test_dead_server_is_left_out(serve, open_model, fake, caplog):
    alive, dead = serve(fake.answer()), dead_url()
    model = open_model(f"openai:m@{dead},{alive.url}", max_in_flight=4)
    with caplog.at_level(logging.WARNING):
        outcomes = [outcome for _, outcome in model.complete_many([HELLO] * 60)]
    assert all(isinstance(outcome, Reply) for outcome in outcomes)
    assert len(alive.requests) == 60
    assert 3 <= model.totals.num_retries <= 8  # it was tried until it was left out, and hardly more
    assert f"{dead} is left out" in caplog.text


def test_server_dying_in_mid_run_loses_nothing(serve, open_model, fake):
    dying, staying = serve([*[fake.echo] * 10, fake.reset]), serve(fake.echo)
    model = open_model(f"openai:m@{dying.url},{staying.url}", max_in_flight=4)
    requests = [Request(({"role": "user", "content": str(n)},)) for n in range(80)]
    outcomes = dict(model.complete_many(requests))
    assert [outcomes[n].text for n in range(80)] == [str(n) for n in range(80)]


def test_rate_limited_server_passes_its_questions_on(serve, open_model, fake):
    busy, idle = serve(fake.status(429, {"Retry-After": "30"})), serve(fake.answer())
    model = open_model(f"openai:m@{busy.url},{idle.url}")
    begun = time.monotonic()
    assert all(isinstance(model.ask(HELLO), Reply) for _ in range(6))
    assert time.monotonic() - begun < 12
    assert len(busy.requests) == 1


def test_all_servers_dead(open_model):
    model = open_model(f"openai:m@{dead_url()},{dead_url()}", max_retries=3, total_s=3.0)
    begun = time.monotonic()
    outcome = model.ask(HELLO)
    assert isinstance(outcome, ReplyFailed)
    assert outcome.reason == "unreachable"
    assert time.monotonic() - begun < 20
    assert "maestro doctor" in str(outcome.to_error())


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_ejected_server_is_tried_by_one_question_and_comes_back():
    clock = Clock()
    pool = ServerPool(["a", "b"], clock)
    a = pool.servers[0]
    for _ in range(3):
        pool.failed(a, "refused")
    assert pool.pick()[0].url == "b"
    clock.now += 2.1
    pool.servers[1].num_in_flight = 5
    assert pool.pick() == (a, 0.0)
    a.num_in_flight = 1  # that one question is on its way
    assert pool.pick()[0].url == "b"
    assert pool.pick(only="a")[1] > 0
    a.num_in_flight = 0
    pool.failed(a, "refused again")
    clock.now += 2.1
    assert pool.pick()[0].url == "b"  # twice as long this time
    clock.now += 2.1
    assert pool.pick()[0].url == "a"
    pool.answered(a)
    a.num_in_flight = 1
    assert pool.pick()[0].url == "a"


def test_questions_already_on_their_way_do_not_prolong_an_ejection():
    clock = Clock()
    pool = ServerPool(["a"], clock)
    a = pool.servers[0]
    sent = clock.now
    clock.now += 1.0
    for _ in range(32):  # one hiccup
        pool.failed(a, "reset", sent)
    assert pool.pick()[1] == 2.0
    clock.now += 2.5
    pool.failed(a, "no complete answer", sent)  # a straggler, after the pause
    assert pool.pick() == (a, 0.0)
    pool.failed(a, "reset", pool.now())  # the one question that tried it
    assert pool.pick()[1] == 4.0


def test_a_server_that_asked_to_wait_is_left_out_for_its_failures_all_the_same():
    clock = Clock()
    pool = ServerPool(["a"], clock)
    pool.told_to_wait(pool.servers[0], 1.0)
    for _ in range(3):
        pool.failed(pool.servers[0], "reset", clock.now)
    assert pool.pick()[1] == 2.0


def test_ejection_ends_within_a_minute_however_often_it_failed():
    clock = Clock()
    pool = ServerPool(["a"], clock)
    for _ in range(500):
        pool.failed(pool.servers[0], "refused")
    assert pool.pick()[1] == 60.0
