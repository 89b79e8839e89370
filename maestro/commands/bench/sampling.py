"""Measure how fast games are sampled with a frozen policy: world, features, rewards, skills' code, and the network.

    maestro bench sampling
    maestro bench sampling --preset paper --processes 2 --json

Every process plays one group of games with one thread and random weights; the rewards of all skills are on. The figure to
quote is the ratio to the yardstick (bare NetHack, 16 games in turn, one core), measured just before and just after.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from maestro.commands._output import print_json
from maestro.commands.bench._training import machine, read_config, show
from maestro.errors import ConfigError


@dataclass(frozen=True)
class Config:
    """Choose what is measured."""

    preset: str = "small"
    """Network and features: paper, small or gpu."""
    processes: int = 2
    """Processes that play."""
    seconds: float = 30.0
    """How long is measured, after a warm-up."""
    config: tuple[str, ...] = ()
    """TOML files or single keys of `maestro train-policy`, such as games.num_games=32."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Measure and print."""
    from maestro.learner.throughput import measure_sampling

    if config.processes < 1:
        raise ConfigError(f"the value is {config.processes}", where="--processes", expected="at least 1")
    training = read_config(config.preset, config.config, config.seconds)
    figures = measure_sampling(training, config.processes, config.seconds)
    if config.json:
        print_json(asdict(figures) | machine(config.preset))
        return 0
    show("sampling", config.preset, figures)
    return 0
