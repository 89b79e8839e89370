"""Hugging Face's providers, with their router replaced by a server of ours."""

from __future__ import annotations

import pytest

from maestro.errors import ChatError, SpecError
from maestro.llm import Reply, ReplyFailed, Request

HELLO = Request(({"role": "user", "content": "hello"},))
TOKEN = "hf_0123456789abcdef"


@pytest.fixture
def router(serve, fake, monkeypatch):
    """Send what hub would send to its router to a fake server instead; it serves org/model by together."""
    from huggingface_hub import constants
    from huggingface_hub.hf_api import InferenceProviderMapping
    from huggingface_hub.inference._providers import _common

    server = serve(
        [fake.answer("from the provider", model="provider/own-name"), fake.status(429), fake.answer("again")]
    )
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(constants, "INFERENCE_PROXY_TEMPLATE", f"http://127.0.0.1:{server.port}/{{provider}}")
    mapping = InferenceProviderMapping(
        provider="together",
        hf_model_id="org/model",
        providerId="provider/own-name",
        status="live",
        task="conversational",
    )
    monkeypatch.setattr(_common, "_fetch_inference_provider_mapping", lambda model: [mapping])
    return server


def test_answer_of_a_provider(router, open_model):
    model = open_model("hf:org/model@together")
    outcomes = [model.ask(HELLO) for _ in range(2)]
    assert [outcome.text for outcome in outcomes if isinstance(outcome, Reply)] == [
        "from the provider",
        "again",
    ]
    assert outcomes[0].model == "provider/own-name"
    assert outcomes[1].num_attempts == 2
    assert router.requests[0].path == "/together/v1/chat/completions"
    assert router.requests[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert router.requests[0].body["model"] == "provider/own-name"
    assert router.num_connections == 1


def test_choices_are_asked_for_by_the_prompt_only(router, open_model):
    outcome = open_model("hf:org/model@together").ask(Request(HELLO.messages, _choices()))
    assert isinstance(outcome, ReplyFailed)
    assert outcome.reason == "wrong_choice"
    assert "structured_outputs" not in router.requests[0].body


def test_unknown_provider_is_refused_at_once(router, open_model):
    outcome = open_model("hf:org/model@nobody").ask(HELLO)
    assert isinstance(outcome, ReplyFailed)
    assert (outcome.reason, outcome.num_attempts) == ("refused", 1)
    assert "nobody" in outcome.what
    assert not router.requests


def test_provider_that_does_not_serve_the_model(router, open_model):
    outcome = open_model("hf:org/model@cerebras").ask(HELLO)
    assert isinstance(outcome, ReplyFailed)
    assert (outcome.reason, outcome.num_attempts) == ("refused", 1)
    assert "not supported by provider cerebras" in outcome.what


def test_offline_mode_is_not_waited_out(router, open_model, monkeypatch):
    from huggingface_hub.errors import OfflineModeIsEnabled
    from huggingface_hub.inference._providers import _common

    def offline(model):
        raise OfflineModeIsEnabled("Cannot reach huggingface.co: offline mode is enabled (HF_HUB_OFFLINE)")

    monkeypatch.setattr(_common, "_fetch_inference_provider_mapping", offline)
    outcome = open_model("hf:org/model@together").ask(HELLO)
    assert isinstance(outcome, ReplyFailed)
    assert (outcome.reason, outcome.num_attempts) == ("refused", 1)
    assert "HF_HUB_OFFLINE" in outcome.what


def test_model_that_nobody_serves(router, open_model, monkeypatch):
    from huggingface_hub.inference import _providers

    for module in (_providers, _providers._common):
        monkeypatch.setattr(module, "_fetch_inference_provider_mapping", lambda model: [])
    for spec in ("hf:org/model", "hf:org/model@together"):
        outcome = open_model(spec).ask(HELLO)
        assert isinstance(outcome, ReplyFailed)
        assert (outcome.reason, outcome.num_attempts) == ("refused", 1), spec


def test_token_is_needed(open_model):
    with pytest.raises(ChatError, match="HF_TOKEN is not set") as raised:
        open_model("hf:org/model")
    assert raised.value.reason == "unauthorised"


@pytest.mark.parametrize("spec", ["hf:", "hf:@together", "hf:https://x.endpoints.huggingface.cloud"])
def test_malformed_specs(spec, open_model, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with pytest.raises(SpecError, match="names no model"):
        open_model(spec)


def test_describe_tells_the_providers(router, open_model, monkeypatch):
    import huggingface_hub

    class Api:
        def __init__(self, **_):
            pass

        def model_info(self, model, **_):
            if model == "org/gone":
                raise OSError(f"404 for {model} with {TOKEN}")
            mapping = type("Mapping", (), {"provider": "together"})
            return type(
                "Info", (), {"inference_provider_mapping": [mapping] if model == "org/model" else None}
            )

    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    (info,) = open_model("hf:org/model").describe()
    assert (info.models, info.version, info.error) == (("org/model",), "providers: together", "")
    (info,) = open_model("hf:org/model@cerebras").describe()
    assert "is served by together" in info.error
    (info,) = open_model("hf:org/unserved").describe()
    assert "no provider serves" in info.error
    (info,) = open_model("hf:org/gone").describe()
    assert "404" in info.error
    assert TOKEN not in info.error


def _choices():
    from maestro.llm import Sampling

    return Sampling(choices=("a", "b"))
