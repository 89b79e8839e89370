"""An episode's seeds, record and file: they come back as they were, and damage is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maestro.errors import RecordError
from maestro.evaluation.episode import (
    Ending,
    EpisodeFile,
    EpisodeRecord,
    SkillUse,
    episode_seeds,
    parse_records,
    read_episode,
)
from maestro.options.accounting import Switch


def record(**changes: Any) -> EpisodeRecord:
    given: dict[str, Any] = {
        "episode": 5,
        "seeds": episode_seeds(0, 5),
        "success": {"true": 1.0, "compatible": 0.0},
        "ended": Ending(by="died", cause="newt"),
        "steps": 300,
        "skills": {"descender": SkillUse(activations=2, steps=300, ended={"terminated": 2})},
    }
    return EpisodeRecord(**(given | changes))


def file(**changes: Any) -> EpisodeFile:
    given: dict[str, Any] = {
        "target": "minetown",
        "policy": "reference",
        "world": "nethack",
        "options": {"max_steps": 10_000},
        "action_names": ("more", "north"),
        "actions": np.arange(300).astype(np.uint8) % 28,
        "switches": [Switch(0, 1, "descender", "terminated", None), Switch(100, 80, "descender", None, "merchant", True)],
        "record": record(),
        "tests": {"true": "a", "compatible": "b"},
        "versions": {"nle": "1.0.0"},
    }  # fmt: skip
    return EpisodeFile(**(given | changes))


def test_seeds_follow_from_seed_and_number_alone():
    assert episode_seeds(0, 3) == episode_seeds(0, 3)
    everything = {word for seed in range(5) for number in range(200) for word in episode_seeds(seed, number)}
    assert len(everything) == 5 * 200 * 4


def test_seeds_stay_as_they_were_published():
    """A change here would make every published seed list wrong."""
    assert episode_seeds(0, 3) == (3685993406, 3082302701, 753534295, 4087185121)


def test_a_file_comes_back_as_it_was(tmp_path: Path):
    path = tmp_path / "5.npz"
    original = file()
    path.write_bytes(original.to_bytes())
    found = read_episode(path)
    assert found.actions.dtype == np.uint8
    np.testing.assert_array_equal(found.actions, original.actions)
    assert found._replace(actions=original.actions) == original


def test_a_long_episode_is_a_small_file():
    actions = np.random.default_rng(0).integers(0, 28, 10_000).astype(np.uint8)
    assert len(file(actions=actions).to_bytes()) < 10_000


def test_a_record_survives_json():
    original = record()
    assert EpisodeRecord.model_validate_json(original.model_dump_json()) == original


def test_what_the_machine_decides_is_no_part_of_the_game():
    slow, fast = record(wall_s=9.0, steps_per_s=1.0, attempts=3), record(wall_s=1.0)
    assert slow != fast
    assert slow.deterministic() == fast.deterministic()


def test_an_episode_recorded_twice_counts_once():
    lines = [record(episode=2).model_dump(), record(steps=1).model_dump(), record(steps=2).model_dump()]
    found = parse_records(lines, "x.jsonl")
    assert [(one.episode, one.steps) for one in found] == [(2, 300), (5, 1)]


def test_a_record_of_another_shape_is_named():
    bad = record().model_dump() | {"steps": "many"}
    with pytest.raises(RecordError, match=r"x.jsonl: record 2: steps"):
        parse_records([record().model_dump(), bad], "x.jsonl")


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x03\x04 cut"])
def test_a_damaged_file_is_named(content: bytes, tmp_path: Path):
    path = tmp_path / "1.npz"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=r"1.npz.*no episode file, or a damaged one"):
        read_episode(path)


def test_half_a_file_is_named(tmp_path: Path):
    path = tmp_path / "1.npz"
    whole = file().to_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RecordError, match="damaged"):
        read_episode(path)


def test_an_array_file_of_another_kind_is_named(tmp_path: Path):
    np.savez(tmp_path / "1.npz", actions=np.zeros(3))
    with pytest.raises(RecordError, match="no episode file"):
        read_episode(tmp_path / "1.npz")


def test_a_missing_file_suggests_its_neighbours(tmp_path: Path):
    (tmp_path / "12.npz").write_bytes(file().to_bytes())
    with pytest.raises(RecordError, match=r"did you mean '12\.npz'"):
        read_episode(tmp_path / "112.npz")
    with pytest.raises(RecordError, match="no such episode file"):
        read_episode(tmp_path / "nowhere" / "1.npz")


def test_a_file_in_which_bytes_were_changed_is_whole_or_named(tmp_path: Path):
    whole = file().to_bytes()
    path = tmp_path / "1.npz"
    num_named = 0
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            read_episode(path)
        except RecordError:
            num_named += 1
    assert num_named > len(whole) // 14
