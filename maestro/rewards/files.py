"""Reward models on disk: the weights as safetensors, and a card that says what they are and how good.

    <folder>/model-<hash>.safetensors    weights of every model of the ensemble, `0.message.embedding.weight` and so on
    <folder>/card.json                   see `Card`

The weights' file is named after their hash and the card, written last, says which hash counts. So a model that was there
before stays whole until the moment its replacement is complete.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pydantic
import torch
from pydantic import BaseModel, ConfigDict
from safetensors.torch import load, save

from maestro.errors import FitError
from maestro.rewards.encode import ENCODER_VERSION
from maestro.rewards.model import ModelConfig, RewardModel
from maestro.rewards.quality import Scale
from maestro.runs import write_atomically
from maestro.specs import RewardSettings

CARD = "card.json"
CARD_VERSION = 1


class Card(BaseModel):
    """What a reward model is, for people and for loading."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    version: int = CARD_VERSION
    skill: str
    skill_sha256: str
    """Hash of the skill's preference and rules: another text is another reward."""
    world: str
    encoder_version: int = ENCODER_VERSION
    caption_version: int
    architecture: ModelConfig
    num_models: int
    num_parameters: int
    mean: float
    """Of the raw rewards over distinct captions."""
    std: float
    quantiles: dict[str, float]
    """Share to quantile of the normalised rewards over distinct captions."""
    threshold_quantile: float
    threshold_certainty: float | None = None
    """See `quality.threshold_of`; None in cards from before there was such a thing, whose threshold is the quantile."""
    threshold_given: float | None = None
    """The threshold that the settings gave outright; None where they gave none, and in cards that do not say it."""
    nothing: float | None = None
    """Normalised reward of an empty message without a change."""
    threshold: float | None
    """Normalised reward below which nothing is paid; None: everything is, also what is below 0."""
    paid_share: float | None = None
    """Share of the distinct captions that reach the threshold."""
    held_out: dict[str, Any]
    """Accuracy on pairs that are no ties, their number, loss, calibration error, Brier score."""
    annotator: str
    """Who judged: 'llm', 'rules' or 'random'; never guessed from anything else."""
    annotation: dict[str, Any]
    """Model, prompt and counts of the annotation."""
    data: dict[str, Any]
    """Hash and sizes of the data."""
    fit: dict[str, Any]
    """The fit's config."""
    weights_sha256: str
    maestro_version: str

    def threshold_change(self, settings: RewardSettings) -> str | None:
        """Say how the settings that chose the threshold differ from those of today; None where they would choose it again.

        A setting that older cards do not tell counts as today's.
        """
        given = settings.threshold
        if given is not None and given == self.threshold:
            return None  # the very number, whether or not the card knows where it came from
        if given is None and self.threshold_given is None and self.threshold_certainty is None:
            return None
        was = _choosing(self.threshold_given, self.threshold_quantile, self.threshold_certainty)
        now = _choosing(given, settings.quantile, settings.certainty)
        before = ", ".join(f"{name} {value:g}" for name, value in was.items() if now.get(name) != value)
        today = ", ".join(f"{name} {value:g}" for name, value in now.items() if was.get(name) != value)
        return f"fitted with {before}, skill.toml says {today}" if before or today else None


def _choosing(threshold: float | None, quantile: float, certainty: float | None) -> dict[str, float]:
    """Keep of the settings of a threshold those that have a say: see `quality.threshold_of`."""
    if threshold is not None:
        return {"threshold": threshold}
    return (
        {"quantile": quantile}
        if not quantile or certainty is None
        else {"quantile": quantile, "certainty": certainty}
    )


@contextlib.contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Hold a reward model's folder, made where there is none, as long as this process fits into it.

    The kernel drops the lock of a killed process, and locking the folder itself leaves no file behind. Raises FitError
    where another process holds it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise FitError(f"the folder cannot be used: {error.strerror}", where=str(folder)) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise FitError(
            "another process is fitting a reward model into this folder",
            where=str(folder),
            hint="wait until it has ended, or name another folder with --run",
        ) from None
    try:
        yield
    finally:
        os.close(fd)


def save_model(folder: Path, models: list[RewardModel], card: dict[str, Any]) -> Card:
    """Write the weights and the card (everything of `Card` but the hash and what follows from the models).

    Raises FitError where it cannot be written; a model that was there before is then still whole.
    """
    weights = {
        f"{number}.{name}": value.contiguous().cpu()
        for number, model in enumerate(models)
        for name, value in model.state_dict().items()
    }
    data = save(weights)
    written = Card(
        **card,
        architecture=models[0].config,
        num_models=len(models),
        num_parameters=sum(value.numel() for value in weights.values()),
        weights_sha256=hashlib.sha256(data).hexdigest(),
    )
    try:
        write_with_card(folder, weights_name(written), data, written.model_dump_json(indent=2))
    except OSError as error:
        raise FitError(
            f"the reward model cannot be written: {error}",
            where=str(folder),
            hint="free space or fix the permissions, then run fit-reward again",
        ) from error
    return written


def write_with_card(folder: Path, name: str, data: bytes, card: str) -> None:
    """Write weights under a name of their own, then the card that names them, then remove what no card names any more.

    Whoever is killed in between leaves the old card with the old weights. Raises OSError where it cannot be written.
    """
    temporary = folder / f".{name}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, folder / name)
        write_atomically(folder / CARD, card + "\n")
        for path in (*folder.glob("*.safetensors"), *folder.glob(".*.tmp"), *folder.glob(f".{CARD}.*")):
            if path.name != name:  # older weights, and what a killed process left half written
                path.unlink()
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def weights_name(card: Card) -> str:
    """Name the file of a card's weights."""
    return f"model-{card.weights_sha256[:16]}.safetensors"


def load_card(folder: Path) -> Card:
    """Read a reward model's card; raises FitError for a missing, damaged or newer one."""
    path = folder / CARD
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FitError(
            "there is no reward model here",
            where=str(folder),
            expected=f"{CARD} and the weights it names",
            hint="maestro fit-reward --skill ..., or maestro train-skills --stage rewards",
        ) from None
    except (OSError, ValueError) as error:
        raise FitError(
            f"the card cannot be read: {error}", where=str(path), hint="fit the model again"
        ) from error
    version = content.get("version") if isinstance(content, dict) else None
    if version != CARD_VERSION:
        raise FitError(
            f"the card has version {version!r}",
            where=str(path),
            expected=f"version {CARD_VERSION}",
            hint="use the maestro that wrote it, or fit the model again",
        )
    try:
        return Card.model_validate(content)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise FitError(
            f"{key}: {first['msg']}", where=str(path), expected="a card as fit-reward writes it"
        ) from None


class SkillReward:
    """A loaded reward model with its scale: normalised rewards for messages and changes."""

    def __init__(self, card: Card, models: list[RewardModel]) -> None:
        self.card = card
        self.models = models
        self.scale = Scale(card.mean, card.std)
        # Who sets a threshold is never paid for less than an average caption; who sets none wants Motif's sum of everything.
        self.threshold = float("-inf") if card.threshold is None else max(card.threshold, 0.0)

    @torch.no_grad()
    def __call__(self, messages: torch.Tensor, changes: torch.Tensor) -> torch.Tensor:
        """Return normalised rewards, float (B,); arguments as `RewardModel.forward` takes them."""
        raw = torch.stack([model(messages, changes) for model in self.models]).mean(dim=0)
        return (raw - self.scale.mean) / self.scale.std


def load_reward(folder: Path) -> SkillReward:
    """Load a reward model; raises FitError where card and weights do not belong together or are of another version."""
    card = load_card(folder)
    if card.encoder_version != ENCODER_VERSION:
        raise FitError(
            f"the model reads captions of encoder version {card.encoder_version}",
            where=str(folder),
            expected=f"version {ENCODER_VERSION}",
            hint=f"maestro fit-reward --skill {card.skill}",
        )
    path = folder / weights_name(card)
    again = f"maestro fit-reward --skill {card.skill}"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FitError(
            f"the weights cannot be read: {error.strerror or error}", where=str(path), hint=again
        ) from error
    if hashlib.sha256(data).hexdigest() != card.weights_sha256:
        raise FitError(
            "the weights are not those the card speaks of",
            where=str(path),
            expected=f"sha256 {card.weights_sha256[:12]}...",
            hint=again,
        )
    weights = load(data)
    models = []
    for number in range(card.num_models):
        model = RewardModel(card.architecture)
        prefix = f"{number}."
        model.load_state_dict(
            {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
        )
        models.append(model.eval())
    return SkillReward(card, models)
