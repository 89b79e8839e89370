"""Play the world and keep what happens, in words and facts, for annotators to compare.

    maestro collect --all
    maestro collect --all --steps 2000000 --mix reference:0.7,random:0.3
    maestro collect --skill merchant --transitions 2000
    maestro collect --ttyrecs ~/nle_data --run runs/people

Games are played under the training policy over skills by a mix of policies: "reference" (hand-written controllers),
"random", or a Python file of your own. Each step becomes a transition; no caption is kept twice. The folder grows: the
same command with more --steps plays on, and one that was stopped or killed continues where it was.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maestro.commands._counter import Counter
from maestro.commands._output import print_json, print_table
from maestro.content import Content
from maestro.errors import ConfigError
from maestro.evaluation.collect import (
    ChunkResult,
    CollectSetup,
    Target,
    caption_version,
    collect,
    parse_mix,
    recorded_rows,
)
from maestro.preferences.transitions import TransitionWriter
from maestro.preferences.window import DEFAULT_HORIZON
from maestro.runs import Run, runs_root, versions

DEFAULT_STEPS = 200_000
_MAY_DIFFER = ("steps", "transitions", "skill", "workers", "engine")


@dataclass(frozen=True)
class Config:
    """Choose how much to play, and who plays."""

    skill: str | None = None
    """Count only this skill's transitions towards --transitions; its world is played."""
    all: bool = False
    """Count the transitions of all skills of NetHack (as when no skill is named)."""
    steps: int | None = None
    """Stop after so many steps of play in all; 200,000 where --transitions is not given either."""
    transitions: int | None = None
    """Stop when so many different transitions have been kept."""
    mix: str = "reference:0.7,random:0.3"
    """Policies and their shares of the episodes: reference, random, or the path of a Python file."""
    seed: int = 0
    """What the seeds of all episodes are derived from."""
    run: Path | None = None
    """Folder of the dataset; by default runs/collect-<world> (or below MAESTRO_RUNS)."""
    workers: int | None = None
    """Processes; by default one a core. 0 plays in this process."""
    engine: str = "process"
    """"process" for this machine, "ray" for a cluster."""
    horizon: int = DEFAULT_HORIZON
    """Steps over which captions tell changes, at most."""
    ttyrecs: Path | None = None
    """Take transitions from recorded games instead: a folder as NLE writes it."""
    content: Path | None = None
    """A folder with skills and meta_policies of your own, searched first."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Collect what is missing, then show what the dataset holds."""
    _check(config)
    content = Content.find(config.content)
    world = content.skill(config.skill).spec.world if config.skill else "nethack"
    setup = CollectSetup(world, parse_mix(config.mix), config.seed, content.roots, config.horizon)
    folder = (config.run or runs_root() / f"collect-{world}").absolute()
    identity = setup.identity() if config.ttyrecs is None else _recorded_identity(config, world)
    amounts = {"steps": config.steps, "transitions": config.transitions, "skill": config.skill}
    settings = {**identity, **amounts, "workers": config.workers, "engine": config.engine}
    with Run(folder.name, config=settings, root=folder.parent, may_differ=_MAY_DIFFER):
        writer = TransitionWriter(folder, world=world, caption_version=caption_version(world))
        if config.ttyrecs is not None:
            _import(config, writer)
        else:
            _play(config, setup, writer)
        card = writer.write_card(settings=identity, versions=versions())
    _show(config, folder, card)
    return 0


def _check(config: Config) -> None:
    if config.skill is not None and config.all:
        raise ConfigError("both are given", where="--skill and --all", expected="one of them")
    for name, least in (("steps", 1), ("transitions", 1), ("seed", 0), ("workers", 0), ("horizon", 1)):
        value = getattr(config, name)
        if value is not None and value < least:
            raise ConfigError(f"the value is {value}", where=f"--{name}", expected=f"at least {least}")


def _play(config: Config, setup: CollectSetup, writer: TransitionWriter) -> None:
    steps = DEFAULT_STEPS if config.steps is None and config.transitions is None else config.steps
    target = Target(steps, config.transitions, config.skill)
    workers = (
        len(os.sched_getaffinity(0))
        if config.workers is None and config.engine == "process"
        else config.workers or 0
    )
    by_rows = config.transitions is not None
    unit, total = ("transitions", config.transitions or 0) if by_rows else ("steps", steps or 0)
    with Counter(f"collect {setup.world}", unit, total) as counter:

        def tell(result: ChunkResult | None = None, new: int = 0) -> None:
            done = target.rows(writer) if by_rows else writer.totals["steps"]
            other = f"{writer.totals['steps']:,} steps" if by_rows else f"{writer.num_rows:,} transitions"
            counter.update(done, other)

        tell()
        reached = collect(setup, writer, target, engine=config.engine, workers=workers, on_chunk=tell)
    if not reached:
        print(
            f"maestro: stopped at {target.rows(writer):,} of {config.transitions:,} transitions: for a long time "
            "nothing new has happened. Another --mix or --seed may bring more.",
            file=sys.stderr,
        )


def _recorded_identity(config: Config, world: str) -> dict[str, Any]:
    return {
        "world": world,
        "ttyrecs": str(config.ttyrecs),
        "horizon": config.horizon,
        "caption_version": caption_version(world),
    }


def _import(config: Config, writer: TransitionWriter) -> None:
    """Make one shard of each recorded game; those of an earlier session are passed over."""
    assert config.ttyrecs is not None
    for number, rows in enumerate(recorded_rows(config.ttyrecs, config.horizon)):
        if number >= writer.next_shard:
            writer.add_shard(rows, {"steps": len(rows), "episodes": 1, "failed_episodes": 0})


def _show(config: Config, folder: Path, card: dict[str, Any]) -> None:
    if config.json:
        print_json({**card, "folder": str(folder)})
        return
    columns = {"stratum": "stratum", "transitions": "rows", "of skills": "skills"}
    rows = [
        {
            "stratum": name,
            "rows": f"{count:,}",
            "skills": ", ".join(
                f"{skill or 'unknown'} {counts[name]:,}"
                for skill, counts in card["skills"].items()
                if name in counts
            ),
        }
        for name, count in card["strata"].items()
    ]
    print_table(columns, rows, empty="no transitions yet")
    print(
        f"\n{card['rows']:,} transitions of {card['steps']:,} steps in {card['episodes']:,} episodes: {folder}\n"
        f"Next: maestro annotate {f'--skill {config.skill}' if config.skill else '--all'} --data {folder}"
    )
    if config.skill and config.skill not in card["skills"]:
        print(
            f"None of them is of {config.skill}'s own play: collect more, or it will be judged by the others' alone."
        )
