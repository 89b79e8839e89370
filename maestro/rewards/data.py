"""Judged pairs as arrays, with every caption and every message held once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maestro.errors import DatasetError
from maestro.preferences.pairs import Preference
from maestro.preferences.transitions import caption_key
from maestro.rewards.encode import changes_of, encode_messages

_COMMON = 0.01
"""Share of all places in pairs from which on a message is common."""


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

    def __post_init__(self) -> None:
        if len(self.pairs) != len(self.targets):
            raise ValueError(f"{len(self.pairs)} pairs, but {len(self.targets)} targets")
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
        return self.targets != 0.5

    def sha256(self) -> str:
        """Return a hash of all of it, for cards."""
        digest = hashlib.sha256()
        for array in (self.messages, self.message_of, self.changes, self.pairs, self.targets):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def subset(self, chosen: np.ndarray) -> PairData:
        """Return the same captions with only the chosen pairs; `chosen` is an index or a mask."""
        return PairData(
            self.messages, self.message_of, self.changes, self.pairs[chosen], self.targets[chosen]
        )


def split_by_caption(data: PairData, share: float, seed: int) -> tuple[PairData, PairData, int]:
    """Hold captions out: return (training pairs, held-out pairs, number of pairs that belong to neither).

    A share of the *messages* is held out with all captions that have them, so that nothing the model was fitted to can be
    recognised in what it is tested on. Of messages so common that one of them would decide the figures (no message
    at all, above all), a share of the captions is held out instead, because a model must have met them. Held-out pairs have two captions held out; training pairs none; mixed pairs are
    left out of both. Too few pairs to hold any out: all are for training, and the held-out part is empty.
    Raises DatasetError when there is no pair at all.
    """
    if not len(data.pairs):
        raise DatasetError("there are no judged pairs", where="fit-reward", hint="maestro annotate first")
    generator = np.random.default_rng(seed)
    num_messages = len(data.messages)
    held_messages = np.zeros(num_messages, bool)
    held_messages[generator.permutation(num_messages)[: round(share * num_messages)]] = True
    held = held_messages[data.message_of]
    places = np.bincount(data.message_of[data.pairs].ravel(), minlength=num_messages)
    common = np.flatnonzero((places > _COMMON * places.sum())[data.message_of])
    held[common] = generator.permutation(len(common)) < share * len(common)
    of_pair = held[data.pairs]
    in_test, in_training = of_pair.all(axis=1), ~of_pair.any(axis=1)
    if not in_training.any():
        return data, data.subset(np.zeros(len(data.pairs), bool)), 0
    neither = int((~in_test & ~in_training).sum())
    return data.subset(in_training), data.subset(in_test), neither


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
    )
