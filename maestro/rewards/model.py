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


class _Tailed:
    """Rows of equal length whose ends are known to be constant: only what differs is computed.

    Messages are padded to 256 characters, and over padding a convolution gives one and the same column again and again.
    `head` holds the first columns of every row, `tail` the column that all later ones equal, `length` how many columns
    there are in all. Convolving and pooling this is exact, and for a message of 30 characters an eighth of the work.
    """

    def __init__(self, head: Tensor, tail: Tensor, length: int) -> None:
        self.head = head[:, :, :length]  # (D, C, at most length)
        self.tail = tail  # (1, C, 1)
        self.length = length

    def extended(self, columns: int) -> Tensor:
        """Return the first `columns` columns, (D, C, columns), the tail repeated as often as it takes."""
        head = self.head[:, :, :columns]
        missing = columns - head.shape[2]
        if missing <= 0:
            return head
        return torch.cat([head, self.tail.expand(head.shape[0], -1, missing)], dim=2)

    def convolved(self, layer: nn.Conv1d) -> _Tailed:
        """Apply a valid convolution and ReLU."""
        kernel = layer.kernel_size[0]
        length = self.length - kernel + 1
        columns = min(self.head.shape[2], length)
        tail = F.relu(layer(self.tail.expand(-1, -1, kernel)))
        return _Tailed(F.relu(layer(self.extended(columns + kernel - 1))), tail, length)

    def pooled(self, size: int) -> _Tailed:
        """Take the maximum over neighbouring columns, `size` at a time; what is left over at the end is dropped."""
        length = self.length // size
        columns = min(-(-self.head.shape[2] // size), length)
        return _Tailed(F.max_pool1d(self.extended(columns * size), size), self.tail, length)


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
        self.out = nn.Linear(5 * width, config.message_features)

    def forward(self, messages: Tensor) -> Tensor:
        """Encode messages.

        Args:
            messages: uint8 or int64 (D, 256); zeros pad at the end and only there.

        Returns:
            float (D, message_features).
        """
        longest = int((messages != 0).sum(dim=1).max()) if len(messages) else 0
        used = messages[:, : max(longest, 1)].long()
        empty = self.embedding.weight[0].detach().reshape(1, -1, 1)  # padding is not learnt
        x = _Tailed(self.embedding(used).transpose(1, 2), empty, MESSAGE_BYTES)
        for layer in self.wide:
            x = x.convolved(layer).pooled(3)  # type: ignore[arg-type]
        for layer in self.narrow:
            x = x.convolved(layer)  # type: ignore[arg-type]
        x = x.pooled(3)
        return F.relu(self.out(x.extended(x.length).flatten(1)))


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
        features = self._by_length(messages)
        if which is not None:
            features = features[which]
        changed = self.change(changes.to(features.dtype) * self.seen_changes)
        return self.head(torch.cat([features, changed], dim=1))[:, 0]

    def _by_length(self, messages: Tensor) -> Tensor:
        """Encode short and long messages apart, so that one long one does not make all of them cost as much."""
        lengths = (messages != 0).sum(dim=1)
        parts, places = [], []
        for low, high in zip((-1, *_LENGTHS[:-1]), _LENGTHS, strict=True):
            chosen = ((lengths > low) & (lengths <= high)).nonzero()[:, 0]
            if len(chosen):
                parts.append(self.message(messages[chosen]))
                places.append(chosen)
        if len(parts) == 1:
            return parts[0]
        order = torch.cat(places)
        return torch.cat(parts)[torch.argsort(order)]


_LENGTHS = (24, 40, 64, 112, MESSAGE_BYTES)


def num_parameters(model: nn.Module) -> int:
    """Return how many numbers a model has learnt."""
    return sum(parameter.numel() for parameter in model.parameters())


def average(models: Sequence[RewardModel], messages: Tensor, changes: Tensor, which: Tensor | None) -> Tensor:
    """Return the mean of an ensemble's raw rewards, float (B,)."""
    return torch.stack([model(messages, changes, which) for model in models]).mean(dim=0)
