"""What every world promises: N games stepped together, states for code, captions for annotators.

A world is batched by nature: observations are preallocated arrays whose first axis is the game, and one game is
simply N = 1. Nothing here knows reinforcement learning; `maestro.envs.gym` gives the same thing a Gymnasium face.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

IDLE = -1
"""The action that leaves a game alone in `World.step` (because its episode has ended, say)."""


class StepResult(NamedTuple):
    """What one step of all games gave, as arrays of length N that are valid until the next step."""

    reward: np.ndarray
    """float32 (N,): the world's own, extrinsic reward (NetHack: difference of score)."""
    terminated: np.ndarray
    """bool (N,): the episode ended in the world (death, escape, goal). False for idle games."""
    truncated: np.ndarray
    """bool (N,): the step limit was reached; never true together with `terminated`."""


class Screen(NamedTuple):
    """One game's terminal, for people to look at; copies, so they may be kept."""

    chars: np.ndarray
    """uint8 (rows, columns), latin-1 codes."""
    colors: np.ndarray
    """int8 (rows, columns), 0 to 15 as in curses, 16 added where the cell is shown in reverse."""
    cursor: tuple[int, int]
    """Row and column."""


@runtime_checkable
class World(Protocol):
    """N games of one kind, stepped together.

    There is no automatic reset: a game that ended stays as it is, last state included, until `reset([index])`.
    """

    name: str
    num_games: int
    action_names: tuple[str, ...]
    observation: dict[str, np.ndarray]
    """(N, ...) arrays, overwritten by the next step or reset: copy what must outlive it."""
    states: list[Any]
    """One immutable `State` per game, replaced (never changed) by every step; safe to keep."""

    def seed(self, index: int, core: int, disp: int) -> None:
        """Fix the two seeds of game `index` for its next reset; without it the seeds are drawn anew."""
        ...

    def reset(self, indices: Iterable[int] | None = None) -> None:
        """Start a new episode in the given games (all, if None)."""
        ...

    def step(self, actions: Sequence[int]) -> StepResult:
        """Apply actions[i] to game i, for all i; `IDLE` leaves a game as it is."""
        ...

    def caption(self, index: int, start: Any) -> str:
        """Describe in text what happened in game `index` on its last step and since the state `start`."""
        ...

    def screen(self, index: int) -> Screen:
        """Return the terminal of one game; needs a world made with `render=True`."""
        ...

    def truth(self, index: int) -> Any:
        """Return facts the player cannot see, for success tests and error measurement only."""
        ...

    def close(self) -> None:
        """Free everything; the world cannot be used afterwards. Harmless when called twice."""
        ...


class SkillPolicy(Protocol):
    """Chooses actions for the skills that run: a trained network, reference controllers, or chance."""

    name: str

    def reset(self, index: int, seed: int) -> None:
        """Forget game `index`; `seed` fixes whatever is random in the coming episode."""
        ...

    def act(self, world: Any, skills: Sequence[str | None]) -> list[int]:
        """Return one action per game; `IDLE` where skills[i] is None."""
        ...


class SuccessTest(Protocol):
    """Watches one episode of one game and says whether, or how often, a task was accomplished."""

    kind: ClassVar[Literal["rate", "count"]]
    value: float
    """0.0 or 1.0 for a rate; a number of events for a count."""
    done: bool
    """True once `value` cannot change any more."""

    def start(self, world: Any, index: int) -> None:
        """Begin watching; called after the reset of game `index`."""
        ...

    def update(self, world: Any, index: int) -> None:
        """Look at the step just taken; called after every step of the game, the last one included."""
        ...


class Features(Protocol):
    """What a network sees of N games, made from a world's raw arrays; nothing in it is hidden from the player."""

    name: str
    version: int
    """Raised when the meaning of an array changes; policy files record it."""
    arrays: dict[str, np.ndarray]
    """(N, ...) C-contiguous, made once, overwritten in place by `begin` and `update`."""

    def begin(self, indices: Sequence[int]) -> None:
        """Forget these games, in which new episodes began (after `World.reset`), and fill their rows."""
        ...

    def update(self, indices: Sequence[int]) -> None:
        """Fill the rows of these games, which were stepped (after `World.step`); other rows stay as they are."""
        ...
