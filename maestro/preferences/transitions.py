"""The dataset of transitions: what happened on one step of a game, in facts and in words.

    <folder>/shard-00000.parquet    rows, see `Transition`; the file's metadata says how they came about
    <folder>/card.json              counts over all shards, for people and for the tools that follow

A shard appears whole or not at all; no caption occurs twice in a dataset. The order of the rows (shard by shard) is
what pairs refer to, so a dataset only ever grows at its end.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from maestro.errors import DatasetError
from maestro.runs import write_atomically

DATASET_VERSION = 1
"""Raised whenever a column changes its name, type or meaning."""
CARD = "card.json"
HUNGER_NAMES = ("Satiated", "Not hungry", "Hungry", "Weak", "Fainting", "Fainted", "Starved")
"""Code to name, as NetHack counts; -1 where a world knows no hunger. Source: NetHack 3.6.6, include/hack.h."""
FACTS = ("depth", "gold", "hp", "max_hp", "experience_level", "hunger")
"""What is kept of a state, as whole numbers; 0 (hunger: -1) where a world does not have it."""
_META = b"maestro"
_SHARD = re.compile(r"shard-(\d{5,})\.parquet")


class Transition(NamedTuple):
    """One row. "Before" is where the running skill began, or a horizon of steps ago where that is nearer."""

    skill: str
    """The skill that ran (and chose the action); empty in recordings, where nobody knows."""
    previous_message: str
    message: str
    depth_before: int
    depth_after: int
    gold_before: int
    gold_after: int
    hp_before: int
    hp_after: int
    max_hp_before: int
    max_hp_after: int
    experience_level_before: int
    experience_level_after: int
    hunger_before: int
    hunger_after: int
    caption: str
    """The caption in its default wording."""
    stratum: str
    """The rarest thing that happened on this step; see `strata`."""
    episode: int
    step: int
    seed_core: int
    seed_disp: int
    source: str
    """Who played: "reference", "random", "policy" (a file of the user's), or "ttyrec" (a recording)."""


_TEXTS = ("skill", "previous_message", "message", "caption", "stratum", "source")
SCHEMA = pa.schema(
    [
        (name, pa.string() if name in _TEXTS else pa.int64() if name.startswith("seed_") else pa.int32())
        for name in Transition._fields
    ]
)


def facts_of(state: Any) -> tuple[int, ...]:
    """Read `FACTS` off a world's State by their names."""
    hunger = getattr(state, "hunger", "")
    numbers = [int(getattr(state, name, 0)) for name in FACTS[:-1]]
    return (*numbers, HUNGER_NAMES.index(hunger) if hunger in HUNGER_NAMES else -1)


def make_transition(
    *, skill: str, previous: Any, now: Any, start: Any, caption: str, stratum: str, episode: int, seeds: tuple[int, int],
    source: str,
) -> Transition:  # fmt: skip
    """Make a row of three states: before this step, after it, and where the changes are counted from."""
    changes = [value for pair in zip(facts_of(start), facts_of(now), strict=True) for value in pair]
    said = (previous.message, now.message)
    return Transition._make((skill, *said, *changes, caption, stratum, episode, now.step, *seeds, source))


def caption_key(caption: str) -> bytes:
    """Hash a caption, for deduplication: 16 bytes, the same everywhere."""
    return hashlib.blake2b(caption.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class TransitionWriter:
    """Adds shards to a dataset, new or begun earlier. One process at a time may write; the caller sees to that."""

    def __init__(self, folder: Path, *, world: str, caption_version: int) -> None:
        """Open `folder`; raises DatasetError where it holds a dataset of another world or version."""
        self.folder = Path(folder)
        self.info = {"version": DATASET_VERSION, "world": world, "caption_version": caption_version}
        self._captions: set[bytes] = set()
        self.totals: Counter[str] = Counter()
        self.num_rows = 0
        self.rows_of_skill: Counter[str] = Counter()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _cannot_write(self.folder, error) from error
        for path in shard_paths(self.folder):
            self._take_in(path)
        self.next_shard = len(shard_paths(self.folder))

    def add_shard(self, rows: Iterable[Transition], counts: Mapping[str, int]) -> int:
        """Write the rows whose caption is new as the next shard; `counts` (steps, episodes, ...) go along.

        Returns how many rows were new. Raises DatasetError where it cannot be written; nothing is left behind then.
        """
        new: list[Transition] = []
        fresh: set[bytes] = set()
        seen = 0
        for row in rows:
            seen += 1
            key = caption_key(row.caption)
            if key not in self._captions and key not in fresh:
                fresh.add(key)
                new.append(row)
        counts = {**counts, "transitions_seen": seen}
        table = SCHEMA.empty_table()
        if new:
            by_column = zip(zip(*new, strict=True), SCHEMA, strict=True)
            arrays = [pa.array(values, type=field.type) for values, field in by_column]
            table = pa.Table.from_arrays(arrays, schema=SCHEMA)
        meta = json.dumps({**self.info, "counts": counts})
        path = self.folder / f"shard-{self.next_shard:05d}.parquet"
        _write_parquet(path, table.replace_schema_metadata({_META: meta.encode()}))
        self._captions |= fresh
        self._count(counts, [row.skill for row in new])
        self.next_shard += 1
        return len(new)

    def write_card(self, **more: Any) -> dict[str, Any]:
        """Count what the shards hold and write card.json; `more` (settings, versions) is added to it."""
        strata: Counter[str] = Counter()
        by_skill: dict[str, Counter[str]] = {}
        sources: Counter[str] = Counter()
        for path in shard_paths(self.folder):
            table = _read(path, ["skill", "stratum", "source"])
            rows = zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
            for skill, stratum, source in rows:
                strata[stratum] += 1
                sources[source] += 1
                by_skill.setdefault(skill, Counter())[stratum] += 1
        card = {
            **self.info,
            "rows": self.num_rows,
            **self.totals,
            "skills": {skill: dict(counts.most_common()) for skill, counts in sorted(by_skill.items())},
            "strata": dict(strata.most_common()),
            "sources": dict(sources.most_common()),
            "shards": self.next_shard,
            "columns": {field.name: str(field.type) for field in SCHEMA},
            **more,
        }
        try:
            write_atomically(self.folder / CARD, json.dumps(card, indent=2, ensure_ascii=False) + "\n")
        except OSError as error:
            raise _cannot_write(self.folder / CARD, error) from error
        return card

    def _take_in(self, path: Path) -> None:
        """Count an earlier session's shard and remember its captions."""
        info = _check_info(path, _metadata(path))
        for key in ("world", "caption_version"):
            if info[key] != self.info[key]:
                raise DatasetError(
                    f"the dataset has {key} {info[key]!r}, and {self.info[key]!r} is to be added",
                    where=str(path),
                    hint="give another folder with --run",
                )
        table = _read(path, ["skill", "caption"])
        self._captions.update(caption_key(caption) for caption in table["caption"].to_pylist())
        self._count(info["counts"], table["skill"].to_pylist())

    def _count(self, counts: Mapping[str, int], skills: list[str]) -> None:
        self.totals.update(counts)
        self.num_rows += len(skills)
        self.rows_of_skill.update(skills)


def shard_paths(folder: Path) -> list[Path]:
    """List a dataset's shards in order; raises DatasetError for a gap in their numbers."""
    found = {
        int(match[1]): path
        for path in folder.glob("shard-*.parquet")
        if (match := _SHARD.fullmatch(path.name))
    }
    for number in range(len(found)):
        if number not in found:
            raise DatasetError(
                f"shard {number} is missing, though later ones are there",
                where=str(folder),
                hint="bring it back, or collect anew into another folder",
            )
    return [found[number] for number in sorted(found)]


def read_transitions(folder: Path, *, columns: list[str] | None = None) -> pa.Table:
    """Read a dataset (some columns of it): one row a `Transition`, in the order that pairs refer to.

    Raises DatasetError for a folder without a dataset, a damaged shard, a missing column, a dataset of a newer
    version, and one without a single row.
    """
    folder = Path(folder)
    paths = shard_paths(folder) if folder.is_dir() else []
    if not paths:
        raise _nothing_here(folder)
    for path in paths:
        _check_info(path, _metadata(path))
    table = pa.concat_tables([_read(path, columns or list(SCHEMA.names)) for path in paths])
    if table.num_rows == 0:
        raise DatasetError(
            "the dataset is empty: not one transition was collected",
            where=str(folder),
            hint="collect more with `maestro collect --all --steps ...`",
        )
    return table


def read_info(folder: Path) -> dict[str, Any]:
    """Give `version`, `world`, `caption_version` of a dataset; raises DatasetError."""
    paths = shard_paths(Path(folder)) if Path(folder).is_dir() else []
    if not paths:
        raise _nothing_here(folder)
    info = _check_info(paths[0], _metadata(paths[0]))
    return {key: info[key] for key in ("version", "world", "caption_version")}


def read_counts(folder: Path) -> Counter[str]:
    """Add up what was counted beside the rows (steps, episodes, ...); nothing where there is no dataset."""
    counts: Counter[str] = Counter()
    for path in shard_paths(Path(folder)):
        counts.update(_check_info(path, _metadata(path))["counts"])
    return counts


def dataset_digest(table: pa.Table) -> str:
    """Hash the captions in their order: what a verdict file and a reward model refer to by row."""
    digest = hashlib.sha256()
    for chunk in table["caption"].chunks:
        for caption in chunk.to_pylist():
            digest.update(caption_key(caption))
    return digest.hexdigest()


def rows_of(table: pa.Table) -> list[Transition]:
    """Give the rows as `Transition`s, for datasets that fit into memory as Python values."""
    return list(
        map(Transition._make, zip(*(table[name].to_pylist() for name in Transition._fields), strict=True))
    )


def _metadata(path: Path) -> dict[str, Any]:
    try:
        raw = (pq.read_schema(path).metadata or {}).get(_META, b"")
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error
    try:
        return json.loads(raw)
    except ValueError:
        raise DatasetError(
            "this Parquet file was not written by maestro",
            where=str(path),
            expected="a shard of `maestro collect`",
            hint="move the file away",
        ) from None


def _check_info(path: Path, info: dict[str, Any]) -> dict[str, Any]:
    version = info.get("version")
    if version != DATASET_VERSION:
        newer = isinstance(version, int) and version > DATASET_VERSION
        raise DatasetError(
            f"the dataset has version {version}",
            where=str(path),
            expected=f"version {DATASET_VERSION}",
            hint="use the newer maestro that wrote it" if newer else "collect it anew",
        )
    return info


def _read(path: Path, columns: list[str]) -> pa.Table:
    try:
        with pq.ParquetFile(path) as file:
            missing = [name for name in columns if name not in file.schema_arrow.names]
            if missing:
                raise DatasetError(
                    f"the column {missing[0]!r} is missing",
                    where=str(path),
                    expected=f"the columns {', '.join(SCHEMA.names)}",
                    hint="collect the dataset anew",
                )
            table = file.read(columns=columns).select(columns).replace_schema_metadata(None)
            return table.cast(pa.schema([SCHEMA.field(name) for name in columns]))
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def _nothing_here(folder: Path) -> DatasetError:
    return DatasetError(
        "there are no transitions here",
        where=str(folder),
        expected="a folder with shard-00000.parquet",
        hint="make one with `maestro collect --all`, or name the right folder",
    )


def _damaged(path: Path, error: Exception) -> DatasetError:
    return DatasetError(
        f"the shard is damaged: {str(error).splitlines()[0][:120]}",
        where=str(path),
        expected="a whole Parquet file",
        hint="delete it and every later shard, and give the same `maestro collect` command again: it continues",
    )


def _write_parquet(path: Path, table: pa.Table) -> None:
    """Write through a file beside it, synced before it takes the name."""
    temporary = path.with_suffix(".tmp")
    try:
        with open(temporary, "wb") as file:
            pq.write_table(table, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except (OSError, pa.ArrowException) as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: Exception) -> DatasetError:
    return DatasetError(
        f"cannot be written: {getattr(error, 'strerror', None) or error}",
        where=str(path),
        hint="free some space or mend the permissions, then give the same command again: it continues",
    )
