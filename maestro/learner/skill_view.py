"""What the network is told about skills: the array `option`, one row a game, kept up to date from the executive.

A row holds, for K skills: one-hot of the running skill (K), which skills may start (K), log1p of the steps since the
running skill began / 8, log1p of the turns since then / 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maestro.options.executive import Executive

_LOG_SCALE = 8.0
"""Brings log1p of any time in an episode (10,000 steps, some 100,000 turns) to about 1."""


class SkillView:
    """Follows an executive's games. `array` and `running` are overwritten in place; a game without a skill keeps its row."""

    def __init__(self, executive: Executive) -> None:
        """Look at this executive's games from the next `update` on."""
        num_skills, num_games = len(executive.skills), executive.num_games
        self._executive = executive
        self._number = {skill: number for number, skill in enumerate(executive.skills)}
        self._num_skills = num_skills
        self.array = np.zeros((num_games, 2 * num_skills + 2), np.float32)
        """float32 (N, 2 K + 2)"""
        self.running = np.zeros(num_games, np.int64)
        """int64 (N,): number of the running (or last) skill."""
        self._times = np.zeros((2, num_games), np.int64)
        self._began = np.zeros((2, num_games), np.int64)
        self._last_start: list[Any] = [None] * num_games
        self._last_startable: list[frozenset[str] | None] = [None] * num_games
        self._rows: dict[frozenset[str], np.ndarray] = {}

    def update(self, states: Sequence[Any]) -> None:
        """Fill all rows for the present states, which the executive has been told of."""
        executive = self._executive
        last_start, last_startable, startable_of = self._last_start, self._last_startable, executive.startable
        for index, start in enumerate(executive.started):
            startable = startable_of(index)
            if startable is not last_startable[index]:
                last_startable[index] = startable
                self.array[index, self._num_skills : -2] = self._row(startable)
            if start is not last_start[index]:
                self._switch(index, start)
        self._times[0] = [state.step for state in states]
        self._times[1] = [state.turn for state in states]
        self.array[:, -2:] = (np.log1p(np.maximum(self._times - self._began, 0)) / _LOG_SCALE).T

    def _switch(self, index: int, start: Any) -> None:
        self._last_start[index] = start
        skill = self._executive.running[index]
        if skill is None:
            return
        number = self._number[skill]
        self.array[index, : self._num_skills] = 0.0
        self.array[index, number] = 1.0
        self.running[index] = number
        self._began[:, index] = start.step, start.turn

    def _row(self, startable: frozenset[str]) -> np.ndarray:
        row = self._rows.get(startable)
        if row is None:
            row = np.array([skill in startable for skill in self._executive.skills], np.float32)
            self._rows[startable] = row
        return row
