"""Make a policy folder of a training run: weights and a card, small enough to ship.

    maestro export --run runs/mine
    maestro export --run runs/mine --checkpoint 40000000 --out policies/early
    maestro export --run runs/mine --out skills/policy --evaluation runs/eval-delphi-policy-1a2b3c4d

The folder is what `maestro eval --policy` plays and `maestro hub push` sends. The run may go on training meanwhile. With
--evaluation the figures of evaluations of this very policy are written into the card; those of another are refused.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maestro.commands._output import print_json
from maestro.errors import ConfigError, PolicyFileError
from maestro.runs import read_config

if TYPE_CHECKING:
    from maestro.learner.network import PolicyNetwork

POLICY = "policy"
IMITATION = "imitation.pt"
_FIGURES = ("episodes", "seed", "kind", "success", "published", "skills")
"""What of an evaluation's summary goes into the card."""


@dataclass(frozen=True)
class Config:
    """Choose the run, its moment, and the folder."""

    run: Path
    """Folder of a run of `maestro train-policy`, `train-skills` or `imitate`."""
    out: Path | None = None
    """Folder of the policy; by default `policy` in the run, of train-skills in its folder `training`."""
    checkpoint: int | None = None
    """Steps of the checkpoint to take; by default the newest."""
    evaluation: tuple[Path, ...] = ()
    """Folders of `maestro eval` with this policy, whose figures go into the card."""
    half: bool = False
    """Store the weights as float16."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Write the policy, load it once, and say what it is."""
    from maestro.learner.policy_file import load_policy, policy_sha256, save_policy, weights_name
    from maestro.learner.run_policy import training_folder

    network, told = _policy_of(config)
    folder = config.out or training_folder(config.run) / POLICY
    if config.evaluation:
        with (
            tempfile.TemporaryDirectory() as scratch
        ):  # evaluations are compared with the policy as it will be
            save_policy(Path(scratch), network, told, half=config.half)
            figures = _evaluations(config.evaluation, "sha256:" + policy_sha256(Path(scratch)))
        told = {**told, "evaluation": {**told.get("evaluation", {}), **figures}}
    save_policy(folder, network, told, half=config.half)
    card = load_policy(folder).card
    size = (folder / weights_name(card)).stat().st_size
    skills = [skill.name for skill in card.skills]
    if config.json:
        said = {"world": card.world, "skills": skills, "steps": card.steps, "method": card.method}
        print_json({"folder": str(folder), "bytes": size, "evaluated": list(card.evaluation), **said})
        return 0
    print(f"wrote {folder}: {card.num_parameters:,} parameters, {size / 1e6:.1f} MB")
    print(f"plays {', '.join(skills)} of {card.world}; made {card.method}; {card.steps:,} steps")
    print(f"try it: maestro eval --target all --policy {folder}")
    return 0


def _policy_of(config: Config) -> tuple[PolicyNetwork, dict[str, Any]]:
    """Take network and card out of a run, whether it imitated or trained."""
    from maestro.learner.checkpoint import newest
    from maestro.learner.policy_file import load_policy, told
    from maestro.learner.run_policy import load_run_policy, training_folder

    folder = config.run
    if not folder.is_dir():
        raise ConfigError(
            f"there is no run {str(folder)!r}",
            where="--run",
            expected="the folder of a run of maestro train-policy, train-skills or imitate",
        )
    if not (folder / IMITATION).is_file():
        trained = training_folder(folder)
        found = newest(trained) if config.checkpoint is None else None
        for path in found[2] if found else []:
            print(f"maestro: warning: {path.name} cannot be read and is passed over", file=sys.stderr)
        return load_run_policy(trained, config.checkpoint)
    if config.checkpoint is not None:
        raise ConfigError(
            "a run of maestro imitate keeps its newest checkpoint only",
            where="--checkpoint",
            hint="leave it out",
        )
    loaded = load_policy(folder / POLICY)
    return loaded.network, told(loaded.card)


def _evaluations(folders: tuple[Path, ...], identity: str) -> dict[str, Any]:
    """Read the figures of evaluations by task; raises PolicyFileError for those of another policy."""
    found = {}
    for folder in folders:
        try:
            summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"the evaluation cannot be read: {error}",
                where="--evaluation",
                expected="the folder of a finished run of maestro eval",
            ) from error
        if read_config(folder)["config"].get("policy_identity") != identity:
            raise PolicyFileError(
                "this evaluation is of another policy",
                where=str(folder),
                hint="evaluate what is exported: maestro eval --policy <the exported folder>",
            )
        found[summary["target"]] = {name: summary[name] for name in _FIGURES}
    return found
