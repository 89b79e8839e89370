"""One moment of an episode as an SVG picture: the terminal as it was, and below it which skill ran when.

For READMEs and papers. The picture brings its own dark background, needs no font but a monospaced one, and every run
of characters is stretched to its columns, so that the map keeps its shape whatever that font is.
"""

from __future__ import annotations

from html import escape

from maestro.envs.world import Screen
from maestro.evaluation.episode import EpisodeFile
from maestro.evaluation.plots import Segment, segments
from maestro.evaluation.replay import Frame

_WIDTH, _ROW, _COLUMN, _MARGIN = 720, 17, 8.5, 20
_REVERSE = 16
_BACKGROUND, _TEXT, _SOFT, _LINE = "#14181b", "#d5dadd", "#9aa7b0", "#e6eaec"
_TERMINAL = (
    "#5c666e", "#d9655b", "#6cb865", "#c79a4b", "#6a93e6", "#c27fd0", "#5fb8bd", "#c3c9cd",
    "#9aa7b0", "#f0935f", "#9be08f", "#f2d86b", "#93b8ff", "#e8a7f0", "#8fe6e8", "#ffffff",
)  # fmt: skip
"""Curses colours 0 to 15 on a dark ground."""
_SKILLS = ("#7aa9dd", "#ea9272", "#5fc08f", "#d39ad0", "#dcc452", "#6fd0de", "#b5a593", "#a3adb5")


def episode_picture(frame: Frame, file: EpisodeFile) -> str:
    """Draw `frame` (it must have a screen) and the whole episode's skills with a mark where the frame is.

    Raises ValueError for a frame without a screen.
    """
    if frame.screen is None:
        raise ValueError("a frame without a screen")
    names = list(file.record.skills)
    used = [name for name in names if file.record.skills[name].steps]
    color = {name: _SKILLS[number % len(_SKILLS)] for number, name in enumerate(names)}
    num_rows, last = _extent(frame.screen)
    bottom = _MARGIN + num_rows * _ROW + 14
    skill = frame.switch.skill if frame.switch else "no skill"
    caption = f"{file.target}, step {frame.step} of {file.record.steps}: {skill}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom + 84}" role="img" '
        f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">',
        f"<title>{escape(caption)}</title>",
        f'<rect width="{_WIDTH}" height="{bottom + 84}" rx="8" fill="{_BACKGROUND}"/>',
        *_terminal(frame.screen, num_rows, last),
        f'<text x="{_MARGIN}" y="{bottom + 12}" fill="{_TEXT}">{escape(caption)}</text>',
        *_timeline(segments(file.switches, file.record.steps), file.record.steps, color, bottom + 24),
        _mark(frame.step, file.record.steps, bottom + 20),
        *_legend(used, color, bottom + 68),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _extent(screen: Screen) -> tuple[int, int]:
    """Give the number of rows and of columns up to the last visible character."""
    visible = [
        (row, column)
        for row, line in enumerate(screen.chars.tolist())
        for column, char in enumerate(line)
        if char not in (0, 32)
    ]
    return max((row for row, _ in visible), default=0) + 1, max(
        (column for _, column in visible), default=0
    ) + 1


def _terminal(screen: Screen, num_rows: int, num_columns: int) -> list[str]:
    """Draw every run of equal colour as one text of fixed length."""
    drawn = []
    for row in range(num_rows):
        chars, colors = screen.chars[row, :num_columns].tolist(), screen.colors[row, :num_columns].tolist()
        start = 0
        for end in range(1, num_columns + 1):
            if end < num_columns and colors[end] == colors[start]:
                continue
            drawn += _run(chars[start:end], colors[start], row, start)
            start = end
    return drawn


def _run(chars: list[int], color: int, row: int, column: int) -> list[str]:
    text = "".join(chr(char) if 32 <= char < 127 or char >= 160 else " " for char in chars)
    stripped = text.strip()
    if not stripped:
        return []
    column += len(text) - len(text.lstrip())
    x, y, length = _MARGIN + column * _COLUMN, _MARGIN + row * _ROW, len(stripped) * _COLUMN
    fill, found = _TERMINAL[color % _REVERSE], []
    if color >= _REVERSE:
        found.append(f'<rect x="{x:.1f}" y="{y}" width="{length:.1f}" height="{_ROW}" fill="{fill}"/>')
        fill = _BACKGROUND
    found.append(
        f'<text x="{x:.1f}" y="{y + 13}" fill="{fill}" textLength="{length:.1f}" xml:space="preserve">'
        f"{escape(stripped)}</text>"
    )
    return found


def _timeline(found: list[Segment], num_steps: int, color: dict[str, str], y: int) -> list[str]:
    scale = (_WIDTH - 2 * _MARGIN) / max(num_steps, 1)
    return [
        f'<rect x="{_MARGIN + one.start * scale:.2f}" y="{y}" width="{(one.end - one.start) * scale:.2f}" '
        f'height="18" fill="{color[one.skill]}"><title>{escape(one.text)}</title></rect>'
        for one in found
    ]


def _mark(step: int, num_steps: int, y: int) -> str:
    x = _MARGIN + step * (_WIDTH - 2 * _MARGIN) / max(num_steps, 1)
    return f'<rect x="{x - 1:.2f}" y="{y}" width="2" height="26" fill="{_LINE}"/>'


def _legend(names: list[str], color: dict[str, str], y: int) -> list[str]:
    drawn, x = [], float(_MARGIN)
    for name in names:
        drawn.append(f'<rect x="{x:.1f}" y="{y - 10}" width="11" height="11" fill="{color[name]}"/>')
        drawn.append(f'<text x="{x + 17:.1f}" y="{y}" fill="{_SOFT}" font-size="13">{escape(name)}</text>')
        x += 17 + 8 * len(name) + 22
    return drawn
