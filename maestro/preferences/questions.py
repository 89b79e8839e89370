"""From pairs of rows to questions: both orders, none about equal captions, only those of one shard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from maestro.errors import ConfigError
from maestro.preferences.captions import Captioner
from maestro.preferences.judgements import Context, Question, Shown, question_key
from maestro.preferences.pairs import Pairing
from maestro.preferences.transitions import Transition, caption_key, rows_of


class Shard(NamedTuple):
    """A share of the questions: `number` (from 0) of `count`. Both orders of a pair are in the same one."""

    number: int = 0
    count: int = 1

    @property
    def is_all(self) -> bool:
        """Tell whether it is everything."""
        return self.count == 1

    def __str__(self) -> str:
        return f"{self.number + 1}of{self.count}"


ALL = Shard()


def parse_shard(text: str) -> Shard:
    """Read `2/5`, the second of five; raises ConfigError."""
    number, slash, count = text.partition("/")
    if not slash or not number.isdigit() or not count.isdigit() or not 1 <= int(number) <= int(count):
        raise ConfigError(
            f"{text!r} is no share", where="shard", expected="K/N with K from 1 to N, such as 1/2"
        )
    return Shard(int(number) - 1, int(count))


class Asked(NamedTuple):
    """One pair with the keys of its questions; `forward` is None where the captions are equal, so nothing is asked."""

    first: int
    second: int
    forward: bytes | None
    backward: bytes | None


class Plan:
    """All questions of an annotation, again and again the same."""

    def __init__(
        self, table: pa.Table, pairing: Pairing, captioner: Captioner, context: Context, both_orders: bool
    ) -> None:
        self.pairing, self.both_orders = pairing, both_orders
        self._context = context
        self._captioner = captioner
        self._rows: list[Transition] = rows_of(table)
        self._shown: list[Shown | None] = [None] * len(self._rows)

    def blocks(self, shard: Shard = ALL) -> Iterator[list[Asked]]:
        """Yield the pairs of a shard, some thousand at a time."""
        for block in self.pairing.blocks():
            asked = [self._asked(first, second) for first, second in block.tolist()]
            yield asked if shard.is_all else [each for each in asked if self._belongs(each, shard)]

    def questions(self, asked: Asked) -> list[Question]:
        """Give the one or two questions of a pair; none about equal captions."""
        first, second = self.shown(asked.first), self.shown(asked.second)
        found = [] if asked.forward is None else [Question(asked.forward, first, second)]
        return found if asked.backward is None else [*found, Question(asked.backward, second, first)]

    def shown(self, row: int) -> Shown:
        """Give a row as it is shown."""
        shown = self._shown[row]
        if shown is None:
            caption = self._captioner.word(self._rows[row])
            shown = self._shown[row] = Shown(caption_key(caption), caption, self._rows[row])
        return shown

    def _asked(self, first: int, second: int) -> Asked:
        one, two = self.shown(first).id, self.shown(second).id
        if one == two:
            return Asked(first, second, None, None)
        digest = self._context.digest
        backward = question_key(digest, two, one) if self.both_orders else None
        return Asked(first, second, question_key(digest, one, two), backward)

    def _belongs(self, asked: Asked, shard: Shard) -> bool:
        ids = sorted((self.shown(asked.first).id, self.shown(asked.second).id))
        return int.from_bytes(ids[0][:4], "big") % shard.count == shard.number
