"""Measure how well NetHack's State counts, over many games of the reference skills, against the engine.

The games are those of `maestro eval`: tasks in turn, each with its policy over skills, played on after success so
that much happens in them.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from maestro.envs.nethack.counter_check import CounterCheck, Findings
from maestro.evaluation.games import Games, Setup
from maestro.evaluation.statistics import Estimate, wilson


@dataclass(frozen=True)
class CounterRow:
    """One line of the table."""

    counter: str
    events: int
    """What the engine says happened."""
    misses: int
    false_alarms: int
    miss_rate: Estimate | None
    """Misses of all events, with a 95 % interval; None without events."""


def check_episodes(setup: Setup, episodes: Sequence[int]) -> Findings:
    """Play the given episodes of one task in this process, one batch at a time, and return what was found."""
    games = Games(setup)
    total = Findings()
    try:
        for first in range(0, len(episodes), setup.num_games):
            batch = episodes[first : first + setup.num_games]
            checks = [CounterCheck() for _ in batch]
            for episode, check in zip(batch, checks, strict=True):
                games.start(episode, tests={"counters": check})  # which never end an episode
            while games.num_running:
                games.step()
            for check in checks:
                total = total + check.findings()
    finally:
        games.close()
    return total


def measure_counters(
    setups: Sequence[Setup],
    num_episodes: int,
    *,
    num_workers: int = 1,
    progress: Callable[[int], None] = lambda done: None,
) -> Findings:
    """Play `num_episodes` episodes, spread over the setups' tasks, and return the findings of all.

    Episode n belongs to setup n modulo their number, and its seeds follow from n and the setup's seed. `progress`
    is told after every batch how many episodes are done.
    """
    batches = []
    for number, setup in enumerate(setups):
        mine = range(number, num_episodes, len(setups))
        starts = range(0, len(mine), setup.num_games)
        batches += [(setup, mine[first : first + setup.num_games]) for first in starts]
    total = Findings()
    if num_workers == 1:
        for setup, episodes in batches:
            total = total + check_episodes(setup, episodes)
            progress(total.episodes)
        return total
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(num_workers, mp_context=context) as pool:
        for found in pool.map(check_episodes, *zip(*batches, strict=True)):
            total = total + found
            progress(total.episodes)
    return total


def table(findings: Findings) -> list[CounterRow]:
    """Turn findings into the lines of the table, one per counter."""
    rows = []
    for name, tally in findings.tallies.items():
        rate = wilson(tally.misses, tally.events) if tally.events else None
        rows.append(CounterRow(name, tally.events, tally.misses, tally.false_alarms, rate))
    return rows
