"""Go from skills in words to a trained policy: reward models for every skill that lacks one, then reinforcement learning.

    maestro train-skills --dry-run
    maestro train-skills --preset small --steps 2e6
    maestro train-skills --steps 20e6 --config init=imitate imitate.steps=20e6 --run runs/mine
    maestro train-skills --stage rewards --skill merchant,worshipper --config pairs=20000
    maestro train-skills --stage rewards --config redo=true mine.toml

Prints the plan and its cost before it starts. What is done is skipped, what is half done is continued: give the same
command again after a stop or a kill. All results go into one run folder, which is a folder of content:
<run>/skills/<skill>/reward/ and <run>/skills/policy/. A skill has a reward model when this run or any folder of content
holds one; with redo=true, only this run's count. --stage rewards stops before the policy, --stage policy begins with it.

After --config come TOML files and single keys: world, seed, content (a folder with skills and prompts of your own, searched
first), redo, collect_steps, mix, pairs, annotator, llm, reasoning, max_cost, workers, init (none, imitate, a policy), and the
tables [annotation], [fit], [imitate] and [policy] with the finer settings of `maestro annotate`, `fit-reward`, `imitate` and
`train-policy`, such as fit.epochs=3 or policy.learning_rate=2e-4. Imitation has the games, the network and the discount of
[policy], so that the policy can go on from it; what [imitate] says of them counts before that.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from maestro.commands._counter import Counter
from maestro.commands._output import INTERRUPTED, print_json
from maestro.commands._reward_plan import (
    SkillPlan,
    TrainSkillsSettings,
    describe,
    fit_config,
    plan_skill,
    show_plan,
)
from maestro.commands._settings import read_settings, whole_steps
from maestro.commands.fit_reward import fit_one, show_cards
from maestro.commands.train_policy import conclude
from maestro.content import REWARD_FOLDER, Content
from maestro.errors import ConfigError, UnknownNameError
from maestro.preferences.job import Annotation
from maestro.preferences.store import JudgementStore
from maestro.preferences.transitions import TransitionWriter
from maestro.rewards.threads import settle_threads
from maestro.runs import Run, check_config, runs_root

if TYPE_CHECKING:
    from maestro.commands._policy_stage import PolicyStage
    from maestro.rewards.files import Card

INCOMPLETE = 1
_MAY_DIFFER = (
    "annotation.retry_unparsed",
    "annotation.max_unparsed",
    "workers",
    "max_cost",
    "redo",
    "content",
    "init",
    "imitate",
    "policy",
)
"""The last three have runs of their own, which look after them; the first two say what to do about unusable answers."""


@dataclass(frozen=True)
class TrainSkillsConfig:
    """Choose the skills and where the results go."""

    stage: Literal["all", "rewards", "policy"] = "all"
    """What to do; "rewards" is collecting, annotating and fitting, "policy" imitation and reinforcement learning."""
    skill: str = "all"
    """Skills to make reward models for, with commas between them, or "all"; the policy always learns all of the world."""
    preset: str | None = None
    """Network and settings of the policy: "small" (the default), "paper" or "gpu"."""
    steps: float = 2e6
    """Environment steps of reinforcement learning, all sessions together."""
    seed: int | None = None
    """Of play, questions, fits, dungeons and network, as the key `seed` of --config; 0 by default."""
    run: Path | None = None
    """Folder of everything; by default runs/train-skills-<world>."""
    config: tuple[str, ...] = ()
    """TOML files with settings, or single ones such as pairs=20000; see above."""
    dry_run: bool = False
    """Only print the plan."""
    json: bool = False
    """Print one JSON object."""


Config = TrainSkillsConfig


def run(config: TrainSkillsConfig) -> int:
    """Print the plan, carry it out, and say what there is; exit code 1 where a cost limit left questions open."""
    settle_threads()
    seed = () if config.seed is None else (f"seed={config.seed}",)
    settings = read_settings((*config.config, *seed), TrainSkillsSettings)
    content = settings.find_content()
    folder = (config.run or runs_root() / f"train-skills-{settings.world}").absolute()
    check_config(folder, _identity(settings), _MAY_DIFFER)
    skills = _skills(config, content, settings.world) if config.stage != "policy" else []
    plans = [plan_skill(content, folder, skill, settings) for skill in skills]
    described = describe(content, plans, settings, folder)
    stage = None if config.stage == "rewards" else _plan_policy(config, settings, folder, plans)
    if stage is not None:
        described |= stage.describe()
    if config.json and config.dry_run:
        print_json(described)
    elif not config.json:
        if plans:
            show_plan(plans, described)
        if stage is not None:
            stage.show()
    if config.dry_run:
        return 0
    with Run(folder.name, config=_identity(settings), root=folder.parent, may_differ=_MAY_DIFFER):
        cards = _make_rewards(content, settings, folder, plans)
        if cards is None:
            return INCOMPLETE
        if stage is None:
            _conclude(config, plans, described, cards)
            return 0
        if cards and not config.json:
            show_cards(cards)
        done = stage.carry_out(quiet=config.json)
    conclude(config.json, stage.plan, done, run=folder)
    return INTERRUPTED if done.interrupted else 0


def _plan_policy(
    config: TrainSkillsConfig, settings: TrainSkillsSettings, folder: Path, plans: list[SkillPlan]
) -> PolicyStage:
    from maestro.commands._policy_stage import plan_policy

    ready = not any(plan.is_open for plan in plans)
    stage = plan_policy(folder, settings, config.preset, whole_steps(config.steps), ready=False)
    if ready and not stage.imitates:  # nothing has to be made first: see now that all fits
        return plan_policy(folder, settings, config.preset, whole_steps(config.steps), ready=True)
    return stage


def _make_rewards(
    content: Content, settings: TrainSkillsSettings, folder: Path, plans: list[SkillPlan]
) -> list[Card] | None:
    """Make the reward models that are missing; None where a cost limit left questions open."""
    cards: list[Card] = []
    if not any(plan.is_open for plan in plans):
        return cards
    data = _collect(content, settings, folder / "transitions")
    for plan in plans:
        if plan.is_open:
            card = _make_reward(content, settings, folder, data, plan)
            if card is None:
                return None
            cards.append(card)
    return cards


def _skills(config: TrainSkillsConfig, content: Content, world: str) -> list[str]:
    known = content.skills(world)
    names = list(known) if config.skill == "all" else [name.strip() for name in config.skill.split(",")]
    for name in names:
        if name not in known:
            raise UnknownNameError("skill", name, known, where="--skill")
    if not names:
        raise ConfigError(f"the world {world!r} has no skills", where="--config: world")
    return list(dict.fromkeys(names))


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
    target = Target(steps=settings.collect_steps)
    if target.reached(writer) and (folder / "card.json").is_file():
        return folder
    setup = CollectSetup(settings.world, parse_mix(settings.mix), settings.seed, content.roots)
    workers = len(os.sched_getaffinity(0)) if settings.workers is None else settings.workers
    with Counter(f"collect {settings.world}", "steps", settings.collect_steps) as counter:

        def tell(result: ChunkResult | None = None, new: int = 0) -> None:
            counter.update(writer.totals["steps"], f"{writer.num_rows:,} transitions")

        tell()
        collect(setup, writer, target, workers=workers, on_chunk=tell)
    writer.write_card(settings=setup.identity())
    return folder


def _make_reward(
    content: Content, settings: TrainSkillsSettings, folder: Path, data: Path, plan: SkillPlan
) -> Card | None:
    """Annotate and fit one skill; None where the cost limit left questions open."""
    from maestro.rewards.job import FitJob

    verdicts = folder / "annotations" / plan.skill
    if plan.state == "to do" and not _annotate(content, settings, folder, data, plan.skill, verdicts):
        return None
    job = FitJob(
        plan.skill,
        data,
        (verdicts / "verdicts.parquet",),
        folder / "skills" / plan.skill / REWARD_FOLDER,
        fit_config(settings),
    )
    return fit_one(content, job)


def _annotate(
    content: Content, settings: TrainSkillsSettings, folder: Path, data: Path, skill: str, verdicts: Path
) -> bool:
    job = settings.annotation_job(skill, data)
    with JudgementStore(folder / "judgements.sqlite") as store, Annotation(content, job) as annotation:
        total = len(annotation.plan.pairing) * (2 if annotation.plan.both_orders else 1)
        with Counter(f"annotate {skill} ({annotation.label})", "questions", total) as counter:
            progress = annotation.ask(
                store,
                max_cost=settings.max_cost,
                on_progress=lambda now: counter.update(now.settled, fresh=now.answered),
            )
        if progress.stopped:
            print(f"maestro: {skill}: {progress.stopped}. Raise max_cost to go on.", file=sys.stderr)
            return False
        annotation.conclude(store, verdicts)
    return True


def _conclude(
    config: TrainSkillsConfig, plans: list[SkillPlan], described: dict[str, Any], cards: list[Card]
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
