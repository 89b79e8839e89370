"""What `maestro train-skills --stage rewards` has to do, and what it will cost: found out before anything is begun."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from maestro.commands._output import print_table
from maestro.commands._progress import duration
from maestro.commands._settings import SettingsPath
from maestro.content import REWARD_FOLDER, Content
from maestro.errors import DatasetError
from maestro.preferences.annotators import AnnotatorSettings, Reasoning, make_annotator
from maestro.preferences.goals import Goal, find_goal
from maestro.preferences.job import VERDICTS, Job, JobOptions, estimate
from maestro.preferences.judgements import make_context
from maestro.preferences.pairs import Preference
from maestro.preferences.transitions import read_counts
from maestro.preferences.verdicts import read_verdicts
from maestro.specs import RewardSettings, parse

if TYPE_CHECKING:
    from maestro.rewards.fit import FitConfig

# Rates of one core, measured on an AMD EPYC (family 26): docs/benchmarks.md.
STEPS_PER_S, RULE_PAIRS_PER_S, FIT_PAIRS_PER_S = 3_500, 8_000, 60_000


class TrainSkillsSettings(BaseModel):
    """What the file after --config may say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    world: str = "nethack"
    content: SettingsPath | None = None
    """A folder with skills and prompts of your own, searched first."""
    redo: bool = False
    """Make reward models also for skills that have one elsewhere."""
    collect_steps: int = Field(default=700_000, ge=1)
    """Steps of play to collect."""
    mix: str = "reference:0.7,random:0.3"
    seed: int = Field(default=0, ge=0)
    """Of episodes, dungeons and networks."""
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
    init: str = "none"
    """What the policy begins with: "none", "imitate", a policy's folder, or a run."""
    imitate: dict[str, Any] = {}
    """Of `maestro imitate`; `steps` among them."""
    policy: dict[str, Any] = {}
    """Of `maestro train-policy`."""

    def find_content(self) -> Content:
        """Find the content that these settings mean."""
        return Content.find(self.content)

    def annotation_job(self, skill: str, data: Path) -> Job:
        """Say what to annotate for a skill."""
        return Job(skill, data, self.pairs, self.annotator, self.llm, self.reasoning, self.annotation)


@dataclass(frozen=True)
class SkillPlan:
    """What is left to do for one skill."""

    skill: str
    state: Literal["has one", "fitted", "annotated", "to do"]
    where: str = ""

    @property
    def is_open(self) -> bool:
        """Tell whether a model has to be fitted."""
        return self.state in ("annotated", "to do")


def plan_skill(content: Content, folder: Path, skill: str, settings: TrainSkillsSettings) -> SkillPlan:
    """Look what there is of one skill, in the run's folder and, unless it is to be redone, in the content."""
    own = folder / "skills" / skill / REWARD_FOLDER
    if _is_current(content, skill, own):
        return SkillPlan(skill, "fitted", str(own))
    found = None if settings.redo else content.reward_folder(skill)
    if found is not None and _is_current(content, skill, found):
        return SkillPlan(skill, "has one", str(found))
    annotated = _is_annotated(
        folder / "annotations" / skill / VERDICTS,
        find_goal(content, skill),
        again=settings.annotation.retry_unparsed,
    )
    return SkillPlan(skill, "annotated" if annotated else "to do")


def fit_config(settings: TrainSkillsSettings) -> FitConfig:
    """Check the settings of fitting; raises SpecError."""
    from maestro.rewards.fit import FitConfig

    return parse(settings.fit, FitConfig, where="--config: fit")


def describe(
    content: Content, plans: list[SkillPlan], settings: TrainSkillsSettings, folder: Path
) -> dict[str, Any]:
    """Estimate what is left, in steps, questions, tokens, money and time.

    Raises the MaestroError of a policy, an annotator, a model's spec or a setting that does not exist, before any work.
    """
    from maestro.evaluation.collect import mix_identity, parse_mix

    mix_identity(parse_mix(settings.mix), settings.world, content)
    fit = fit_config(settings)
    num_open = sum(plan.is_open for plan in plans)
    asked = [plan.skill for plan in plans if plan.state == "to do"]
    estimates = [estimate(content, settings.annotation_job(skill, folder)) for skill in asked]
    costs = [each.cost for each in estimates]
    questions = sum(each.questions for each in estimates)
    steps = max(settings.collect_steps - read_counts(folder / "transitions")["steps"], 0) if num_open else 0
    workers = len(os.sched_getaffinity(0)) if settings.workers is None else settings.workers
    seconds = {
        "collect": steps / STEPS_PER_S / max(workers, 1),
        "annotate": questions / RULE_PAIRS_PER_S if settings.annotator != "llm" else None,
        "fit": num_open * settings.pairs * fit.epochs * fit.ensemble / FIT_PAIRS_PER_S,
    }
    return {
        "run": str(folder),
        "skills": {plan.skill: plan.state for plan in plans},
        "collect_steps": steps,
        "questions": questions,
        "tokens": sum(each.prompt_tokens + each.completion_tokens for each in estimates),
        "cost": None if None in costs else sum(cost for cost in costs if cost is not None),
        "annotator": settings.annotator if settings.annotator != "llm" else f"llm ({settings.llm})",
        "fits": num_open,
        "seconds": {name: None if value is None else round(value) for name, value in seconds.items()},
    }


def show_plan(plans: list[SkillPlan], described: dict[str, Any]) -> None:
    """Print what is there and what will be done."""
    print_table(
        {"skill": "skill", "reward model": "state", "where": "where"},
        [vars(plan) for plan in plans],
        empty="no skills",
    )
    if not described["fits"]:
        anew = "--config redo=true" if any(plan.state == "has one" for plan in plans) else "another --run"
        print(f"Nothing is left to do; {anew} makes them anew.")
        return
    seconds = described["seconds"]
    print(f"\nPlan (into {described['run']}):")
    if described["collect_steps"]:
        took = duration(seconds["collect"])
        print(f"  collect   {described['collect_steps']:,} steps of play, about {took}")
    if described["questions"]:
        print(
            f"  annotate  {described['questions']:,} questions to {described['annotator']}, {_effort(described)}"
        )
    models = "1 reward model" if described["fits"] == 1 else f"{described['fits']} reward models"
    print(f"  fit       {models}, at most about {duration(seconds['fit'])}\n", flush=True)


def _effort(described: dict[str, Any]) -> str:
    """Say how long the annotator will take, or where that is its own affair, what it may cost."""
    if described["seconds"]["annotate"] is not None:
        return f"about {duration(described['seconds']['annotate'])}"
    tokens = f"at most about {described['tokens']:,} tokens"
    if described["cost"] is None:
        return f"{tokens}; its prices are not known"
    return f"{tokens}, at most about {described['cost']:.4g} by its prices"


def _is_current(content: Content, skill: str, folder: Path) -> bool:
    """Tell whether there is a model of the skill's preference and threshold of today; a damaged one raises FitError."""
    if not (folder / "card.json").is_file():
        return False
    from maestro.rewards.files import load_reward
    from maestro.rewards.job import preference_sha256

    card, known = load_reward(folder).card, content.skills()
    settings = known[skill].spec.reward if skill in known else RewardSettings()
    same_preference = card.skill_sha256 == preference_sha256(find_goal(content, skill))
    return same_preference and card.threshold_change(settings) is None


def _is_annotated(path: Path, goal: Goal, *, again: bool) -> bool:
    """Tell whether there are verdicts on today's preference and, where rules gave them, by today's rules.

    Others are asked for anew: a changed preference makes other questions, and what the store still knows costs nothing.
    So does a damaged file. `again`: verdicts that could not be understood are to be asked for once more.
    """
    if not path.is_file():
        return False
    try:
        verdicts, info = read_verdicts(path)
    except DatasetError:
        return False
    if info.get("preference") != goal.preference:
        return False
    if info.get("annotator") == "rules" and info.get("context") != _rules_context(goal):
        return False
    return not (again and int(Preference.UNPARSED) in verdicts["preference"].to_pylist())


def _rules_context(goal: Goal) -> str | None:
    """Hash what verdicts by rules depend on, as a verdict file's `context` says it; None where there are no rules."""
    if not goal.rules:
        return None
    annotator = make_annotator(AnnotatorSettings(name="rules", rules=goal.rules))
    return make_context({"preference": goal.preference, **annotator.identity()}, about={}).digest.hex()
