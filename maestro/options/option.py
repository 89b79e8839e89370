"""What an option and a policy over options are, as far as the executive needs to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Initiation = Callable[[Any], bool]
"""`can_initiate(state)`"""
Termination = Callable[[Any, Any, frozenset[str]], bool]
"""`should_terminate(state, start, startable)`"""


class PolicyOverSkills(Protocol):
    """One episode's policy over skills: a new one is made for every episode of every game.

    It may also have `observe(self, state) -> None`, which is then called once for the first state of the episode and
    once after every step, before anything else is asked.
    """

    def select_skill(self, state: Any, finished: str | None, startable: frozenset[str]) -> str:
        """Name the skill to run next; `finished` is the one that just ended, None at the start of an episode."""
        ...


@dataclass(frozen=True, slots=True)
class Option:
    """One skill as the executive sees it: when it may start, when it ends, and what ends it in any case."""

    name: str
    can_initiate: Initiation
    should_terminate: Termination
    max_turns: int | None = None
    """Turns of the game's clock after which it always ends."""
    max_steps: int | None = None
    """Steps after which it always ends."""
    fresh: Callable[[int], Option] | None = None
    """Makes the same option with functions of its own for one episode, given the episode's seed, so that games played
    side by side share neither random numbers nor module-level names. None: the functions share nothing anyway."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the generated files by file name, for records; empty where the functions come from elsewhere."""

    def __post_init__(self) -> None:
        for limit in ("max_turns", "max_steps"):
            value = getattr(self, limit)
            if value is not None and value < 1:
                raise ValueError(f"option {self.name!r}: {limit} is {value}; it must be at least 1, or None")
