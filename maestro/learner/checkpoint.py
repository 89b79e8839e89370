"""Checkpoints of a training run: find them, load the newest whole one, and never begin anew by mistake.

    <run>/learner/checkpoint_p0/checkpoint_<optimiser steps>_<environment steps>.pth    the last few
    <run>/learner/checkpoint_p0/milestones/checkpoint_....pth                           kept for ever

sample-factory writes them (to a temporary name, then renamed). Its own loading fails under torch 2.6 and later, because
numpy scalars are no longer trusted, and then silently starts afresh; so loading is done here.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from maestro.errors import CheckpointError

_NAME = re.compile(r"checkpoint_(\d+)_(\d+)\.pth$")
_TRUSTED: list[Any] = [np.float64(0).__reduce__()[0], np.dtype, np.dtypes.Float64DType]
"""What sample-factory's checkpoints hold besides tensors: the best performance so far, a numpy float."""
BROKEN = "broken_"
"""Before the name of a checkpoint that could not be read; behind it, sample-factory would take the file for a newer one,
and remove whole ones in its place."""
WEIGHTS_PREFIX = "network."
"""Of our network's weights among those of sample-factory's model."""


class CheckpointFile(NamedTuple):
    """One checkpoint, by its name."""

    path: Path
    train_steps: int
    """Optimiser's steps."""
    env_steps: int


def checkpoint_folder(run: Path) -> Path:
    """Say where a run's checkpoints are."""
    return run / "learner" / "checkpoint_p0"


def find_checkpoints(run: Path, *, milestones: bool = False) -> list[CheckpointFile]:
    """List a run's checkpoints, oldest first; half-written ones have other names."""
    folder = checkpoint_folder(run)
    paths = [*folder.glob("checkpoint_*.pth")]
    if milestones:
        paths += folder.glob("milestones/checkpoint_*.pth")
    found = {}
    for path in paths:
        match = _NAME.search(path.name)
        if match:
            file = CheckpointFile(path, int(match[1]), int(match[2]))
            found.setdefault(file.train_steps, file)
    return [found[step] for step in sorted(found)]


def read_checkpoint(path: Path, device: torch.device | str = "cpu") -> dict[str, Any]:
    """Read one checkpoint without executing anything in it; raises CheckpointError for what is none."""
    try:
        with torch.serialization.safe_globals(_TRUSTED):
            content = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:
        raise CheckpointError(
            f"the checkpoint cannot be read: {(str(error) or type(error).__name__).splitlines()[0][:200]}",
            where=str(path),
            expected="a checkpoint as training writes it",
            hint="an older one of the same folder is used if there is one",
        ) from error
    missing = {"model", "optimizer", "train_step", "env_steps"} - set(content)
    if missing:
        raise CheckpointError(
            f"the checkpoint lacks {', '.join(sorted(missing))}",
            where=str(path),
            expected="a whole checkpoint",
        )
    return content


def newest(
    run: Path, device: torch.device | str = "cpu"
) -> tuple[CheckpointFile, dict[str, Any], list[Path]] | None:
    """Read the newest whole checkpoint of a run.

    Returns (file, content, broken ones passed over), or None where the run has no checkpoint at all. Raises
    CheckpointError where there are some and none can be read: starting afresh would lose the run.
    """
    files = find_checkpoints(run, milestones=True)
    broken: list[Path] = []
    for file in reversed(files):
        try:
            return file, read_checkpoint(file.path, device), broken
        except CheckpointError:
            broken.append(file.path)
    if broken:
        raise CheckpointError(
            f"none of the {len(broken)} checkpoints can be read",
            where=str(checkpoint_folder(run)),
            expected="at least one whole checkpoint",
            hint="restore one from a copy, or give another --run to begin anew",
        )
    return None


def set_aside_broken(run: Path) -> list[Path]:
    """Rename the checkpoints that are newer than the newest whole one, and return their new names.

    They cannot be read, and whoever goes by the names of checkpoints alone would take them for the run's progress.
    Raises CheckpointError where there are some and none can be read, and where one cannot be renamed.
    """
    found = newest(run)
    aside = []
    for path in found[2] if found else []:
        new = path.with_name(BROKEN + path.name)
        try:
            path.replace(new)
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint cannot be read, nor renamed: {error.strerror}", where=str(path)
            ) from error
        aside.append(new)
    return aside


def write_checkpoint(path: Path, content: dict[str, Any]) -> None:
    """Write a checkpoint that is whole or not there, also after a power cut; raises OSError and torch's RuntimeError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".tmp")
    try:
        torch.save(content, unfinished)
        sync(unfinished)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    sync(path)


def sync(path: Path) -> None:
    """Have a file, and its name in its folder, written to the disk before this returns; raises OSError for the file."""
    for place in (path, path.parent):
        descriptor = os.open(place, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError:
            if place == path:  # some network file systems refuse it for folders, and keep names by themselves
                raise
        finally:
            os.close(descriptor)


def network_weights(content: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Pick our network's weights out of a checkpoint."""
    return {
        name.removeprefix(WEIGHTS_PREFIX): value
        for name, value in content["model"].items()
        if name.startswith(WEIGHTS_PREFIX)
    }


def choose(run: Path, which: int | None) -> tuple[CheckpointFile, dict[str, Any]]:
    """Read the checkpoint of `which` environment steps (the newest, if None); raises CheckpointError."""
    if which is None:
        found = newest(run)
        if found is None:
            raise CheckpointError(
                "the run has no checkpoint yet",
                where=str(checkpoint_folder(run)),
                hint=f"maestro train-policy --run {run}",
            )
        return found[0], found[1]
    files = {file.env_steps: file for file in find_checkpoints(run, milestones=True)}
    if which not in files:
        raise CheckpointError(
            f"there is no checkpoint of {which:,} steps",
            where=str(checkpoint_folder(run)),
            expected="one of " + (", ".join(f"{steps}" for steps in sorted(files)) or "none yet"),
        )
    return files[which], read_checkpoint(files[which].path)
