"""Draw pairs of transitions to compare, so that what is rare is compared as often as what is common."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from maestro.errors import DatasetError

_BLOCK = 4096
"""Pairs drawn at once; part of what a seed means."""


class Preference(enum.IntEnum):
    """A verdict on a pair, by the codes of Motif's preference files."""

    FIRST = 0
    SECOND = 1
    TIE = 2
    UNPARSED = 3

    @property
    def swapped(self) -> Preference:
        """Give the same verdict as seen with the two captions in the other order."""
        return _SWAPPED[self]


_SWAPPED = {
    Preference.FIRST: Preference.SECOND,
    Preference.SECOND: Preference.FIRST,
    Preference.TIE: Preference.TIE,
    Preference.UNPARSED: Preference.UNPARSED,
}


class Pair(NamedTuple):
    """Two rows of a dataset, by their numbers."""

    first: int
    second: int


@dataclass(frozen=True)
class Pairing:
    """Which pairs are to be compared: the same for the same dataset, skill, number and seed, wherever it is drawn.

    Half of the draws go evenly to all strata, whatever their size, so that rare events are compared often; half go to
    the skill's own play (where the dataset has none of it: to all rows), so that what the reward model will meet is
    compared too. A row is never paired with itself.
    """

    num_pairs: int
    seed: int
    rows_of_stratum: dict[str, np.ndarray]
    """Stratum to its row numbers, int64."""
    own_rows: np.ndarray
    """Row numbers of the skill's own play, int64; all rows where there is none."""
    num_own: int = 0
    """How many rows are the skill's own play."""

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the pairs in their order, int64 (up to 4096, 2), a block at a time."""
        strata = list(self.rows_of_stratum.values())
        for number, start in enumerate(range(0, self.num_pairs, _BLOCK)):
            rng = np.random.default_rng([self.seed, number])
            rows = self._draw(rng, strata, (_BLOCK, 2))
            same = rows[:, 0] == rows[:, 1]
            while same.any():
                rows[same, 1] = self._draw(rng, strata, (int(same.sum()),))
                same = rows[:, 0] == rows[:, 1]
            yield rows[: min(_BLOCK, self.num_pairs - start)]

    def __iter__(self) -> Iterator[Pair]:
        for block in self.blocks():
            yield from (Pair(first, second) for first, second in block.tolist())

    def __len__(self) -> int:
        return self.num_pairs

    def array(self) -> np.ndarray:
        """Give all pairs at once, int64 (num_pairs, 2)."""
        blocks = list(self.blocks())
        return np.concatenate(blocks) if blocks else np.empty((0, 2), np.int64)

    def report(self) -> dict[str, dict[str, Any]]:
        """Count per stratum: `rows` it has, `drawn` places it takes in the pairs, and `mixed`, its pairs with others."""
        stratum_of = np.empty(1 + max(int(rows.max()) for rows in self.rows_of_stratum.values()), np.int64)
        names = list(self.rows_of_stratum)
        for number, name in enumerate(names):
            stratum_of[self.rows_of_stratum[name]] = number
        drawn: Counter[int] = Counter()
        mixed: Counter[int] = Counter()
        for block in self.blocks():
            found = stratum_of[block]
            drawn.update(found.ravel().tolist())
            mixed.update(found[found[:, 0] != found[:, 1]].ravel().tolist())
        return {
            name: {"rows": len(self.rows_of_stratum[name]), "drawn": drawn[number], "mixed": mixed[number]}
            for number, name in enumerate(names)
        }

    def _draw(self, rng: np.random.Generator, strata: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
        size = int(np.prod(shape))
        rows = self.own_rows[rng.integers(len(self.own_rows), size=size)]
        stratum, place = rng.integers(len(strata), size=size), rng.random(size)
        even = rng.random(size) < 0.5
        sizes = np.array([len(rows) for rows in strata])
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        drawn = np.concatenate(strata)[starts[stratum] + (place * sizes[stratum]).astype(np.int64)]
        return np.where(even, drawn, rows).reshape(shape)


def make_pairs(table: pa.Table, skill: str, num_pairs: int, seed: int = 0) -> Pairing:
    """Plan `num_pairs` pairs of `table`'s rows (columns `skill` and `stratum` are read) for annotating `skill`.

    Raises DatasetError where fewer than two rows make it impossible.
    """
    if table.num_rows < 2:
        raise DatasetError(
            f"the dataset has {table.num_rows} transitions",
            expected="at least 2, to make a pair",
            hint="collect more with `maestro collect --all --steps ...`",
        )
    strata = table["stratum"].to_numpy()
    rows_of_stratum = {name: np.flatnonzero(strata == name) for name in sorted(set(strata.tolist()))}
    own = np.flatnonzero(table["skill"].to_numpy() == skill)
    own_rows = own if len(own) else np.arange(table.num_rows)
    return Pairing(num_pairs, seed, rows_of_stratum, own_rows, len(own))
