"""The table that says how each skill's reward rose, in the order in which the skills emerged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maestro.commands._output import print_table
from maestro.errors import RecordError

if TYPE_CHECKING:
    from maestro.learner.curves import RunGroup

_COLUMNS = {
    "skill": "skill",
    "first": "first",
    "last": "last",
    "best": "best",
    "half of the rise at": "half",
}


def emergence_rows(groups: Sequence[RunGroup]) -> list[dict[str, Any]]:
    """Tell of every skill of every group its first, last and best reward, and where half of the rise was reached."""
    from maestro.learner.curves import emergence

    return [{"runs": group.label, **one._asdict()} for group in groups for one in emergence(group)]


def rows_of_run(folder: Path) -> list[dict[str, Any]]:
    """Give one run's rows; none where it has told nothing yet."""
    from maestro.learner.curves import read_groups

    try:
        return emergence_rows(read_groups([folder]))
    except RecordError:
        return []


def print_emergence(rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows; of which runs they are is said where they are of several."""
    columns = _COLUMNS
    if len({row["runs"] for row in rows}) > 1:
        columns = {"runs": "runs", **columns}
    print("Reward per 1000 steps, shaped; in the order in which the skills emerged:")
    print_table(columns, [_shown(row) for row in rows], empty="the skills are not paid in this run")


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    half = row["half_way"]
    numbers = {name: f"{row[name]:.2f}" for name in ("first", "last", "best")}
    return {**row, **numbers, "half": "did not rise" if half is None else f"{half:,.0f} steps"}
