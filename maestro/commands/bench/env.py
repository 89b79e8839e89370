"""Measure the NetHack world with states, captions, counters and the executive around it.

    maestro bench env
    maestro bench env --games 16 --repeats 9 --json

Random actions are played under the training policy's code on one core, in turn with the yardstick (bare NetHack, 16
games in turn), so that both see the same minute of the machine. The ratio of the two is the figure to quote. Prayer is left
out (chance would kill its hero with it), and so is `wait`, which rests up to 25 turns in one step where the yardstick's key
rests one; --with-wait puts it back.
"""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass

from maestro.commands._output import console, print_json
from maestro.content import Content
from maestro.errors import ConfigError


@dataclass(frozen=True)
class Config:
    """Choose how long to measure."""

    games: int = 16
    """Games stepped in turn."""
    steps: int = 20_000
    """Steps of each of the two in one repeat."""
    repeats: int = 7
    """How often both are measured; the median counts."""
    seed: int = 0
    """Seed of the games and of the actions."""
    with_wait: bool = False
    """Draw `wait` as well: more of NetHack's turns in a step than the yardstick has."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Measure and print."""
    from maestro.evaluation.throughput import measure_env

    for name, value in (("--games", config.games), ("--repeats", config.repeats)):
        if value < 1:
            raise ConfigError(f"{name} is {value}", where="maestro bench env", expected="at least 1")
    if config.seed < 0:
        raise ConfigError(f"--seed is {config.seed}", where="maestro bench env", expected="at least 0")
    if config.steps < 20 * config.games:
        raise ConfigError(
            f"--steps is {config.steps}", where="maestro bench env", expected=f"at least {20 * config.games}"
        )
    out = console()

    def progress(done: int) -> None:
        if out.is_terminal and not config.json:
            out.print(f"\r{done}/{config.repeats}", end="")

    figures = measure_env(
        Content.find(),
        num_games=config.games,
        steps=config.steps,
        repeats=config.repeats,
        seed=config.seed,
        with_wait=config.with_wait,
        progress=progress,
    )
    machine = {"machine": platform.processor() or platform.machine(), "python": platform.python_version()}
    if config.json:
        print_json(asdict(figures) | machine)
        return 0
    low, high = figures.steps_per_s_range
    if out.is_terminal:
        out.print("\r", end="")
    out.print(f"world      {figures.steps_per_s:,.0f} steps/s on one core ({low:,.0f} to {high:,.0f})")
    out.print(f"yardstick  {figures.yardstick_steps_per_s:,.0f} steps/s (bare NetHack, 16 games in turn)")
    out.print(f"ratio      {figures.yardstick_ratio:.2f} (median of {config.repeats} neighbouring pairs)")
    out.print(
        f"{figures.num_games} games, {figures.steps:,} steps, {figures.turns:,} turns, {figures.episodes} episodes "
        f"ended, {figures.mb_per_game:.1f} MB per game, {figures.executive_us:.2f} microseconds a game and step in "
        "the skills' and the policy's code"
    )
    return 0
