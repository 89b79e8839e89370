"""What `maestro watch` shows: keys move through an episode's frames, and a frame becomes text for a terminal.

Frames already shown are kept, so that one can go back; new ones are taken from the replay when they are needed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from rich.console import Group
from rich.style import Style
from rich.table import Table
from rich.text import Text

from maestro.envs.world import Screen
from maestro.evaluation.replay import Frame

SPEEDS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Steps per second."""
MAX_DRAWS_PER_S = 30
KEYS = (
    ("space", "pause"), (". ,", "step on, back"), ("+ -", "speed"), ("n p", "next, previous skill"), ("q", "quit")
)  # fmt: skip
_SHORT_KEYS = ("space pause  .,step  +-speed  np skill  q quit", "space . , + - n p  q quit")
SIDE_BY_SIDE = 110
"""Columns from which the panel stands beside the map."""
_PANEL_COLUMNS = 36
_MAP_COLUMNS = 80
_REVERSE = 16
_NUM_EVENTS = 6


class Viewer:
    """Where one is in an episode, and how fast it goes on."""

    def __init__(self, frames: Iterator[Frame], num_steps: int, title: str, speed: float = 10) -> None:
        """Begin, paused at nothing, with the first frame. `num_steps` is the length of the episode."""
        self._source = frames
        self._frames = [next(frames)]
        self.num_steps = num_steps
        self.title = title
        self.position = 0
        self.is_paused = False
        self.has_quit = False
        self._speed = min(range(len(SPEEDS)), key=lambda number: abs(SPEEDS[number] - speed))

    @property
    def frame(self) -> Frame:
        """Give the frame that is shown."""
        return self._frames[self.position]

    @property
    def frames_per_draw(self) -> int:
        """Frames to go on from one drawing to the next: more than one where a terminal would not keep up."""
        return max(1, round(SPEEDS[self._speed] / MAX_DRAWS_PER_S))

    @property
    def interval_s(self) -> float:
        """Seconds between two drawings while the episode runs."""
        return self.frames_per_draw / SPEEDS[self._speed]

    @property
    def at_end(self) -> bool:
        """Tell whether the last frame is shown."""
        return self.position >= self.num_steps

    def advance(self, count: int = 1) -> None:
        """Go `count` frames on (back, if negative), as far as there are any; the last one pauses."""
        target = min(max(self.position + count, 0), self.num_steps)
        while len(self._frames) <= target:
            frame = next(self._source, None)
            if frame is None:
                self.num_steps = len(self._frames) - 1
                break
            self._frames.append(frame)
        self.position = min(target, len(self._frames) - 1)
        self.is_paused = self.is_paused or self.at_end

    def press(self, key: str) -> None:
        """Do what a key asks for; other keys do nothing."""
        if key == " ":
            if self.at_end:
                self.position = 0
                self.is_paused = False
            else:
                self.is_paused = not self.is_paused
        elif key in (".", "right"):
            self.is_paused = True
            self.advance(1)
        elif key in (",", "left"):
            self.is_paused = True
            self.advance(-1)
        elif key in ("+", "=", "up"):
            self._speed = min(self._speed + 1, len(SPEEDS) - 1)
        elif key in ("-", "down"):
            self._speed = max(self._speed - 1, 0)
        elif key == "n":
            self._to_next_switch()
        elif key == "p":
            self._to_previous_switch()
        elif key in ("q", "escape"):
            self.has_quit = True

    def render(self, width: int, height: int) -> Group:
        """Draw the frame for a terminal of this size: map and panel, side by side where it is wide enough."""
        if width >= SIDE_BY_SIDE:
            columns = min(_PANEL_COLUMNS + max(0, width - SIDE_BY_SIDE) // 2, width - _MAP_COLUMNS - 2)
            table = Table.grid(padding=(0, 2, 0, 0))
            table.add_column(width=_MAP_COLUMNS, no_wrap=True)
            table.add_column(width=columns)
            table.add_row(self._map(_MAP_COLUMNS, height - 1), Group(*self._panel(columns, height - 1)))
            return Group(table, self._keys(width))
        panel = self._compact_panel(width, max(6, min(12, height - 25)))
        return Group(self._map(width, height - len(panel) - 1), *panel, self._keys(width))

    def _to_next_switch(self) -> None:
        switch = self.frame.switch
        while not self.at_end:
            self.advance(1)
            if self.frame.switch != switch:
                return

    def _to_previous_switch(self) -> None:
        """Go to where the running skill began; from there, to where the one before began."""
        if self.position:
            self.position -= 1
        switch = self.frame.switch
        while self.position and self._frames[self.position - 1].switch == switch:
            self.position -= 1

    def _map(self, width: int, height: int) -> Text:
        if self.frame.screen is None:
            return Text("this world draws no map")
        return draw_screen(self.frame.screen, width, max(height, 3))

    def _panel(self, width: int, height: int) -> list[Text]:
        """Write at most `height` lines of `width` columns: skill, progress, events, caption."""
        frame = self.frame
        lines = [Text(self.title, style="dim"), *self._skill_lines(frame), Text(self._clock())]
        lines.append(Text(f"action {frame.action}" if frame.action else "the start"))
        lines += self._recent_events(_NUM_EVENTS)
        for paragraph in frame.caption.splitlines():
            lines += [Text(line) for line in textwrap.wrap(paragraph, max(width - 1, 20))]
        return [line[:width] for line in lines[:height]]

    def _compact_panel(self, width: int, height: int) -> list[Text]:
        """Write the same in exactly `height` lines below the map, the caption as one paragraph."""
        frame = self.frame
        lines = [Text("  ").join(self._skill_lines(frame)), Text(f"{self._clock()}  {frame.action}")]
        lines += self._recent_events(1 if height < 9 else 3)
        lines += [Text(line) for line in textwrap.wrap(" ".join(frame.caption.split()), max(width - 1, 20))]
        lines += [Text()] * height
        return [line[:width] for line in lines[:height]]

    def _clock(self) -> str:
        turn = getattr(self.frame.state, "turn", None)
        clock = f"step {self.frame.step}/{self.num_steps}" + ("" if turn is None else f"  turn {turn}")
        return f"{clock}  {'paused' if self.is_paused else f'{SPEEDS[self._speed]:g} steps/s'}"

    def _skill_lines(self, frame: Frame) -> list[Text]:
        if frame.switch is None:
            return [Text("no skill", style="bold")]
        name = Text.assemble(
            (f" {frame.switch.skill} ", "bold reverse"), f" for {frame.step - frame.switch.step} steps"
        )
        if not frame.switch.refused:
            return [name]
        return [name, Text(f"in place of {frame.switch.refused}", style="yellow")]

    def _recent_events(self, count: int) -> list[Text]:
        """Collect the latest events, the newest first."""
        found: list[Text] = []
        for frame in reversed(self._frames[max(0, self.position - 500) : self.position + 1]):
            if frame.events:
                style = "bold cyan" if frame.step == self.position else "cyan"
                found.append(Text(f"{frame.step}: {', '.join(frame.events)}", style=style))
            if len(found) == count:
                break
        return found

    def _keys(self, width: int) -> Text:
        texts = ("  ".join(f"{key} {what}" for key, what in KEYS), *_SHORT_KEYS)
        return Text(next((text for text in texts if len(text) <= width), texts[-1][:width]), style="dim")


def draw_screen(screen: Screen, width: int, height: int) -> Text:
    """Draw a terminal with its colours; where it is larger than `width` x `height`, the part around the cursor."""
    rows, columns = screen.chars.shape
    top = _window(screen.cursor[0], rows, height)
    left = _window(screen.cursor[1], columns, width)
    text = Text(no_wrap=True, overflow="crop")
    for row in range(top, min(top + height, rows)):
        chars = screen.chars[row, left : left + width].tolist()
        colors = screen.colors[row, left : left + width].tolist()
        start = 0
        for end in range(1, len(chars) + 1):
            if end == len(chars) or colors[end] != colors[start]:
                run = "".join(chr(c) if 32 <= c < 127 or c >= 160 else " " for c in chars[start:end])
                text.append(run, _STYLES[colors[start] % (2 * _REVERSE)])
                start = end
        text.append("\n")
    text.right_crop(1)
    if top <= screen.cursor[0] < top + height and left <= screen.cursor[1] < left + width:
        line = min(width, columns - left) + 1
        at = (screen.cursor[0] - top) * line + screen.cursor[1] - left
        text.stylize("reverse", at, at + 1)
    return text


def _window(cursor: int, size: int, room: int) -> int:
    """Give the first row or column to show, so that the cursor is near the middle of what is shown."""
    return min(max(0, cursor - room // 2), max(0, size - room))


def _style(color: int) -> Style:
    base = color % _REVERSE
    name = "bright_black" if base == 0 else "default" if base == 8 else f"color({base})"
    return Style(color=name, reverse=color >= _REVERSE)


_STYLES = tuple(_style(color) for color in range(2 * _REVERSE))
