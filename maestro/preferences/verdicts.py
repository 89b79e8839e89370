"""One verdict a pair, as a file: what annotating gives and `maestro.rewards` learns from.

Columns: `first`, `second` (row numbers of the dataset, int64); `preference` (int8, codes of `Preference`); `p_first`
(float32: how likely the first is the better one, 0.5 where the two orders disagree, null where unparsed; a tie's may be
anything where the annotator gives probabilities); `forward`, `backward` (int8:
what was answered with the captions in the pair's order and in the other one, both as seen from the pair's order; -1
where that was not asked). The file's metadata says of which dataset and by which annotator.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from maestro.errors import DatasetError

VERDICTS_VERSION = 1
NOT_ASKED = -1
SCHEMA = pa.schema(
    [
        ("first", pa.int64()),
        ("second", pa.int64()),
        ("preference", pa.int8()),
        ("p_first", pa.float32()),
        ("forward", pa.int8()),
        ("backward", pa.int8()),
    ]
)
_META = b"maestro_verdicts"


def write_verdicts(path: Path, batches: Iterable[dict[str, Any]], info: dict[str, Any]) -> int:
    """Write batches of columns as they come, through a file beside `path`; returns the number of rows.

    `info` is plain data: skill, annotator, model, dataset (its digest), num_pairs, seed and whatever else describes it.
    """
    meta = {_META: json.dumps({"version": VERDICTS_VERSION, **info}).encode()}
    temporary, num_rows = path.with_suffix(".tmp"), 0
    try:
        with pq.ParquetWriter(temporary, SCHEMA.with_metadata(meta), compression="zstd") as writer:
            for batch in batches:
                table = pa.table(batch).cast(SCHEMA)
                writer.write_table(table)
                num_rows += table.num_rows
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except (OSError, pa.ArrowException) as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise DatasetError(
            f"cannot be written: {error}", where=str(path), hint="free some space and give the command again"
        ) from error
    return num_rows


def read_verdicts(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    """Read a verdict file and what it says of itself; raises DatasetError for a missing, foreign or damaged one."""
    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise DatasetError(
            "there are no verdicts here",
            where=str(path),
            hint="make them with `maestro annotate --skill ...`",
        ) from None
    except (OSError, pa.ArrowException) as error:
        raise DatasetError(
            f"the file is damaged: {str(error).splitlines()[0][:120]}",
            where=str(path),
            hint="delete it and give the same `maestro annotate` command again: no question is asked twice",
        ) from error
    try:
        info = json.loads((table.schema.metadata or {}).get(_META, b""))
        version = info["version"]
    except (ValueError, KeyError, TypeError):
        version, info = None, {}
    missing = [name for name in SCHEMA.names if name not in table.column_names]
    if version != VERDICTS_VERSION or missing:
        raise DatasetError(
            f"the column {missing[0]!r} is missing" if missing else f"the file has version {version}",
            where=str(path),
            expected=f"verdicts of version {VERDICTS_VERSION} with the columns {', '.join(SCHEMA.names)}",
            hint="annotate again with this maestro; what the store knows is not asked again",
        )
    return table.select(SCHEMA.names).replace_schema_metadata(None), info
