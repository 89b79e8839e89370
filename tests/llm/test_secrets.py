"""Keys go where they belong and appear nowhere else."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from maestro.errors import ChatError
from maestro.llm import ReplyFailed, Request, load_chat_model
from maestro.llm.doctor import check
from maestro.llm.listing import list_models
from maestro.llm.secrets import key_for, key_variable, redact

SECRET = "sk-verysecret0123456789"
HELLO = Request(({"role": "user", "content": "hello"},))


@pytest.mark.parametrize(
    ("url", "variables", "sent"),
    [
        ("http://localhost:8000/v1", ["HF_TOKEN", "OPENAI_API_KEY"], None),
        ("http://localhost:8000/v1", ["MAESTRO_API_KEY", "OPENAI_API_KEY"], "MAESTRO_API_KEY"),
        ("https://api.openai.com/v1", ["HF_TOKEN", "OPENAI_API_KEY"], "OPENAI_API_KEY"),
        ("https://api.openai.com.evil.org/v1", ["HF_TOKEN", "OPENAI_API_KEY"], None),
        ("https://notopenai.com/v1", ["OPENAI_API_KEY"], None),
        ("https://router.huggingface.co/v1", ["HF_TOKEN", "OPENAI_API_KEY"], "HF_TOKEN"),
        ("https://x.endpoints.huggingface.cloud/v1", ["HF_TOKEN"], "HF_TOKEN"),
        ("https://huggingface.co.evil.org/v1", ["HF_TOKEN"], None),
    ],
)
def test_key_goes_only_where_it_belongs(url, variables, sent, monkeypatch):
    for name in variables:
        monkeypatch.setenv(name, f"{name}-value")
    assert key_variable(url) == sent
    assert key_for(url).get_secret_value() == (f"{sent}-value" if sent else "EMPTY")


def test_hugging_faces_token_is_not_sent_to_other_servers(serve, open_model, fake, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", SECRET)
    server = serve(fake.answer())
    open_model(server.spec).ask(HELLO)
    assert SECRET not in str(server.requests[0].headers)
    assert server.requests[0].headers["authorization"] == "Bearer EMPTY"


def test_maestros_key_is_sent(serve, open_model, fake, monkeypatch):
    monkeypatch.setenv("MAESTRO_API_KEY", SECRET + "\n")
    server = serve(fake.answer())
    open_model(server.spec).ask(HELLO)
    assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"


def test_redirect_is_not_followed_and_takes_no_key_along(serve, open_model, fake, monkeypatch):
    monkeypatch.setenv("MAESTRO_API_KEY", SECRET)
    other = serve(fake.answer())
    for code in (301, 302, 307, 308):
        server = serve(fake.status(code, {"Location": other.url + "/chat/completions"}))
        outcome = open_model(server.spec).ask(HELLO)
        assert isinstance(outcome, ReplyFailed)
        assert outcome.reason == "bad_reply"
        assert "redirects" in outcome.what
    assert not other.requests


def test_key_shows_nowhere_even_when_the_server_repeats_it(serve, fake, monkeypatch, caplog, tmp_path):
    monkeypatch.setenv("MAESTRO_API_KEY", SECRET)
    echoing = fake.status(401, content={"error": {"message": f"bad key Bearer {SECRET}"}})
    server = serve(
        [echoing, fake.answer(f"your key is {SECRET}"), fake.answer(f"{SECRET}?"), fake.status(500)]
    )
    with caplog.at_level(logging.DEBUG):
        model: Any = load_chat_model(server.spec, record=tmp_path, max_retries=0)
        refused = model.ask(HELLO)
        assert isinstance(refused, ReplyFailed)
        spoken = model.ask(HELLO)
        with pytest.raises(ChatError) as raised:
            model.complete([dict(HELLO.messages[0])], choices=["a", "b"])
        model.ask(HELLO)
        model.close()
    files = [path.read_text() for path in tmp_path.iterdir()]
    seen = [refused, refused.to_error(), spoken, raised.value, raised.value.to_dict(), model, model.settings]
    seen += [model.totals, model.__dict__, vars(model._model), caplog.text, *files]
    assert files
    for thing in seen:
        assert SECRET not in str(thing)
        assert SECRET not in repr(thing)


def test_key_shows_nowhere_in_the_doctors_findings(serve, fake, monkeypatch):
    monkeypatch.setenv("MAESTRO_API_KEY", SECRET)
    server = serve(fake.status(401, content={"error": {"message": f"bad key {SECRET}"}}))
    findings = check(server.spec)
    assert SECRET not in str(findings)
    assert any("MAESTRO_API_KEY is sent" in finding.found for finding in findings)
    assert any("not accepted" in (finding.hint or "") for finding in findings)


def test_key_is_sent_with_the_question_for_models(serve, fake, monkeypatch):
    seen = []

    class Watching(fake.FakeServer):
        async def _get(self, writer, asked):
            seen.append(asked)
            await super()._get(writer, asked)

    monkeypatch.setenv("MAESTRO_API_KEY", SECRET)
    with Watching([fake.answer()]) as server:
        assert list_models(server.url).models == ("m",)
    assert [asked.path for asked in seen] == ["/v1/models", "/version"]
    assert all(asked.headers["authorization"] == f"Bearer {SECRET}" for asked in seen)


def test_redact_leaves_placeholders_alone(monkeypatch):
    monkeypatch.setenv("MAESTRO_API_KEY", "x")
    monkeypatch.setenv("HF_TOKEN", SECRET)
    assert redact(f"xyz {SECRET} x") == "xyz <HF_TOKEN> x"
