"""Constrained choice: how sure the model was, and whether a server obeys at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from maestro.llm.chat import ChatModel
from maestro.llm.messages import Reply, ReplyFailed, Request, Sampling, shorten

CANARY = Request(
    ({"role": "user", "content": "What is the capital of France? Answer with the city's name only."},),
    Sampling(temperature=0.0, max_tokens=16, choices=("zebra", "violin"), top_logprobs=2),
    "canary",
)
"""A question whose natural answer is none of the choices: a server that ignores them cannot hit one."""


@dataclass(frozen=True)
class ChoiceCheck:
    """What one server did with the canary. `soft_labels`: it also said how likely each choice was."""

    server: str
    obeyed: bool
    soft_labels: bool
    found: str
    answered: bool = True
    """Whether anything came back at all."""


def check_constrained_choice(model: ChatModel, servers: Sequence[str] | None = None) -> list[ChoiceCheck]:
    """Ask every server (or `servers` of them) a question whose natural answer lies outside the choices.

    Unknown parameters are ignored with HTTP 200 by most servers (`guided_choice` is one, since vLLM 0.12), so a
    constraint may vanish without any error. Recorded replies are not checked: the list is empty.
    """
    if not model.live:
        return []
    return [_check(model, server) for server in (model.servers if servers is None else servers)]


def choice_probabilities(reply: Reply, choices: Sequence[str]) -> dict[str, float] | None:
    """Work out how likely the model found each choice; they add up to 1.

    The tokens of the answer are followed to where the choices part; there the alternatives' probabilities count. None
    where that cannot be told: no logprobs, or two choices that begin with the same token which was not taken.
    Choices that differ in their first token are always told apart.
    """
    if not reply.logprobs or reply.text.strip() not in choices:
        return None
    found = dict.fromkeys(choices, 0.0)
    alive, prefix, reached = set(choices), "", 1.0
    for token in reply.logprobs:
        if len(alive) == 1:
            break
        for text, logprob in token.top.items():
            leads_to = [choice for choice in alive if _leads(prefix + text, choice)]
            if text == token.token or not leads_to:
                continue
            if len(leads_to) > 1:
                return None
            found[leads_to[0]] += reached * math.exp(logprob)
        reached *= math.exp(token.logprob)
        prefix += token.token
        alive = {choice for choice in alive if _leads(prefix, choice)}
    found[reply.text.strip()] += reached
    total = sum(found.values())
    return {choice: mass / total for choice, mass in found.items()} if total > 0 else None


def _check(model: ChatModel, server: str) -> ChoiceCheck:
    outcome = model.ask(CANARY, server=server)
    if isinstance(outcome, ReplyFailed):
        ignored = outcome.reason == "wrong_choice"
        found = f"it answered {outcome.sample!r}: the choices are ignored" if ignored else outcome.what
        return ChoiceCheck(server, False, False, shorten(found), answered=ignored)
    soft = choice_probabilities(outcome, CANARY.sampling.choices or ())
    return ChoiceCheck(server, True, soft is not None, f"it answered {outcome.text!r}")


def _leads(text: str, choice: str) -> bool:
    """Say whether an answer that begins with `text` can still become `choice` (blanks before it aside)."""
    text = text.lstrip()
    return bool(text) and (choice.startswith(text) or text.rstrip() == choice)
