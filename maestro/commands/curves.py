"""Draw how the skills were learned: curves of one training run or several, side by side.

    maestro curves --run runs/train-policy-nethack
    maestro curves --run runs/a --run runs/b --out pictures
    maestro curves --run runs/seed0 --run runs/seed1 --run runs/seed2 --json

Runs that differ in the seed alone become one curve: their mean, in a band from the least to the greatest. Writes PNG files
(skills, the run as a whole, probes) and curves.csv with every metric, and says in which order the skills emerged.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from maestro.commands._output import print_json, print_table
from maestro.errors import ConfigError, RunError


@dataclass(frozen=True)
class Config:
    """Choose the runs."""

    run: Annotated[tuple[Path, ...], tyro.conf.UseAppendAction] = ()
    """Folder of a training run; may be given several times."""
    out: Path | None = None
    """Folder of the pictures; by default <run>/curves, of the first run."""
    bins: int = 60
    """Points of a curve."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Read the runs, write pictures and table, and say how each skill's reward rose."""
    from maestro.learner.curves import emergence, read_groups, write_curves

    if not config.run:
        raise ConfigError("no run is named", where="--run", expected="the folder of a training run")
    if config.bins < 1:
        raise ConfigError(f"the value is {config.bins}", where="--bins", expected="at least 1")
    groups = read_groups(config.run, config.bins)
    out = (config.out or config.run[0] / "curves").absolute()
    try:
        written = write_curves(groups, out)
    except OSError as error:
        raise RunError(
            f"cannot be written: {error.strerror or error}", where=str(out), hint="choose a folder with --out"
        ) from error
    rows: list[dict[str, Any]] = [
        {"runs": group.label, **one._asdict()} for group in groups for one in emergence(group)
    ]
    if config.json:
        print_json({"runs": [str(folder) for folder in config.run], "skills": rows, "files": written})
        return 0
    columns = {
        "skill": "skill",
        "first": "first",
        "last": "last",
        "best": "best",
        "half of the rise at": "half",
    }
    if len(groups) > 1:
        columns = {"runs": "runs", **columns}
    print("Reward per 1000 steps, shaped; in the order in which the skills emerged:")
    print_table(columns, [_shown(row) for row in rows], empty="the skills are not paid in this run")
    print("\n" + "\n".join(f"written  {path}" for path in written))
    return 0


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    half = row["half_way"]
    numbers = {name: f"{row[name]:.2f}" for name in ("first", "last", "best")}
    return {**row, **numbers, "half": "did not rise" if half is None else f"{half:,.0f} steps"}
