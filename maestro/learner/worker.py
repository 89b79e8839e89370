"""The process that trains: `python -m maestro.learner.worker <run> <supervisor's process>`; `supervisor.py` starts it and looks after it."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from sample_factory.algo.runners.runner import AlgoObserver, Runner
from sample_factory.algo.utils.context import global_model_factory
from sample_factory.algo.utils.misc import ExperimentStatus
from sample_factory.envs.env_utils import register_env

from maestro.errors import MaestroError
from maestro.learner.actor_critic import make_actor_critic
from maestro.learner.algorithm import SkillRunner
from maestro.learner.arguments import ENVIRONMENT, config_of, sample_factory_args
from maestro.learner.config import TrainConfig
from maestro.learner.environment import SkillEnvironment, SpacesOnly
from maestro.learner.faults import report_fault
from maestro.learner.processes import TRAINER, name_process

PROGRESS = "progress.jsonl"
"""In the run: a line every few seconds, from the process that trains."""
PROGRESS_EVERY_S = 2.0


def make_environment(
    full_env_name: str, args: Any, env_config: Any = None, render_mode: str | None = None
) -> Any:
    """Make one group of games; sample-factory's factory for it."""
    config, folder = config_of(args), Path(args.maestro_folder)
    try:
        if env_config is None:
            return SpacesOnly(config, folder)
        return SkillEnvironment(config, folder, int(env_config.env_id), start=args.maestro_start)
    except MaestroError as error:
        report_fault(folder, str(error))
        raise


class Progress(AlgoObserver):
    """Writes the run's progress as lines of JSON."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / PROGRESS
        self._last = 0.0
        self._iterations = 0
        self._train: dict[str, float] = {}

    def on_init(self, runner: Runner) -> None:
        """Listen to the learner's statistics."""
        runner.policy_msg_handlers["train"].append(self._on_train)

    def _on_train(self, runner: Runner, message: dict, policy_id: int) -> None:
        self._train = {key: float(value) for key, value in message["train"].items()}

    def on_training_step(self, runner: Runner, training_iteration_since_resume: int) -> None:
        """Write a line if the last is some seconds old."""
        self._iterations = training_iteration_since_resume
        if time.monotonic() - self._last >= PROGRESS_EVERY_S:
            self._write(runner)

    def on_stop(self, runner: Runner) -> None:
        """Write a last line: short runs end before the next would be due."""
        self._write(runner)

    def _write(self, runner: Runner) -> None:
        self._last = time.monotonic()
        line = {
            "time": time.time(),
            "env_steps": runner.env_steps.get(0, 0),
            "iterations": self._iterations,
            "train": self._train,
        }
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def train(folder: Path, config: TrainConfig, steps: int, start: int = 0) -> int:
    """Train until the run has `steps` environment steps; returns an exit code."""
    register_env(ENVIRONMENT, make_environment)
    global_model_factory().register_actor_critic_factory(make_actor_critic)
    runner = SkillRunner(sample_factory_args(config, folder, steps, start))
    runner.register_observer(Progress(folder))
    status = runner.init()
    if status == ExperimentStatus.SUCCESS:
        status = runner.run()
    return {ExperimentStatus.SUCCESS: 0, ExperimentStatus.INTERRUPTED: 130}.get(status, 1)


def _end_with(supervisor: int) -> None:
    """Kill this process and all it started as soon as the supervisor is gone; nobody else would end them."""
    while os.getppid() == supervisor:
        time.sleep(1.0)
    os.killpg(os.getpgid(0), signal.SIGKILL)


def main() -> int:
    """Read the task from the file that the supervisor, whose process is named behind the folder, wrote.

    The supervisor may be gone already: what is imported above takes seconds.
    """
    threading.Thread(target=_end_with, args=(int(sys.argv[2]),), daemon=True).start()
    name_process(TRAINER)
    folder = Path(sys.argv[1])
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    return train(folder, TrainConfig.model_validate(task["config"]), int(task["steps"]), int(task["start"]))


if __name__ == "__main__":
    sys.exit(main())
