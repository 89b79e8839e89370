"""Train the skills: one network that learns, by reinforcement, what each skill's reward model pays for.

    maestro train-policy --dry-run
    maestro train-policy --steps 2e6
    maestro train-policy --preset small --init imitate --run runs/mine
    maestro train-policy --run runs/mine --steps 4e6
    maestro train-policy --config num_workers=2 games.num_games=128 learning_rate=2e-4
    maestro train-policy --config probes.tasks='["gnomish"]' probes.every=500000

Games are played under the training policy over skills, and whichever skill runs is paid by its own reward model. The plan
and its cost are printed before anything starts. Ctrl-C ends it with a checkpoint; the same command goes on where it was
stopped or killed, and with more --steps it trains on. With --run of a run that exists, what nothing is said about stays as it
was. <run>/policy/ holds the policy in the end, for `maestro eval --policy <run>/policy`; <run>/metrics.jsonl and
<run>/tensorboard/ say how it went, and `maestro curves --run <run>` draws it.

--config takes TOML files and single keys: games (world, num_games, features, max_steps, pay, ...), network, device,
num_workers, num_groups, rollout, batch_size, learning_rate, discount, returns, entropy_coefficient, pull (coefficient,
final, steps), probes (tasks, every, games, seed), save_every_s, milestone_steps and more: docs/guides/training.md.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maestro.commands._emergence import print_emergence, rows_of_run
from maestro.commands._output import INTERRUPTED, print_json
from maestro.commands._settings import whole_steps
from maestro.runs import Run, check_config, runs_root

if TYPE_CHECKING:
    from maestro.commands._train_plan import Plan
    from maestro.commands._training_view import TrainingView
    from maestro.learner.probes import ProbeResult, Probes
    from maestro.learner.progress import MetricsWriter, Summary
    from maestro.learner.supervisor import Supervisor

METRICS_EVERY_S = 10.0


@dataclass(frozen=True)
class TrainPolicyConfig:
    """Choose what is trained, and for how long."""

    preset: str | None = None
    """Network and settings: "small" (for processors, the default), "paper" (MaestroMotif's) or "gpu"."""
    steps: float = 2e6
    """Environment steps at which training ends, all sessions together; 2e6 may be written."""
    run: Path | None = None
    """Folder of the results; by default runs/train-policy-<world>."""
    init: str | None = None
    """What to begin with: "none" (chance, the default), "imitate", a policy's folder, or a run."""
    seed: int | None = None
    """Of dungeons and network; 0 by default."""
    config: tuple[str, ...] = ()
    """TOML files with finer settings, or single ones such as learning_rate=2e-4; see above."""
    dry_run: bool = False
    """Only print the plan."""
    json: bool = False
    """Print one JSON object."""


Config = TrainPolicyConfig


def run(config: TrainPolicyConfig) -> int:
    """Print the plan, train, and say where the policy is; exit code 130 where Ctrl-C cut it short."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from maestro.commands._train_plan import (
        MAY_DIFFER,
        check_memory,
        describe,
        make_plan,
        read_train_settings,
        show_plan,
    )

    settings = read_train_settings(config.config, config.preset, config.seed, config.init, run=config.run)
    folder = (config.run or runs_root() / f"train-policy-{settings.games.world}").absolute()
    plan = make_plan(folder, settings, whole_steps(config.steps))
    check_config(folder, plan.identity(), MAY_DIFFER)
    if config.json and config.dry_run:
        print_json(describe(plan))
    elif not config.json:
        show_plan(plan)
    if config.dry_run:
        return 0
    if not plan.is_complete:
        check_memory(plan)
    done = train_planned(plan)
    conclude(config.json, plan, done)
    return INTERRUPTED if done.interrupted else 0


@dataclass
class Trained:
    """How far training came."""

    env_steps: int = 0
    interrupted: bool = False
    policy: Path | None = None
    """Folder of the policy; None where training was cut short."""
    summary: Summary | None = None


def train_planned(plan: Plan) -> Trained:
    """Train what is left of a plan and take the policy out."""
    from maestro.commands._train_plan import MAY_DIFFER
    from maestro.commands._training_view import TrainingView
    from maestro.learner.probes import Probes
    from maestro.learner.progress import MetricsWriter, is_probe, read_metrics
    from maestro.learner.sessions import SETTINGS
    from maestro.learner.supervisor import Supervisor

    done = Trained(plan.done)
    folder = plan.folder
    with Run(folder.name, config=plan.identity(), root=folder.parent, may_differ=MAY_DIFFER) as opened:
        if not plan.is_complete:
            opened.append_record(SETTINGS, {"from": plan.done, **plan.identity()})
            probed = [record["env_steps"] for record in read_metrics(folder) if is_probe(record)]
            config = plan.settings.training()
            title = f"{folder.name}: {plan.settings.num_games} games of {plan.settings.games.world}"
            with (
                MetricsWriter(opened, plan.done) as writer,
                Probes(folder, plan.settings.probes, max(probed, default=None)) as probes,
                TrainingView(title) as view,
                _told_of_stopping(view),
            ):
                supervisor = Supervisor(folder, config, plan.steps)
                watcher = _Watcher(plan, writer, probes, view)
                try:
                    supervisor.run(watcher.look)
                    watcher.finish()
                except KeyboardInterrupt:
                    done.interrupted = True
                done.summary = watcher.last
        done.env_steps = _steps_kept(folder)
        if not done.interrupted:
            done.policy = _export(opened, folder)
    return done


def conclude(json: bool, plan: Plan, done: Trained, run: Path | None = None) -> None:
    """Say how it ended and what may come next; `run` is the folder of the whole where training is a part of it."""
    from maestro.content import Content
    from maestro.learner.probes import best_probes

    folder = plan.folder
    best = best_probes(folder, plan.settings.probes)
    skills = [] if done.interrupted else rows_of_run(folder)
    if json:
        games = done.summary.games if done.summary else {}
        print_json(
            {
                "run": str(run or folder),
                "steps": done.env_steps,
                "complete": not done.interrupted,
                "policy": None if done.policy is None else str(done.policy),
                "steps_per_s": done.summary.overall_steps_per_s if done.summary else None,
                "restarts": done.summary.restarts if done.summary else 0,
                "games": games,
                "skills": skills,
                "probes": done.summary.probes if done.summary else {},
                "best_probes": {task: probe._asdict() for task, probe in best.items()},
            }
        )
    if done.interrupted:
        kept = f"the checkpoint is in {folder}" if done.env_steps else "there is no checkpoint yet"
        print(
            f"\nmaestro: stopped at {done.env_steps:,} of {plan.steps:,} steps; {kept}. "
            "Give the same command again to go on.",
            file=sys.stderr,
        )
    elif not json:
        task = next(iter(Content.find().tasks(plan.settings.games.world)), "TASK")
        if not plan.is_complete:
            print(f"\nTraining is complete: {done.env_steps:,} steps.\n")
        if skills:
            print_emergence(skills)
        if best:
            print("\nBest probe of each task:")
        for task_name, probe in best.items():
            print(
                f"  {task_name}: {probe.mean:.3g} at {probe.env_steps:,} steps, {probe.policy or 'policy gone'}"
            )
        print(
            f"\nPolicy: {done.policy}\n"
            f"Next: maestro eval --target {task} --policy {done.policy}\n"
            f"      maestro curves --run {folder}"
        )


class _Watcher:
    """Looks at a run about once a second: shows, records and probes."""

    def __init__(self, plan: Plan, writer: MetricsWriter, probes: Probes, view: TrainingView) -> None:
        from maestro.learner.bottleneck import BottleneckMeter
        from maestro.learner.progress import RunProgress, every

        self._progress = RunProgress(plan.folder, plan.steps, plan.done)
        self._meter = BottleneckMeter()
        self._writer, self._probes, self._view = writer, probes, view
        self._due = every(METRICS_EVERY_S)
        self._found: dict[str, float] = {}
        self._told = 0
        self.last: Summary | None = None

    def look(self, supervisor: Supervisor) -> None:
        """Take in what is new."""
        summary = self._sum_up()
        summary.restarts = supervisor.watch.restarts
        for reason in supervisor.watch.reasons[self._told :]:
            self._told += 1
            self._view.say(f"started again: {reason}")
        summary.limit = self._meter.look(supervisor.processes)
        if self._due() and summary.steps_per_s is not None:
            self._writer.write(summary, self._progress.fresh())
        result = self._probes.look()
        if result is not None:
            self._take(result)
        self._view.update(summary, self._note())

    def finish(self) -> None:
        """Record what is left, and wait for the last probe."""
        summary = self._sum_up()
        if self.last is not None:
            summary.restarts = self.last.restarts
        self._writer.write(summary, self._progress.fresh())
        if self._probes.running is not None:
            self._view.update(summary, "waiting for the last probe")
        for result in self._probes.finish():
            self._take(result)
        summary.probes = dict(self._found)
        self._view.update(summary)

    def _sum_up(self) -> Summary:
        summary = self._progress.look()
        summary.probes = dict(self._found)
        if self.last is not None:
            summary.restarts = self.last.restarts
        self.last = summary
        return summary

    def _take(self, result: ProbeResult) -> None:
        if result.fault is not None:
            self._view.say(f"the probe at {result.env_steps:,} steps failed: {result.fault}")
            return
        self._found.update(result.means)
        self._writer.write_probe(result.env_steps, result.metrics)

    def _note(self) -> str:
        running = self._probes.running
        return "" if running is None else f"probing the policy of {running:,} steps"


@contextmanager
def _told_of_stopping(view: TrainingView) -> Iterator[None]:
    """Say at the first Ctrl-C that a checkpoint is being written: it takes some seconds."""

    def stop(*_: Any) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a second one does not wait
        view.say("stopping; a checkpoint is being written. Ctrl-C once more does not wait for it.")
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _steps_kept(folder: Path) -> int:
    from maestro.learner.checkpoint import find_checkpoints

    files = find_checkpoints(folder)
    return files[-1].env_steps if files else 0


def _export(opened: Run, folder: Path) -> Path | None:
    """Write the policy of the newest checkpoint to <run>/policy, where it trained skills."""
    from maestro.learner.policy_file import save_policy
    from maestro.learner.run_policy import DESCRIPTION, load_run_policy

    if not (folder / DESCRIPTION).is_file():
        return None  # a single goal, as Motif trains it: no policy over skills could use it
    path = opened.path("policy")
    save_policy(path, *load_run_policy(folder))
    return path
