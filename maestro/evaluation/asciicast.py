"""Write an episode as an asciicast (version 2), with a marker at every change of skill.

Any asciicast player shows it, and jumps from marker to marker. Only the rows that changed are written.
Source: the format's description, docs.asciinema.org/manual/asciicast/v2/ (events "o" and "m").
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from maestro.envs.world import Screen
from maestro.evaluation.replay import Frame

WIDTH = 80
NUM_PANEL_ROWS = 4
_REVERSE = 16


def cast_lines(frames: Iterable[Frame], *, title: str, steps_per_s: float = 10.0) -> Iterator[str]:
    """Yield the lines of the file: the header, then an output event a step and a marker a change of skill.

    The frames must have screens. Raises ValueError for a speed that is not positive.
    """
    if steps_per_s <= 0:
        raise ValueError(f"{steps_per_s} steps per second")
    shown: list[str] = []
    skill = None
    for frame in frames:
        if frame.screen is None:
            raise ValueError("a frame without a screen")
        rows = [*map(ansi_row, frame.screen.chars.tolist(), frame.screen.colors.tolist()), *_panel(frame)]
        if not shown:
            yield json.dumps({"version": 2, "width": WIDTH, "height": len(rows), "title": title})
            shown = [""] * len(rows)
            yield _event(0.0, "o", "\x1b[2J\x1b[?25l")
        time = frame.step / steps_per_s
        if frame.switch is not None and frame.switch != skill:
            skill = frame.switch
            yield _event(time, "m", skill.skill)
        changed = "".join(
            f"\x1b[{number};1H{row}\x1b[K" for number, row in enumerate(rows, 1) if row != shown[number - 1]
        )
        shown = rows
        if changed:
            row, column = frame.screen.cursor
            yield _event(time, "o", f"{changed}\x1b[{row + 1};{column + 1}H")


def ansi_row(chars: list[int], colors: list[int]) -> str:
    """Write one row of a screen with its colours as escape sequences, without trailing blanks."""
    end = len(chars)
    while end and chars[end - 1] in (0, 32) and colors[end - 1] < _REVERSE:
        end -= 1
    parts, current = [], -1
    for char, color in zip(chars[:end], colors[:end], strict=True):
        if color != current:
            parts.append(f"\x1b[0;{sgr(color)}m")
            current = color
        parts.append(chr(char) if 32 <= char < 127 or char >= 160 else " ")
    return "".join(parts) + ("\x1b[0m" if parts else "")


def sgr(color: int) -> str:
    """Give the terminal's number of a curses colour 0 to 15; black, which nobody could see, becomes dark grey."""
    base = color % _REVERSE
    code = 90 if base == 0 else 30 + base if base < 8 else 39 if base == 8 else 90 + base - 8
    return f"{code};7" if color >= _REVERSE else str(code)


def screen_rows(screen: Screen) -> list[str]:
    """Give the characters of a screen, row by row, without colours."""
    return [
        "".join(chr(c) if 32 <= c < 127 or c >= 160 else " " for c in row) for row in screen.chars.tolist()
    ]


def _panel(frame: Frame) -> list[str]:
    """Write what runs and what happened under the map."""
    skill = frame.switch.skill if frame.switch else "no skill"
    head = f"{skill}  step {frame.step}  {frame.action}"
    told = ", ".join(frame.events)
    text = textwrap.wrap(" ".join(frame.caption.split()), WIDTH) or [""]
    rows = [f"\x1b[0;1;7m {head[: WIDTH - 2].ljust(WIDTH - 2)} \x1b[0m", told[:WIDTH], *text]
    return [*rows, "", ""][:NUM_PANEL_ROWS]


def _event(time: float, kind: str, content: Any) -> str:
    return json.dumps([round(time, 4), kind, content], ensure_ascii=False)
