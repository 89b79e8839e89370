"""Keys come from the environment, go only where they belong, and are shown to nobody.

| variable | sent to |
|---|---|
| `MAESTRO_API_KEY` | every server that an `openai:` spec names |
| `OPENAI_API_KEY` | openai.com, when `MAESTRO_API_KEY` is not set |
| `HF_TOKEN` | Hugging Face (`hf:` specs, and its hosts in `openai:` specs) |

A server to which no key belongs is sent the word "EMPTY": left to itself, huggingface_hub would send it HF_TOKEN.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from pydantic import SecretStr

VARIABLES = ("MAESTRO_API_KEY", "OPENAI_API_KEY", "HF_TOKEN")
NO_KEY = "EMPTY"
HUGGING_FACE_HOSTS = ("huggingface.co", "hf.co", "huggingface.cloud")
_SHORTEST = 6  # a shorter "key" is a placeholder, and blanking it out would blank out ordinary words


def key_variable(url: str) -> str | None:
    """Name the variable whose key goes to `url`; None when none is set that does."""
    host = urlsplit(url).hostname or ""
    candidates = ["MAESTRO_API_KEY"]
    if _within(host, ("openai.com",)):
        candidates.append("OPENAI_API_KEY")
    if _within(host, HUGGING_FACE_HOSTS):
        candidates.insert(0, "HF_TOKEN")
    return next((name for name in candidates if os.environ.get(name)), None)


def key_for(url: str) -> SecretStr:
    """Give the key to send to `url`."""
    name = key_variable(url)
    return SecretStr(os.environ[name].strip() if name else NO_KEY)


def redact(text: str) -> str:
    """Blank out every key of the environment in a text that is shown, logged or stored."""
    for name in VARIABLES:
        secret = os.environ.get(name, "").strip()
        if len(secret) >= _SHORTEST and secret in text:
            text = text.replace(secret, f"<{name}>")
    return text


def _within(host: str, domains: tuple[str, ...]) -> bool:
    return any(host == domain or host.endswith("." + domain) for domain in domains)
