"""How fast the world runs with everything a training or evaluation step needs around it, in units of the yardstick."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import numpy as np
import psutil

from maestro.content import Content
from maestro.envs import make_world
from maestro.envs.nethack.keys import ACTION_NAMES
from maestro.envs.nethack.yardstick import Yardstick
from maestro.errors import WorldError
from maestro.options.executive import Executive
from maestro.options.load import load_options, load_policy

_FEWEST_TURNS_PER_STEP = 0.05
"""Fewer, and the keys did not reach the game. About a fifth of random steps move NetHack's clock."""


@dataclass(frozen=True)
class EnvThroughput:
    """Figures of one measurement."""

    steps_per_s: float
    """Median over the repeats, all games together, resets included."""
    steps_per_s_range: tuple[float, float]
    yardstick_steps_per_s: float
    yardstick_ratio: float
    """Median of the ratios of neighbouring measurements."""
    num_games: int
    steps: int
    turns: int
    episodes: int
    executive_us: float
    """Microseconds a game and step that initiation, termination, observe and their accounting took."""
    mb_per_game: float
    """Resident memory that making and playing the games added, divided by their number."""


class Played:
    """The world with State, captions, counters and the executive, played at random under the training policy.

    So that equal work is compared, two of the 28 actions are left out. The yardstick declines to pray when asked; here
    chance would pray its hero to death within a hundred steps. And the yardstick's key for waiting rests one turn, where
    the agent's rests up to 25 in one step (`with_wait` leaves it in).
    """

    def __init__(self, content: Content, num_games: int, seed: int, with_wait: bool = False):
        """Start the games; raises what loading the training policy raises."""
        before = psutil.Process().memory_info().rss
        self.world = make_world("nethack", num_games, inventory_shown=False)
        training = content.training("nethack")
        self._executive = Executive(
            load_options(content.skills("nethack")), load_policy(training), training.spec.fallback, num_games
        )
        self._random = np.random.default_rng(seed)
        self._actions = [
            n for n, name in enumerate(ACTION_NAMES) if name != "pray" and (with_wait or name != "wait")
        ]
        self._seed = seed
        self.episodes = 0
        self.executive_s = 0.0
        for index in range(num_games):
            self.world.seed(index, seed + index, seed + index)
        self._begin(range(num_games))
        self.measure(50 * num_games)
        self.mb_per_game = (psutil.Process().memory_info().rss - before) / num_games / 2**20

    def measure(self, num_steps: int) -> tuple[float, int]:
        """Play about `num_steps` steps and return (steps per second, game turns that passed)."""
        world, executive, states = self.world, self._executive, self.world.states
        num_games = world.num_games
        rounds = num_steps // num_games
        actions = self._random.choice(self._actions, size=(rounds, num_games)).tolist()
        turns = -sum(state.turn for state in states)
        start = time.perf_counter()
        for round_actions in actions:
            result = world.step(round_actions)
            over = (result.terminated | result.truncated).nonzero()[0].tolist()
            began = time.perf_counter()
            for index in range(num_games):
                executive.advance(index, states[index])
            self.executive_s += time.perf_counter() - began
            for index in range(num_games):
                world.caption(index, executive.started[index])
            if over:
                turns += sum(states[index].turn for index in over)
                self._begin(over)
                turns -= sum(states[index].turn for index in over)
        rate = rounds * num_games / (time.perf_counter() - start)
        return rate, turns + sum(state.turn for state in states)

    def _begin(self, indices) -> None:
        self.world.reset(indices)
        for index in indices:
            self.episodes += 1
            self._executive.start(index, self.world.states[index], self._seed + self.episodes)


def measure_env(
    content: Content,
    *,
    num_games: int,
    steps: int,
    repeats: int,
    seed: int,
    with_wait: bool = False,
    progress=lambda done: None,
) -> EnvThroughput:
    """Measure world and yardstick in turn, `repeats` times, on the core this process has.

    Raises WorldError if the games' clocks hardly moved, because then keys were swallowed and the speed means nothing.
    """
    played = Played(content, num_games, seed, with_wait)
    yardstick = Yardstick()
    rates, bare, turns = [], [], 0
    episodes, executive_s = played.episodes, played.executive_s
    for repeat in range(repeats):
        bare.append(yardstick.measure(steps)[0])
        rate, passed = played.measure(steps)
        rates.append(rate)
        turns += passed
        progress(repeat + 1)
    yardstick.close()
    played.world.close()
    if turns < _FEWEST_TURNS_PER_STEP * steps * repeats:
        raise WorldError(
            f"only {turns} turns passed in {steps * repeats} steps",
            where="measure_env",
            expected=f"at least {_FEWEST_TURNS_PER_STEP} turns per step",
        )
    return EnvThroughput(
        steps_per_s=statistics.median(rates),
        steps_per_s_range=(min(rates), max(rates)),
        yardstick_steps_per_s=statistics.median(bare),
        yardstick_ratio=statistics.median(a / b for a, b in zip(rates, bare, strict=True)),
        num_games=num_games,
        steps=steps * repeats,
        turns=turns,
        episodes=played.episodes - episodes,
        executive_us=1e6 * (played.executive_s - executive_s) / (steps // num_games * num_games * repeats),
        mb_per_game=played.mb_per_game,
    )
