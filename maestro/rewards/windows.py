"""What messages have in common: every stretch of letters that a layer of the network looks at, held once.

A value of layer l depends on a window of the values below it, and so on a stretch of letters. Game messages are made of
the same words, so most windows of a batch stand in it many times over, padding above all. `Windows` numbers the distinct
ones of a whole data set once; `prepare` says for a batch which of them each layer has to compute, and where each
of them is used.

Shape letters: M messages, U distinct windows of a layer, K letters under the layer's kernel, P neighbours it pools.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

_ROWS = 128
"""A layer computes a multiple of so many windows."""


class LayerPlan(NamedTuple):
    """One layer of one batch: which rows of the layer below, each times one column of the kernel, add up to what."""

    index: Tensor
    """int32 (U * P * K,): row * K + column of the kernel, K of them for every sum; U * P sums."""
    starts: Tensor
    """int32 (U * P,): where each sum begins in `index`."""
    users: Tensor
    """int32 (U * P * K,): the other way round: numbers of the sums, ordered by the row and column they use."""
    user_starts: Tensor
    """int32 (rows below * K,): where the users of each row and column begin in `users`."""
    pool: int
    """P: so many neighbouring sums belong to one window."""

    def to(self, device: torch.device) -> LayerPlan:
        """Return the same on a device."""
        index, starts, users, user_starts, pool = self
        return LayerPlan(index.to(device), starts.to(device), users.to(device), user_starts.to(device), pool)


class Windows:
    """The distinct windows of M messages, for layers that are given as (kernel, pool), the lowest first."""

    def __init__(self, messages: np.ndarray, layers: Sequence[tuple[int, int]]) -> None:
        """Number them; `messages` is uint8 (M, columns). The last layer must leave one column."""
        self.layers = tuple(layers)
        self._children: list[np.ndarray] = []
        values = messages
        for kernel, pool in self.layers:
            values, children = _distinct(values, kernel + pool - 1, pool)
            self._children.append(children)
        if len(messages) and values.shape[1] != 1:
            raise ValueError(f"the layers leave {values.shape[1]} columns, not one")
        self._top = values.reshape(-1)
        self._scratch = [np.zeros(len(children), np.int32) for children in self._children]

    def prepare(self, messages: np.ndarray) -> tuple[list[LayerPlan], Tensor]:
        """Plan the encoding of some messages, int (D,): the layers, lowest first, and the row of each at the end."""
        plans: list[LayerPlan] = []
        which, used = _renumbered(self._top[messages], self._scratch[-1])
        for level in range(len(self.layers) - 1, -1, -1):
            used = rounded_up(used, _ROWS)
            places, rows = self._children[level][used], 256
            if level:
                places, used = _renumbered(places, self._scratch[level - 1])
                rows = -(-len(used) // _ROWS) * _ROWS
            plans.append(_plan(places, rows, *self.layers[level]))
        return plans[::-1], torch.from_numpy(which.astype(np.int64))


def rounded_up(numbers: np.ndarray, multiple: int) -> np.ndarray:
    """Repeat the first until there is a multiple of some number.

    Nobody uses the repetitions. The library of matrix products prepares itself anew for every size it has not seen, which
    takes longer than the product; so sizes that differ from batch to batch are few.
    """
    missing = -len(numbers) % multiple
    return np.concatenate([numbers, numbers[:1].repeat(missing)]) if missing else numbers


def _distinct(values: np.ndarray, width: int, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct windows: (int32 (M, windows of a row), the windows themselves, (U, width))."""
    count = (values.shape[1] - width) // stride + 1
    windows = np.lib.stride_tricks.sliding_window_view(values, width, axis=1)[:, ::stride][:, :count]
    flat = np.ascontiguousarray(windows).reshape(-1, width)
    size = width * values.dtype.itemsize
    encoded = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(size), len(flat), [None, pa.py_buffer(flat)]
    ).dictionary_encode()
    assert isinstance(encoded, pa.DictionaryArray)
    found = encoded.dictionary
    distinct = np.frombuffer(found.buffers()[1], values.dtype, count=len(found) * width)
    numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    return numbers.reshape(len(values), count), distinct.reshape(-1, width)


def _renumbered(values: np.ndarray, scratch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (numbers from 0 in place of the values, int32; the value behind each number).

    `scratch` has a place for every value there could be; what stands in it does not matter. Faster than sorting.
    """
    flat = values.reshape(-1)
    order = np.arange(len(flat), dtype=np.int32)
    scratch[flat] = order  # of equal values the last one stays
    used = flat[scratch[flat] == order]
    scratch[used] = order[: len(used)]
    return scratch[flat].reshape(values.shape), used


def _plan(places: np.ndarray, rows: int, kernel: int, pool: int) -> LayerPlan:
    """Plan a layer whose windows show `places`, (U, kernel + pool - 1), of `rows` rows below."""
    columns = np.arange(pool)[:, None] + np.arange(kernel)
    index = (places[:, columns].astype(np.int32) * kernel + np.arange(kernel, dtype=np.int32)).reshape(-1)
    counts = np.bincount(index, minlength=rows * kernel)
    users = _stable_order(index, rows * kernel).astype(np.int32) // kernel
    return LayerPlan(
        torch.from_numpy(index),
        torch.arange(0, len(index), kernel, dtype=torch.int32),
        torch.from_numpy(users),
        torch.from_numpy((np.cumsum(counts) - counts).astype(np.int32)),
        pool,
    )


def _stable_order(keys: np.ndarray, bound: int) -> np.ndarray:
    """Return the order that sorts keys below `bound`, equal ones as they stand."""
    if bound <= 2**16:  # numpy counts digits of short numbers, which is several times faster
        return np.argsort(keys.astype(np.uint16), kind="stable")
    return torch.sort(torch.from_numpy(keys), stable=True).indices.numpy()
