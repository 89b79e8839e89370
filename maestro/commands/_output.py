"""How commands print: tables that fit any terminal, and JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

WIDTH_WITHOUT_TERMINAL = 110
INTERRUPTED = 130
"""Exit code of a command that Ctrl-C cut short, and that said what there is."""


def console() -> Console:
    """Make a console as wide as the terminal; when the output goes to a file, wide and plain."""
    plain = Console(highlight=False)
    if plain.is_terminal or "COLUMNS" in plain._environ:
        return plain
    return Console(highlight=False, width=WIDTH_WITHOUT_TERMINAL)


def print_table(columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]], *, empty: str) -> None:
    """Print `rows`; `columns` maps each heading to the key of its values, and the last column takes the rest.

    Long texts are wrapped inside their column, also on narrow terminals. `empty` is said when there are no rows.
    """
    if not rows:
        console().print(empty)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    last = list(columns)[-1]
    for heading in columns:
        table.add_column(
            heading, overflow="fold", no_wrap=heading != last, ratio=1 if heading == last else None
        )
    for row in rows:
        table.add_row(*(_cell(row[key]) for key in columns.values()))
    console().print(table)


def print_json(data: Any) -> None:
    """Print `data` as one JSON document."""
    print(json.dumps(data, indent=2, ensure_ascii=False, default=str))


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return " ".join(text.split()).replace("[", "\\[")  # rich would read [..] as markup
