"""Hold State's own counters, which are what a player could know, against the engine, step by step.

A step in which the engine has more events than the counter rose by has misses; one in which it has fewer, false
alarms. The branch depth is judged once, at the end of an episode.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from maestro.envs.nethack.dealings import Dealings
from maestro.envs.nethack.engine import Truth
from maestro.envs.nethack.prices import base_prices_from_quote, narrows
from maestro.envs.nethack.state import State
from maestro.envs.nethack.success_base import CountWatch
from maestro.envs.nethack.success_true import BucTrue

COUNTERS = ("num_kills", "num_items_sold", "num_prices_identified", "num_curse_checks", "num_meals")
_MOST_EXAMPLES = 20


@dataclass
class Tally:
    """How one counter did in one or more episodes."""

    events: int = 0
    """What the engine says happened."""
    misses: int = 0
    """Of these, not counted in the step in which they happened."""
    false_alarms: int = 0
    """Counted in a step without such an event."""

    def add(self, happened: int, counted: int) -> None:
        """Take in one step."""
        self.events += happened
        self.misses += max(0, happened - counted)
        self.false_alarms += max(0, counted - happened)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.events + other.events, self.misses + other.misses, self.false_alarms + other.false_alarms
        )


@dataclass
class BranchTally:
    """How often the depth at which the Gnomish Mines branch off was found."""

    visited: int = 0
    """Episodes in which the hero was on the level with the branch."""
    found: int = 0
    """Of these, those that ended with the right depth."""
    wrong: int = 0
    """Episodes, of all, that ended with a wrong one."""

    def __add__(self, other: BranchTally) -> BranchTally:
        return BranchTally(self.visited + other.visited, self.found + other.found, self.wrong + other.wrong)


@dataclass(frozen=True)
class Example:
    """A step in which a counter and the engine disagreed."""

    counter: str
    kind: Literal["miss", "false alarm"]
    step: int
    message: str
    message_before: str


@dataclass
class Findings:
    """What was found in one or more episodes."""

    episodes: int = 0
    steps: int = 0
    tallies: dict[str, Tally] = field(default_factory=lambda: {name: Tally() for name in COUNTERS})
    branch: BranchTally = field(default_factory=BranchTally)
    examples: list[Example] = field(default_factory=list)
    """The first few disagreements of every counter."""

    def __add__(self, other: Findings) -> Findings:
        kept: list[Example] = []
        for example in (*self.examples, *other.examples):
            if sum(earlier.counter == example.counter for earlier in kept) < _MOST_EXAMPLES:
                kept.append(example)
        return Findings(
            self.episodes + other.episodes,
            self.steps + other.steps,
            {name: self.tallies[name] + other.tallies[name] for name in COUNTERS},
            self.branch + other.branch,
            kept,
        )


class CounterCheck(CountWatch):
    """Watches one episode; `value` is the number of misses and false alarms, `findings()` tells more."""

    def _begin(self, state: State) -> None:
        self._findings = Findings(episodes=1)
        self._last = state
        self._events = _EngineEvents(self._truth)
        self._was_at_branch = False

    def _look(self, state: State, world: Any, index: int) -> None:
        last, self._last = self._last, state
        self._findings.steps += 1
        self._was_at_branch |= state.depth == self._truth.branch_depth and state.dungeon == "Dungeons of Doom"
        happened = self._events.since_last_step(state, world, index)
        for name, count in zip(COUNTERS, happened, strict=True):
            counted = getattr(state, name) - getattr(last, name)
            if count or counted:
                self._findings.tallies[name].add(count, counted)
                if count != counted:
                    self._note(name, "miss" if count > counted else "false alarm", state, last)

    def _note(self, name: str, kind: Literal["miss", "false alarm"], state: State, last: State) -> None:
        self.value += 1
        if len(self._findings.examples) < _MOST_EXAMPLES * len(COUNTERS):
            self._findings.examples.append(Example(name, kind, state.step, state.message, last.message))

    def findings(self) -> Findings:
        """Return what was found up to now; to be asked before the game is reset."""
        depth, known = self._truth.branch_depth, self._last.branch_depth
        self._findings.branch = BranchTally(
            visited=int(self._was_at_branch),
            found=int(self._was_at_branch and known == depth),
            wrong=int(known is not None and known != depth),
        )
        return self._findings


class _EngineEvents:
    """Counts, from the engine alone, what happened in each step, in the order of COUNTERS."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._kills, self._meals = truth.kills, truth.meals
        self._dealings = Dealings(truth)
        self._kinds_priced: set[int] = set()
        self._altar = BucTrue()
        self._has_begun = False

    def since_last_step(self, state: State, world: Any, index: int) -> tuple[int, int, int, int, int]:
        truth = self._truth
        if not self._has_begun:
            self._altar.start(world, index)
            self._has_begun = True
        kills, meals, checks = truth.kills, truth.meals, self._altar.value
        self._altar.update(world, index)
        sold, priced = len(self._dealings.sales(state)), len(self._kinds_priced)
        self._note_prices()
        happened = (
            kills - self._kills,
            sold,
            len(self._kinds_priced) - priced,
            int(self._altar.value - checks),
            meals - self._meals,
        )
        self._kills, self._meals = kills, meals
        return happened

    def _note_prices(self) -> None:
        """Note what an offer has just told, and what the bill tells of unknown things the hero carries."""
        if self._dealings.kind_priced is not None:
            self._kinds_priced.add(self._dealings.kind_priced)
        if not self._truth.is_in_shop:
            return
        bill = self._truth.bill()
        for item in self._truth.inventory() if bill else ():
            kind = self._truth.hidden_kind(item.kind) if item.id in bill else ""
            if kind and narrows(kind, base_prices_from_quote(kind, bill[item.id])):
                self._kinds_priced.add(item.kind)
