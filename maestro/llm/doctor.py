"""Look a language model over before work depends on it: `maestro doctor --llm SPEC`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from maestro.errors import MaestroError, suggestion
from maestro.llm.backends import load_chat_model
from maestro.llm.chat import ChatModel
from maestro.llm.choice import check_constrained_choice
from maestro.llm.messages import Reply, Request, Sampling, ServerInfo
from maestro.llm.openai import OpenAIModel
from maestro.llm.replay import ReplayModel
from maestro.llm.secrets import key_variable
from maestro.llm.servers import is_local

_GREETING = Request(
    ({"role": "user", "content": "Say hello in one short sentence."},), Sampling(max_tokens=32), "doctor"
)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: `fail` is broken, `warn` may surprise, `note` is worth knowing."""

    name: str
    status: Literal["ok", "note", "warn", "fail"]
    found: str
    hint: str | None = None


def check(spec: str, **settings: Any) -> list[Finding]:
    """List everything that `findings` yields."""
    return list(findings(spec, **settings))


def findings(spec: str, **settings: Any) -> Iterator[Finding]:
    """Check everything about `spec`, as it is found out; broken things are findings, never exceptions.

    Asks each server three short questions; a server that does not answer costs at most two minutes.
    """
    settings.setdefault("max_in_flight", 4)
    if spec.startswith(("openai:", "hf:")):
        for name, value in {"timeout_s": 45.0, "total_s": 60.0, "max_retries": 1}.items():
            settings.setdefault(name, value)
    try:
        model = load_chat_model(spec, **settings)
    except MaestroError as error:
        yield Finding("llm", "fail", str(error))
        return
    with model:
        yield from _look(model)


def _look(model: ChatModel) -> Iterator[Finding]:
    yield Finding("llm", "ok", f"{model.spec} ({type(model).__name__})")
    if isinstance(model, ReplayModel):
        yield from _replay(model)
        return
    if isinstance(model, OpenAIModel):
        for server in model.servers:
            yield from _key(server)
    answering = []
    for info in model.describe():
        yield _listing(info, getattr(model, "model", ""))
        answer = _answer(model, info.url)
        yield answer
        if answer.status != "fail":
            answering.append(info.url)
    for choice in check_constrained_choice(model, answering):
        yield from _choice(choice)


def _replay(model: ReplayModel) -> Iterator[Finding]:
    if not model.exchanges:
        yield Finding("replies", "warn", "there are no recorded replies", "name a model to ask with --llm")
        return
    authors = sorted({exchange.author for exchange in model.exchanges})
    where = ", ".join(str(folder) for folder in model.folders)
    yield Finding("replies", "ok", f"{len(model.exchanges)} recorded by {', '.join(authors)} in {where}")


def _key(server: str) -> Iterator[Finding]:
    variable = key_variable(server)
    if variable is None:
        yield Finding("key", "note", f"none is sent to {server}", "if it wants one, export MAESTRO_API_KEY")
    elif urlsplit(server).scheme == "http" and not is_local(server):
        yield Finding("key", "warn", f"{variable} travels unencrypted to {server}", "use https there")
    else:
        yield Finding("key", "ok", f"{variable} is sent to {server}")


def _listing(info: ServerInfo, model: str) -> Finding:
    if info.error:
        return Finding("server", "fail", f"{info.url}: {info.error}", "check the address, and that it runs")
    shown = ", ".join(info.models[:5]) + (f" and {len(info.models) - 5} more" if len(info.models) > 5 else "")
    found = f"{info.url} has {shown or 'no models'}" + (f"; {info.version}" if info.version else "")
    if model and model not in info.models:
        hint = suggestion(model, info.models) or "name one of these in the spec"
        return Finding("server", "warn", f"{found}; {model} is not among them", hint)
    return Finding("server", "ok", found)


def _answer(model: ChatModel, server: str) -> Finding:
    outcome = model.ask(_GREETING, server=server)
    if not isinstance(outcome, Reply):
        return Finding("answer", "fail", f"{server}: {outcome.what} ({outcome.reason})", outcome.hint)
    found = f"{server} answers in {outcome.seconds:.1f} s as {outcome.model}"
    if not outcome.usage.completion_tokens:
        return Finding("answer", "warn", f"{found}, without counting tokens", "costs cannot be told")
    return Finding("answer", "ok", found)


def _choice(choice: Any) -> Iterator[Finding]:
    if not choice.obeyed:
        yield Finding(
            "constrained choice",
            "warn",
            f"{choice.server}: {choice.found}",
            "use vLLM 0.12 or newer; otherwise answers outside the choices count as unparsed",
        )
        return
    yield Finding("constrained choice", "ok", f"{choice.server} obeys: {choice.found}")
    if choice.soft_labels:
        yield Finding("soft labels", "ok", f"{choice.server} says how likely each choice is")
    else:
        yield Finding(
            "soft labels", "note", f"{choice.server} gives no usable logprobs", "labels will be hard"
        )
