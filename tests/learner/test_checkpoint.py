"""Checkpoints: the newest whole one is loaded, broken ones are passed over, and nothing begins anew by mistake."""

from pathlib import Path

import numpy as np
import pytest
import torch

from maestro.errors import CheckpointError
from maestro.learner.checkpoint import (
    checkpoint_folder,
    choose,
    find_checkpoints,
    network_weights,
    newest,
    read_checkpoint,
    set_aside_broken,
    write_checkpoint,
)


def write(run: Path, train_step: int, env_steps: int, *, milestone: bool = False) -> Path:
    """Write a checkpoint as sample-factory 2.1.1 does: with a numpy float, which torch does not trust by itself."""
    folder = checkpoint_folder(run) / "milestones" if milestone else checkpoint_folder(run)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"checkpoint_{train_step:09d}_{env_steps}.pth"
    content = {
        "train_step": train_step,
        "env_steps": env_steps,
        "best_performance": np.float64(0.5),
        "model": {
            "network.logits.bias": torch.full((3,), float(train_step)),
            "obs_normalizer.x": torch.ones(1),
        },
        "optimizer": {"state": {}, "param_groups": []},
        "curr_lr": 1e-4,
    }
    torch.save(content, path)
    return path


def test_the_newest_counts_and_its_numpy_float_is_trusted(tmp_path):
    write(tmp_path, 9, 900)
    write(tmp_path, 100, 10_000)
    found = newest(tmp_path)
    assert found is not None
    assert found[0].env_steps == 10_000
    assert found[1]["best_performance"] == 0.5
    assert found[2] == []


def test_a_run_without_checkpoints_is_a_new_one(tmp_path):
    assert newest(tmp_path) is None
    (checkpoint_folder(tmp_path)).mkdir(parents=True)
    (checkpoint_folder(tmp_path) / "checkpoint_temp").write_bytes(b"half")
    assert newest(tmp_path) is None


@pytest.mark.parametrize("damage", ["empty", "half", "noise", "flipped"])
def test_a_broken_newest_one_is_passed_over(tmp_path, damage):
    write(tmp_path, 1, 100)
    path = write(tmp_path, 2, 200)
    data = path.read_bytes()
    broken = {
        "empty": b"",
        "half": data[: len(data) // 2],
        "noise": bytes(range(256)) * 20,
        "flipped": b"\x00" * 64 + data[64:],
    }[damage]
    path.write_bytes(broken)
    found = newest(tmp_path)
    assert found is not None
    assert found[0].env_steps == 100
    assert found[2] == [path]


def test_broken_ones_are_set_aside_where_a_whole_one_is_left(tmp_path):
    assert set_aside_broken(tmp_path) == []
    whole = write(tmp_path, 1, 100)
    paths = [write(tmp_path, 2, 200), write(tmp_path, 3, 300)]
    for path in paths:
        path.write_bytes(b"")
    aside = set_aside_broken(tmp_path)
    assert sorted(aside) == [path.with_name("broken_" + path.name) for path in paths]
    assert [file.path for file in find_checkpoints(tmp_path)] == [whole]
    assert all(path.read_bytes() == b"" for path in aside) and set_aside_broken(tmp_path) == []
    whole.write_bytes(b"")
    with pytest.raises(CheckpointError, match="none of the 1 checkpoints"):
        set_aside_broken(tmp_path)
    assert whole.exists()


def test_one_is_whole_or_not_there(tmp_path, monkeypatch):
    path = tmp_path / "milestones" / "checkpoint_000000001_100.pth"
    write_checkpoint(path, {"weights": torch.ones(3)})
    assert torch.equal(torch.load(path)["weights"], torch.ones(3))

    def half(content: object, file: Path) -> None:
        Path(file).write_bytes(b"half")
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(torch, "save", half)
    with pytest.raises(RuntimeError, match="the disk is full"):
        write_checkpoint(path, {"weights": torch.zeros(3)})
    assert torch.equal(torch.load(path)["weights"], torch.ones(3)) and list(path.parent.iterdir()) == [path]


def test_milestones_stand_in_when_the_others_are_broken(tmp_path):
    write(tmp_path, 1, 100, milestone=True)
    write(tmp_path, 2, 200).write_bytes(b"")
    found = newest(tmp_path)
    assert found is not None
    assert found[0].env_steps == 100


def test_where_all_are_broken_nothing_begins_anew(tmp_path):
    write(tmp_path, 1, 100).write_bytes(b"x")
    write(tmp_path, 2, 200).write_bytes(b"y")
    with pytest.raises(CheckpointError, match="none of the 2 checkpoints can be read"):
        newest(tmp_path)


def test_a_checkpoint_executes_nothing(tmp_path):
    ran = tmp_path / "ran"

    class Evil:
        def __reduce__(self):
            return (ran.touch, ())

    path = tmp_path / "checkpoint_000000001_1.pth"
    torch.save({"model": Evil()}, path)
    with pytest.raises(CheckpointError):
        read_checkpoint(path)
    assert not ran.exists()


def test_something_else_is_no_checkpoint(tmp_path):
    path = tmp_path / "checkpoint_000000001_1.pth"
    torch.save({"model": {}}, path)
    with pytest.raises(CheckpointError, match="lacks env_steps, optimizer, train_step"):
        read_checkpoint(path)


def test_one_is_chosen_by_its_environment_steps(tmp_path):
    write(tmp_path, 1, 100, milestone=True)
    write(tmp_path, 2, 200)
    file, content = choose(tmp_path, 100)
    assert file.train_steps == 1
    assert network_weights(content)["logits.bias"].tolist() == [1.0] * 3
    assert list(network_weights(content)) == ["logits.bias"]
    assert choose(tmp_path, None)[0].env_steps == 200
    with pytest.raises(CheckpointError, match="one of 100, 200"):
        choose(tmp_path, 150)
    assert [file.env_steps for file in find_checkpoints(tmp_path)] == [200]


def test_a_run_that_has_none_yet_names_the_command(tmp_path):
    with pytest.raises(CheckpointError, match="maestro train-policy --run"):
        choose(tmp_path, None)
