"""What a training run begins or goes on with: the policy that --init means, and whether it fits what is to be trained."""

from __future__ import annotations

from pathlib import Path

from maestro.errors import ConfigError
from maestro.learner.belonging import Belonging, check_belonging
from maestro.learner.checkpoint import find_checkpoints
from maestro.learner.config import TrainConfig
from maestro.learner.policy_file import CARD, load_card
from maestro.learner.run_policy import (
    DESCRIPTION,
    INIT,
    check_checkpoints,
    read_description,
    training_folder,
)
from maestro.runs import read_records, runs_root

_SAME_POLICY = "begin with a policy that was made for these, or without --init"


def find_init(init: str, world: str, preset: str) -> Path:
    """Find the policy that --init means: that of `maestro imitate`, a folder, or a run; raises ConfigError."""
    make = f"maestro imitate --world {world} --preset {preset}"
    if init == "imitate":
        place = runs_root() / f"imitate-{world}"
        if not (place / "policy" / CARD).is_file():
            raise ConfigError(
                "there is no policy that was made by imitation",
                where=str(place / "policy"),
                expected=f"a folder with {CARD}",
                hint=f"{make} makes it; or name a policy's folder with --init",
            )
        return (place / "policy").absolute()
    path = Path(init).expanduser().absolute()
    trained = training_folder(path)
    for folder in (path, path / "policy", trained / "policy"):
        if (folder / CARD).is_file() and not (folder != path and _is_behind(folder, trained)):
            return folder
    if find_checkpoints(trained, milestones=True):
        return trained
    raise ConfigError(
        f"{init!r} has no policy",
        where="--init",
        expected="none, imitate, a policy's folder, or a run of imitate, train-policy or train-skills",
        hint=f"{make} makes one",
    )


def _is_behind(policy: Path, run: Path) -> bool:
    """Look whether the run has learned on since this policy was taken out of it."""
    files = find_checkpoints(run, milestones=True)
    before = load_card(run / INIT).steps if (run / INIT / CARD).is_file() else 0
    return bool(files) and before + files[-1].env_steps > load_card(policy).steps


def check_init(config: TrainConfig, folder: Path) -> None:
    """Refuse a policy of another network or other features; the copy in the run counts where there is one."""
    place = _init_of(config, folder)
    if place is None or not (place / CARD).is_file():
        return  # a run of training: its checkpoint is looked at when it is taken out
    card = load_card(place)
    hint = "give the --preset (and network settings) the policy was made with"
    if card.features.name != config.games.features:
        raise ConfigError(
            f"the policy sees {card.features.name!r}",
            where=str(place),
            expected=f"the features {config.games.features!r}",
            hint=hint,
        )
    ours, theirs = config.network.model_dump(), card.architecture.model_dump()
    differing = [key for key in ours if key != "precision" and ours[key] != theirs[key]]
    if differing:
        key = differing[0]
        raise ConfigError(
            f"the policy's network has {key} = {theirs[key]}",
            where=str(place),
            expected=f"{key} = {ours[key]}",
            hint=hint,
        )


def check_beginning(config: TrainConfig, folder: Path, ours: Belonging) -> tuple[str, ...]:
    """Compare what training goes on or begins with with what is to be trained; return which skills have changed since.

    Raises TrainingError where world, skills, their order, actions or features differ: weights would be taken for others.
    """
    notes = check_checkpoints(folder, ours)
    place = _init_of(config, folder)
    if place is None:
        return notes
    if (place / CARD).is_file():
        theirs, where = Belonging.of_card(load_card(place)), place / CARD
    else:
        run = training_folder(place)
        theirs, where = read_description(run), run / DESCRIPTION
    if theirs is None:
        return notes
    return notes + check_belonging(
        theirs, ours, what="the policy to begin with", where=str(where), hint=_SAME_POLICY
    )


def pull_warning(config: TrainConfig, folder: Path, done: int) -> str | None:
    """Say that a pull that is new to a run which goes on is weaker than it reads: it counts from step 0, not from now."""
    pull = config.pull
    if pull is None or not done:
        return None
    sessions = read_records(folder / "settings.jsonl")
    if sessions and sessions[-1].get("pull") == pull.model_dump(mode="json"):
        return None  # it fades as was planned
    now = pull.at(done)
    if now >= pull.coefficient:
        return None
    return (
        f"the pull counts from step 0: now, at {done:,} steps, it is {now:.3g} and not {pull.coefficient:g}"
        + ("" if now else "; a greater pull.steps, or pull.final, would make it matter")
    )


def _init_of(config: TrainConfig, folder: Path) -> Path | None:
    """Give the policy that training will begin with; None where it begins with chance or goes on."""
    if config.init is None or find_checkpoints(folder, milestones=True):
        return None
    return folder / INIT if (folder / INIT / CARD).is_file() else config.init
