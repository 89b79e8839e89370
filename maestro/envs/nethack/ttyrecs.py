"""Read recorded games, as NLE's datasets hold them, into states: what a screen shows is all that a recording knows.

Every `*.ttyrec*.bz2` below a folder is a game: NLE's own (`nle.*.ttyrec3.bz2`), those of its NLD-AA dataset, and
alt.org's (NLD-NAO, whose long games come in several files, each read as a game). nle's converter plays a recording
back on a terminal; the two status lines and the top line are read off that.
"""

from __future__ import annotations

import bz2
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maestro.envs.nethack.messages import Events, parse
from maestro.envs.nethack.state import HUNGER
from maestro.errors import DatasetError

ROWS, COLUMNS = 24, 80
_FRAMES = 512
_MORE = "--More--"
_VERSION = re.compile(r"\.ttyrec(\d?)\.bz2$")
_STATUS = re.compile(
    r"(?:Dlvl:(?P<dlvl>\d+)|Home (?P<home>\d+)|Fort Ludios|End Game|Astral Plane)\s+(?:[$*]|\S):(?P<gold>\d+)\s+"
    r"HP:(?P<hp>-?\d+)\((?P<max_hp>-?\d+)\).*?(?:Xp|Exp|HD):(?P<level>\d+)(?:/\d+)?(?:.*?T:(?P<turn>\d+))?(?P<rest>.*)"
)


class RecordedState(NamedTuple):
    """What a recording shows of one moment; the names and units are those of `State`. Counts come from messages."""

    step: int
    turn: int
    depth: int
    hp: int
    max_hp: int
    gold: int
    experience_level: int
    hunger: str
    message: str
    num_kills: int = 0
    num_items_sold: int = 0
    num_curse_checks: int = 0
    num_meals: int = 0


def recordings(folder: Path) -> list[Path]:
    """List the recordings below a folder in the order of their paths; raises DatasetError where there is none."""
    found = (
        sorted(path for path in Path(folder).rglob("*.bz2") if _VERSION.search(path.name))
        if Path(folder).is_dir()
        else []
    )
    if not found:
        raise DatasetError(
            "there are no recordings here",
            where=str(folder),
            expected="a folder with *.ttyrec3.bz2 or *.ttyrec.bz2 files",
            hint="NLE writes them with save_ttyrec_every=1 and savedir=...",
        )
    return found


def read_games(folder: Path) -> Iterator[Iterator[RecordedState]]:
    """Yield each recorded game as its states, one for each moment with a new screen.

    Raises DatasetError for a folder without recordings and, when it comes to it, for a damaged one.
    """
    for path in recordings(folder):
        yield states_of(path)


def states_of(path: Path) -> Iterator[RecordedState]:
    """Yield one recording's states. Screens without status lines (menus, texts) are passed over."""
    pages: list[str] = []
    before: RecordedState | None = None
    for screen in _screens(path):
        text, is_more = _message(screen)
        if is_more:
            if not pages or pages[-1] != text:
                pages.append(text)
            continue
        facts = _facts(screen)
        if facts is None:
            continue
        message = " ".join(page for page in (*pages, text) if page)
        pages = []
        state = _next_state(before, facts, message)
        if before is not None and state._replace(step=before.step) == before:
            continue  # a key that changed nothing
        yield state
        before = state


def _next_state(before: RecordedState | None, facts: dict[str, Any], message: str) -> RecordedState:
    if before is None:
        return RecordedState(step=0, message=message, **facts)
    events = parse(message) if message != before.message or facts["turn"] != before.turn else Events()
    return RecordedState(
        step=before.step + 1,
        message=message,
        num_kills=before.num_kills + events.kills,
        num_items_sold=before.num_items_sold + events.items_sold,
        num_curse_checks=before.num_curse_checks + events.curse_checks,
        num_meals=before.num_meals + events.meals,
        **facts,
    )


def _screens(path: Path) -> Iterator[list[str]]:
    """Play a recording back; 24 lines of text a frame."""
    match = _VERSION.search(path.name)
    assert match is not None
    converter = import_module("nle.dataset").Converter(ROWS, COLUMNS, int(match[1] or 1))
    chars = np.zeros((_FRAMES, ROWS, COLUMNS), np.uint8)
    colors = np.zeros((_FRAMES, ROWS, COLUMNS), np.int8)
    cursors = np.zeros((_FRAMES, 2), np.int16)
    times = np.zeros(_FRAMES, np.int64)
    keys = np.zeros(_FRAMES, np.uint8)
    scores = np.zeros(_FRAMES, np.int32)
    try:
        _check_whole(path)  # the converter takes a damaged file for a short one
        converter.load_ttyrec(str(path), gameid=1, part=0)
        remaining = 0
        while remaining == 0:
            remaining = converter.convert(chars, colors, cursors, times, keys, scores)
            for frame in chars[: _FRAMES - remaining]:
                yield [bytes(row).decode("latin-1").replace("\0", " ") for row in frame]
    except (OSError, EOFError, RuntimeError, ValueError) as error:
        raise DatasetError(
            f"the recording is damaged: {error}", where=str(path), hint="move the file away and import again"
        ) from error


def _check_whole(path: Path) -> None:
    """Decompress a file to its end; raises OSError or EOFError where that fails."""
    with bz2.open(path) as file:
        while file.read(1 << 20):
            pass


def _message(screen: list[str]) -> tuple[str, bool]:
    """Read the top line, which runs on over further lines up to `--More--`, and whether more is to come."""
    for number, row in enumerate(screen[:4]):
        if _MORE in row:
            text = " ".join(line.strip() for line in screen[: number + 1])
            return text.replace(_MORE, "").strip(), True
    return screen[0].strip(), False


def _facts(screen: list[str]) -> dict[str, Any] | None:
    """Read the status line; None where it is not shown."""
    match = _STATUS.search(screen[ROWS - 1]) or _STATUS.search(screen[ROWS - 2])
    if match is None or match["dlvl"] is None:
        return None
    hunger = next((name for name in HUNGER if name in match["rest"]), "Not hungry")
    return {
        "turn": int(match["turn"] or 0),
        "depth": int(match["dlvl"]),
        "hp": int(match["hp"]),
        "max_hp": int(match["max_hp"]),
        "gold": int(match["gold"]),
        "experience_level": int(match["level"]),
        "hunger": hunger,
    }
