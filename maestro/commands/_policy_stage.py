"""The second half of `maestro train-skills`: from reward models to a trained policy, by imitation first where asked for.

<run>/imitation/      a run of `maestro imitate`
<run>/training/       a run of `maestro train-policy`
<run>/skills/policy/  the trained policy: <run> is a folder of content that has it
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from sys import stderr
from typing import Any, NamedTuple

from maestro.commands import imitate
from maestro.commands._reward_plan import TrainSkillsSettings
from maestro.commands._train_plan import (
    Plan,
    TrainPolicySettings,
    check_memory,
    describe,
    make_plan,
    read_train_settings,
    show_plan,
)
from maestro.commands.train_policy import Trained, train_planned
from maestro.content import TRAINED_POLICY_FOLDER
from maestro.errors import ConfigError
from maestro.learner.policy_file import CARD, load_card

IMITATION, TRAINING = "imitation", "training"
IMITATION_STEPS = 20e6
"""Where [imitate] says nothing."""


class PolicyStage(NamedTuple):
    """What is left to do after the rewards."""

    folder: Path
    settings: TrainSkillsSettings
    preset: str | None
    steps: int
    plan: Plan

    @property
    def imitates(self) -> bool:
        """Tell whether the policy begins with imitation that is not done yet."""
        return self.settings.init == "imitate" and not _is_imitated(self.folder, self.settings)

    def describe(self) -> dict[str, Any]:
        """Put it into plain data."""
        told: dict[str, Any] = {"policy": describe(self.plan)}
        if self.settings.init == "imitate":
            told["imitation"] = {"steps": _imitation_steps(self.settings), "done": not self.imitates}
        return told

    def show(self) -> None:
        """Print the plan for people."""
        if self.settings.init == "imitate":
            state = "left to do" if self.imitates else "done"
            print(
                f"Imitation (into {self.folder / IMITATION}): {_imitation_steps(self.settings):,} steps, {state}"
            )
        show_plan(self.plan)

    def carry_out(self, *, quiet: bool) -> Trained:
        """Imitate and train, as far as it is not done; `quiet` leaves stdout alone."""
        if not self.plan.is_complete:
            check_memory(self.plan)
        if self.imitates:
            config = imitate.Config(
                world=self.settings.world,
                preset=self.preset or "small",
                steps=_imitation_steps(self.settings),
                run=self.folder / IMITATION,
                seed=self.settings.seed,
                config=tuple(_words({k: v for k, v in self.settings.imitate.items() if k != "steps"})),
            )
            if quiet:
                with redirect_stdout(stderr):
                    imitate.run(config)
            else:
                imitate.run(config)
        # Now that the reward models are there, see that they fit; and the policy of the imitation, too.
        plan = plan_policy(self.folder, self.settings, self.preset, self.steps, ready=True).plan
        done = train_planned(plan)
        if done.policy is not None:
            place = self.folder / "skills" / TRAINED_POLICY_FOLDER
            shutil.copytree(done.policy, place, dirs_exist_ok=True)
            done.policy = place
        return done


def plan_policy(
    folder: Path, settings: TrainSkillsSettings, preset: str | None, steps: int, *, ready: bool
) -> PolicyStage:
    """Look what there is; `ready` is whether reward models and imitation are there, or still to be made."""
    table = settings.policy
    for key in ("world", "seed"):
        if key in table.get("games", {}):
            raise ConfigError(
                f"games.{key} is set", where="--config: policy", expected=f"the key {key} alone"
            )
    words = _words(table)
    words += [f"games.world={settings.world}", f"games.pay.rewards={json.dumps(str(folder))}"]
    if settings.content is not None:
        roots = [str(root) for root in settings.find_content().roots]
        words.append(f"games.roots={json.dumps(roots)}")
    init: str | None = settings.init
    if init == "imitate":
        init = str(folder / IMITATION) if ready else None
    read = read_train_settings(
        words, preset, settings.seed, init, pulled=settings.init == "imitate" and ready
    )
    return PolicyStage(folder, settings, preset, steps, _plan(folder / TRAINING, read, steps, ready))


def _plan(folder: Path, settings: TrainPolicySettings, steps: int, ready: bool) -> Plan:
    return make_plan(folder, settings, steps, paid=ready)


def _imitation_steps(settings: TrainSkillsSettings) -> int:
    return int(settings.imitate.get("steps", IMITATION_STEPS))


def _is_imitated(folder: Path, settings: TrainSkillsSettings) -> bool:
    policy = folder / IMITATION / "policy"
    return (policy / CARD).is_file() and load_card(policy).steps >= _imitation_steps(settings)


def _words(table: dict[str, Any], prefix: str = "") -> list[str]:
    """Write a table as the words that --config takes."""

    def walk(table: dict[str, Any], prefix: str) -> Iterator[str]:
        for key, value in table.items():
            if isinstance(value, dict):
                yield from walk(value, f"{prefix}{key}.")
            else:
                yield f"{prefix}{key}={json.dumps(value, default=str)}"

    return list(walk(table, prefix))
