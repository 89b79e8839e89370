"""Small plots as inline SVG without text: labels are HTML beside them, so that they stay readable at phone width.

Colours are CSS classes (`s0`, `s1`, ... for skills), defined for light and dark mode in report.html.j2. All x values
are in percent of the plot's width; every plot stretches to the width it is given.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from maestro.options.accounting import Switch

MAX_SEGMENTS = 300
"""Activations drawn one by one in a timeline; more are drawn as this many columns, each in its commonest colour."""


class Segment(NamedTuple):
    """A stretch of an episode in one colour."""

    start: int
    end: int
    skill: str
    text: str
    """What the tooltip says."""


def interval(mean: float, low: float, high: float, top: float, css: str = "own") -> str:
    """Draw a dot at `mean` on its interval, on an axis from 0 to `top`."""
    x, left, right = (100 * min(max(value / top, 0.0), 1.0) for value in (mean, low, high))
    return _svg(
        24,
        f'<line class="axis" x1="0" x2="100" y1="12" y2="12"/>'
        f'<rect class="{css} band" x="{left:.2f}" y="7" width="{max(right - left, 0.4):.2f}" height="10"/>'
        f'<rect class="{css}" x="{max(x - 0.4, 0):.2f}" y="3" width="0.8" height="18"/>',
    )


def bar(share: float, css: str = "own") -> str:
    """Draw one bar of a share in [0, 1]."""
    return _svg(
        14,
        f'<rect class="track" x="0" y="0" width="100" height="14"/>'
        f'<rect class="{css}" x="0" y="0" width="{100 * share:.2f}" height="14"/>',
    )


def stacked(parts: Sequence[tuple[float, str, str]]) -> str:
    """Draw shares (share, CSS class, tooltip) one behind the other in one bar."""
    x, drawn = 0.0, []
    for share, css, text in parts:
        drawn.append(_rect(x, 100 * share, 22, css, text))
        x += 100 * share
    return _svg(22, "".join(drawn))


def histogram(values: Sequence[float], num_bins: int = 24) -> tuple[str, str, str]:
    """Draw how often values occur; returns the plot and the labels of the axis' two ends.

    Whole numbers of a small range get a bar each. Raises ValueError for no values.
    """
    if not values:
        raise ValueError("a histogram of no values")
    low, high = math.floor(min(values)), math.ceil(max(values))
    if high - low < num_bins and all(float(value).is_integer() for value in values):
        num_bins, width = high - low + 1, 1.0
    else:
        width = (high - low) / num_bins
    counts = Counter(min(int((value - low) / width), num_bins - 1) for value in values)
    tallest, step = max(counts.values()), 100 / num_bins
    drawn = []
    for index in range(num_bins):
        height = 60 * counts[index] / tallest
        start, end = low + index * width, low + (index + 1) * width
        span = f"{start:g}" if width == 1.0 else f"{start:.0f} to {end:.0f}"
        text = f"{span}: {counts[index]} of {len(values)} episodes"
        drawn.append(_rect(index * step + 0.06 * step, 0.88 * step, height, "own", text, y=60 - height))
    return _svg(60, "".join(drawn)), f"{low:g}", f"{high:g}"


def timeline(segments: Sequence[Segment], num_steps: int, longest: int, css: dict[str, str]) -> str:
    """Draw one episode's skills over its steps; `longest` is the number of steps that fills the width."""
    scale = 100 / max(longest, 1)
    drawn = [
        _rect(
            segment.start * scale, (segment.end - segment.start) * scale, 16, css[segment.skill], segment.text
        )
        for segment in segments
    ]
    end = f'<rect class="track" x="{num_steps * scale:.3f}" y="7" width="{100 - num_steps * scale:.3f}" height="2"/>'
    return _svg(16, "".join(drawn) + end)


def segments(switches: Sequence[Switch], num_steps: int) -> list[Segment]:
    """Cut an episode into stretches to draw, at most MAX_SEGMENTS of them, in order and without gaps."""
    ends = [*(switch.step for switch in switches[1:]), num_steps][: len(switches)]
    found = []
    for switch, end in zip(switches, ends, strict=True):
        if end > switch.step:
            found.append(Segment(switch.step, end, switch.skill, _describe(switch, end)))
    return found if len(found) <= MAX_SEGMENTS else _columns(found, num_steps)


def _describe(switch: Switch, end: int) -> str:
    text = f"{switch.skill}: steps {switch.step} to {end}"
    if switch.refused:
        text += f", in place of {switch.refused}, which might not start"
    return f"{text}; ended: {switch.ended or 'still running'}"


def _columns(found: list[Segment], num_steps: int) -> list[Segment]:
    """Draw many short stretches as columns, each in the colour of the skill that had most of it."""
    columns: list[Segment] = []
    position = 0
    for column in range(MAX_SEGMENTS):
        start, end = (num_steps * at // MAX_SEGMENTS for at in (column, column + 1))
        had: Counter[str] = Counter()
        while position < len(found) and found[position].start < end:
            segment = found[position]
            had[segment.skill] += min(segment.end, end) - max(segment.start, start)
            if segment.end > end:
                break
            position += 1
        if not had:
            continue
        skill = had.most_common(1)[0][0]
        if columns and columns[-1].skill == skill:
            start = columns.pop().start
        columns.append(Segment(start, end, skill, f"mostly {skill}: steps {start} to {end}"))
    return columns


def _rect(x: float, width: float, height: float, css: str, text: str, y: float = 0.0) -> str:
    return (
        f'<rect class="{css}" x="{x:.3f}" y="{y:.2f}" width="{width:.3f}" height="{height:.2f}">'
        f"<title>{escape(text)}</title></rect>"
    )


def _svg(height: int, content: Any) -> str:
    return f'<svg viewBox="0 0 100 {height}" height="{height}" preserveAspectRatio="none" role="img">{content}</svg>'
