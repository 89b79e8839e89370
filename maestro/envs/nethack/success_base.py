"""What all success tests of NetHack share: the game they watch, its truth, and a value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

from maestro.envs.nethack.engine import Truth
from maestro.envs.nethack.state import State


class SuccessWatch(ABC):
    """Watches one episode of one game; see `maestro.envs.world.SuccessTest`."""

    kind: ClassVar[Literal["rate", "count"]] = "rate"

    def __init__(self) -> None:
        self.value = 0.0
        self.done = False

    def start(self, world: Any, index: int) -> None:
        """Begin watching game `index`, which has just been reset."""
        self.value, self.done = 0.0, False
        self._truth: Truth = world.truth(index)
        self._begin(world.states[index])

    def update(self, world: Any, index: int) -> None:
        """Look at the step just taken."""
        if not self.done:
            self._look(world.states[index], world, index)

    def _begin(self, state: State) -> None:  # noqa: B027 - most tests have nothing to prepare
        """Prepare for an episode; `state` is its first."""

    @abstractmethod
    def _look(self, state: State, world: Any, index: int) -> None:
        """Look at the step that led to `state`."""

    def _succeed(self) -> None:
        self.value, self.done = 1.0, True

    def _fail(self) -> None:
        self.done = True


class CountWatch(SuccessWatch):
    """Counts events; never done before the episode is."""

    kind: ClassVar[Literal["rate", "count"]] = "count"
