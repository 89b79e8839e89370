"""Measure how fast a policy is trained: playing, inference, rewards and learning together, as `maestro train-policy` does.

    maestro bench training
    maestro bench training --preset paper --seconds 120 --json
    maestro bench training --config num_workers=2 --config games.num_games=32

A new policy is trained in a folder that is removed. Steps count when the learner has taken them. The figure to quote is the
ratio to the yardstick (bare NetHack, 16 games in turn, one core), measured just before and just after.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from maestro.commands._output import print_json
from maestro.commands.bench._training import machine, read_config, show


@dataclass(frozen=True)
class Config:
    """Choose what is measured."""

    preset: str = "small"
    """Network, features and algorithm: paper, small or gpu."""
    seconds: float = 60.0
    """How long is measured, after a warm-up."""
    config: tuple[str, ...] = ()
    """TOML files or single keys of `maestro train-policy`, such as num_workers=2."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Measure and print."""
    from maestro.learner.throughput import measure_training

    training = read_config(config.preset, config.config, config.seconds)
    figures = measure_training(training, config.seconds)
    if config.json:
        print_json(asdict(figures) | machine(config.preset))
        return 0
    show("training", config.preset, figures)
    return 0
