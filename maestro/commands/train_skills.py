"""Go from skills in words to reward models: collect, annotate and fit for every skill that lacks one.

    maestro train-skills --stage rewards --dry-run
    maestro train-skills --stage rewards
    maestro train-skills --stage rewards --redo --run runs/mine --config mine.toml
    maestro train-skills --stage rewards --skill merchant,worshipper

Prints the plan and its cost before it starts. What is done is skipped, what is half done is continued: give the same
command again after a stop or a kill. All results go into one run folder, which is a folder of content:
<run>/skills/<skill>/reward/. A skill has a reward model when this run or any folder of content holds one; with --redo, only
this run's count.

--config is a TOML file with any of: world, steps, mix, seed, pairs, annotator, llm, reasoning, max_cost, workers, and
[annotation] and [fit] with the finer settings of `maestro annotate --settings` and `maestro fit-reward --config`.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from maestro.commands._counter import Counter
from maestro.commands._output import print_json, print_table
from maestro.commands._progress import duration
from maestro.commands.fit_reward import fit_one, show_cards
from maestro.content import REWARD_FOLDER, Content
from maestro.errors import ConfigError, UnknownNameError
from maestro.preferences.annotators import Reasoning
from maestro.preferences.job import Annotation, Job, JobOptions
from maestro.preferences.store import JudgementStore
from maestro.preferences.transitions import TransitionWriter
from maestro.rewards.threads import settle_threads
from maestro.runs import Run, runs_root
from maestro.specs import load_toml

if TYPE_CHECKING:
    from maestro.rewards.files import Card

# Rates of one core, for the plan: measured on an AMD EPYC (family 26), docs/guides/rewards.md.
STEPS_PER_S, RULE_PAIRS_PER_S, FIT_PAIRS_PER_S = 3_500, 8_000, 14_000
INCOMPLETE = 1
_MAY_DIFFER = ("workers", "skills", "max_cost", "redo")


class TrainSkillsSettings(BaseModel):
    """What the file after --config may say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    world: str = "nethack"
    steps: int = Field(default=700_000, ge=1)
    """Steps of play to collect."""
    mix: str = "reference:0.7,random:0.3"
    seed: int = Field(default=0, ge=0)
    """Of the episodes."""
    pairs: int = Field(default=60_000, ge=1)
    """Pairs to judge for each skill."""
    annotator: str = "rules"
    llm: str = "replay"
    reasoning: Reasoning = "none"
    max_cost: float | None = None
    """Of each skill's annotation."""
    workers: int | None = Field(default=None, ge=0)
    """Processes that collect; by default one a core."""
    annotation: JobOptions = JobOptions()
    fit: dict[str, Any] = {}


@dataclass(frozen=True)
class TrainSkillsConfig:
    """Choose the skills and where the results go."""

    stage: Literal["rewards"]
    """What to do; "rewards" is collecting, annotating and fitting."""
    skill: str = "all"
    """Skills, with commas between them, or "all" of the world."""
    run: Path | None = None
    """Folder of everything; by default runs/train-skills-<world>."""
    config: Path | None = None
    """A TOML file with settings, see above."""
    content: Path | None = None
    """A folder with skills and prompts of your own, searched first."""
    redo: bool = False
    """Make reward models also for skills that have one elsewhere."""
    dry_run: bool = False
    """Only print the plan."""
    json: bool = False
    """Print one JSON object."""


Config = TrainSkillsConfig


@dataclass(frozen=True)
class _SkillPlan:
    """What is left to do for one skill."""

    skill: str
    state: Literal["has one", "fitted", "annotated", "to do"]
    where: str = ""

    @property
    def is_open(self) -> bool:
        return self.state in ("annotated", "to do")


def run(config: TrainSkillsConfig) -> int:
    """Print the plan, carry it out, and show the models; exit code 1 where a cost limit left questions open."""
    settle_threads()
    settings = (
        TrainSkillsSettings() if config.config is None else load_toml(config.config, TrainSkillsSettings)
    )
    content = Content.find(config.content)
    folder = (config.run or runs_root() / f"train-skills-{settings.world}").absolute()
    skills = _skills(config, content, settings.world)
    plans = [_plan(content, folder, skill, config.redo) for skill in skills]
    described = _describe(plans, settings, folder)
    if not config.json or config.dry_run:
        _show_plan(plans, described, config.json)
    if config.dry_run:
        return 0
    cards: list[Card] = []
    if any(plan.is_open for plan in plans):
        with Run(folder.name, config=_identity(settings), root=folder.parent, may_differ=_MAY_DIFFER):
            data = _collect(content, settings, folder / "transitions")
            for plan in plans:
                if plan.is_open:
                    card = _make_reward(content, settings, folder, data, plan)
                    if card is None:
                        return INCOMPLETE
                    cards.append(card)
    _conclude(config, plans, described, cards)
    return 0


def _skills(config: TrainSkillsConfig, content: Content, world: str) -> list[str]:
    known = content.skills(world)
    names = list(known) if config.skill == "all" else [name.strip() for name in config.skill.split(",")]
    for name in names:
        if name not in known:
            raise UnknownNameError("skill", name, known, where="--skill")
    if not names:
        raise ConfigError(f"the world {world!r} has no skills", where="--config: world")
    return list(dict.fromkeys(names))


def _plan(content: Content, folder: Path, skill: str, redo: bool) -> _SkillPlan:
    own = folder / "skills" / skill / REWARD_FOLDER
    if _is_current(content, skill, own):
        return _SkillPlan(skill, "fitted", str(own))
    found = None if redo else content.reward_folder(skill)
    if found is not None and _is_current(content, skill, found):
        return _SkillPlan(skill, "has one", str(found))
    annotated = (folder / "annotations" / skill / "verdicts.parquet").is_file()
    return _SkillPlan(skill, "annotated" if annotated else "to do")


def _is_current(content: Content, skill: str, folder: Path) -> bool:
    """Tell whether there is a model of the skill's preference as it is today; a damaged one raises FitError."""
    if not (folder / "card.json").is_file():
        return False
    from maestro.preferences.goals import find_goal
    from maestro.rewards.files import load_reward
    from maestro.rewards.job import preference_sha256

    return load_reward(folder).card.skill_sha256 == preference_sha256(find_goal(content, skill))


def _describe(plans: list[_SkillPlan], settings: TrainSkillsSettings, folder: Path) -> dict[str, Any]:
    """Estimate what is left, in steps, questions and time."""
    from maestro.rewards.fit import FitConfig

    num_open = sum(plan.is_open for plan in plans)
    num_asked = sum(plan.state == "to do" for plan in plans)
    steps = settings.steps if num_open and not (folder / "transitions" / "card.json").is_file() else 0
    workers = settings.workers or len(os.sched_getaffinity(0))
    orders = 2 if settings.annotation.both_orders and settings.annotator != "rules" else 1
    fit = FitConfig.model_validate(settings.fit)
    seconds = {
        "collect": steps / STEPS_PER_S / workers,
        "annotate": num_asked * settings.pairs / RULE_PAIRS_PER_S if settings.annotator != "llm" else None,
        "fit": num_open * settings.pairs * fit.epochs * fit.ensemble / FIT_PAIRS_PER_S,
    }
    return {
        "run": str(folder),
        "skills": {plan.skill: plan.state for plan in plans},
        "collect_steps": steps,
        "questions": num_asked * settings.pairs * orders,
        "annotator": settings.annotator if settings.annotator != "llm" else f"llm ({settings.llm})",
        "fits": num_open,
        "seconds": {name: None if value is None else round(value) for name, value in seconds.items()},
    }


def _show_plan(plans: list[_SkillPlan], described: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(described)
        return
    print_table(
        {"skill": "skill", "reward model": "state", "where": "where"},
        [vars(p) for p in plans],
        empty="no skills",
    )
    if not described["fits"]:
        print("Nothing is left to do; --redo makes them anew.")
        return
    seconds = described["seconds"]
    asked = (
        "depends on the model" if seconds["annotate"] is None else f"about {duration(seconds['annotate'])}"
    )
    print(
        f"\nPlan (into {described['run']}):\n"
        f"  collect   {described['collect_steps']:,} steps of play, about {duration(seconds['collect'])}\n"
        f"  annotate  {described['questions']:,} questions to {described['annotator']}, {asked}\n"
        f"  fit       {described['fits']} reward models, at most about {duration(seconds['fit'])}\n",
        flush=True,
    )


def _identity(settings: TrainSkillsSettings) -> dict[str, Any]:
    return settings.model_dump(mode="json")


def _collect(content: Content, settings: TrainSkillsSettings, folder: Path) -> Path:
    """Play what is missing of the dataset; nothing where it is complete."""
    from maestro.evaluation.collect import (
        ChunkResult,
        CollectSetup,
        Target,
        caption_version,
        collect,
        parse_mix,
    )

    writer = TransitionWriter(folder, world=settings.world, caption_version=caption_version(settings.world))
    target = Target(steps=settings.steps)
    if target.reached(writer) and (folder / "card.json").is_file():
        return folder
    setup = CollectSetup(settings.world, parse_mix(settings.mix), settings.seed, content.roots)
    workers = len(os.sched_getaffinity(0)) if settings.workers is None else settings.workers
    with Counter(f"collect {settings.world}", "steps", settings.steps) as counter:

        def tell(result: ChunkResult | None = None, new: int = 0) -> None:
            counter.update(writer.totals["steps"], f"{writer.num_rows:,} transitions")

        tell()
        collect(setup, writer, target, workers=workers, on_chunk=tell)
    writer.write_card(settings=setup.identity())
    return folder


def _make_reward(
    content: Content, settings: TrainSkillsSettings, folder: Path, data: Path, plan: _SkillPlan
) -> Card | None:
    """Annotate and fit one skill; None where the cost limit left questions open."""
    from maestro.rewards.fit import FitConfig
    from maestro.rewards.job import FitJob

    verdicts = folder / "annotations" / plan.skill
    if plan.state == "to do" and not _annotate(content, settings, folder, data, plan.skill, verdicts):
        return None
    job = FitJob(
        plan.skill,
        data,
        (verdicts / "verdicts.parquet",),
        folder / "skills" / plan.skill / REWARD_FOLDER,
        FitConfig.model_validate(settings.fit),
    )
    return fit_one(content, job)


def _annotate(
    content: Content, settings: TrainSkillsSettings, folder: Path, data: Path, skill: str, verdicts: Path
) -> bool:
    job = Job(
        skill, data, settings.pairs, settings.annotator, settings.llm, settings.reasoning, settings.annotation
    )
    with JudgementStore(folder / "judgements.sqlite") as store, Annotation(content, job) as annotation:
        total = len(annotation.plan.pairing) * (2 if annotation.plan.both_orders else 1)
        with Counter(f"annotate {skill} ({annotation.label})", "questions", total) as counter:
            progress = annotation.ask(
                store,
                max_cost=settings.max_cost,
                on_progress=lambda now: counter.update(now.known + now.answered, fresh=now.answered),
            )
        if progress.stopped:
            print(f"maestro: {skill}: {progress.stopped}. Raise max_cost to go on.", file=sys.stderr)
            return False
        annotation.conclude(store, verdicts)
    return True


def _conclude(
    config: TrainSkillsConfig, plans: list[_SkillPlan], described: dict[str, Any], cards: list[Card]
) -> None:
    if config.json:
        done = {card.skill: {"held_out": card.held_out, "annotator": card.annotator} for card in cards}
        states = {
            plan.skill: replace(plan, state="fitted").state if plan.is_open else plan.state for plan in plans
        }
        print_json({**described, "skills": states, "fitted_now": done})
        return
    if cards:
        show_cards(cards)
        print(
            f"\nReward models: {described['run']}/skills/*/reward (annotator: {cards[0].annotator})\n"
            f"Next: maestro rewards --skill {cards[0].skill} --run {described['run']}"
        )
