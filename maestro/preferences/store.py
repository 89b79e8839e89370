"""The judgement store: every question that was answered, with its answer, in one SQLite file. It is also the cache.

A question is addressed by its content, so stores of several machines merge by key, in any order, and a changed
preference, prompt, model or sampling is simply another question. What `add` was given is in the file when it returns:
a killed process loses nothing that was added. Many processes may use one file at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from maestro.errors import StoreError
from maestro.preferences.judgements import Context, Failure, Judgement
from maestro.preferences.pairs import Preference

STORE_VERSION = 1
WHOLE = "1of1"
"""The part that `JudgementStore.working_on` takes for all questions of a context."""
_WAIT_S = 60.0  # for another process's transaction
_MOST_KEYS = 500  # in one SELECT
_EXPORT_ROWS = 10_000
_TABLES = """
CREATE TABLE contexts (digest BLOB PRIMARY KEY, description TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE captions (id BLOB PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE judgements (
    key BLOB PRIMARY KEY, context BLOB NOT NULL, first BLOB NOT NULL, second BLOB NOT NULL, verdict INTEGER NOT NULL,
    p_first REAL, p_second REAL, reply TEXT NOT NULL, reasoning TEXT NOT NULL, model TEXT NOT NULL,
    server TEXT NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, created REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE failures (
    key BLOB PRIMARY KEY, context BLOB NOT NULL, first BLOB NOT NULL, second BLOB NOT NULL, reason TEXT NOT NULL,
    what TEXT NOT NULL, server TEXT NOT NULL, times INTEGER NOT NULL, created REAL NOT NULL
) WITHOUT ROWID;
"""
_REPLACE = """
ON CONFLICT (key) DO UPDATE SET
    verdict = excluded.verdict, p_first = excluded.p_first, p_second = excluded.p_second, reply = excluded.reply,
    reasoning = excluded.reasoning, model = excluded.model, server = excluded.server,
    prompt_tokens = excluded.prompt_tokens, completion_tokens = excluded.completion_tokens, created = excluded.created
"""
_MENDS = "WHERE judgements.verdict = 3 AND excluded.verdict != 3"
# Of two answers to one question the parsed one counts, then the older one: so the order of merging changes nothing.
_MERGE = f"""
INSERT INTO judgements SELECT * FROM other.judgements WHERE true {_REPLACE}
WHERE (excluded.verdict = 3, excluded.created, excluded.verdict, excluded.reply)
    < (judgements.verdict = 3, judgements.created, judgements.verdict, judgements.reply)
"""


class Verdict(NamedTuple):
    """What the store knows of one question."""

    preference: Preference
    p_first: float | None
    p_second: float | None


class Spent(NamedTuple):
    """What a context's answers took, over all sessions."""

    questions: int
    prompt_tokens: int
    completion_tokens: int


class JudgementStore:
    """One store file, open; a context manager."""

    def __init__(self, path: Path) -> None:
        """Open the file or make it; raises StoreError for one that is damaged, foreign or from a newer version."""
        self.path = Path(path)
        self._captions: set[bytes] = set()
        with self._faults():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, timeout=_WAIT_S, isolation_level=None)
            try:
                self._set_up()
            except BaseException:
                self._db.close()
                raise

    def __enter__(self) -> JudgementStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; harmless when repeated."""
        self._db.close()

    def add(
        self, context: Context, judgements: Iterable[Judgement], captions: Iterable[tuple[bytes, str]] = ()
    ) -> None:
        """Keep answers (and the texts of their captions, by id); a question that has one keeps it, unless that was UNPARSED."""
        now = time.time()
        rows = [(j.key, context.digest, *j[1:3], int(j.verdict), *j[4:], now) for j in judgements]
        new = [(id, text) for id, text in captions if id not in self._captions]
        with self._transaction():
            if context.digest not in self._captions:
                text = json.dumps(context.description, sort_keys=True)
                self._db.execute("INSERT OR IGNORE INTO contexts VALUES (?, ?)", (context.digest, text))
            self._db.executemany("INSERT OR IGNORE INTO captions VALUES (?, ?)", new)
            self._db.executemany(
                f"INSERT INTO judgements VALUES ({', '.join('?' * 14)}) {_REPLACE} {_MENDS}", rows
            )
        self._captions.update(id for id, _ in new)
        self._captions.add(context.digest)

    def add_failures(self, context: Context, failures: Iterable[Failure]) -> None:
        """Note questions that got no answer; they are not answered by it."""
        now = time.time()
        rows = [(f.key, context.digest, *f[1:], 1, now) for f in failures]
        with self._transaction():
            self._db.executemany(
                f"INSERT INTO failures VALUES ({', '.join('?' * 9)}) ON CONFLICT (key) DO UPDATE SET "
                "times = times + 1, reason = excluded.reason, what = excluded.what, created = excluded.created",
                rows,
            )

    def verdicts(self, keys: Sequence[bytes]) -> dict[bytes, Verdict]:
        """Look questions up; those without an answer are missing from the result."""
        found: dict[bytes, Verdict] = {}
        with self._faults():
            for start in range(0, len(keys), _MOST_KEYS):
                part = keys[start : start + _MOST_KEYS]
                query = f"SELECT key, verdict, p_first, p_second FROM judgements WHERE key IN ({', '.join('?' * len(part))})"
                for key, verdict, p_first, p_second in self._db.execute(query, part):
                    found[key] = Verdict(Preference(verdict), p_first, p_second)
        return found

    def reply(self, key: bytes) -> str:
        """Give the text of an answer, for showing; empty where there is none."""
        with self._faults():
            row = self._db.execute("SELECT reply FROM judgements WHERE key = ?", (key,)).fetchone()
            if row is None:
                row = self._db.execute(
                    "SELECT reason || ': ' || what FROM failures WHERE key = ?", (key,)
                ).fetchone()
        return row[0] if row else ""

    def spent(self, context: Context) -> Spent:
        """Add up a context's answers; reads them all, so ask seldom."""
        query = "SELECT COUNT(*), TOTAL(prompt_tokens), TOTAL(completion_tokens) FROM judgements WHERE context = ?"
        with self._faults():
            count, prompt, completion = self._db.execute(query, (context.digest,)).fetchone()
        return Spent(count, int(prompt), int(completion))

    def models(self, context: Context) -> list[str]:
        """List the models that answered in a context, as they call themselves."""
        query = "SELECT DISTINCT model FROM judgements WHERE context = ? AND model != '' ORDER BY model"
        with self._faults():
            return [model for (model,) in self._db.execute(query, (context.digest,))]

    def count(self) -> int:
        """Count all answers."""
        with self._faults():
            return self._db.execute("SELECT COUNT(*) FROM judgements").fetchone()[0]

    def merge(self, others: Iterable[Path]) -> int:
        """Take in the answers of other stores and return how many questions are new here.

        Each store is taken in whole or not at all; the result does not depend on the order of merging.
        """
        before = self.count()
        for other in others:
            if not Path(other).is_file():
                raise StoreError("there is no such store", where=str(other))
            JudgementStore(other).close()  # refuses what is damaged or newer
            with self._faults():
                self._db.execute("ATTACH ? AS other", (str(other),))
                try:
                    with self._transaction():
                        for table in ("contexts", "captions", "failures"):
                            self._db.execute(f"INSERT OR IGNORE INTO {table} SELECT * FROM other.{table}")
                        self._db.execute(_MERGE)
                finally:
                    self._db.execute("DETACH other")
        return self.count() - before

    def export(self, path: Path) -> int:
        """Write all answers as Parquet, captions and contexts spelt out; returns how many. Raises StoreError."""
        query = (
            "SELECT hex(j.key), d.description, a.text, b.text, j.verdict, j.p_first, j.p_second, j.reply, j.reasoning, "
            "j.model, j.server, j.prompt_tokens, j.completion_tokens, j.created FROM judgements j "
            "JOIN contexts d ON d.digest = j.context LEFT JOIN captions a ON a.id = j.first "
            "LEFT JOIN captions b ON b.id = j.second ORDER BY j.key"
        )
        temporary, num_rows = path.with_suffix(".tmp"), 0
        try:
            with pq.ParquetWriter(temporary, _EXPORT) as writer:
                for rows in _batches(self._db.execute(query)):
                    columns = [
                        pa.array(column, field.type)
                        for column, field in zip(zip(*rows, strict=True), _EXPORT, strict=True)
                    ]
                    writer.write_table(pa.Table.from_arrays(columns, schema=_EXPORT))
                    num_rows += len(rows)
            os.replace(temporary, path)
        except sqlite3.Error as error:
            raise _explain(error, self.path) from error
        except (OSError, pa.ArrowException) as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise StoreError(
                f"cannot be written: {getattr(error, 'strerror', None) or error}",
                where=str(path),
                hint="free some space, or name another file",
            ) from error
        return num_rows

    @contextlib.contextmanager
    def working_on(self, context: Context, part: str) -> Iterator[None]:
        """Keep other processes from asking the same questions; raises StoreError where one does already.

        Different shards can be worked on side by side, `WHOLE` only alone: it has the questions of every shard.
        """
        with contextlib.ExitStack() as held:
            held.enter_context(self._faults())
            how = fcntl.LOCK_EX if part == WHOLE else fcntl.LOCK_SH
            held.enter_context(self._locked(context, WHOLE, how))
            if part != WHOLE:
                held.enter_context(self._locked(context, part, fcntl.LOCK_EX))
            yield

    @contextlib.contextmanager
    def _locked(self, context: Context, part: str, how: int) -> Iterator[None]:
        path = self.path.with_name(f".{self.path.name}.{context.digest.hex()[:12]}.{part}.lock")
        with open(path, "w") as file:
            try:
                fcntl.flock(file, how | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StoreError(
                    "another process is asking these questions",
                    where=str(self.path),
                    hint="wait until it has ended, or share the work: --config shard=1/2 here and shard=2/2 there",
                ) from None
            yield

    def _set_up(self) -> None:
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version > STORE_VERSION:
            raise StoreError(
                f"the store has version {version}",
                where=str(self.path),
                expected=f"version {STORE_VERSION} or older",
                hint="use the newer maestro that wrote it, or another file",
            )
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute(
            "PRAGMA synchronous = NORMAL"
        )  # survives a kill; a power cut may cost the last answers
        if version == 0:
            with self._transaction():
                if (
                    self._db.execute("PRAGMA user_version").fetchone()[0] == 0
                ):  # nobody else has made it meanwhile
                    if self._db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
                        raise StoreError("this SQLite file is no store of judgements", where=str(self.path))
                    for statement in _TABLES.split(";"):
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA user_version = {STORE_VERSION}")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._faults():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        """Say what the user can do about SQLite's errors."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise _explain(error, self.path) from error


_EXPORT = pa.schema(
    [(name, pa.string()) for name in ("key", "context", "first", "second")]
    + [("verdict", pa.int8()), ("p_first", pa.float32()), ("p_second", pa.float32())]
    + [(name, pa.string()) for name in ("reply", "reasoning", "model", "server")]
    + [("prompt_tokens", pa.int32()), ("completion_tokens", pa.int32()), ("created", pa.float64())]
)


def _batches(cursor: Any) -> Iterator[list[tuple]]:
    fetch: Callable[[], list[tuple]] = lambda: cursor.fetchmany(_EXPORT_ROWS)  # noqa: E731
    return iter(fetch, [])


def _explain(error: Exception, path: Path) -> StoreError:
    text = str(error)
    hints = (
        ("full", "the disk, or your share of it, is full", "free some space and give the same command again: it continues"),
        ("disk I/O", "the disk refuses; it may be full", "free some space and give the same command again: it continues"),
        ("not a database", "the file is no store of judgements, or a damaged one", "name another file, or restore it"),
        ("malformed", "the store is damaged", "restore a copy, or delete it and ask again"),
        ("locked", "another process has held the store for a minute", "wait until it has ended, or use a store of its own"),
        ("readonly", "the store may not be written", "mend the permissions, or name another file"),
    )  # fmt: skip
    for word, what, hint in hints:
        if word in text:
            return StoreError(f"{what} ({text})", where=str(path), hint=hint)
    return StoreError(f"cannot be used: {text}", where=str(path))
