"""Parts of a network that turn a world's arrays into numbers: the crop of the map, the message, and everything else.

Shape letters: B batch, C channels, V numbers of a vector, D distinct messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from maestro.rewards.model import MessageEncoder, ModelConfig

NUM_CHARS = 256
NUM_COLORS = 16
NUM_WORDS = 4096
"""Word numbers a features' `words` array may hold."""
_MESSAGES = 1 << 14
"""Messages whose features are kept while acting: 8 MB of them."""


class CropEncoder(nn.Module):
    """Characters and colours around the hero, through convolutions and a linear layer."""

    def __init__(
        self,
        side: int,
        embedding: int,
        layers: Sequence[tuple[int, int, int]],
        num_features: int,
        activation: nn.Module,
    ) -> None:
        """Make the layers; each of `layers` is (channels, kernel, stride)."""
        super().__init__()
        self.char = nn.Parameter(torch.randn(NUM_CHARS, embedding) * 0.5)
        self.color = nn.Parameter(torch.randn(NUM_COLORS, embedding) * 0.5)
        self.activation = activation
        self.convolutions = nn.ModuleList()
        width = embedding
        for channels, kernel, stride in layers:
            self.convolutions.append(nn.Conv2d(width, channels, kernel, stride))
            side, width = (side - kernel) // stride + 1, channels
        if side < 1:
            raise ValueError(f"the convolutions {layers} leave nothing of the crop")
        self.out = nn.Linear(side * side * width, num_features)

    def forward(self, chars: Tensor, colors: Tensor) -> Tensor:
        """Encode crops, uint8 (B, side, side) each: float (B, num_features)."""
        # One look-up in a table of all pairs costs half of two, forwards and backwards.
        table = (self.char[:, None] + self.color[None]).view(NUM_CHARS * NUM_COLORS, -1)
        pairs = chars.int() * NUM_COLORS + (colors & (NUM_COLORS - 1))
        x = F.embedding(pairs, table).permute(0, 3, 1, 2)
        for convolution in self.convolutions:
            x = self.activation(convolution(x))
        return self.activation(self.out(x.permute(0, 2, 3, 1).flatten(1)))


class WordsEncoder(nn.Module):
    """Words of a message: the sum of what each means, and of what the first ones mean in their places."""

    def __init__(self, num_places: int, num_features: int) -> None:
        super().__init__()
        self.anywhere = nn.Parameter(torch.randn(NUM_WORDS, num_features) * 0.3)
        self.place = nn.Parameter(torch.ones(num_places, num_features))

    def forward(self, words: Tensor) -> Tensor:
        """Encode word numbers, int16 (B, places), 0 for none: float (B, num_features), between -1 and 1."""
        present = (words > 0).to(self.place.dtype).unsqueeze(-1)
        meanings = F.embedding(words.int(), self.anywhere)
        return torch.tanh((meanings * present * self.place).sum(dim=1))


class CharactersEncoder(nn.Module):
    """A message by its characters; each distinct message of a batch is encoded once."""

    def __init__(self, num_features: int) -> None:
        super().__init__()
        # Source: the character network of the reward models in MaestroMotif, which its policy shares the shape of.
        self.network = MessageEncoder(ModelConfig(message_features=num_features))
        self._known: dict[int, Tensor] | None = None

    def remember(self) -> None:
        """Keep the features of messages from now on, for acting with weights that stay as they are.

        Each message is then encoded by itself, so that its features do not depend on what stands beside it.
        """
        self._known = {}

    def forward(self, messages: Tensor, ids: Tensor) -> Tensor:
        """Encode messages, uint8 (B, 256); `ids` int64 (B,) are equal where messages are: float (B, num_features)."""
        if self._known is not None:
            return self._recall(self._known, messages, ids.tolist())
        distinct, which = torch.unique(ids, return_inverse=True)
        rows = torch.arange(len(ids), device=ids.device)
        one = torch.empty_like(distinct).scatter_(0, which, rows)
        return self.network(messages[one])[which]

    def _recall(self, known: dict[int, Tensor], messages: Tensor, ids: list[int]) -> Tensor:
        if len(known) > _MESSAGES:
            known.clear()
        for row, number in enumerate(ids):
            if number not in known:
                known[number] = self.network(messages[row : row + 1])[0].detach()
        return torch.stack([known[number] for number in ids])


class VectorEncoder(nn.Module):
    """Plain numbers, through linear layers; with `raw` the numbers themselves are given on as well."""

    def __init__(
        self, num_inputs: int, layers: Sequence[int], activation: nn.Module, *, raw: bool = False
    ) -> None:
        super().__init__()
        sizes = [num_inputs, *layers]
        self.layers = nn.ModuleList([nn.Linear(one, other) for one, other in pairwise(sizes)])
        self.activation = activation
        self.raw = raw
        self.num_features = sizes[-1] + (num_inputs if raw else 0)

    def forward(self, numbers: Tensor) -> Tensor:
        """Encode numbers, float (B, num_inputs): float (B, self.num_features)."""
        x = numbers
        for layer in self.layers:
            x = self.activation(layer(x))
        return torch.cat([x.float(), numbers], dim=1) if self.raw else x
