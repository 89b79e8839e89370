"""Draw how the skills were learned: curves of one training run or several, side by side, or those in a policy's card.

    maestro curves --run runs/train-policy-nethack
    maestro curves --run runs/a --run runs/b --out pictures
    maestro curves --run runs/seed0 --run runs/seed1 --run runs/seed2 --json
    maestro curves --policy skills/policy --out pictures

Runs that differ in the seed alone become one curve: their mean, in a band from the least to the greatest. Writes PNG files
(skills, the run as a whole, probes) and curves.csv with every metric, and says in which order the skills emerged.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from maestro.commands._emergence import emergence_rows, print_emergence
from maestro.commands._output import print_json
from maestro.errors import ConfigError, RunError

if TYPE_CHECKING:
    from maestro.learner.curves import RunGroup


@dataclass(frozen=True)
class Config:
    """Choose the runs."""

    run: Annotated[tuple[Path, ...], tyro.conf.UseAppendAction] = ()
    """Folder of a training run; may be given several times."""
    policy: Path | None = None
    """Folder of a policy, whose card keeps the curves of all its stages; in place of --run."""
    out: Path | None = None
    """Folder of the pictures; by default <run>/curves, of the first run."""
    bins: int = 60
    """Points of a run's curve; a card has its own."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Read the runs, write pictures and table, and say how each skill's reward rose."""
    from maestro.learner.curves import write_curves

    groups, beside = _groups(config)
    out = (config.out or beside / "curves").absolute()
    try:
        written = write_curves(groups, out)
    except OSError as error:
        raise RunError(
            f"cannot be written: {error.strerror or error}", where=str(out), hint="choose a folder with --out"
        ) from error
    rows = emergence_rows(groups)
    if config.json:
        sources = config.run if config.policy is None else (config.policy,)
        print_json({"runs": [str(folder) for folder in sources], "skills": rows, "files": written})
        return 0
    print_emergence(rows)
    print("\n" + "\n".join(f"written  {path}" for path in written))
    return 0


def _groups(config: Config) -> tuple[list[RunGroup], Path]:
    """Read what is to be drawn, and say beside what the pictures go by default."""
    from maestro.learner.card_curves import read_card_groups
    from maestro.learner.curves import read_groups

    if config.policy is not None and config.run:
        raise ConfigError(
            "a policy and a run are named", where="--policy", expected="one of --run and --policy"
        )
    if config.policy is not None:
        if config.out is None:
            raise ConfigError(
                "it is not said where the pictures go", where="--out", expected="a folder, beside --policy"
            )
        return read_card_groups(config.policy), config.policy
    if not config.run:
        raise ConfigError(
            "no run is named", where="--run", expected="the folder of a training run, or --policy"
        )
    if config.bins < 1:
        raise ConfigError(f"the value is {config.bins}", where="--bins", expected="at least 1")
    return read_groups(config.run, config.bins), config.run[0]
