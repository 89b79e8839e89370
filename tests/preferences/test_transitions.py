"""Datasets of transitions: what goes in comes out, and damage is named."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maestro.errors import DatasetError
from maestro.preferences.transitions import (
    HUNGER_NAMES,
    SCHEMA,
    Transition,
    TransitionWriter,
    dataset_digest,
    facts_of,
    read_info,
    read_transitions,
    rows_of,
    shard_paths,
)


def test_rows_come_back_as_they_were(tmp_path, helpers):
    rows = helpers.mixed_rows(30)
    folder = helpers.write_dataset(tmp_path, rows)
    assert rows_of(read_transitions(folder)) == rows
    assert read_info(folder) == {"version": 1, "world": "nethack", "caption_version": 1}


def test_any_byte_may_be_in_a_message(tmp_path, helpers):
    rows = [helpers.make_row(byte, message=bytes([byte]).decode("latin-1") * 3) for byte in range(256)]
    assert rows_of(read_transitions(helpers.write_dataset(tmp_path, rows))) == rows


def test_no_caption_is_kept_twice(tmp_path, helpers):
    writer = TransitionWriter(tmp_path, world="nethack", caption_version=1)
    rows = helpers.mixed_rows(10)
    assert writer.add_shard([*rows, *rows], {"steps": 20}) == 10
    assert writer.add_shard(rows, {"steps": 10}) == 0
    again = TransitionWriter(tmp_path, world="nethack", caption_version=1)
    assert again.add_shard([*rows, *helpers.mixed_rows(11)], {"steps": 1}) == 1
    card = again.write_card(note="x")
    assert (card["rows"], card["steps"], card["transitions_seen"], card["shards"]) == (11, 31, 51, 3)
    assert card["strata"] == {"message": 9, "stairs_down": 2}
    assert json.loads((tmp_path / "card.json").read_text()) == card


def test_the_digest_follows_the_captions_and_their_order(tmp_path, helpers):
    rows = helpers.mixed_rows(5)
    tables = [
        read_transitions(helpers.write_dataset(tmp_path / str(n), r))
        for n, r in enumerate((rows, rows, rows[::-1]))
    ]
    digests = [dataset_digest(table) for table in tables]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("kept", [0, 1, 100, 0.5, -8])
def test_a_shard_that_was_cut_is_named(tmp_path, helpers, kept):
    (path,) = shard_paths(helpers.write_dataset(tmp_path, helpers.mixed_rows(30)))
    whole = path.read_bytes()
    path.write_bytes(whole[: kept if isinstance(kept, int) else int(kept * len(whole))])
    with pytest.raises(DatasetError, match="shard-00000.parquet: the shard is damaged"):
        read_transitions(tmp_path)


def test_a_missing_column_is_named(tmp_path, helpers):
    (path,) = shard_paths(helpers.write_dataset(tmp_path, helpers.mixed_rows(3)))
    pq.write_table(pq.read_table(path).drop_columns(["gold_after"]), path)
    with pytest.raises(DatasetError, match="the column 'gold_after' is missing"):
        read_transitions(tmp_path)


@pytest.mark.parametrize(("version", "advice"), [(2, "newer maestro"), (0, "collect it anew")])
def test_another_version_is_refused(tmp_path, helpers, version, advice):
    (path,) = shard_paths(helpers.write_dataset(tmp_path, helpers.mixed_rows(3)))
    table = pq.read_table(path)
    meta = json.dumps({"version": version, "world": "nethack", "caption_version": 1, "counts": {}})
    pq.write_table(table.replace_schema_metadata({b"maestro": meta.encode()}), path)
    with pytest.raises(DatasetError, match=advice):
        read_transitions(tmp_path)


def test_what_is_no_dataset_is_refused(tmp_path, helpers):
    with pytest.raises(DatasetError, match="there are no transitions here"):
        read_transitions(tmp_path / "nowhere")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "shard-00000.parquet")
    with pytest.raises(DatasetError, match="not written by maestro"):
        read_transitions(tmp_path)


def test_an_empty_dataset_is_refused(tmp_path, helpers):
    with pytest.raises(DatasetError, match="the dataset is empty"):
        read_transitions(helpers.write_dataset(tmp_path, []))


def test_a_gap_between_shards_is_named(tmp_path, helpers):
    writer = TransitionWriter(tmp_path, world="nethack", caption_version=1)
    for number in range(3):
        writer.add_shard([helpers.make_row(number)], {})
    (tmp_path / "shard-00001.parquet").unlink()
    with pytest.raises(DatasetError, match="shard 1 is missing"):
        read_transitions(tmp_path)


def test_another_world_is_not_mixed_in(tmp_path, helpers):
    helpers.write_dataset(tmp_path, helpers.mixed_rows(3))
    with pytest.raises(DatasetError, match="'corridor' is to be added"):
        TransitionWriter(tmp_path, world="corridor", caption_version=1)


def test_facts_a_state_lacks_are_zero():
    class Bare:
        hunger = "Weak"
        depth = 3

    assert facts_of(Bare()) == (3, 0, 0, 0, 0, HUNGER_NAMES.index("Weak"))
    assert facts_of(object())[-1] == -1


def test_the_schema_has_every_field():
    assert tuple(SCHEMA.names) == Transition._fields


_FILL = """
import resource, signal, sys
from pathlib import Path
sys.path.insert(0, {here!r})
import conftest
from maestro.preferences.transitions import TransitionWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
writer = TransitionWriter(Path({folder!r}), world="nethack", caption_version=1)
writer.add_shard(conftest.mixed_rows(20), {{"steps": 20}})
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
writer.add_shard([conftest.make_row(n, message=str(hash(str(n))) * 9) for n in range(100, 4000)], {{"steps": 1}})
"""


def test_a_full_disk_costs_only_the_shard_in_hand(tmp_path):
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    here = str(__file__).rsplit("/", 1)[0]
    code = _FILL.format(here=here, folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "DatasetError" in done.stderr
    assert "continues" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["shard-00000.parquet"]
    assert read_transitions(tmp_path).num_rows == 20
