"""Recorded exchanges: one question and its reply in one file that people can read, write and compare.

    ---
    label: codegen/goldenexit/1
    author: written for maestro
    sampling: {"max_tokens": 4096, "temperature": 0.0}
    ---
    <!-- system -->
    You write policies over skills.
    <!-- user -->
    Write one that ...
    <!-- reply -->
    ```python
    ...

Between two marks stands a text, exactly; one line end before the next mark belongs to the mark. Lines of a text that
look like a mark are written with a backslash before them. The head has one `name: value` per line; `author` is
required, `sampling` lists what differs from `Sampling()`. A head line `continues: <file beside it>` stands for all
messages and the reply of that file, so that a conversation is told only once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from maestro.errors import ContentError, MaestroError
from maestro.llm.messages import ROLES, Message, Reply, Request, Sampling, TokenLogprob, Usage

SUFFIX = ".md"
_MARK = re.compile(r"<!-- (system|user|assistant|reply) -->")
_ESCAPED = re.compile(r"\\+<!-- (?:system|user|assistant|reply) -->|<!-- (?:system|user|assistant|reply) -->")
_HEAD = (
    "label",
    "author",
    "model",
    "recorded",
    "continues",
    "sampling",
    "usage",
    "finish_reason",
    "logprobs",
)
_FORMAT = "see maestro/llm/exchange.py for the format"


@dataclass(frozen=True)
class Exchange:
    """One recorded question and reply. `continues` names the file whose conversation goes on here, or is ""."""

    path: Path
    request: Request
    text: str
    author: str
    model: str = ""
    recorded: str = ""
    continues: str = ""
    usage: Usage = field(default_factory=Usage)
    finish_reason: str = "stop"
    logprobs: tuple[TokenLogprob, ...] | None = None

    def reply(self) -> Reply:
        """Give the reply as the model would."""
        return Reply(
            text=self.text,
            logprobs=self.logprobs,
            usage=self.usage,
            model=self.model or self.author,
            server=f"replay:{self.path.name}",
            finish_reason=self.finish_reason,
            author=self.author,
        )


def exchange_of(request: Request, reply: Reply, path: Path, *, author: str, recorded: str) -> Exchange:
    """Make the record of a question that was answered."""
    return Exchange(
        path=path,
        request=request,
        text=reply.text,
        author=author or reply.author or reply.model,
        model=reply.model,
        recorded=recorded,
        usage=reply.usage,
        finish_reason=reply.finish_reason,
        logprobs=reply.logprobs,
    )


def write_exchange(exchange: Exchange, parent: Exchange | None = None) -> str:
    """Write an exchange as the text of its file; with `parent`, only what goes beyond that conversation."""
    sampling = {
        name: value for name, value in asdict(exchange.request.sampling).items() if value != _DEFAULTS[name]
    }
    head: dict[str, str] = {
        "label": exchange.request.label,
        "author": exchange.author,
        "model": exchange.model,
        "recorded": exchange.recorded,
        "continues": parent.path.name if parent else "",
        "sampling": json.dumps(sampling) if sampling else "",
        "usage": json.dumps(asdict(exchange.usage)) if exchange.usage != Usage() else "",
        "finish_reason": exchange.finish_reason if exchange.finish_reason != "stop" else "",
        "logprobs": json.dumps([[t.token, t.logprob, dict(t.top)] for t in exchange.logprobs or ()]),
    }
    if not exchange.logprobs:
        del head["logprobs"]
    lines = [f"{name}: {' '.join(value.split())}\n" for name, value in head.items() if value]
    messages = exchange.request.messages
    if parent is not None:
        messages = messages[len(parent.request.messages) + 1 :]
    parts = [f"<!-- {m['role']} -->\n{_escape(m['content'])}\n" for m in messages]
    return "---\n" + "".join(lines) + "---\n" + "".join(parts) + f"<!-- reply -->\n{_escape(exchange.text)}\n"


def read_exchange(path: Path, parents: Mapping[str, Exchange] | None = None) -> Exchange:
    """Read a file; `parents` are the exchanges of its folder by file name.

    Raises ContentError that names file and line for whatever does not follow the format.
    """
    try:
        source = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ContentError(f"cannot be read: {error}", where=str(path)) from None
    head, body = _split(source, path)
    messages, text = _messages(body, path)
    continues = head.get("continues", "")
    if continues:
        parent = (parents or {}).get(continues)
        if parent is None:
            raise ContentError(f"it continues {continues!r}, which is not beside it", where=str(path))
        before = (*parent.request.messages, {"role": "assistant", "content": parent.text})
        messages = [*before, *messages]
    try:
        return Exchange(
            path=path,
            request=Request(tuple(messages), _sampling(head.get("sampling", "{}")), head.get("label", "")),
            text=text,
            author=head["author"],
            model=head.get("model", ""),
            recorded=head.get("recorded", ""),
            continues=continues,
            usage=Usage(**json.loads(head.get("usage", "{}"))),
            finish_reason=head.get("finish_reason", "stop"),
            logprobs=_logprobs(head.get("logprobs", "[]")),
        )
    except KeyError:
        raise ContentError(
            "it does not say who wrote the reply",
            where=str(path),
            expected="a line `author: ...` in its head",
        ) from None
    except MaestroError as error:
        raise ContentError(error.what, where=str(path), expected=error.expected) from None
    except (ValueError, TypeError) as error:
        raise ContentError(f"its head is malformed: {error}", where=str(path), hint=_FORMAT) from None


def continues_of(path: Path) -> str:
    """Read only which file an exchange continues; "" for none."""
    try:
        source = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ContentError(f"cannot be read: {error}", where=str(path)) from None
    return _split(source, path)[0].get("continues", "")


_DEFAULTS: dict[str, Any] = asdict(Sampling())


def _split(source: str, path: Path) -> tuple[dict[str, str], str]:
    """Separate the head from the rest."""
    opening, _, rest = source.partition("---\n")
    head_text, closing, body = rest.partition("---\n")
    if opening or not closing:
        raise ContentError("it has no head between two lines `---`", where=str(path), hint=_FORMAT)
    head: dict[str, str] = {}
    for number, line in enumerate(head_text.splitlines(), 2):
        name, colon, value = line.partition(":")
        if not colon or name not in _HEAD:
            raise ContentError(
                f"{line!r} is no line of a head",
                where=f"{path}:{number}",
                expected=f"`name: value` with one of {', '.join(_HEAD)}",
            )
        head[name] = value.strip()
    return head, body


def _messages(body: str, path: Path) -> tuple[list[Message], str]:
    """Separate the texts; the last one is the reply."""
    found: list[tuple[str, list[str]]] = []
    for line in body.split("\n"):
        mark = _MARK.fullmatch(line)
        if mark:
            found.append((mark[1], []))
        elif found:
            found[-1][1].append(line[1:] if line.startswith("\\") and _ESCAPED.fullmatch(line) else line)
        elif line.strip():
            raise ContentError(f"{line[:60]!r} stands before the first mark", where=str(path), hint=_FORMAT)
    roles = [role for role, _ in found]
    if roles.count("reply") != 1 or roles[-1] != "reply":
        raise ContentError(
            f"its marks are {', '.join(roles) or 'missing'}",
            where=str(path),
            expected=f"some of {', '.join(ROLES)} and then one reply",
        )
    if body.endswith("\n"):
        found[-1][1].pop()  # the file's last line end belongs to the format, as before a mark
    texts = [(role, "\n".join(lines)) for role, lines in found]
    return [{"role": role, "content": text} for role, text in texts[:-1]], texts[-1][1]


def _escape(text: str) -> str:
    return "\n".join(f"\\{line}" if _ESCAPED.fullmatch(line) else line for line in text.split("\n"))


def _sampling(text: str) -> Sampling:
    data = json.loads(text)
    if data.get("choices") is not None:
        data["choices"] = tuple(data["choices"])
    return Sampling(**data)


def _logprobs(text: str) -> tuple[TokenLogprob, ...] | None:
    return tuple(TokenLogprob(token, logprob, top) for token, logprob, top in json.loads(text)) or None
