"""What the skills had of an episode, derived from when each began and why it ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Reason = Literal["terminated", "max_turns", "max_steps", "episode", "failed"]
"""Why a skill ended: its own termination, a limit, the episode's end, or generated code that failed."""

TERMINATED: Reason = "terminated"
MAX_TURNS: Reason = "max_turns"
MAX_STEPS: Reason = "max_steps"
EPISODE: Reason = "episode"
FAILED: Reason = "failed"


class Switch(NamedTuple):
    """One activation of a skill: when it began, and why it ended. A skill chosen again is a new activation."""

    step: int
    """Steps taken in the episode before the skill's first action."""
    turn: int
    """The game's clock at that moment."""
    skill: str
    ended: Reason | None
    """None while the skill runs."""
    refused: str | None
    """The skill the policy chose although it might not start; `skill` is then the fallback."""
    forced: bool = False
    """Whether the fallback ran although it might not start either."""


@dataclass(slots=True)
class SkillAccount:
    """What one skill had of an episode so far."""

    activations: int = 0
    steps: int = 0
    turns: int = 0
    refused: int = 0
    """Times the policy chose it while it might not start."""
    forced: int = 0
    """Times it ran as the fallback although it might not start."""
    ended: dict[str, int] = field(default_factory=dict)
    """Reason to number of endings; reasons that did not occur are absent."""


def summarise(
    skills: Iterable[str], switches: list[Switch], last_step: int, last_turn: int
) -> dict[str, SkillAccount]:
    """Add up an episode's activations per skill, in the order of `skills`, unused ones included.

    The step that ends a skill counts for it: it was its action. `last_step` and `last_turn` are where the account is
    drawn up.
    """
    accounts = {skill: SkillAccount() for skill in skills}
    for position, switch in enumerate(switches):
        account = accounts[switch.skill]
        if position + 1 < len(switches):
            end_step, end_turn = switches[position + 1].step, switches[position + 1].turn
        else:
            end_step, end_turn = last_step, last_turn
        account.activations += 1
        account.steps += end_step - switch.step
        account.turns += end_turn - switch.turn
        account.forced += switch.forced
        if switch.ended is not None:
            account.ended[switch.ended] = account.ended.get(switch.ended, 0) + 1
        if switch.refused is not None:
            accounts[switch.refused].refused += 1
    return accounts
