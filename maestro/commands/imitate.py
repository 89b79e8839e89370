"""Fit a skill-conditioned policy to what the world's hand-written controllers do.

    maestro imitate
    maestro imitate --preset small --steps 20e6 --run runs/imitate-nethack
    maestro imitate --world corridor --steps 100e3 --config games.num_games=16 games.pay.intrinsic_scale=0
    maestro imitate --init skills/policy --config learning_rate=5e-4 dagger.begin=0 dagger.full=1

Controllers play under the training policy over skills, in processes of their own, and the network learns to choose as they
do; after a while it plays part of the games itself and is told what they would have done. That is the fastest way to a
competent policy on a small machine, and what reinforcement learning can go on from. <run>/policy/ holds the policy as it
stands, for `maestro eval --policy <run>/policy`. The same command goes on where it was stopped or killed; with more --steps it learns on.

--config takes TOML files and single keys: games (world, features, num_games, pay, ...), network, sequence, blocks, uses, kept,
learning_rate, final_learning_rate, warmup, max_gradient_norm, weight_decay, balance, balance_actions,
value_coefficient, discount, average, temperature, dagger (share, begin, full, student_stretch, teacher_stretch), device and save_every_s.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maestro.commands._counter import Counter
from maestro.commands._output import INTERRUPTED, print_json, print_table
from maestro.commands._progress import duration
from maestro.commands._settings import read_settings, whole_steps
from maestro.content import Content
from maestro.errors import ConfigError
from maestro.runs import Run, runs_root

if TYPE_CHECKING:
    from maestro.learner.cloning import ImitateConfig
    from maestro.learner.imitate import Report
    from maestro.learner.policy_file import PolicyCard

# Rates of one core, for the plan: measured on an AMD EPYC (family 26): "Cost of a step" in docs/log.md.
PLAYED_PER_S, FITTED_PER_S = 5_000, 11_000


@dataclass(frozen=True)
class Config:
    """Choose how long to learn, and from what."""

    world: str = "nethack"
    """Whose controllers to imitate."""
    preset: str = "small"
    """Network and features: "small", "paper" or "gpu"."""
    steps: float = 20e6
    """Labelled steps to learn from, all sessions together; 20e6 may be written."""
    run: Path | None = None
    """Folder of the results; by default runs/imitate-<world> (or below MAESTRO_RUNS)."""
    init: str | None = None
    """What to begin with: "none" (chance, the default), a policy's folder, or a run."""
    seed: int = 0
    """Of dungeons and network."""
    workers: int | None = None
    """Processes that play; by default one a core less one, at least 1."""
    config: tuple[str, ...] = ()
    """TOML files with finer settings, or single ones such as learning_rate=5e-4; see above."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Print the plan, imitate, and show how often the policy agrees with its teachers; exit code 130 after Ctrl-C."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the other cores play
    import torch

    from maestro.learner.imitation_run import MAY_DIFFER, POLICY, recorded, run_imitation

    torch.set_num_threads(1)
    settings = read_imitate_settings(config)
    folder = (config.run or runs_root() / f"imitate-{config.world}").absolute()
    with Run(
        folder.name, config=recorded(settings, folder), root=folder.parent, may_differ=MAY_DIFFER
    ) as opened:
        _say_plan(settings, folder)
        progress = _Progress(settings)
        card: PolicyCard | None = None
        with progress.counter, contextlib.suppress(KeyboardInterrupt):
            card = run_imitation(settings, opened, progress, say=_warn)
    if card is None:
        _say_interrupted(config, folder)
        return INTERRUPTED
    _show(config, folder / POLICY, card, progress.last)
    return 0


def read_imitate_settings(config: Config) -> ImitateConfig:
    """Put --config and flags together, the flags counting; raises ConfigError and SpecError that say what is wrong."""
    from maestro.commands._beginning import find_init
    from maestro.learner.cloning import IMITATE_PRESETS, ImitateConfig
    from maestro.learner.imitate import check_config

    cores = len(os.sched_getaffinity(0))
    usual = IMITATE_PRESETS.get(config.preset, {}).get("workers", max(1, cores - 1))
    flags = {
        "preset": config.preset,
        "steps": whole_steps(config.steps),
        "seed": config.seed,
        "workers": usual if config.workers is None else config.workers,
        "games.world": config.world,
        "games.seed": config.seed,
    }
    if config.init is not None and config.init != "none":
        flags["init"] = json.dumps(str(find_init(config.init, config.world, config.preset)))
    words = [f"{key}={value}" for key, value in flags.items()]
    settings = read_settings([*config.config, *words], ImitateConfig)
    if config.workers is not None and config.workers > cores:
        raise ConfigError(
            f"there are {cores} processors for {config.workers} workers",
            where="--workers",
            expected=f"at most {cores}",
        )
    check_config(settings)
    return settings


def planned_seconds(settings: ImitateConfig, done: int = 0) -> float:
    """Estimate the seconds that are left of an imitation with `done` labelled steps behind it, on idle processors."""
    rate = min(settings.workers * PLAYED_PER_S, FITTED_PER_S / settings.uses)
    return max(0, settings.steps - done) / rate


class _Progress:
    """A line now and then, or a bar; and what was said last."""

    def __init__(self, settings: ImitateConfig) -> None:
        self.last: Report | None = None
        self.counter = Counter(f"imitate {settings.games.world}", "steps", settings.steps)
        self._played = 0.0

    def __call__(self, report: Report) -> None:
        self.last = report
        self._played += report.steps_per_s * report.seconds
        skills = " ".join(f"{skill} {share:.0%}" for skill, share in report.agreement_of.items())
        student = ""
        if report.student_agreement_of:
            student = "; own play " + " ".join(f"{s} {a:.0%}" for s, a in report.student_agreement_of.items())
        slowest = "games" if report.waited > 0.15 else "fitting"
        note = f"agreement {report.agreement:.1%} ({skills}{student}), loss {report.loss:.3f}, slowest: {slowest}"
        self.counter.update(report.steps, note, fresh=round(self._played))


def _warn(text: str) -> None:
    print(f"maestro: warning: {text}", file=sys.stderr, flush=True)


def _say_plan(settings: ImitateConfig, folder: Path) -> None:
    print(
        f"maestro: {settings.steps:,} steps of the reference policy in {settings.games.world}, "
        f"{settings.workers} process{'es' if settings.workers > 1 else ''} of {settings.games.num_games} games, "
        f"preset {settings.preset}: about {duration(planned_seconds(settings))} on idle processors. Results: {folder}",
        file=sys.stderr,
        flush=True,
    )


def _say_interrupted(config: Config, folder: Path) -> None:
    """Say what there is: the policy as it was when Ctrl-C came, or none yet."""
    from maestro.learner.imitation_run import POLICY
    from maestro.learner.policy_file import CARD, load_card

    policy = folder / POLICY if (folder / POLICY / CARD).is_file() else None
    steps = load_card(policy).steps if policy else 0
    if config.json:
        print_json({"policy": policy and str(policy), "steps": steps, "complete": False, "last": None})
        return
    kept = f"the policy of {steps:,} steps is in {policy}" if policy else "there is no policy yet"
    print(f"maestro: interrupted; {kept}. The same command goes on from there.", file=sys.stderr)


def _show(config: Config, folder: Path, card: PolicyCard, last: Report | None) -> None:
    if config.json:
        figures = None if last is None else dataclasses.asdict(last)
        print_json({"policy": str(folder), "steps": card.steps, "complete": True, "last": figures})
        return
    columns = {
        "skill": "skill",
        "share of steps": "share",
        "agreement": "teacher",
        "in its own play": "student",
    }
    rows = [] if last is None else [_row(last, skill) for skill in last.share_of]
    print_table(columns, rows, empty="nothing was left to do")
    task = next(iter(Content.find().tasks(config.world)), "TASK")
    print(f"\nPolicy: {folder} ({card.steps:,} steps)\nNext: maestro eval --target {task} --policy {folder}")


def _row(report: Report, skill: str) -> dict[str, Any]:
    def percent(of: dict[str, float]) -> str:
        return f"{of[skill]:.1%}" if skill in of else ""

    return {
        "skill": skill,
        "share": percent(report.share_of),
        "teacher": percent(report.agreement_of),
        "student": percent(report.student_agreement_of),
    }
