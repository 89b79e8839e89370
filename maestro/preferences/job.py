"""One annotation from a dataset to verdicts: what `maestro annotate` and `maestro train-skills` carry out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from maestro.content import Content
from maestro.errors import DatasetError, UnknownNameError
from maestro.preferences.annotate import Limits, Progress, annotate
from maestro.preferences.annotators import (
    Annotator,
    AnnotatorSettings,
    Reasoning,
    Templates,
    annotator_names,
    make_annotator,
)
from maestro.preferences.captions import Captioner
from maestro.preferences.goals import Goal, find_goal
from maestro.preferences.judgements import Context, make_context
from maestro.preferences.motif import motif_file_name, write_motif
from maestro.preferences.pairs import Pairing, make_pairs
from maestro.preferences.questions import ALL, Plan, Shard
from maestro.preferences.rules import RuleScorer
from maestro.preferences.store import JudgementStore
from maestro.preferences.summary import Summary
from maestro.preferences.transitions import dataset_digest, read_info, read_transitions
from maestro.preferences.verdicts import read_verdicts, write_verdicts
from maestro.prompts import Prompts
from maestro.runs import write_atomically
from maestro.versions import versions

VERDICTS, REPORT = "verdicts.parquet", "report.json"
_GAMES = {"nethack": "NetHack"}


class JobOptions(BaseModel):
    """The finer settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str = "default"
    """Wording of captions and questions: a folder of prompts/preference/."""
    seed: int = Field(default=0, ge=0)
    """Of the pairs drawn, of the annotator `random`, and of a model's sampling."""
    both_orders: bool = True
    temperature: float = Field(default=0.1, ge=0)
    """Of free reasoning."""
    soft_labels: bool = True
    constrained: bool = True
    max_unparsed: float = Field(default=0.05, ge=0, le=1)
    retry_unparsed: bool = False
    """Ask again what was answered, but could not be understood: after a broken server was mended, say."""
    llm_settings: dict[str, Any] = {}
    """Settings of the model's backend: max_in_flight, price_prompt, price_completion, timeout_s, ..."""


@dataclass(frozen=True)
class Job:
    """What to annotate, and how."""

    skill: str
    """A skill, or one of the ready goals."""
    data: Path
    num_pairs: int
    annotator: str = "rules"
    llm: str = "replay"
    reasoning: Reasoning = "none"
    options: JobOptions = field(default_factory=JobOptions)


class Estimate(NamedTuple):
    """What a job will take at most, roughly."""

    questions: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """By the model's prices; None where they are not known, 0 where no model is asked."""


def estimate(content: Content, job: Job) -> Estimate:
    """Estimate a job before there are data, and find what is wrong with its annotator, asking nobody."""
    goal = find_goal(content, job.skill)
    annotator = make_annotator(annotator_settings(job, goal, Prompts(content.prompt_folders())))
    try:
        orders = 2 if job.options.both_orders and not annotator.symmetric else 1
        questions = orders * job.num_pairs
        prompt, completion = (questions * tokens for tokens in annotator.typical_tokens)
        prices = annotator.prices
    finally:
        annotator.close()
    if prices is not None:
        cost = (prices[0] * prompt + prices[1] * completion) / 1_000_000
    else:
        cost = None if prompt + completion else 0.0
    return Estimate(questions, prompt, completion, cost)


class Annotation:
    """A job made ready: everything found, read and checked, nothing asked yet. A context manager."""

    def __init__(self, content: Content, job: Job) -> None:
        """Raises the MaestroError of whatever is missing or does not fit."""
        self.job = job
        self.goal = find_goal(content, job.skill)
        self._is_skill = job.skill in content.skills()
        if job.annotator not in annotator_names():
            raise UnknownNameError("annotator", job.annotator, annotator_names(), where="--annotator")
        world = read_info(job.data)["world"]
        if world != self.goal.world:
            raise DatasetError(
                f"these are transitions of {world}, but {job.skill!r} belongs to {self.goal.world}",
                where=str(job.data),
                hint=f"collect with `maestro collect --skill {job.skill}`, or name the right folder: --config data=...",
            )
        table = read_transitions(job.data)
        prompts = Prompts(content.prompt_folders())
        captioner = Captioner(prompts, job.options.prompt)
        self.settings = annotator_settings(job, self.goal, prompts)
        self.annotator: Annotator = make_annotator(self.settings)
        self.dataset = dataset_digest(table)
        self.pairing: Pairing = make_pairs(table, job.skill, job.num_pairs, job.options.seed)
        about = {"skill": job.skill, "captions": job.options.prompt}
        self.context: Context = make_context(
            {"preference": self.goal.preference, **self.annotator.identity()}, about=about
        )
        both = job.options.both_orders and not self.annotator.symmetric
        self.plan = Plan(table, self.pairing, captioner, self.context, both)

    def __enter__(self) -> Annotation:
        return self

    def __exit__(self, *_: object) -> None:
        self.annotator.close()

    @property
    def label(self) -> str:
        """Name the annotator as people and files call it: "rules", "random", or the model's name."""
        model = str(self.context.description.get("model", ""))
        return model.partition(":")[2] or model or self.job.annotator

    def ask(
        self,
        store: JudgementStore,
        *,
        shard: Shard = ALL,
        max_cost: float | None = None,
        engine: str = "process",
        workers: int = 0,
        on_progress: Callable[[Progress], None] = lambda progress: None,
    ) -> Progress:
        """Ask what `store` lacks; see `annotate`."""
        limits = Limits(max_cost, self.job.options.max_unparsed, self.job.options.retry_unparsed)
        return annotate(
            self.plan,
            self.settings,
            self.annotator,
            self.context,
            store,
            shard=shard,
            limits=limits,
            engine=engine,
            workers=workers,
            on_progress=on_progress,
        )

    def conclude(self, store: JudgementStore, folder: Path) -> dict[str, Any]:
        """Write verdicts, report and Motif's file into `folder`; returns the report."""
        scorer = RuleScorer(self.goal.rules) if self.goal.rules else None
        summary = Summary(self.plan, store, scorer)
        path = folder / VERDICTS
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DatasetError(f"cannot be made: {error.strerror}", where=str(folder)) from error
        write_verdicts(path, summary.batches(), self.info())
        table, _ = read_verdicts(path)
        name = motif_file_name(self.goal, self.label, self.job.options.prompt)
        motif = write_motif(folder, name, np.asarray(table["preference"]))
        report = {
            **self.info(),
            **summary.figures(),
            "strata": self.pairing.report(),
            "own_rows": self.pairing.num_own if self._is_skill else None,
            "files": {"verdicts": str(path), "motif": str(motif), "store": str(store.path)},
            "versions": versions(),
        }
        try:
            write_atomically(folder / REPORT, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
        except OSError as error:
            raise DatasetError(f"cannot be written: {error.strerror}", where=str(folder / REPORT)) from error
        return report

    def info(self) -> dict[str, Any]:
        """Describe the annotation: what a verdict file and a reward model's card say of where labels came from."""
        described = self.context.description
        return {
            "skill": self.job.skill,
            "annotator": self.job.annotator,
            "model": described.get("model"),
            "reasoning": self.job.reasoning if self.job.annotator == "llm" else None,
            "prompt": self.job.options.prompt,
            "preference": self.goal.preference,
            "context": self.context.digest.hex(),
            "dataset": self.dataset,
            "data": str(self.job.data),
            "num_pairs": self.job.num_pairs,
            "seed": self.job.options.seed,
            "both_orders": self.plan.both_orders,
        }


def annotator_settings(job: Job, goal: Goal, prompts: Prompts) -> AnnotatorSettings:
    """Collect what the annotator needs, prompts rendered."""
    options = job.options
    return AnnotatorSettings(
        name=job.annotator,
        preference=goal.preference,
        rules=goal.rules,
        seed=options.seed,
        llm=job.llm,
        llm_settings=options.llm_settings,
        templates=_templates(goal, job, prompts) if job.annotator == "llm" else None,
        reasoning=job.reasoning,
        temperature=options.temperature,
        soft_labels=options.soft_labels,
        constrained=options.constrained,
    )


def _templates(goal: Goal, job: Job, prompts: Prompts) -> Templates:
    from maestro.preferences.annotators.llm import FIRST, SECOND

    folder = f"preference/{job.options.prompt}"
    game = _GAMES.get(goal.world, f"the {goal.world}")
    reason = f"preference/reason_{job.reasoning if job.reasoning != 'none' else 'brief'}.j2"
    return Templates(
        system=prompts.render(f"{folder}/system.j2", game=game).strip(),
        question=prompts.render(
            f"{folder}/question.j2", game=game, preference=goal.preference, first=FIRST, second=SECOND
        ),
        reason=prompts.render(reason).strip() if job.reasoning != "none" else "",
        verdict=prompts.render("preference/verdict.j2").strip(),
        again=prompts.render("preference/again.j2").strip(),
    )
