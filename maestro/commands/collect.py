"""Play the world and keep what happens, in words and facts, for annotators to compare.

    maestro collect --all
    maestro collect --all --steps 2000000 --mix reference:0.7,random:0.3
    maestro collect --skill merchant --config transitions=2000
    maestro collect --run runs/people --config ttyrecs=~/nle_data

Games are played under the training policy over skills by a mix of policies: "reference" (hand-written controllers),
"random", "trained" (the skill-conditioned policy of the content, or the folder of another), or a Python file of your own. Each step becomes a transition; no caption is kept twice. The folder grows: the
same command with more --steps plays on, and one that was stopped or killed continues where it was.

After --config come TOML files and single keys: transitions (stop when so many different ones are kept; with --skill, of that
skill), seed, workers (processes; 0 plays in this one), horizon (steps over which captions tell changes, at most), episode_steps
(where an episode is cut short), ttyrecs (take transitions from recorded games instead: a folder as NLE writes it), and
content (a folder with skills and meta_policies of your own, searched first). Recorded games are read to their end, or until
there are as many --steps or transitions as were asked for; --skill, --mix, --engine, workers, seed and episode_steps are about
play, and are refused with them.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from maestro.commands._counter import Counter
from maestro.commands._output import INTERRUPTED, print_json, print_table
from maestro.commands._settings import SettingsPath, read_settings, whole_steps
from maestro.content import Content
from maestro.errors import ConfigError
from maestro.evaluation.collect import (
    EPISODE_STEPS,
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
from maestro.runs import Run, runs_root
from maestro.versions import versions

DEFAULT_STEPS = 200_000
DEFAULT_MIX = "reference:0.7,random:0.3"
ALL = "all"
_MAY_DIFFER = ("steps", "transitions", "skill", "workers", "engine")


class CollectSettings(BaseModel):
    """What --config may say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    transitions: int | None = Field(default=None, ge=1)
    """Stop when so many different transitions have been kept."""
    seed: int = Field(default=0, ge=0)
    """What the seeds of all episodes are derived from."""
    workers: int | None = Field(default=None, ge=0)
    """Processes, by default one a core; on a cluster a bound."""
    horizon: int = Field(default=DEFAULT_HORIZON, ge=1)
    episode_steps: int = Field(default=EPISODE_STEPS, ge=1)
    ttyrecs: SettingsPath | None = None
    content: SettingsPath | None = None


@dataclass(frozen=True)
class Config:
    """Choose how much to play, and who plays."""

    skill: str | None = None
    """Count only this skill's transitions towards `transitions`; its world is played."""
    all: bool = False
    """Count the transitions of all skills of NetHack (as when no skill is named)."""
    steps: float | None = None
    """Stop after so many steps in all; for play 200,000 where `transitions` is not given either."""
    mix: str = DEFAULT_MIX
    """Policies and their shares of the episodes: reference, random, trained, a policy's folder, or a Python file."""
    run: Path | None = None
    """Folder of the dataset; by default runs/collect-<world> (or below MAESTRO_RUNS)."""
    engine: str = "process"
    """"process" for this machine, "ray" for a cluster."""
    config: tuple[str, ...] = ()
    """TOML files with finer settings, or single ones such as seed=1; see above."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Collect what is missing, then show what the dataset holds; exit code 130 where Ctrl-C cut it short."""
    settings = read_settings(config.config, CollectSettings)
    skill = _skill(config)
    steps = None if config.steps is None else whole_steps(config.steps)
    if settings.ttyrecs is not None:
        _refuse_play(config, settings)
    content = Content.find(settings.content)
    world = content.skill(skill).spec.world if skill else "nethack"
    setup = CollectSetup(
        world, parse_mix(config.mix), settings.seed, content.roots, settings.horizon, settings.episode_steps
    )
    folder = (config.run or runs_root() / f"collect-{world}").absolute()
    identity = setup.identity() if settings.ttyrecs is None else _recorded_identity(settings, world)
    amounts = {"steps": steps, "transitions": settings.transitions, "skill": skill}
    resolved = {**identity, **amounts, "workers": settings.workers, "engine": config.engine}
    with Run(folder.name, config=resolved, root=folder.parent, may_differ=_MAY_DIFFER):
        writer = TransitionWriter(folder, world=world, caption_version=caption_version(world))
        interrupted = False
        try:
            if settings.ttyrecs is not None:
                target = Target(steps, settings.transitions)
                _import(settings.ttyrecs, settings.horizon, target, writer)
            else:
                target = Target(_steps(steps, settings), settings.transitions, skill)
                _play(setup, target, writer, config.engine, settings.workers)
        except KeyboardInterrupt:
            interrupted = True
        card = writer.write_card(settings=identity, versions=versions())
    _show(config.json, skill, folder, card | {"complete": not interrupted})
    return INTERRUPTED if interrupted else 0


def _skill(config: Config) -> str | None:
    """Name the skill that counts; None for all of them."""
    if config.skill is not None and config.all:
        raise ConfigError("both are given", where="--skill and --all", expected="one of them")
    return None if config.skill == ALL else config.skill


def _steps(steps: int | None, settings: CollectSettings) -> int | None:
    return DEFAULT_STEPS if steps is None and settings.transitions is None else steps


def _play(
    setup: CollectSetup, target: Target, writer: TransitionWriter, engine: str, workers: int | None
) -> None:
    if workers is None:
        workers = len(os.sched_getaffinity(0)) if engine == "process" else 0
    by_rows = target.transitions is not None
    unit, total = ("transitions", target.transitions or 0) if by_rows else ("steps", target.steps or 0)
    with Counter(f"collect {setup.world}", unit, total) as counter:

        def tell(result: ChunkResult | None = None, new: int = 0) -> None:
            done = target.rows(writer) if by_rows else writer.totals["steps"]
            other = f"{writer.totals['steps']:,} steps" if by_rows else f"{writer.num_rows:,} transitions"
            counter.update(done, other)

        tell()
        reached = collect(setup, writer, target, engine=engine, workers=workers, on_chunk=tell)
    if not reached:
        print(
            f"maestro: stopped at {target.rows(writer):,} of {target.transitions:,} transitions: for a long time "
            "nothing new has happened. Another --mix or seed may bring more.",
            file=sys.stderr,
        )


def _recorded_identity(settings: CollectSettings, world: str) -> dict[str, Any]:
    return {
        "world": world,
        "ttyrecs": str(settings.ttyrecs),
        "horizon": settings.horizon,
        "caption_version": caption_version(world),
    }


def _refuse_play(config: Config, settings: CollectSettings) -> None:
    """Raise ConfigError for what says how to play where recorded games are read: it would have no effect."""
    said = {
        "--skill": config.skill not in (None, ALL),
        "--mix": config.mix != DEFAULT_MIX,
        "--engine": config.engine != "process",
        **{
            f"--config: {name}": name in settings.model_fields_set
            for name in ("workers", "seed", "episode_steps")
        },
    }
    for where, given in said.items():
        if given:
            raise ConfigError(
                "it is given together with ttyrecs: recorded games are read, not played, and tell no skill",
                where=where,
                expected="one of the two",
                hint="leave it out, or leave out ttyrecs",
            )


def _import(recordings: Path, horizon: int, target: Target, writer: TransitionWriter) -> None:
    """Make one shard of each recorded game until `target` is reached; those of an earlier session are passed over."""
    for number, rows in enumerate(recorded_rows(recordings, horizon)):
        if target.reached(writer):
            return
        if number >= writer.next_shard:
            writer.add_shard(rows, {"steps": len(rows), "episodes": 1, "failed_episodes": 0})
    if (target.steps or target.transitions) and not target.reached(writer):
        print(
            f"maestro: the recordings end at {writer.totals['steps']:,} steps and {writer.num_rows:,} transitions, "
            "which is less than was asked for.",
            file=sys.stderr,
        )


def _show(as_json: bool, skill: str | None, folder: Path, card: dict[str, Any]) -> None:
    if as_json:
        print_json({**card, "folder": str(folder)})
        return
    columns = {"stratum": "stratum", "transitions": "rows", "of skills": "skills"}
    rows = [
        {
            "stratum": name,
            "rows": f"{count:,}",
            "skills": ", ".join(
                f"{whose or 'unknown'} {counts[name]:,}"
                for whose, counts in card["skills"].items()
                if name in counts
            ),
        }
        for name, count in card["strata"].items()
    ]
    print_table(columns, rows, empty="no transitions yet")
    print(
        f"\n{card['rows']:,} transitions of {card['steps']:,} steps in {card['episodes']:,} episodes: {folder}\n"
        f"Next: maestro annotate --skill {skill or 'all'} --config data={folder}"
    )
    if skill and skill not in card["skills"]:
        print(
            f"None of them is of {skill}'s own play: collect more, or it will be judged by the others' alone."
        )
