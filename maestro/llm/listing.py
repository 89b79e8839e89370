"""Ask an OpenAI-compatible server which models it has and which version it is, over plain urllib."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from maestro.llm.messages import ServerInfo, shorten
from maestro.llm.secrets import NO_KEY, key_for, redact
from maestro.llm.servers import is_local

_TIMEOUT_S = 10.0
_MAX_BYTES = 4 << 20


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Let a redirect be an error: it could carry the key to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


def list_models(url: str, timeout_s: float = _TIMEOUT_S) -> ServerInfo:
    """Ask `GET <url>/models` and, for the version, `GET /version` (vLLM's); a failure is told in `error`."""
    try:
        answer = _get(f"{url}/models", url, timeout_s)
        models = tuple(str(item["id"]) for item in answer["data"])
    except urllib.error.HTTPError as error:
        return ServerInfo(url, error=f"GET /models answers HTTP {error.code} {redact(str(error.reason))}")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, OSError):
            return ServerInfo(url, error=_brief(error))
        return ServerInfo(url, error=f"GET /models gives no list of models: {_brief(error)}")
    except (OSError, http.client.HTTPException) as error:
        return ServerInfo(url, error=f"the server does not answer: {_brief(error)}")
    return ServerInfo(url, models=models, version=_version(url, timeout_s))


def _version(url: str, timeout_s: float) -> str:
    """Ask what only vLLM tells; anything else is simply an unknown version."""
    parts = urlsplit(url)
    try:
        answer = _get(urlunsplit((parts.scheme, parts.netloc, "/version", "", "")), url, timeout_s)
        return f"vLLM {shorten(str(answer['version']), 40)}"
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, RecursionError):
        return ""


def _get(address: str, url: str, timeout_s: float) -> Any:
    request = urllib.request.Request(address, headers={"Accept": "application/json"})
    key = key_for(url).get_secret_value()
    if key != NO_KEY:
        request.add_unredirected_header("Authorization", f"Bearer {key}")
    handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
    if is_local(url):
        handlers.append(urllib.request.ProxyHandler({}))
    with urllib.request.build_opener(*handlers).open(request, timeout=timeout_s) as response:
        return json.loads(response.read(_MAX_BYTES))


def _brief(error: BaseException) -> str:
    reason = getattr(error, "reason", None) or error
    return shorten(redact(f"{type(error).__name__}: {reason}"), 200)
