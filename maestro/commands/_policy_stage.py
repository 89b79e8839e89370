"""The second half of `maestro train-skills`: from reward models to a trained policy, by imitation first where asked for.

<run>/imitation/      a run of `maestro imitate`
<run>/training/       a run of `maestro train-policy`
<run>/skills/policy/  the trained policy: <run> is a folder of content that has it
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from sys import stderr
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from maestro.commands import imitate
from maestro.commands._output import INTERRUPTED
from maestro.commands._progress import duration
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
from maestro.learner.config import Pull
from maestro.learner.imitation_run import POLICY, own_steps
from maestro.learner.run_policy import TRAINING
from maestro.specs import parse

IMITATION = "imitation"


class _ImitationFlags(BaseModel):
    """What [imitate] says that `maestro imitate` takes as flags."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: float = 20e6
    init: str | None = None
    workers: int | None = None


class ImitationPlan(NamedTuple):
    """The imitation that the policy begins with."""

    config: imitate.Config
    """As `maestro imitate` would be given it."""
    done: int
    """Labelled steps that are behind."""
    seconds: float
    """What is left will take about so long."""

    @property
    def steps(self) -> int:
        """Give the labelled steps to learn from."""
        return int(self.config.steps)

    @property
    def is_complete(self) -> bool:
        """Tell whether nothing is left to imitate."""
        return self.done >= self.steps

    def describe(self) -> dict[str, Any]:
        """Put it into plain data."""
        return {"steps": self.steps, "done": self.is_complete, "seconds": round(self.seconds)}

    def show(self) -> None:
        """Print it for people."""
        left = "done" if self.is_complete else f"left to do, about {duration(self.seconds)}"
        print(f"Imitation (into {self.config.run}): {self.steps:,} steps, {left}")

    def carry_out(self, *, quiet: bool) -> None:
        """Imitate what is left; `quiet` leaves stdout alone."""
        with redirect_stdout(stderr) if quiet else nullcontext():
            if imitate.run(self.config) == INTERRUPTED:
                raise KeyboardInterrupt  # what would come next begins with the whole of it


class PolicyStage(NamedTuple):
    """What is left to do after the rewards."""

    folder: Path
    settings: TrainSkillsSettings
    preset: str | None
    steps: int
    plan: Plan
    imitation: ImitationPlan | None

    @property
    def imitates(self) -> bool:
        """Tell whether the policy begins with imitation that is not done yet."""
        return self.imitation is not None and not self.imitation.is_complete

    def describe(self) -> dict[str, Any]:
        """Put it into plain data."""
        told: dict[str, Any] = {"policy": describe(self.plan)}
        if self.imitation is not None:
            told["imitation"] = self.imitation.describe()
        return told

    def show(self) -> None:
        """Print the plan for people."""
        if self.imitation is not None:
            self.imitation.show()
        show_plan(self.plan)

    def carry_out(self, *, quiet: bool) -> Trained:
        """Imitate and train, as far as it is not done; `quiet` leaves stdout alone."""
        if not self.plan.is_complete:
            check_memory(self.plan)
        if self.imitation is not None and not self.imitation.is_complete:
            self.imitation.carry_out(quiet=quiet)
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
    _refuse(settings.policy, "policy", ("games.world", "games.seed"))
    own = _own_words(folder, settings)
    init = settings.init
    imitates = init == "imitate"
    if settings.imitate and not imitates:
        raise ConfigError(
            f"[imitate] says {', '.join(settings.imitate)}, and the policy begins with {init!r}",
            where="--config",
            expected="init=imitate beside it, or no [imitate]",
        )
    if imitates:
        init = str(folder / IMITATION) if ready else "none"
    read = read_train_settings(
        [*_words(settings.policy), *own], preset, settings.seed, init, pulled=imitates and ready
    )
    imitation = _plan_imitation(folder, settings, read, own) if imitates else None
    # The policy to begin with may be missing yet, and a pull needs one; the plan says that both will be there.
    begins_later = imitates and not ready
    without = read.model_copy(update={"pull": None}) if begins_later else read
    plan = make_plan(folder / TRAINING, without, steps, paid=ready)
    if begins_later:
        begun = {"init": folder / IMITATION / POLICY, "pull": read.pull or Pull()}
        plan = plan._replace(settings=read.model_copy(update=begun))
    return PolicyStage(folder, settings, preset, steps, plan, imitation)


def _plan_imitation(
    folder: Path, settings: TrainSkillsSettings, policy: TrainPolicySettings, own: list[str]
) -> ImitationPlan:
    """Plan to imitate in the games that the policy will train in, with the network it will have.

    So the critic predicts what will be paid, and the policy fits. What [imitate] says counts before it.
    """
    _refuse(settings.imitate, "imitate", ("games.world", "games.seed", "seed", "preset"))
    flags = {name: value for name, value in settings.imitate.items() if name in _ImitationFlags.model_fields}
    finer = {name: value for name, value in settings.imitate.items() if name not in flags}
    said = parse(flags, _ImitationFlags, where="--config: imitate")
    # games.num_games means the games of all processes there, and those of one here.
    games = {key: value for key, value in settings.policy.get("games", {}).items() if key != "num_games"}
    shared = {"games": games, "network": settings.policy.get("network", {}), "discount": policy.discount}
    config = imitate.Config(
        world=settings.world,
        preset=policy.preset,
        steps=said.steps,
        run=folder / IMITATION,
        init=said.init,
        seed=settings.seed,
        workers=said.workers,
        config=(*_words(shared), *own, *_words(finer)),
    )
    done = own_steps(folder / IMITATION)
    return ImitationPlan(config, done, imitate.planned_seconds(imitate.read_imitate_settings(config), done))


def _own_words(folder: Path, settings: TrainSkillsSettings) -> list[str]:
    """Say in words for --config what all games of this run have in common: rewards and content."""
    words = [f"games.world={settings.world}", f"games.pay.rewards={json.dumps(str(folder))}"]
    if settings.content is not None:
        roots = [str(root) for root in settings.find_content().roots]
        words.append(f"games.roots={json.dumps(roots)}")
    return words


def _refuse(table: dict[str, Any], name: str, keys: tuple[str, ...]) -> None:
    """Raise ConfigError where a table says what one key says for the whole."""
    for key in keys:
        *path, last = key.split(".")
        place: Any = table
        for part in path:
            place = place.get(part, {})
        if last in place:
            raise ConfigError(
                f"{key} is set",
                where=f"--config: {name}",
                expected="--preset alone" if last == "preset" else f"the key {last} alone",
            )


def _words(table: dict[str, Any], prefix: str = "") -> list[str]:
    """Write a table as the words that --config takes."""

    def walk(table: dict[str, Any], prefix: str) -> Iterator[str]:
        for key, value in table.items():
            if isinstance(value, dict):
                yield from walk(value, f"{prefix}{key}.")
            else:
                yield f"{prefix}{key}={json.dumps(value, default=str)}"

    return list(walk(table, prefix))
