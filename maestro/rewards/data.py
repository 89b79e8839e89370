"""Judged pairs as arrays, with every caption and every message held once."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maestro.errors import DatasetError
from maestro.preferences.pairs import Preference
from maestro.preferences.transitions import caption_key
from maestro.rewards.encode import CHANGES, changes_of, encode_messages

_COMMON = 0.01
"""Share of all places in pairs from which on a message is common."""
_TRAINING, _VALIDATION, _HELD_OUT = range(3)


@dataclass(frozen=True)
class PairData:
    """P judged pairs over U captions with M distinct messages."""

    messages: np.ndarray
    """uint8 (M, 256), see `encode.encode_messages`."""
    message_of: np.ndarray
    """int64 (U,): which message a caption has."""
    changes: np.ndarray
    """int8 (U, 5): signs of the changes, see `encode.encode_changes`."""
    pairs: np.ndarray
    """int64 (P, 2): the captions of a pair, first and second."""
    targets: np.ndarray
    """float32 (P,): probability that the second is preferred: 0 first, 1 second, 0.5 tie, or anything between."""
    preferred: np.ndarray | None = None
    """bool (P,): whether the verdict was for one side. Soft targets do not say it: a tie's is seldom exactly 0.5.

    None where the targets are hard, and every other one than 0.5 is for a side.
    """

    def __post_init__(self) -> None:
        if len(self.pairs) != len(self.targets):
            raise ValueError(f"{len(self.pairs)} pairs, but {len(self.targets)} targets")
        if self.preferred is not None and len(self.preferred) != len(self.pairs):
            raise ValueError(f"{len(self.pairs)} pairs, but {len(self.preferred)} verdicts")
        if len(self.pairs) and (self.pairs.min() < 0 or self.pairs.max() >= len(self.message_of)):
            raise ValueError("a pair points at a caption that is not there")
        if not ((self.targets >= 0) & (self.targets <= 1)).all():
            raise ValueError("a target is not a probability: UNPARSED judgements must be left out")

    @property
    def num_captions(self) -> int:
        """Return U."""
        return len(self.message_of)

    @property
    def decided(self) -> np.ndarray:
        """bool (P,): pairs that are not ties."""
        uneven = self.targets != 0.5
        return uneven if self.preferred is None else uneven & self.preferred

    def sha256(self) -> str:
        """Return a hash of all of it, for cards; what is decided counts only where the targets do not say it already."""
        digest = hashlib.sha256()
        for array in (self.messages, self.message_of, self.changes, self.pairs, self.targets):
            digest.update(np.ascontiguousarray(array).tobytes())
        if not np.array_equal(self.decided, self.targets != 0.5):
            digest.update(self.decided.tobytes())
        return digest.hexdigest()

    def subset(self, chosen: np.ndarray) -> PairData:
        """Return the same captions with only the chosen pairs; `chosen` is an index or a mask."""
        preferred = None if self.preferred is None else self.preferred[chosen]
        return replace(self, pairs=self.pairs[chosen], targets=self.targets[chosen], preferred=preferred)

    def as_seen(self, changes: Collection[str]) -> PairData:
        """Return the pairs over the captions of a network that sees only these of `encode.CHANGES`.

        The other changes become 0, and captions that nothing tells apart any more become one. Without this, one and the same
        input could teach and be held out, and would count several times in means and quantiles.
        """
        seen = np.array([name in changes for name in CHANGES])
        if seen.all():
            return self
        rows = np.concatenate([self.message_of[:, None], self.changes * seen], axis=1)
        captions, caption_of = np.unique(rows, axis=0, return_inverse=True)
        return replace(
            self,
            message_of=captions[:, 0].astype(np.int64),
            changes=captions[:, 1:].astype(np.int8),
            pairs=caption_of.reshape(-1)[self.pairs].astype(np.int64),
        )


class Split(NamedTuple):
    """Pairs by what they are for."""

    training: PairData
    validation: PairData
    """They choose the epoch: pairs with at least one caption that no training pair shows."""
    held_out: PairData
    """They give the figures: neither caption is in a pair of the other two."""
    num_mixed: int
    """Pairs that belong to none of them."""


def split_by_caption(data: PairData, held_out: float, validation: float, seed: int) -> Split:
    """Hold captions out, so that a model is never judged by what it was fitted to or chosen by.

    Shares of the *messages* are held out with all captions that have them. Of messages so common that one of them would
    decide the figures (no message at all, above all), shares of the captions are held out instead, because a model
    must have met them. Too few pairs to hold any out: all are for training.
    Raises DatasetError when there is no pair at all.
    """
    if not len(data.pairs):
        raise DatasetError("there are no judged pairs", where="fit-reward", hint="maestro annotate first")
    generator = np.random.default_rng(seed)
    num_messages = len(data.messages)
    part = _dealt(generator, num_messages, held_out, validation)[data.message_of]
    places = np.bincount(data.message_of[data.pairs].ravel(), minlength=num_messages)
    common = np.flatnonzero((places > _COMMON * places.sum())[data.message_of])
    part[common] = _dealt(generator, len(common), held_out, validation)
    of_pair = part[data.pairs]
    training, in_test = (of_pair == _TRAINING).all(axis=1), (of_pair == _HELD_OUT).all(axis=1)
    chooses = ~training & (of_pair != _HELD_OUT).all(axis=1)
    if not training.any():
        nothing = data.subset(np.zeros(len(data.pairs), bool))
        return Split(data, nothing, nothing, 0)
    mixed = int((~training & ~chooses & ~in_test).sum())
    return Split(data.subset(training), data.subset(chooses), data.subset(in_test), mixed)


def _dealt(generator: np.random.Generator, number: int, held_out: float, validation: float) -> np.ndarray:
    """Deal things to the three parts at random."""
    place = generator.permutation(number)
    first, second = round(held_out * number), round((held_out + validation) * number)
    return np.where(place < first, _HELD_OUT, np.where(place < second, _VALIDATION, _TRAINING))


def annotated_part(table: pa.Table, digest: str) -> pa.Table:
    """Give the rows that were there when a dataset with this `dataset_digest` was annotated: it may have grown since.

    `table` is as `read_transitions` gives it, a chunk a shard. Raises DatasetError where it is another dataset.
    """
    running, rows = hashlib.sha256(), 0
    if running.hexdigest() == digest:
        return table.slice(0, 0)
    for chunk in table["caption"].chunks:
        for caption in chunk.to_pylist():
            running.update(caption_key(caption))
        rows += len(chunk)
        if running.hexdigest() == digest:
            return table.slice(0, rows)
    raise DatasetError(
        "the verdicts are about other transitions",
        where="--data",
        expected=f"the dataset with digest {digest[:12]}..., which was annotated",
        hint="name it with --data, or annotate this one",
    )


def load_pair_data(table: pa.Table, verdicts: pa.Table) -> PairData:
    """Join a dataset's rows and the verdicts on them; pairs nobody could parse a verdict of are left out.

    Raises DatasetError where the verdicts point at rows the dataset does not have.
    """
    parsed = verdicts.filter(pc.not_equal(verdicts["preference"], int(Preference.UNPARSED)))
    rows = np.stack([parsed["first"].to_numpy(), parsed["second"].to_numpy()], axis=1)
    if len(rows) and rows.max() >= table.num_rows:
        raise DatasetError(
            f"the verdicts speak of row {rows.max()}, and the dataset has {table.num_rows}",
            where="fit-reward",
            expected="the dataset that was annotated",
            hint="name it with --data, or annotate again",
        )
    used, pairs = np.unique(rows, return_inverse=True)
    chosen = table.take(used)
    messages = chosen["message"].to_pylist()
    number: dict[str, int] = {}
    message_of = np.array([number.setdefault(message, len(number)) for message in messages], np.int64)
    changes = changes_of(chosen)
    captions, caption_of = np.unique(
        np.concatenate([message_of[:, None], changes], axis=1), axis=0, return_inverse=True
    )
    targets = 1.0 - parsed["p_first"].to_numpy().astype(np.float32)
    return PairData(
        messages=encode_messages(list(number)),
        message_of=captions[:, 0].astype(np.int64),
        changes=captions[:, 1:].astype(np.int8),
        pairs=caption_of.reshape(-1)[pairs.reshape(-1, 2)].astype(np.int64),
        targets=targets,
        preferred=np.isin(parsed["preference"].to_numpy(), (int(Preference.FIRST), int(Preference.SECOND))),
    )
