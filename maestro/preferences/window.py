"""From which state on a caption counts changes: where the running skill began, or a horizon of steps ago if nearer."""

from __future__ import annotations

from collections import deque
from typing import Any

DEFAULT_HORIZON = 100
"""Steps after which older changes are no longer told: a long spell's caption would say little of its last steps."""


class Window:
    """The recent states of one game; call `reset` when an episode begins and `push` after every step."""

    def __init__(self, horizon: int = DEFAULT_HORIZON) -> None:
        """Remember `horizon` steps (1 or more)."""
        self.horizon = horizon
        self._states: deque[Any] = deque(maxlen=horizon + 1)

    def reset(self, state: Any) -> None:
        """Begin with an episode's first state."""
        self._states.clear()
        self._states.append(state)

    def push(self, state: Any) -> None:
        """Take in the state after a step."""
        self._states.append(state)

    @property
    def previous(self) -> Any:
        """Give the state before the last one (the last one itself at an episode's start)."""
        return self._states[-2] if len(self._states) > 1 else self._states[-1]

    def start(self, skill_start: Any | None = None) -> Any:
        """Give the later of the skill's first state and the oldest remembered one."""
        oldest = self._states[0]
        return skill_start if skill_start is not None and skill_start.step >= oldest.step else oldest
