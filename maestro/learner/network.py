"""The skill-conditioned policy: one network that sees the world's arrays and which skill runs, and chooses an action.

    network = PolicyNetwork(PRESETS["small"], specs, num_skills=5, num_actions=28)
    state = torch.zeros(num_games, network.state_size)
    logits, values, state = network.step(observation, state)

Shape letters: T time, B batch (games), A actions, H numbers that encode one observation, Y numbers after the core,
S numbers of recurrent state per game.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from maestro.errors import ConfigError
from maestro.learner.encoders import CharactersEncoder, CropEncoder, VectorEncoder, WordsEncoder
from maestro.learner.recurrent import Core
from maestro.rewards.precision import Precision, choose_precision
from maestro.specs import merged

OPTION = "option"
"""The array that says which skill runs, which ones may start, and for how long this one has been running."""
_ROWS = 1_024
"""Rows that a processor encodes at a time: what lies between two layers then stays in its cache (a quarter faster in training)."""
_CROP = ("chars", "colors")
_MESSAGE = ("message", "message_id")
_WORDS = ("words",)
_READ = "read"
"""What the network made of the messages."""


class ArraySpec(NamedTuple):
    """Shape and kind of one array of an observation."""

    shape: tuple[int, ...]
    """Of one game, without the games' axis."""
    dtype: str


class NetworkConfig(BaseModel):
    """The architecture; a policy's card records it, and loading builds it again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    core: Literal["gru", "lstm", "none"] = "gru"
    core_size: int = Field(default=256, ge=1)
    skip: bool = True
    """Whether the heads see the encoded observation beside what the core makes of it."""
    crop_embedding: int = Field(default=16, ge=1)
    crop_layers: tuple[tuple[int, int, int], ...] = ((32, 3, 2), (64, 3, 1))
    """Channels, kernel and stride of each convolution over the crop."""
    crop_features: int = Field(default=128, ge=1)
    message: Literal["cnn", "words", "none"] = "words"
    """How messages are read: by character, by word, not at all."""
    message_features: int = Field(default=64, ge=1)
    vector_layers: tuple[int, ...] = (256, 128)
    """Widths of the layers over everything that is plain numbers, the running skill included."""
    vector_raw: bool = True
    """Whether these numbers are also given on as they are."""
    hidden: int = Field(default=256, ge=0)
    """Width of a layer over all that is encoded, before the core; 0 for none."""
    head: int = Field(default=256, ge=0)
    """Width of a layer before the two heads; 0 for none."""
    activation: Literal["relu", "elu"] = "relu"
    precision: Precision = "auto"
    """Of the large products; weights, states and results are float32. "auto": bfloat16 where the device is made for it."""


PRESETS: dict[str, NetworkConfig] = {
    # Source: MaestroMotif's network. Its three convolutions see 72x72 pixels, in which a character is 6x6; these see the
    # characters themselves and end in the same 1152 numbers.
    "paper": NetworkConfig(
        core_size=512,
        skip=False,
        crop_embedding=32,
        crop_layers=((32, 2, 1), (64, 3, 2), (128, 3, 1)),
        crop_features=512,
        message="cnn",
        message_features=128,
        vector_layers=(128, 128, 128, 128),
        hidden=0,
        head=0,
        activation="elu",
    ),
    "small": NetworkConfig(),
    "gpu": NetworkConfig(
        core_size=512,
        crop_embedding=32,
        crop_layers=((64, 3, 2), (128, 3, 1)),
        crop_features=256,
        message_features=128,
        vector_layers=(512, 256),
        hidden=512,
        head=512,
    ),
}
"""Architectures by name."""
FEATURES = {"paper": "paper", "small": "compass", "gpu": "compass"}
"""The feature set that each preset is made for."""


def over_preset(data: Any, settings: Mapping[str, Mapping[str, Any]]) -> Any:
    """Lay the raw settings `data` over those that go with their preset (small, if none is named), its network among them.

    `settings` are by preset. What is no dictionary comes back as it is, for pydantic to judge; raises ConfigError for an
    unknown preset.
    """
    if not isinstance(data, dict):
        return data
    preset = str(data.get("preset", "small"))
    if preset not in settings:
        raise ConfigError(
            f"the preset is {preset!r}", where="preset", expected="one of " + ", ".join(settings)
        )
    return merged({"network": PRESETS[preset].model_dump(), **settings[preset]}, data)


class PolicyNetwork(nn.Module):
    """Encoders, memory, and two heads: logits of the actions, and the value of going on with the running skill."""

    def __init__(
        self, config: NetworkConfig, specs: Mapping[str, ArraySpec], num_skills: int, num_actions: int
    ) -> None:
        """Build a network for the arrays in `specs`; `option` is added where it is not among them.

        Raises ConfigError for arrays that this architecture cannot read.
        """
        super().__init__()
        self.config = config
        self.specs = {OPTION: ArraySpec((option_size(num_skills),), "float32")} | {
            name: ArraySpec(tuple(spec[0]), str(np.dtype(spec[1]))) for name, spec in specs.items()
        }
        self.num_skills = num_skills
        self.num_actions = num_actions
        _check(config, self.specs, num_skills)
        activation = nn.ReLU() if config.activation == "relu" else nn.ELU()
        self._vectors = sorted(name for name in self.specs if name not in _CROP + _MESSAGE + _WORDS)
        num_inputs = sum(int(np.prod(self.specs[name].shape)) for name in self._vectors)
        self.vector = VectorEncoder(num_inputs, config.vector_layers, activation, raw=config.vector_raw)
        size = self.vector.num_features
        self.crop = self.message = None
        if "chars" in self.specs:
            side = self.specs["chars"].shape[0]
            self.crop = CropEncoder(
                side, config.crop_embedding, config.crop_layers, config.crop_features, activation
            )
            size += config.crop_features
        if config.message == "words" and "words" in self.specs:
            self.message = WordsEncoder(self.specs["words"].shape[0], config.message_features)
        elif config.message == "cnn" and "message" in self.specs:
            self.message = CharactersEncoder(config.message_features)
        size += config.message_features if self.message is not None else 0
        self.hidden = nn.Linear(size, config.hidden) if config.hidden else None
        self.encoded_size = config.hidden or size
        """H"""
        self.core = None if config.core == "none" else Core(config.core, self.encoded_size, config.core_size)
        self.state_size = 0 if self.core is None else self.core.state_size
        """S"""
        self.recurred_size = (config.core_size if self.core else 0) + (
            self.encoded_size if config.skip or self.core is None else 0
        )
        """Y"""
        self.head = nn.Linear(self.recurred_size, config.head) if config.head else None
        self.logits = nn.Linear(config.head or self.recurred_size, num_actions)
        self.value = nn.Linear(config.head or self.recurred_size, 1)
        self.activation = activation
        self._precision: Precision = config.precision
        self._bfloat16: dict[str, bool] = {}
        _initialise(self)

    def encode(self, observation: Mapping[str, Tensor]) -> Tensor:
        """Encode observations, (B, ...) arrays by name: float32 (B, H)."""
        rows = len(observation[OPTION])
        read = None
        if isinstance(self.message, CharactersEncoder):
            # Equal messages are found in the whole batch.
            with self._autocast(observation[OPTION]):
                read = self.message(observation["message"], observation["message_id"].flatten())
        if rows <= _ROWS or observation[OPTION].is_cuda:
            return self._encode(observation, read)
        parts = {name: array.split(_ROWS) for name, array in observation.items() if name not in _MESSAGE}
        if read is not None:
            parts[_READ] = read.split(_ROWS)
        pieces = [dict(zip(parts, rows, strict=True)) for rows in zip(*parts.values(), strict=True)]
        return torch.cat([self._encode(piece, piece.get(_READ)) for piece in pieces])

    def _encode(self, observation: Mapping[str, Tensor], read: Tensor | None) -> Tensor:
        with self._autocast(observation[OPTION]):
            numbers = [observation[name].flatten(1).float() for name in self._vectors]
            parts = [self.vector(torch.cat(numbers, dim=1))]
            if self.crop is not None:
                parts.append(self.crop(observation["chars"], observation["colors"]))
            if isinstance(self.message, WordsEncoder):
                parts.append(self.message(observation["words"]))
            elif read is not None:
                parts.append(read)
            x = torch.cat([part.float() for part in parts], dim=1)
            if self.hidden is not None:
                x = self.activation(self.hidden(x))
        return x.float()

    def recur(self, x: Tensor | PackedSequence, state: Tensor) -> tuple[Tensor | PackedSequence, Tensor]:
        """Pass one step, x (B, H), or packed sequences through the core; state (B, S). Returns (B, Y) or packed, and the new state."""
        if isinstance(x, PackedSequence):
            if self.core is None:
                return x, state
            with self._autocast(x.data):
                y, state = self.core.packed(x, state)
            return PackedSequence(self._joined(y.data, x.data), *x[1:]), state
        if self.core is None:
            return x, state
        with self._autocast(x):
            y, state = self.core.step(x, state)
        return self._joined(y, x), state

    def heads(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """Give logits, float32 (B, A), and values, float32 (B,), for y (B, Y)."""
        with self._autocast(y):
            if self.head is not None:
                y = self.activation(self.head(y))
        # Both are small, and rounding here would be seen in the policy.
        y = y.float()
        return self.logits(y), self.value(y)[:, 0]

    def step(self, observation: Mapping[str, Tensor], state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Take one step: logits (B, A), values (B,), new state (B, S)."""
        y, state = self.recur(self.encode(observation), state)
        assert isinstance(y, Tensor)
        return *self.heads(y), state

    def unroll(
        self, observation: Mapping[str, Tensor], state: Tensor, fresh: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Take T steps of B games: logits (T, B, A), values (T, B), last state (B, S).

        Args:
            observation: (T, B, ...) arrays.
            state: (B, S) before the first step.
            fresh: bool (T, B); where true an episode begins at this step, and the state is zero before it.
        """
        length, batch = fresh.shape
        x = self.encode({name: array.flatten(0, 1) for name, array in observation.items()})
        y = x
        if self.core is not None:
            with self._autocast(x):
                outputs, state = self.core.unroll(x.view(length, batch, -1), state, fresh)
            y = self._joined(outputs.flatten(0, 1), x)
        logits, values = self.heads(y)
        return logits.view(length, batch, -1), values.view(length, batch), state

    def freeze_for_acting(self) -> PolicyNetwork:
        """Prepare for acting with these weights for good: no gradients, results that depend on nothing but the input.

        Products are in float32, because bfloat16 would make results depend on the machine; for batches of one and the same
        size a row's result does not depend on the other rows. Returns the network.
        """
        self._precision = "float32"
        self._bfloat16.clear()
        if isinstance(self.message, CharactersEncoder):
            self.message.remember()
        return self.eval().requires_grad_(False)

    def _joined(self, y: Tensor, x: Tensor) -> Tensor:
        return torch.cat([y, x], dim=1) if self.config.skip else y

    def _autocast(self, like: Tensor) -> torch.autocast:
        """Compute products on `like`'s device in the configured precision."""
        kind = like.device.type
        if kind not in self._bfloat16:
            chosen = choose_precision(self._precision, like.device)
            self._bfloat16[kind] = chosen == "bfloat16"
        return torch.autocast(kind, torch.bfloat16, enabled=self._bfloat16[kind])


def option_size(num_skills: int) -> int:
    """Count the numbers of `option`: which skill runs, which may start, log steps and log turns since it began."""
    return 2 * num_skills + 2


def _check(config: NetworkConfig, specs: Mapping[str, ArraySpec], num_skills: int) -> None:
    if specs[OPTION].shape != (option_size(num_skills),):
        raise ConfigError(
            f"`option` has shape {specs[OPTION].shape} for {num_skills} skills",
            where="network",
            expected=str((option_size(num_skills),)),
        )
    for array, how in (("message", "cnn"), ("words", "words")):
        if array in specs and config.message not in (how, "none"):
            raise ConfigError(
                f"the network reads messages with message = {config.message!r}, but these features give `{array}`",
                where="network",
                expected=f'message = "{how}" or "none", or other features',
                hint='the preset "paper" goes with features "paper", "small" and "gpu" with "compass"',
            )


def _initialise(network: PolicyNetwork) -> None:
    """Start with orthogonal weights, a policy that hardly prefers any action, and no bias."""
    for module in network.modules():
        if isinstance(module, (nn.Linear, nn.Conv1d, nn.Conv2d)):
            nn.init.orthogonal_(module.weight, 2**0.5)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    nn.init.orthogonal_(network.logits.weight, 0.01)
    nn.init.orthogonal_(network.value.weight, 1.0)


def observation_tensors(arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """Wrap arrays as tensors on the same memory."""
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
