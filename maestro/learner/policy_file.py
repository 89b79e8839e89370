"""Policies on disk: the weights as safetensors, and a card that says what they are, for what, and how they were made.

    <folder>/policy-<hash>.safetensors    weights of the network
    <folder>/card.json                    see `PolicyCard`

The weights' file is named after their hash and the card, written last, says which hash counts. So a policy that was there
before stays whole until the moment its replacement is complete, and whatever is half written is never taken for whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pydantic
import torch
from pydantic import BaseModel, ConfigDict, Field
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

import maestro
from maestro.content import TRAINED_POLICY_FOLDER, Content, SkillContent
from maestro.envs.world import Features, World
from maestro.errors import MaestroError, PolicyFileError
from maestro.learner.network import ArraySpec, NetworkConfig, PolicyNetwork
from maestro.learner.policy_fit import check_features, check_skills, check_world
from maestro.rewards.files import CARD, write_with_card

CARD_VERSION = 1
HASHED_FILES = ("skill.toml", "initiation.py", "termination.py")
"""What of a skill's folder decides where its policy runs and what it is for."""


class SkillCard(BaseModel):
    """A skill as it was when the policy was made."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    sha256: dict[str, str]
    """File of the skill's folder to its hash."""


class FeaturesCard(BaseModel):
    """What the network sees."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: int
    arrays: dict[str, tuple[tuple[int, ...], str]]
    """Name to shape (of one game) and kind."""


class PolicyCard(BaseModel):
    """What a policy is, for people and for loading."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    version: int = CARD_VERSION
    world: str
    features: FeaturesCard
    action_names: tuple[str, ...]
    world_options: dict[str, Any] = {}
    """Options of the world that say what an action does, where it was trained with others than usual; `eval` sets them."""
    skills: tuple[SkillCard, ...]
    """In the order of their numbers in `option`."""
    method: str
    """How it was made, in a sentence: by imitation of what, by reinforcement learning on which rewards."""
    steps: int
    """Steps of the world it was trained on, all stages together."""
    training: dict[str, Any] = {}
    """Configuration of each stage."""
    curves: dict[str, Any] = {}
    evaluation: dict[str, Any] = {}
    made_with: dict[str, Any] = {}
    """Versions, machine, time."""
    architecture: NetworkConfig
    num_parameters: int
    stored: str
    """Kind of number on the disk: "float32" or "float16"."""
    weights_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    maestro_version: str = maestro.__version__


class LoadedPolicy(NamedTuple):
    """A network ready to act, and what its card says."""

    network: PolicyNetwork
    card: PolicyCard
    notes: tuple[str, ...]
    """What the user should know: skills that changed since, one sentence each."""


def describe(world: World, features: Features, skills: Sequence[SkillContent]) -> dict[str, Any]:
    """Collect the part of a card that says what a policy belongs to; the rest is `method`, `steps`, `training`, ..."""
    return {
        "world": world.name,
        "action_names": tuple(world.action_names),
        "skills": [{"name": skill.name, "sha256": skill_hashes(skill)} for skill in skills],
        "features": {
            "name": features.name,
            "version": features.version,
            "arrays": {name: (array.shape[1:], str(array.dtype)) for name, array in features.arrays.items()},
        },
    }


def skill_hashes(skill: SkillContent) -> dict[str, str]:
    """Hash the files of a skill that matter to its policy; a file that does not exist has no hash."""
    found = {}
    for name in HASHED_FILES:
        with contextlib.suppress(OSError):
            found[name] = hashlib.sha256((skill.folder / name).read_bytes()).hexdigest()
    return found


def save_policy(
    folder: Path, network: PolicyNetwork, card: Mapping[str, Any], *, half: bool = False
) -> PolicyCard:
    """Write a policy and return its card.

    `card` holds everything of `PolicyCard` but what follows from the network; `describe` makes the first half of it.
    `half` stores the weights as float16. Raises PolicyFileError where the folder cannot be written (a policy that was
    there before is then still whole), or where a weight is no finite number.
    """
    kind = torch.float16 if half else torch.float32
    weights = {
        name: value.detach().to("cpu", kind).contiguous() for name, value in network.state_dict().items()
    }
    bad = _not_finite(weights)
    if bad is not None:
        raise PolicyFileError(
            f"{bad} holds numbers that are not finite",
            where=str(folder),
            expected="weights of a network that works" + (", small enough for float16" if half else ""),
            hint="take an earlier checkpoint" + (", or store float32" if half else ""),
        )
    data = save(weights)
    written = PolicyCard.model_validate(
        {
            **card,
            "architecture": network.config,
            "num_parameters": sum(value.numel() for value in weights.values()),
            "stored": str(kind).removeprefix("torch."),
            "weights_sha256": hashlib.sha256(data).hexdigest(),
            "maestro_version": maestro.__version__,
        }
    )
    try:
        write_with_card(folder, weights_name(written), data, written.model_dump_json(indent=2))
    except OSError as error:
        raise PolicyFileError(
            f"the policy cannot be written: {error}",
            where=str(folder),
            hint="free space or fix the permissions, then try again",
        ) from error
    return written


def weights_name(card: PolicyCard) -> str:
    """Name the file of a card's weights."""
    return f"policy-{card.weights_sha256[:16]}.safetensors"


def load_card(folder: Path) -> PolicyCard:
    """Read a policy's card; raises PolicyFileError for a missing, damaged or newer one."""
    path = folder / CARD
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise PolicyFileError(
            "there is no trained policy here",
            where=str(folder),
            expected=f"{CARD} and the weights it names",
            hint="make one with maestro train-policy and maestro export --run <its run>, or maestro hub pull",
        ) from None
    except (OSError, ValueError) as error:
        raise PolicyFileError(f"the card cannot be read: {error}", where=str(path), hint=_AGAIN) from error
    version = content.get("version") if isinstance(content, dict) else None
    if version != CARD_VERSION:
        raise PolicyFileError(
            f"the card has version {version!r}",
            where=str(path),
            expected=f"a policy's card of version {CARD_VERSION}",
            hint="use the maestro that wrote it, or export the policy again",
        )
    try:
        return PolicyCard.model_validate(content)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise PolicyFileError(
            f"{key}: {first['msg']}", where=str(path), expected="a card as maestro writes it", hint=_AGAIN
        ) from None


def load_policy(
    folder: Path,
    *,
    world: World | None = None,
    features: Features | None = None,
    skills: Sequence[SkillContent] | None = None,
) -> LoadedPolicy:
    """Load a policy for the given world, features of that world, and skills (all that may run); None is not checked.

    Raises PolicyFileError for a policy that does not fit them, and for files that are missing, half written or damaged.
    Skills that changed since are told in `notes`.
    """
    card = load_card(folder)
    if world is not None:
        check_world(folder, card, world)
    if features is not None:
        check_features(folder, card, features)
    notes = ()
    if skills is not None:
        notes = check_skills(folder, card, {skill.name: skill_hashes(skill) for skill in skills})
    return LoadedPolicy(_network(folder, card), card, notes)


def _network(folder: Path, card: PolicyCard) -> PolicyNetwork:
    """Build the network of a card with its weights, in evaluation mode."""
    path = folder / weights_name(card)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PolicyFileError(
            f"the weights cannot be read: {error.strerror or error}",
            where=str(path),
            expected="the file that card.json names",
            hint=_AGAIN,
        ) from error
    if hashlib.sha256(data).hexdigest() != card.weights_sha256:
        raise PolicyFileError(
            f"the weights ({len(data):,} bytes) are damaged, or not those the card speaks of",
            where=str(path),
            expected=f"sha256 {card.weights_sha256[:12]}...",
            hint=_AGAIN,
        )
    specs = {name: ArraySpec(shape, kind) for name, (shape, kind) in card.features.arrays.items()}
    try:
        weights = {name: value.float() for name, value in load(data).items()}
        bad = _not_finite(weights)
        if bad is not None:
            raise ValueError(f"{bad} holds numbers that are not finite")
        network = PolicyNetwork(card.architecture, specs, len(card.skills), len(card.action_names))
        network.load_state_dict(weights)
    except (RuntimeError, SafetensorError, ValueError, MaestroError) as error:
        raise PolicyFileError(
            f"the weights do not fit the card's network: {str(error).splitlines()[0]}",
            where=str(path),
            expected="weights and card that were written together",
            hint=_AGAIN,
        ) from error
    return network.eval()


def find_policy(content: Content, world: str) -> Path:
    """Find the trained policy of a world in the content: skills/policy/, or skills/policy/<world>/ beside another world's.

    Raises PolicyFileError where there is none, naming the commands that make one.
    """
    others = set()
    for root in content.roots:
        for folder in (
            root / "skills" / TRAINED_POLICY_FOLDER,
            root / "skills" / TRAINED_POLICY_FOLDER / world,
        ):
            if (folder / CARD).is_file():
                found = load_card(folder).world
                if found == world:
                    return folder
                others.add(found)
    raise PolicyFileError(
        f"there is no trained policy for the world {world!r}"
        + (f", only for {', '.join(sorted(others))}" if others else ""),
        where="skills/policy",
        expected="a folder with card.json and weights",
        hint="maestro train-skills, then maestro export --run <its run>, or maestro hub pull; "
        "meanwhile --policy reference plays with hand-written controllers",
    )


def policy_sha256(folder: Path) -> str:
    """Hash what decides how a policy plays; what its card tells beyond that may be completed without changing it."""
    card = load_card(folder)
    plays = card.model_dump(
        mode="json", include={"world", "features", "action_names", "architecture", "weights_sha256"}
    )
    plays["skills"] = [skill.name for skill in card.skills]
    if card.world_options:
        plays["world_options"] = card.world_options
    return hashlib.sha256(json.dumps(plays, sort_keys=True).encode()).hexdigest()


def told(card: PolicyCard) -> dict[str, Any]:
    """Give a card without what follows from the network: what `save_policy` takes."""
    derived = {"architecture", "num_parameters", "stored", "weights_sha256", "maestro_version", "version"}
    return card.model_dump(mode="json", exclude=derived)


def _not_finite(weights: Mapping[str, Tensor]) -> str | None:
    return next((name for name, value in weights.items() if not torch.isfinite(value).all()), None)


_AGAIN = "export, copy or pull the policy again"
