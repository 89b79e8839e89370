"""The reward model: a character network over the message, a small one over the changes, one number out.

Shape letters: B captions, D distinct messages among them, C channels, L characters or what is left of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn
from torch.nn import functional as F

from maestro.rewards.encode import CHANGES, MESSAGE_BYTES


class ModelConfig(BaseModel):
    """The architecture; a card records it and loading builds it again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    embedding: int = Field(default=32, ge=1)
    channels: int = Field(default=64, ge=1)
    message_features: int = Field(default=128, ge=1)
    change_features: int = Field(default=128, ge=1)
    hidden: tuple[int, int] = (256, 512)
    changes: tuple[str, ...] = CHANGES
    """Which of encode.CHANGES the model may see; the others are zeroed."""


PRESETS: dict[str, ModelConfig] = {
    # Source: MaestroMotif's reward network with message and change encoders; it masks all changes but depth.
    "paper": ModelConfig(changes=("depth",)),
    "small": ModelConfig(
        embedding=16, channels=32, message_features=64, change_features=32, hidden=(128, 128)
    ),
}
"""Architectures by name."""


LAYERS: tuple[tuple[int, int], ...] = ((7, 3), (7, 3), (3, 1), (3, 1), (3, 1), (3, 3), (5, 1))
"""Kernel and pooling of the message network's layers; the linear layer at the end is a convolution of all five columns."""


class _Tailed:
    """Rows of equal length whose ends are known to be constant: only what differs is computed.

    Messages are padded to 256 characters, and over padding a convolution gives one and the same column again and again.
    `head` holds the first columns of every row, `tail` the column that all later ones equal, `length` how many columns
    there are in all. Convolving and pooling this is exact, and for a message of 30 characters an eighth of the work.
    Channels lie side by side in memory, which is what makes convolving and pooling fast on processors.
    """

    def __init__(self, head: Tensor, tail: Tensor, length: int) -> None:
        self.head = head[..., :length]  # (D, C, 1, at most length)
        self.tail = tail  # (1, C, 1, 1)
        self.length = length

    def extended(self, columns: int) -> Tensor:
        """Return the first `columns` columns, (D, C, 1, columns), the tail repeated as often as it takes."""
        head = self.head[..., :columns]
        missing = columns - head.shape[3]
        if missing <= 0:
            return head
        return torch.cat([head, self.tail.expand(head.shape[0], -1, -1, missing)], dim=3)

    def layer(self, convolution: nn.Conv1d, tail: Tensor, pool: int, used: int) -> _Tailed:
        """Apply a valid convolution, ReLU, and the maximum over `pool` neighbouring columns (the rest is dropped).

        `tail` is what the layer makes of this tail; from column `used` on there is nothing but tail. Pooling before the ReLU gives the same with fewer numbers.
        """
        kernel = convolution.kernel_size[0]
        convolved = self.length - kernel + 1
        length = convolved // pool
        columns = min(-(-min(used, convolved) // pool), length)
        head = _convolve(convolution, self.extended(columns * pool + kernel - 1))
        if pool > 1:
            head = F.max_pool2d(head, (1, pool))
        return _Tailed(F.relu(head), tail, length)


def _convolve(layer: nn.Conv1d, x: Tensor) -> Tensor:
    weight = layer.weight.unsqueeze(2).contiguous(memory_format=torch.channels_last)
    return F.conv2d(x, weight, layer.bias)


class MessageEncoder(nn.Module):
    """Characters to features: two wide convolutions with pooling, four narrow ones, pooling, a linear layer.

    Source: the character network of E3B, as Motif and MaestroMotif use it.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.channels
        self.embedding = nn.Embedding(256, config.embedding, padding_idx=0)
        self.wide = nn.ModuleList([nn.Conv1d(config.embedding, width, 7), nn.Conv1d(width, width, 7)])
        self.narrow = nn.ModuleList([nn.Conv1d(width, width, 3) for _ in range(4)])
        self.out = nn.Linear(LAYERS[-1][0] * width, config.message_features)

    def forward(self, messages: Tensor) -> Tensor:
        """Encode messages; short and long ones apart, so that one long one does not make all of them cost as much.

        Args:
            messages: uint8 or int64 (D, 256); zeros pad at the end and only there.

        Returns:
            float (D, message_features).
        """
        tails = self._tails()
        lengths = (messages != 0).sum(dim=1)
        order = torch.argsort(lengths)
        ends = torch.searchsorted(lengths[order], torch.tensor(_LENGTHS, device=lengths.device), right=True)
        counts = torch.diff(ends, prepend=ends.new_zeros(1)).tolist()
        parts = [
            self._encoded(messages[chosen], longest, tails)
            for chosen, longest in zip(order.split(counts), _LENGTHS, strict=True)
            if len(chosen)
        ]
        if not parts:
            return self.out.weight.new_zeros(0, self.out.out_features)
        features = parts[0] if len(parts) == 1 else torch.cat(parts)
        return F.relu(self.out(features))[torch.argsort(order)]

    def kernels(self) -> list[tuple[Tensor, Tensor]]:
        """List weight (features, channels below, columns) and bias of all of LAYERS, the linear one as a convolution."""
        out = self.out.weight.view(self.out.out_features, -1, LAYERS[-1][0])
        return [*((layer.weight, layer.bias) for layer, _ in self._layers()), (out, self.out.bias)]  # type: ignore

    def _layers(self) -> list[tuple[nn.Conv1d, int]]:
        """List the convolutions, each with the number of columns that are pooled after it."""
        return [(layer, pool) for layer, (_, pool) in zip([*self.wide, *self.narrow], LAYERS, strict=False)]  # type: ignore

    def _tails(self) -> list[Tensor]:
        """Compute what becomes of padding after each layer, (1, C, 1, 1) each, the embedding first."""
        # Padding is not learnt, and is the same for all.
        tails = [self.embedding.weight[0].detach().reshape(1, -1, 1, 1)]
        for layer, _ in self._layers():
            tails.append(F.relu(_convolve(layer, tails[-1].expand(-1, -1, -1, layer.kernel_size[0]))))
        return tails

    def _encoded(self, messages: Tensor, longest: int, tails: list[Tensor]) -> Tensor:
        """Encode messages of up to `longest` characters, as far as the linear layer: float (D, 5 C)."""
        # Some padding more than there is need for spares the first layer a copy.
        used = messages[:, : longest + 8].int()
        x = _Tailed(self.embedding(used).permute(0, 2, 1).unsqueeze(2), tails[0], MESSAGE_BYTES)
        head = longest
        for (layer, pool), tail in zip(self._layers(), tails[1:], strict=True):
            x = x.layer(layer, tail, pool, head)
            head = x.head.shape[3]
        return x.extended(x.length).flatten(1)


class RewardModel(nn.Module):
    """Scalar reward of a transition."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.message = MessageEncoder(config)
        size = config.change_features
        self.change = nn.Sequential(
            nn.Linear(len(CHANGES), size), nn.ReLU(), nn.Linear(size, size), nn.ReLU()
        )
        first, second = config.hidden
        self.head = nn.Sequential(
            nn.Linear(config.message_features + size, first),
            nn.ReLU(),
            nn.Linear(first, second),
            nn.ReLU(),
            nn.Linear(second, 1),
        )
        seen = [float(name in config.changes) for name in CHANGES]
        self.register_buffer("seen_changes", torch.tensor(seen), persistent=False)
        self.seen_changes: Tensor

    def forward(self, messages: Tensor, changes: Tensor, which: Tensor | None = None) -> Tensor:
        """Return raw rewards, float (B,).

        Args:
            messages: uint8 (D, 256), see `encode.encode_messages`.
            changes: (B, 5) signs, see `encode.encode_changes`.
            which: int64 (B,), the row of `messages` each caption has; None if row i belongs to caption i (D = B).
        """
        features = self.message(messages)
        return self.judged(features if which is None else features[which], changes)

    def judged(self, features: Tensor, changes: Tensor) -> Tensor:
        """Return raw rewards, float (B,), from the features of the captions' messages and their signs of change."""
        changed = self.change(changes.to(features.dtype) * self.seen_changes)
        return self.head(torch.cat([features, changed], dim=1))[:, 0]


_LENGTHS = (24, 36, 48, 64, 88, 124, 180, MESSAGE_BYTES)
"""Messages of up to so many characters are computed together."""


def num_parameters(model: nn.Module) -> int:
    """Return how many numbers a model has learnt."""
    return sum(parameter.numel() for parameter in model.parameters())


def average(models: Sequence[RewardModel], messages: Tensor, changes: Tensor, which: Tensor | None) -> Tensor:
    """Return the mean of an ensemble's raw rewards, float (B,)."""
    return torch.stack([model(messages, changes, which) for model in models]).mean(dim=0)
