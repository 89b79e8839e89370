"""The yardstick: bare NetHack, 16 instances in turn on one core, as the unit in which speed is told.

Nothing is around the instances: keys are drawn from the agent's 28, pages are clicked through with space, questions are
answered with Escape, a finished game is begun again. Speeds differ between machines; their ratio to the yardstick,
measured in the same minute, can be compared.
"""

from __future__ import annotations

import time

import numpy as np

from maestro.envs.nethack.keys import ESCAPE, KEYS, SPACE
from maestro.envs.nethack.native import nethack

_OBSERVED = (
    "glyphs",
    "chars",
    "colors",
    "blstats",
    "message",
    "inv_letters",
    "inv_oclasses",
    "inv_strs",
    "internal",
    "program_state",
)
_ASKS_CHARACTER, _ASKS_LINE, _WAITS_FOR_SPACE = 1, 2, 3  # positions in `internal`
_MOST_PAGES = 16


class Yardstick:
    """Bare games that are kept between measurements, so that a short measurement costs no start-up."""

    def __init__(self, num_games: int = 16, seed: int = 0):
        """Start `num_games` games with NLE's own options and the Monk of the paper."""
        self._games, self._rows, self._stats = [], [], []
        for index in range(num_games):
            game = nethack.Nethack(_OBSERVED, playername="Agent-mon-hum-neu-mal", ttyrec=None)
            game.set_initial_seeds(seed + index, seed + index, False)
            observation = game.reset()
            self._games.append(game)
            self._rows.append(observation[_OBSERVED.index("internal")])
            self._stats.append(observation[_OBSERVED.index("blstats")])
        self._random = np.random.default_rng(seed)

    def measure(self, num_steps: int) -> tuple[float, int]:
        """Play `num_steps` steps over all games and return (steps per second, game turns that passed)."""
        rounds = num_steps // len(self._games)
        keys = self._random.choice(KEYS, size=(rounds, len(self._games))).tolist()
        turns, last_turn = 0, [int(stats[20]) for stats in self._stats]
        start = time.perf_counter()
        for round_keys in keys:
            for index, key in enumerate(round_keys):
                if self._play(index, key):
                    self._games[index].reset()
                    last_turn[index] = 0
                now = int(self._stats[index][20])
                turns += max(0, now - last_turn[index])
                last_turn[index] = now
        return rounds * len(self._games) / (time.perf_counter() - start), turns

    def _play(self, index: int, key: int) -> bool:
        """Send a key and settle what it brought up; return whether the game is over."""
        game, internal = self._games[index], self._rows[index]
        _, done = game.step(key)
        for _ in range(_MOST_PAGES):
            if done:
                break
            if internal[_WAITS_FOR_SPACE]:
                _, done = game.step(SPACE)
            elif internal[_ASKS_CHARACTER] or internal[_ASKS_LINE]:
                _, done = game.step(ESCAPE)
            else:
                break
        return done

    def close(self) -> None:
        """End the games."""
        for game in self._games:
            game.close()
