"""A reward model for one caption at a time, compiled: for games, where new captions come one by one.

It computes what `RewardModel` computes, in double precision and each caption by itself, so that a reward never depends on
what was computed beside it. A new message takes about a tenth of what torch needs for a batch of one, nearly all of which
is overhead. What the network makes of a message is remembered: most new captions show an old message beside new changes.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numba
import numpy as np
from torch import nn

from maestro.rewards.encode import MESSAGE_BYTES, encode_messages
from maestro.rewards.files import SkillReward
from maestro.rewards.model import RewardModel

Signs = tuple[int, ...]
"""Five of -1, 0, 1, in the order of `encode.CHANGES`."""
_LAST_COLUMNS = 5
"""What the convolutions leave of a message; the linear layer above them is a convolution of all of it."""
Key = TypeVar("Key")
Value = TypeVar("Value")
_MESSAGES = 1 << 12
"""Messages whose features are remembered for each model; up to twice as many. One takes about 1 kB."""


class Recent(Generic[Key, Value]):
    """Remembers at least the last `size` things that were put or asked for, and at most twice as many."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._young: dict[Key, Value] = {}
        self._old: dict[Key, Value] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def get(self, key: Key) -> Value | None:
        """Give what was put there, or None."""
        value = self._young.get(key)
        if value is None:
            value = self._old.get(key)
            if value is not None:
                self.put(key, value)
        return value

    def put(self, key: Key, value: Value) -> None:
        """Remember something; when there is too much, what nobody asked for lately is forgotten."""
        if len(self._young) >= self._size:
            self._old, self._young = self._young, {}
        self._young[key] = value


class SingleReward:
    """A loaded reward model's normalised reward of one caption."""

    def __init__(self, reward: SkillReward) -> None:
        """Take over weights and scale; later changes of the model are not seen."""
        self._models = [_Compiled(model) for model in reward.models]
        self._mean, self._std = float(reward.scale.mean), float(reward.scale.std)

    def __call__(self, message: str, signs: Signs) -> float:
        """Return the normalised reward of a message, beside these signs of change."""
        raw = sum(model(message, signs) for model in self._models) / len(self._models)
        return (raw - self._mean) / self._std


class _Compiled:
    """The weights of one model, as the compiled functions take them."""

    def __init__(self, model: RewardModel) -> None:
        encoder = model.message
        layers = [*encoder.wide, *encoder.narrow]
        last = encoder.out.weight.view(encoder.out.out_features, -1, _LAST_COLUMNS)
        # (columns of the kernel, channels below, channels): the innermost loop runs over neighbours in memory.
        self._kernels = tuple(
            _double(weight.permute(2, 1, 0)) for weight in [*(each.weight for each in layers), last]
        )
        self._biases = tuple(_double(layer.bias) for layer in [*layers, encoder.out])
        self._pools = np.array([3 if at in (0, 1, len(layers) - 1) else 1 for at in range(len(layers) + 1)])
        self._embedding = _double(encoder.embedding.weight)
        self._change = _dense(model.change)
        self._head = _dense(model.head)
        self._seen = _double(model.seen_changes)
        self._changes: dict[Signs, np.ndarray] = {}
        self._messages = Recent[str, np.ndarray](_MESSAGES)
        self(
            "x", (0,) * len(self._seen)
        )  # compiles, or loads what was compiled before, now and not in a game

    def __call__(self, message: str, signs: Signs) -> float:
        features = self._messages.get(message)
        if features is None:
            codes = encode_messages([message])[0]
            features = _encode(
                codes[: np.count_nonzero(codes)], self._embedding, self._kernels, self._biases, self._pools
            )
            self._messages.put(message, features)
        changed = self._changes.get(signs)
        if changed is None:
            changed = _through(np.array(signs, np.float64) * self._seen, *self._change, True)
            self._changes[signs] = changed
        return float(_through(np.concatenate((features, changed)), *self._head, False)[0])


@numba.njit(cache=True, nogil=True)
def _encode(codes, embedding, kernels, biases, pools):  # pragma: no cover - compiled
    """Pass one message, uint8 (L,) without padding, through the convolutions: features, float64.

    As in `model._Tailed`, `x` holds the first columns and `tail` what all later ones are, up to `length`.
    """
    length = MESSAGE_BYTES
    tail = embedding[0].copy()
    x = np.empty((len(codes), embedding.shape[1]))
    for column in range(len(codes)):
        x[column] = embedding[codes[column]]
    for layer in range(len(kernels)):
        kernel, pool = kernels[layer], pools[layer]
        size, below, above = kernel.shape
        length = length - size + 1
        head = min(-(-min(len(x), length) // pool), length // pool)
        made = np.zeros((head + 1, above))  # the last row is the new tail; maxima of 0 are the ReLU
        value = np.empty(above)
        for column in range(head + 1):
            for part in range(pool if column < head else 1):
                first = column * pool + part if column < head else len(x)
                value[:] = biases[layer]
                for k in range(size):
                    row = x[first + k] if first + k < len(x) else tail
                    for c in range(below):
                        factor = row[c]
                        if factor != 0.0:
                            for o in range(above):
                                value[o] += factor * kernel[k, c, o]
                for o in range(above):
                    if value[o] > made[column, o]:
                        made[column, o] = value[o]
        x, tail = made[:head], made[head]
        length = length // pool
    return x[0].copy() if len(x) else tail.copy()


@numba.njit(cache=True, nogil=True)
def _through(x, weights, biases, relu_last):  # pragma: no cover - compiled
    """Pass one vector through linear layers with ReLUs between them, and after the last one if told so."""
    for layer in range(len(weights)):
        weight = weights[layer]
        y = biases[layer].copy()
        for i in range(len(x)):
            factor = x[i]
            if factor != 0.0:
                for o in range(len(y)):
                    y[o] += factor * weight[i, o]
        if relu_last or layer < len(weights) - 1:
            y = np.maximum(y, 0.0)
        x = y
    return x


def _dense(layers: nn.Sequential) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Take the linear layers' weights, (inputs, outputs), and biases."""
    linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
    return tuple(_double(layer.weight.T) for layer in linear), tuple(_double(layer.bias) for layer in linear)


def _double(tensor: Any) -> np.ndarray:
    return np.ascontiguousarray(tensor.detach().cpu().double().numpy())
