"""`hf:<model>[@<provider>]`: Hugging Face's inference providers, for example `hf:Qwen/Qwen2.5-7B-Instruct@together`.

Needs HF_TOKEN in the environment. Without a provider Hugging Face chooses the first that serves the model. Providers
take no common parameter for choices, so the prompt has to ask for one of them and the answer is checked. A model on an
inference endpoint of one's own is an OpenAI-compatible server: `openai:<model>@https://...endpoints.huggingface.cloud`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from maestro.errors import ChatError, SpecError
from maestro.llm import openai
from maestro.llm.messages import ServerInfo, shorten
from maestro.llm.secrets import NO_KEY, key_for, redact

if TYPE_CHECKING:
    from maestro.llm._hub import PooledClient

NAME = "hf"
_HOST = "https://huggingface.co"


class Settings(openai.Settings):
    """Settings of Hugging Face's providers."""

    constrain: Literal["structured_outputs", "ask"] = "ask"
    any_model: bool = True
    """On by default: providers have names of their own for the same model."""


def open_model(rest: str, settings: Settings) -> HuggingFaceModel:
    """Open the model after `hf:`; raises ChatError when HF_TOKEN is not set."""
    model, _, provider = rest.strip().partition("@")
    if not model or model.startswith(("http://", "https://")):
        raise SpecError(
            "it names no model",
            where=f"model spec 'hf:{rest}'",
            expected="hf:<model>[@<provider>]; a server of your own is openai:<model>@<url>",
        )
    if key_for(_HOST).get_secret_value() == NO_KEY:
        raise ChatError(
            "HF_TOKEN is not set",
            where=f"model spec 'hf:{rest}'",
            hint="make a token at https://huggingface.co/settings/tokens and export it as HF_TOKEN",
            reason="unauthorised",
        )
    return HuggingFaceModel(model, provider or "auto", settings)


class HuggingFaceModel(openai.OpenAIModel):
    """A model behind an inference provider; the provider takes the place of a server."""

    def __init__(self, model: str, provider: str, settings: Settings) -> None:
        self.provider = provider
        spec = f"hf:{model}" + (f"@{provider}" if provider != "auto" else "")
        super().__init__(spec, model, [f"{_HOST}/{model}@{provider}"], settings)

    def describe(self) -> list[ServerInfo]:
        from huggingface_hub import HfApi

        url = self.servers[0]
        try:
            info = HfApi(token=key_for(_HOST).get_secret_value()).model_info(
                self.model, expand=["inferenceProviderMapping"], timeout=10
            )
        except Exception as error:  # noqa: BLE001  the client's exceptions differ between its versions
            return [ServerInfo(url, error=shorten(redact(f"{type(error).__name__}: {error}"), 200))]
        providers = [str(mapping.provider) for mapping in info.inference_provider_mapping or ()]
        if not providers:
            return [ServerInfo(url, error=f"no provider serves {self.model}")]
        if self.provider != "auto" and self.provider not in providers:
            return [ServerInfo(url, error=f"{self.model} is served by {', '.join(providers)}")]
        return [ServerInfo(url, models=(self.model,), version=f"providers: {', '.join(providers)}")]

    def _make_client(self, url: str) -> PooledClient:
        from maestro.llm._hub import PooledClient

        return PooledClient(
            url=_HOST,
            model=self.model,
            provider=self.provider,
            api_key=key_for(_HOST).get_secret_value(),
            timeout=self.settings.timeout_s,
            max_reply_bytes=self.settings.max_reply_bytes,
        )
