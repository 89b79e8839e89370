"""What `maestro train-policy` will do and what it will cost: found out before anything is begun."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import model_validator

from maestro.commands._beginning import check_beginning, check_init, find_init, pull_warning
from maestro.commands._progress import duration
from maestro.commands._settings import read_settings
from maestro.errors import ConfigError, RunError, TrainingError
from maestro.learner.belonging import belonging_of
from maestro.learner.checkpoint import CheckpointFile, newest
from maestro.learner.config import Pull, TrainConfig
from maestro.learner.games import SkillGames
from maestro.learner.memory import available_bytes
from maestro.learner.network import ArraySpec, PolicyNetwork
from maestro.learner.payment import check_rewards
from maestro.learner.probes import ProbeConfig
from maestro.learner.progress import read_metrics
from maestro.learner.sessions import SETTINGS, last_settings
from maestro.specs import parse

RATES = {("nethack", "paper"): 5_300, ("nethack", "small"): 7_000, ("nethack", "gpu"): 40_000}
"""Steps per second of training in the presets' layouts on two idle cores (docs/benchmarks.md, docs/log.md): "small" once the policy
plays well, which makes games dearer than a new one's 10,600; that of "gpu" is a guess."""
RATE_NOTES = {
    ("nethack", "paper"): "(as two idle cores did)",
    ("nethack", "small"): "(as two idle cores did)",
    ("nethack", "gpu"): "(a guess: no GPU was ever tried)",
}
CORRIDOR_RATE = 8_000
PROCESS_BYTES, GAME_BYTES = 380e6, {"nethack": 5e6}
"""Memory of a process with torch in it, and of a game: roughly what `top` showed."""
MAY_DIFFER = (
    "steps", "num_workers", "num_groups", "games.num_games", "games.training", "games.dungeons", "games.guide",
    "batches_ahead", "learner_threads", "device", "save_every_s", "keep_checkpoints", "milestone_steps", "batch_size",
    "learning_rate", "entropy_coefficient", "pull", "probes",
)  # fmt: skip
"""Settings that may change when a run goes on: of speed, of learning, and of the curriculum. What each session used is in
settings.jsonl."""


class TrainPolicySettings(TrainConfig):
    """What may stand after --config: everything of the training, and the probes."""

    probes: ProbeConfig = ProbeConfig()

    @model_validator(mode="after")
    def _fits(self) -> TrainPolicySettings:
        return self  # a file may speak of the pull and leave `init` to the flag; `training` checks the whole

    def training(self) -> TrainConfig:
        """Leave out what the processes that train need not know."""
        return parse(self.model_dump(exclude={"probes"}), TrainConfig, where="--config")


class Plan(NamedTuple):
    """What is to be done."""

    folder: Path
    settings: TrainPolicySettings
    steps: int
    checkpoint: CheckpointFile | None
    """Where training goes on."""
    broken: list[Path]
    """Checkpoints that were passed over because they cannot be read."""
    skills: tuple[str, ...]
    num_parameters: int
    memory_bytes: float
    available_bytes: float
    disk_bytes: float
    steps_per_s: float
    measured: bool
    """Whether the rate is this run's own."""
    warnings: tuple[str, ...]

    @property
    def done(self) -> int:
        """Count the steps that are behind."""
        return self.checkpoint.env_steps if self.checkpoint else 0

    @property
    def is_complete(self) -> bool:
        """Tell whether nothing is left to train."""
        return self.done >= self.steps

    def identity(self) -> dict[str, Any]:
        """Give what the run folder remembers."""
        return {**self.settings.model_dump(mode="json"), "steps": self.steps}


def read_train_settings(
    words: Sequence[str],
    preset: str | None,
    seed: int | None,
    init: str | None,
    *,
    pulled: bool | None = None,
    run: Path | None = None,
) -> TrainPolicySettings:
    """Put --config and the flags that stand for keys together; raises ConfigError and SpecError.

    `pulled` is whether the policy is pulled towards `init` where no setting says so; None: if it was made by imitation.
    What nothing is said about stays as it was in the last session of `run`.
    """
    below: dict[str, Any] = {}
    if run is not None:
        below = last_settings(run)
        parse(below, TrainPolicySettings, where=str(run / f"{SETTINGS}.jsonl"))  # a fault there is no word's
    if init == "none":
        below.pop("init", None)
    flags = [f"preset={preset}"] if preset else []
    flags += [] if seed is None else [f"games.seed={seed}"]
    if init is not None and init != "none":
        world = read_settings([*words, *flags], TrainPolicySettings, below).games.world
        flags += [f"init={json.dumps(str(find_init(init, world, preset or 'small')))}"]
    settings = _absolute(read_settings([*words, *flags], TrainPolicySettings, below))
    pull_said = any(word.replace(" ", "").startswith("pull") for word in words) or settings.pull is not None
    if (init == "imitate" if pulled is None else pulled) and not pull_said:
        settings = settings.model_copy(update={"pull": Pull()})
    return settings


def _absolute(settings: TrainPolicySettings) -> TrainPolicySettings:
    """Name the folder of reward models in full: a run may be gone on with from elsewhere."""
    games = settings.games
    if games.pay.rewards is None:
        return settings
    pay = games.pay.model_copy(update={"rewards": games.pay.rewards.expanduser().absolute()})
    return settings.model_copy(update={"games": games.model_copy(update={"pay": pay})})


def make_plan(folder: Path, settings: TrainPolicySettings, steps: int, *, paid: bool = True) -> Plan:
    """Look what there is and estimate what is left.

    Starts one game to see that content, reward models, network and the policy to go on or begin with fit together, so
    that whatever is missing is said here: raises the MaestroError of what is wrong. `paid` off leaves the reward models
    out, which may be made later.
    """
    settings.training()  # raises what is wrong with the settings as a whole
    _check_probes(settings)
    _check_device(settings)
    check_init(settings, folder)
    found = newest(folder)
    one: dict[str, Any] = {"num_games": 1}
    if not paid:
        one["pay"] = settings.games.pay.model_copy(update={"intrinsic_scale": 0.0})
    games = SkillGames(settings.games.model_copy(update=one))
    try:
        if paid:
            _check_rewards(settings, folder, games.skills)
        notes = check_beginning(settings, folder, belonging_of(games, settings.games.content()))
        network = PolicyNetwork(settings.network, games.specs, len(games.skills), games.num_actions)
        specs, skills = dict(games.specs), games.skills
        games.reset()  # generated code that fails at once is found here, and not by processes that are started in vain
    finally:
        games.close()
    num_parameters = sum(weight.numel() for weight in network.parameters())
    rate, measured = _rate(folder, settings)
    needed, free = _memory(settings, specs, network.state_size, num_parameters), available_bytes()
    if needed > free:
        notes = (*notes, "there is not enough memory here: without --dry-run it would be refused")
    return Plan(
        folder,
        settings,
        steps,
        found[0] if found else None,
        found[2] if found else [],
        skills,
        num_parameters,
        needed,
        free,
        _disk(settings, num_parameters, steps),
        rate,
        measured,
        (*notes, *_warnings(settings, folder, found[0].env_steps if found else 0)),
    )


def _check_probes(settings: TrainPolicySettings) -> None:
    """Raise UnknownNameError for a probe of a task there is not, ConfigError for one of another world."""
    content = settings.games.content()
    for name in settings.probes.tasks:
        world = content.task(name).spec.world
        if world != settings.games.world:
            raise ConfigError(
                f"the task {name!r} is of the world {world!r}",
                where="probes.tasks",
                expected=f"one of {', '.join(content.tasks(settings.games.world))}",
            )


def check_memory(plan: Plan) -> None:
    """Raise TrainingError where the memory will not do."""
    if plan.memory_bytes > plan.available_bytes:
        config = plan.settings
        raise TrainingError(
            f"training needs about {plan.memory_bytes / 1e9:.1f} GB of memory, and "
            f"{plan.available_bytes / 1e9:.1f} GB are free",
            where=f"{config.num_games} games in {config.num_workers} processes, batches of {config.batch_size:,}",
            expected="a plan that fits",
            hint="fewer num_workers, games.num_games or batch_size",
        )


def describe(plan: Plan) -> dict[str, Any]:
    """Put the plan into plain data."""
    left = max(0, plan.steps - plan.done)
    config = plan.settings
    return {
        "run": str(plan.folder),
        "complete": plan.is_complete,
        "steps": plan.steps,
        "steps_done": plan.done,
        "world": config.games.world,
        "skills": list(plan.skills),
        "games": config.num_games,
        "workers": config.num_workers,
        "batch": config.batch,
        "rollout": config.rollout,
        "parameters": plan.num_parameters,
        "device": config.device,
        "init": None if config.init is None else str(config.init),
        "steps_per_s": round(plan.steps_per_s),
        "seconds": round(left / plan.steps_per_s),
        "memory_bytes": round(plan.memory_bytes),
        "available_bytes": round(plan.available_bytes),
        "disk_bytes": round(plan.disk_bytes),
        "probes": config.probes.model_dump(mode="json"),
        "warnings": list(plan.warnings),
    }


def show_plan(plan: Plan) -> None:
    """Print the plan for people."""
    told, config = describe(plan), plan.settings
    if plan.is_complete:
        print(f"Nothing is left to train: {plan.folder} has {plan.done:,} of {plan.steps:,} steps.")
        return
    lines = {
        "steps": f"{plan.steps:,}" + (f", of which {plan.done:,} are done" if plan.done else ""),
        "games": f"{told['games']} of {told['world']} in {_count(told['workers'], 'process', 'processes')}, "
        f"skills {', '.join(plan.skills)}",
        "network": f"preset {config.preset}, {plan.num_parameters:,} weights, on the {config.device.upper()}",
        "begins": _beginning(plan),
        "batch": f"{told['batch']:,} steps in stretches of {config.rollout}",
        "speed": f"about {told['steps_per_s']:,} steps/s {_rate_note(plan)}".rstrip(),
        "time": f"about {duration(told['seconds'])}",
        "memory": f"about {plan.memory_bytes / 1e9:.1f} GB of {plan.available_bytes / 1e9:.1f} GB that are free",
        "disk": f"about {plan.disk_bytes / 1e6:,.0f} MB",
    }
    if config.probes.tasks:
        probes = config.probes
        lines["probes"] = f"{', '.join(probes.tasks)}: {probes.games} games every {probes.every:,} steps"
    print(f"Plan (into {plan.folder}):")
    for name, text in lines.items():
        print(f"  {name:8} {text}")
    for warning in plan.warnings:
        print(f"maestro: warning: {warning}", file=sys.stderr)
    for path in plan.broken:
        print(f"maestro: warning: {path.name} cannot be read and is passed over", file=sys.stderr)
    sys.stdout.flush()


def _beginning(plan: Plan) -> str:
    if plan.done:
        return f"where the run stopped, at {plan.done:,} steps"
    if plan.settings.init is None:
        return "with chance"
    pull = plan.settings.pull
    fading = "" if pull is None else f", pulled towards it for {pull.steps:,} steps"
    return f"with {plan.settings.init}{fading}"


def _check_rewards(config: TrainConfig, folder: Path, skills: Sequence[str]) -> None:
    """Refuse a folder of reward models that gives none; but train-skills names its own, which may leave all to the content."""
    if config.games.pay.rewards != folder.parent:
        check_rewards(config.games.pay, skills)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _check_device(config: TrainConfig) -> None:
    if config.device != "gpu":
        return
    import torch

    if not torch.cuda.is_available():
        raise ConfigError(
            "a GPU is asked for and there is none",
            where="device",
            expected='device = "cpu", or a machine with a GPU that torch can use',
            hint="--preset small, or --config device=cpu; `maestro doctor` says what torch sees",
        )


def _warnings(config: TrainConfig, folder: Path, done: int) -> list[str]:
    cores = len(os.sched_getaffinity(0))
    faded = pull_warning(config, folder, done)
    found = [] if faded is None else [faded]
    if config.num_workers > cores:
        found.append(
            f"{config.num_workers} workers on {cores} cores: they take turns, and none gets faster by it"
        )
    return found


def _rate_note(plan: Plan) -> str:
    """Say where the rate comes from; nothing where nobody measured it."""
    if plan.measured:
        return "(as before in this run)"
    return RATE_NOTES.get((plan.settings.games.world, plan.settings.preset), "")


def _rate(folder: Path, config: TrainConfig) -> tuple[float, bool]:
    """Say how fast it will probably be, and whether this run has shown it."""
    with contextlib.suppress(RunError):
        rates = [record["steps_per_s"] for record in read_metrics(folder) if "steps_per_s" in record]
        if rates:
            return float(np.median(rates[-100:])), True
    if config.games.world != "nethack":
        return CORRIDOR_RATE, False
    return RATES.get(("nethack", config.preset), RATES["nethack", "small"]), False


def _memory(config: TrainConfig, specs: dict[str, ArraySpec], state_size: int, num_parameters: int) -> float:
    """Estimate the bytes of all processes: torch in each, games, stretches on their way, weights."""
    observation = sum(int(np.prod(spec.shape)) * np.dtype(spec.dtype).itemsize for spec in specs.values())
    step = observation + 4 * state_size + 64
    stretches = 2 * config.num_games + (config.batches_ahead + 3) * config.trajectories
    processes = 3 + config.num_workers
    weights = 4 * num_parameters * 8
    activations = 12 * 1024 * config.batch
    return (
        processes * PROCESS_BYTES
        + config.num_games * GAME_BYTES.get(config.games.world, 1e5)
        + stretches * config.rollout * step
        + weights
        + (activations if config.device == "cpu" else 0.3 * activations)
    )


def _disk(config: TrainConfig, num_parameters: int, steps: int) -> float:
    """Estimate the bytes of the run: a checkpoint holds the weights and two moments of each."""
    kept = config.keep_checkpoints + 1 + steps // config.milestone_steps
    return 12 * num_parameters * kept + 4 * num_parameters + 5e6
