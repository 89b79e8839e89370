"""What goes to a language model and what comes back: plain values, the same for every backend."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Literal, get_args

from maestro.errors import ChatError, SpecError

Message = Mapping[str, str]
"""{"role": "system" | "user" | "assistant", "content": text}"""

Reason = Literal[
    "unreachable",  # no connection, or it broke
    "timeout",  # no complete answer in time
    "rate_limited",  # 429
    "server_error",  # 5xx
    "unauthorised",  # 401, 403
    "refused",  # any other status: a prompt too long, an unknown model, ...
    "bad_reply",  # an answer that is no chat completion: broken JSON, no choices, no content, too large
    "wrong_model",  # another model than the one asked for answered
    "wrong_choice",  # choices were given and the answer is none of them
    "not_recorded",  # replay has no reply to this prompt
]
REASONS: tuple[str, ...] = get_args(Reason)
RETRYABLE: frozenset[str] = frozenset({"unreachable", "timeout", "rate_limited", "server_error"})
ROLES = ("system", "user", "assistant")


@dataclass(frozen=True)
class Sampling:
    """How an answer is drawn; part of what identifies a question."""

    temperature: float = 0.0
    max_tokens: int = 1024
    """Length of the answer at most; with `choices` it must hold the longest of them."""
    seed: int | None = None
    choices: tuple[str, ...] | None = None
    """The only answers that count: the server is told so, and the answer is checked all the same."""
    top_logprobs: int = 0
    """Alternatives per token to ask for, 0 to 20; 0 asks for no logprobs. Soft labels need at least `len(choices)`."""

    def __post_init__(self) -> None:
        if self.temperature < 0 or self.max_tokens < 1 or not 0 <= self.top_logprobs <= 20:
            raise SpecError(
                f"temperature {self.temperature}, max_tokens {self.max_tokens}, top_logprobs {self.top_logprobs}",
                where="sampling",
                expected="temperature >= 0, max_tokens >= 1, top_logprobs 0 to 20",
            )
        if self.choices is not None and (
            len(set(self.choices)) < 2
            or any(choice != choice.strip() or not choice for choice in self.choices)
        ):
            raise SpecError(
                f"choices are {list(self.choices)}",
                where="sampling",
                expected="two or more different texts without blanks at their ends",
            )


@dataclass(frozen=True)
class Request:
    """A question: messages, how to sample, and a label for people (no part of the question itself)."""

    messages: tuple[Message, ...]
    sampling: Sampling = Sampling()
    label: str = ""

    def __post_init__(self) -> None:
        if not self.messages:
            raise SpecError("there are no messages", where="chat request", expected="at least one message")
        for number, message in enumerate(self.messages, 1):
            if set(message) != {"role", "content"} or message["role"] not in ROLES:
                raise SpecError(
                    f"message {number} has keys {sorted(message)} and role {message.get('role')!r}",
                    where="chat request",
                    expected=f"exactly role (one of {', '.join(ROLES)}) and content",
                )
            if not isinstance(message["content"], str):
                raise SpecError(
                    f"the content of message {number} is {type(message['content']).__name__}",
                    where="chat request",
                    expected="text",
                )

    @cached_property
    def key(self) -> str:
        """Hash messages and sampling: 64 hexadecimal digits, the same on every machine and version."""
        question = {
            "messages": [[message["role"], message["content"]] for message in self.messages],
            "sampling": {**asdict(self.sampling), "temperature": float(self.sampling.temperature)},
        }
        return hashlib.sha256(
            json.dumps(question, sort_keys=True, separators=(",", ":")).encode()
        ).hexdigest()


@dataclass(frozen=True)
class Usage:
    """Tokens of one question and its answer, as the server counted them; 0 where it did not say."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True)
class TokenLogprob:
    """One token of an answer: its text, its natural-log probability, and those of the likeliest alternatives."""

    token: str
    logprob: float
    top: Mapping[str, float]


@dataclass(frozen=True)
class Reply:
    """An answer. `model` is what the server says answered, `server` where; `author` differs in recorded replies."""

    text: str
    logprobs: tuple[TokenLogprob, ...] | None
    usage: Usage
    model: str
    server: str
    finish_reason: str = "stop"
    """"length" where the answer was cut off at max_tokens."""
    seconds: float = 0.0
    """From the first attempt to the answer, waiting for a free place not included."""
    num_attempts: int = 1
    author: str = ""


@dataclass(frozen=True)
class ReplyFailed:
    """A question without a usable answer, after the retries that its `reason` deserves."""

    reason: Reason
    what: str
    server: str
    num_attempts: int = 1
    seconds: float = 0.0
    sample: str = ""
    """The beginning of an answer that could not be used."""
    hint: str | None = None
    retry_after_s: float | None = None
    usage: Usage = Usage()
    """What an answer that could not be used cost all the same."""

    def to_error(self) -> ChatError:
        """Make the exception that says the same."""
        tried = f" (after {self.num_attempts} attempts)" if self.num_attempts > 1 else ""
        return ChatError(self.what + tried, where=self.server, hint=self.hint, reason=self.reason)


Outcome = Reply | ReplyFailed


@dataclass(frozen=True)
class ServerInfo:
    """What a server says of itself; `error` says why it did not."""

    url: str
    models: tuple[str, ...] = ()
    version: str = ""
    error: str = ""


def check_choice(request: Request, reply: Reply) -> Outcome:
    """Hold an answer against the choices, blanks at its ends aside: constrained decoding can fail silently."""
    choices = request.sampling.choices
    if choices is None:
        return reply
    text = reply.text.strip()
    if text in choices:
        return reply if text == reply.text else replace(reply, text=text)
    cut = "; it was cut off: raise max_tokens" if reply.finish_reason == "length" else ""
    return ReplyFailed(
        "wrong_choice",
        f"the answer is none of {', '.join(choices)}{cut}: {shorten(reply.text)!r}",
        reply.server,
        reply.num_attempts,
        reply.seconds,
        sample=shorten(reply.text),
        hint="`maestro doctor --llm` shows whether this server obeys constrained choice",
        usage=reply.usage,
    )


def shorten(text: str, limit: int = 200) -> str:
    """Cut a text that came from outside down to what fits into a message."""
    return text if len(text) <= limit else f"{text[: limit - 20]}... ({len(text):,} characters)"
