"""Verdicts as Motif's and MaestroMotif's own tools read them: one `.npy` of codes, named as they name them.

Codes are 0 first, 1 second, 2 tie, 3 unknown. MaestroMotif reads `<annotator>_<skill>_<prompt>.npy` (int32), Motif
`<annotator>_msg_minbl_<goal>_<prompt>.npy` (int8; our captions hold messages and the changed statistics).
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from maestro.errors import DatasetError
from maestro.preferences.goals import Goal


def motif_file_name(goal: Goal, annotator: str, prompt: str) -> str:
    """Name the file; Motif cuts names at their first dot, so that the annotator's has none."""
    who = re.sub(r"[^a-zA-Z0-9-]+", "-", annotator).strip("-").lower()
    return (
        f"{who}_msg_minbl_{goal.motif_name}_{prompt}.npy"
        if goal.motif_name
        else f"{who}_{goal.name}_{prompt}.npy"
    )


def write_motif(folder: Path, name: str, codes: np.ndarray) -> Path:
    """Write the codes, one a pair in the order of the pairs, atomically; raises DatasetError."""
    path = folder / name
    temporary = path.with_suffix(".tmp")
    try:
        with open(temporary, "wb") as file:
            np.save(file, codes.astype(np.int8 if "_msg_minbl_" in name else np.int32))
        os.replace(temporary, path)
    except OSError as error:
        raise DatasetError(f"cannot be written: {error.strerror or error}", where=str(path)) from error
    return path
