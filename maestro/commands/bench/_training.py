"""What the two benchmarks of training share: their configuration, and how figures are shown."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

from maestro.commands._output import console
from maestro.commands._settings import read_settings
from maestro.errors import ConfigError

if TYPE_CHECKING:
    from maestro.learner.config import TrainConfig
    from maestro.learner.throughput import Throughput


def read_config(preset: str, words: Sequence[str], seconds: float) -> TrainConfig:
    """Read the configuration of training as `maestro train-policy` does, and check the time to measure."""
    from maestro.learner.config import TrainConfig

    if not 0 < seconds < math.inf:
        raise ConfigError(
            f"the value is {seconds:g}", where="--seconds", expected="a finite number of seconds above 0"
        )
    return read_settings([f"preset={preset}", *words], TrainConfig)


def machine(preset: str) -> dict[str, Any]:
    """Say what was measured where."""
    return {
        "preset": preset,
        "cores": len(os.sched_getaffinity(0)),
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "torch": metadata.version("torch"),
        "sample_factory": metadata.version("sample-factory"),
    }


def show(what: str, preset: str, figures: Throughput) -> None:
    """Print figures for people."""
    out = console()
    out.print(
        f"{what:9}  {figures.steps_per_s:,.0f} steps/s, preset {preset}, {figures.num_games} games in "
        f"{figures.processes} process{'es' if figures.processes > 1 else ''}, {len(os.sched_getaffinity(0))} cores"
    )
    out.print(
        f"yardstick  {figures.yardstick_steps_per_s:,.0f} steps/s (bare NetHack, 16 games in turn, one core)"
    )
    out.print(f"ratio      {figures.yardstick_ratio:.2f}")
    out.print(
        f"{figures.steps:,} steps in {figures.seconds:.0f} s; {figures.turns_per_step:.2f} of NetHack's turns a step"
    )
