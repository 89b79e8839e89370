"""Measure misses and false alarms of State's counters against the engine, over games of the reference skills.

    maestro bench counters --episodes 200 --workers 2
    maestro bench counters --episodes 20 --json

State counts kills, sales, prices, altar checks and meals from what a player can read, and finds the depth of the
Mines' branch from what a player can see. Here the engine's own counts are set beside them, step by step, over whole
episodes of the nine tasks. Examples of disagreement are printed with the messages of their steps.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from maestro.commands._output import console, print_json, print_table
from maestro.content import Content
from maestro.errors import ConfigError

if TYPE_CHECKING:
    from maestro.evaluation.statistics import Estimate

_EXAMPLES_SHOWN = 12


@dataclass(frozen=True)
class Config:
    """Choose how many games are played."""

    episodes: int = 200
    """Episodes, spread evenly over the tasks."""
    seed: int = 0
    """Seed of the episodes."""
    games: int = 8
    """Games a process plays at once."""
    workers: int = 1
    """Processes."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Measure and print."""
    from maestro.evaluation.counters import measure_counters, table
    from maestro.evaluation.games import Setup

    for name in ("episodes", "games", "workers"):
        if getattr(config, name) < 1:
            raise ConfigError(
                f"--{name} is {getattr(config, name)}", where="maestro bench counters", expected="at least 1"
            )
    if config.seed < 0:
        raise ConfigError(f"--seed is {config.seed}", where="maestro bench counters", expected="at least 0")
    content = Content.find()
    tasks = [name for name, task in content.tasks().items() if task.spec.world == "nethack"]
    setups = [Setup(task, "reference", config.seed, config.games, content.roots) for task in tasks]
    out = console()

    def progress(done: int) -> None:
        if out.is_terminal and not config.json:
            out.print(f"\r{done}/{config.episodes} episodes", end="")

    findings = measure_counters(setups, config.episodes, num_workers=config.workers, progress=progress)
    rows = table(findings)
    if config.json:
        print_json({"counters": [asdict(row) for row in rows], **asdict(findings), "seed": config.seed})
        return 0
    out.print(f"{findings.episodes} episodes, {findings.steps:,} steps" + " " * 20)
    columns = {"counter": "counter", "events": "events", "misses": "misses", "false alarms": "false_alarms"}
    shown = [asdict(row) | {"rate": _percent(row.miss_rate)} for row in rows]
    print_table(columns | {"miss rate (95 %)": "rate"}, shown, empty="")
    branch = findings.branch
    out.print(
        f"branch_depth: right at the end of {branch.found} of {branch.visited} episodes that came to the branch's "
        f"level, wrong in {branch.wrong} of all"
    )
    for example in findings.examples[:_EXAMPLES_SHOWN]:
        out.print(
            f"{example.kind} of {example.counter} at step {example.step}: {example.message!r}", markup=False
        )
    return 0


def _percent(rate: Estimate | None) -> str:
    return "" if rate is None else f"{100 * rate.mean:.2f} % ({100 * rate.low:.2f} to {100 * rate.high:.2f})"
