"""The policy inside a training run: what it began with, what it belongs to, and how to take it out.

<run>/init/          the policy training began with, if it began with one: a copy, so that the run stands alone
<run>/policy.json    the part of a policy's card that says what it belongs to
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from maestro.errors import CheckpointError, PolicyFileError
from maestro.learner.belonging import Belonging, belonging_of, check_belonging
from maestro.learner.binned import card_curve
from maestro.learner.checkpoint import choose, find_checkpoints, network_weights
from maestro.learner.config import TrainConfig
from maestro.learner.games import SkillGames, action_options
from maestro.learner.network import ArraySpec, PolicyNetwork
from maestro.learner.policy_file import (
    CARD,
    PolicyCard,
    load_card,
    load_policy,
    save_policy,
    weights_name,
)
from maestro.learner.sessions import earlier_settings
from maestro.rewards.files import write_with_card
from maestro.runs import write_atomically

INIT = "init"
DESCRIPTION = "policy.json"
TASK = "task.json"
TRAINING = "training"
"""Where in a run of `maestro train-skills` its policy is trained."""

_COPY_ATTEMPTS, _COPY_WAIT_S = 5, 0.2
ANOTHER_RUN = "give another --run to begin anew, or put back what was changed"


def training_folder(run: Path) -> Path:
    """Say where the checkpoints of a run are looked for: in <run>/training for one of train-skills, else in the run."""
    inner = run / TRAINING
    return inner if inner.is_dir() and not find_checkpoints(run, milestones=True) else run


def keep_init(run: Path, init: Path | None) -> Path | None:
    """Copy the policy to begin with into the run, once, and return where the copy is; None where there is none.

    `init` is a policy's folder, or a run of training, whose newest policy is taken out. Raises PolicyFileError for a
    policy that cannot be loaded, CheckpointError for such a run.
    """
    if init is None:
        return None
    copy = run / INIT
    if (copy / CARD).is_file():
        return copy
    trained = training_folder(init)
    if find_checkpoints(trained, milestones=True):
        save_policy(copy, *load_run_policy(trained))
        return copy
    _copy_policy(init, copy)
    return copy


def _copy_policy(policy: Path, copy: Path) -> None:
    """Copy a policy whole, even where it is written anew meanwhile, as a running imitation does; raises PolicyFileError."""
    for attempt in range(_COPY_ATTEMPTS):
        try:
            card = load_policy(policy).card
            told, name = (policy / CARD).read_text(encoding="utf-8"), weights_name(card)
            data = (policy / name).read_bytes()
        except (OSError, PolicyFileError):
            if attempt == _COPY_ATTEMPTS - 1:
                raise
        else:
            if PolicyCard.model_validate_json(told) == card:
                write_with_card(copy, name, data, told.rstrip("\n"))
                return
        time.sleep(_COPY_WAIT_S)
    raise PolicyFileError(
        "the policy is written anew all the time",
        where=str(policy),
        hint="copy its folder, and name the copy",
    )


def chained(
    run: Path, method: str, name: str, settings: dict[str, Any], steps: int, curve: Any
) -> dict[str, Any]:
    """Give the part of a card that says how a policy came about, with what the policy of <run>/init had behind it.

    `steps` are those of this run; `settings` are recorded as `training[name]`, `curve`, unless empty, as `curves[name]`.
    """
    training: dict[str, Any] = {}
    curves: dict[str, Any] = {}
    if (run / INIT / CARD).is_file():
        began = load_card(run / INIT)
        method = f"{began.method}, then {method}"
        training, curves, steps = dict(began.training), dict(began.curves), steps + began.steps
        name += f" from step {began.steps}"
        settings = {**settings, "init": INIT}  # where it lay is nobody's business
    curves |= {name: curve} if curve else {}
    return {"method": method, "steps": steps, "training": {**training, name: settings}, "curves": curves}


def describe_run(run: Path, games: SkillGames, config: TrainConfig) -> None:
    """Write down what the run's policy belongs to, for `load_run_policy`; nothing for what is no set of skills.

    Raises TrainingError where the run's checkpoints belong to something else, CheckpointError where that cannot be read.
    """
    content = config.games.content()
    ours = belonging_of(games, content)
    check_checkpoints(run, ours)
    if all(skill in content.skills(config.games.world) for skill in games.skills):
        write_atomically(run / DESCRIPTION, json.dumps(ours.model_dump(mode="json"), indent=2) + "\n")


def check_checkpoints(run: Path, ours: Belonging) -> tuple[str, ...]:
    """Compare what a run's checkpoints belong to with what is to be trained now; return which skills changed.

    Raises TrainingError where they differ, CheckpointError where what they belong to cannot be read.
    """
    theirs = read_description(run) if find_checkpoints(run, milestones=True) else None
    if theirs is None:
        return ()
    where = str(run / DESCRIPTION)
    return check_belonging(theirs, ours, what="the checkpoint", where=where, hint=ANOTHER_RUN)


def read_description(run: Path) -> Belonging | None:
    """Read what a run's policy belongs to; None where the run does not say. Raises CheckpointError for a damaged file."""
    path = run / DESCRIPTION
    try:
        return Belonging.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise CheckpointError(
            f"what the run's policy belongs to cannot be read: {str(error).splitlines()[0]}",
            where=str(path),
            expected="the file as training writes it",
            hint="restore it from a copy, or give another --run to begin anew",
        ) from error


def _paid_by(config: TrainConfig) -> str:
    pay = config.games.pay
    world = f"the world's reward ({pay.extrinsic})" if pay.extrinsic_scale else ""
    return (
        " and ".join(filter(None, ("the skills' reward models" if pay.intrinsic_scale else "", world)))
        or "no reward"
    )


def _led_by(config: TrainConfig) -> str:
    guide = config.games.guide
    if not guide.skills:
        return ""
    return (
        f", led to {' and '.join(guide.skills)} by the reference policy in {guide.share:.0%} of the episodes"
    )


def load_run_policy(run: Path, which: int | None = None) -> tuple[PolicyNetwork, dict[str, Any]]:
    """Take the policy out of a run: (network, card without what follows from the network).

    `which` is the number of environment steps of a checkpoint; None takes the newest. Raises CheckpointError where there
    is none, or where the run trained something that is no set of skills (Motif's single goals).
    """
    found, content = choose(run, which)
    try:
        about = json.loads((run / DESCRIPTION).read_text(encoding="utf-8"))
        config = TrainConfig.model_validate(json.loads((run / TASK).read_text(encoding="utf-8"))["config"])
    except (OSError, ValueError, KeyError) as error:
        raise CheckpointError(
            f"what the run's policy belongs to cannot be read: {error}",
            where=str(run),
            expected=f"a run of maestro train-policy over skills, with {DESCRIPTION} and {TASK}",
        ) from error
    specs = {
        name: ArraySpec(tuple(shape), kind) for name, (shape, kind) in about["features"]["arrays"].items()
    }
    network = PolicyNetwork(config.network, specs, len(about["skills"]), len(about["action_names"]))
    try:
        network.load_state_dict(network_weights(content))
    except RuntimeError as error:
        raise CheckpointError(
            f"the checkpoint is of another network: {str(error).splitlines()[0]}", where=str(found.path)
        ) from error
    method = (
        f"by reinforcement learning (APPO, {found.env_steps:,} steps) on {_paid_by(config)}{_led_by(config)}"
    )
    settings = {**config.model_dump(mode="json"), "steps": found.env_steps}
    earlier = earlier_settings(run, config, found.env_steps)
    settings |= {"earlier": earlier} if earlier else {}
    curve = card_curve(run, found.env_steps)
    made = chained(run, method, "reinforcement learning", settings, found.env_steps, curve)
    return network.eval(), {**about, "world_options": action_options(config.games), **made}
