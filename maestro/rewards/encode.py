"""Captions as numbers: what a reward model reads of a transition.

A reward model sees the message of the step and whether depth, gold, hit points, experience level and hunger rose or
fell since the skill began. The previous message is for annotators only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from maestro.preferences.transitions import FACTS

ENCODER_VERSION = 1
"""Raised whenever the same transition would be encoded differently; a reward model's card records it."""

MESSAGE_BYTES = 256
"""Longer messages are cut, as MaestroMotif's model reads them."""
CHANGES: tuple[str, ...] = ("depth", "gold", "hp", "experience_level", "hunger")
"""The changes a model reads, in the order of their columns."""

_COLUMNS = [FACTS.index(name) for name in CHANGES]


def encode_messages(messages: Sequence[str]) -> np.ndarray:
    """Return uint8 (len(messages), MESSAGE_BYTES): latin-1 codes, padded with zeros.

    Any character is accepted: what latin-1 lacks becomes a question mark, and a NUL a blank, because padding alone may be
    zero.
    """
    data = b"".join(_padded(message) for message in messages)
    return np.frombuffer(data, np.uint8).reshape(len(messages), MESSAGE_BYTES).copy()


def _padded(message: str) -> bytes:
    code = message.encode("latin-1", errors="replace")[:MESSAGE_BYTES]
    return code.replace(b"\0", b" ").ljust(MESSAGE_BYTES, b"\0")


def encode_changes(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the signs (-1, 0, 1) of the changes, int8 (N, 5), in the order of CHANGES.

    `before` and `after` are whole numbers (N, 6), in the order of `preferences.transitions.FACTS`. Depth and hunger grow
    downwards and towards starving; a world without hunger has the same code throughout, which is no change.
    Source: MaestroMotif clips all five changes to one step either way.
    """
    return np.sign(after[:, _COLUMNS] - before[:, _COLUMNS]).astype(np.int8)


def changes_of(table: pa.Table) -> np.ndarray:
    """Return `encode_changes` for the rows of a dataset, int8 (rows, 5)."""
    before, after = (
        np.stack([table[f"{name}_{when}"].to_numpy() for name in FACTS], axis=1).astype(np.int64)
        for when in ("before", "after")
    )
    return encode_changes(before, after)
