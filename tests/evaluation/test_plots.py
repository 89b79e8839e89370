"""Plots: valid SVG that shows what it is given, for ordinary and for odd values."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro.evaluation import plots
from maestro.options.accounting import Switch


def rects(svg: str) -> list[dict[str, str]]:
    return [dict(element.attrib) for element in ET.fromstring(svg).iter("rect")]


def titles(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter("title")]


def test_an_interval_stands_where_its_values_are():
    band, dot = rects(plots.interval(0.5, 0.25, 0.75, top=1.0))
    assert (float(band["x"]), float(band["width"])) == (25.0, 50.0)
    assert float(dot["x"]) + 0.4 == pytest.approx(50.0)


def test_an_interval_beyond_the_axis_is_cut():
    band, _ = rects(plots.interval(2.0, 1.5, 9.0, top=1.0))
    assert float(band["x"]) == 100.0


def test_stacked_shares_follow_one_another():
    first, second = rects(plots.stacked([(0.25, "s0", "a"), (0.75, "s1", "b")]))
    assert (float(first["width"]), float(second["x"]), float(second["width"])) == (25.0, 25.0, 75.0)


def test_a_histogram_of_few_whole_numbers_has_a_bar_for_each():
    svg, low, high = plots.histogram([1, 2, 2, 5])
    assert titles(svg) == [
        "1: 1 of 4 episodes", "2: 2 of 4 episodes", "3: 0 of 4 episodes", "4: 0 of 4 episodes", "5: 1 of 4 episodes",
    ]  # fmt: skip
    assert (low, high) == ("1", "5")


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_a_histogram_counts_every_value_once(values: list[float]):
    svg, _, _ = plots.histogram(values)
    assert sum(int(title.split(": ")[1].split(" of ")[0]) for title in titles(svg)) == len(values)


def test_a_histogram_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no values"):
        plots.histogram([])


SWITCHES = [
    Switch(0, 1, "discoverer", "max_turns", None),
    Switch(50, 40, "descender", "terminated", "merchant", True),
    Switch(80, 60, "discoverer", None, None),
]


def test_segments_cover_the_episode_and_say_what_happened():
    found = plots.segments(SWITCHES, 100)
    assert [(one.start, one.end, one.skill) for one in found] == [
        (0, 50, "discoverer"), (50, 80, "descender"), (80, 100, "discoverer"),
    ]  # fmt: skip
    assert "in place of merchant" in found[1].text
    assert "ended: terminated" in found[1].text


def test_no_step_gives_no_segment():
    assert plots.segments([], 0) == []
    assert plots.segments(SWITCHES[:1], 0) == []


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(1, 9), st.sampled_from("abc")), min_size=310, max_size=600))
def test_many_segments_become_columns_without_gaps(stretches: list[tuple[int, str]]):
    switches, step = [], 0
    for length, skill in stretches:
        switches.append(Switch(step, step, skill, "terminated", None))
        step += length
    found = plots.segments(switches, step)
    assert len(found) <= plots.MAX_SEGMENTS
    assert (found[0].start, found[-1].end) == (0, step)
    assert all(one.end == after.start for one, after in itertools.pairwise(found))
    assert all(one.skill != after.skill for one, after in itertools.pairwise(found))


def test_columns_have_the_colour_of_the_skill_with_most_steps():
    switches = [Switch(10 * n, 0, "a", "terminated", None) for n in range(400)]
    switches = [
        s for switch in switches for s in (switch, Switch(switch.step + 9, 0, "b", "terminated", None))
    ]
    found = plots.segments(switches, 4000)
    assert {one.skill for one in found} == {"a"}


def test_a_timeline_is_as_wide_as_its_episode():
    svg = plots.timeline(plots.segments(SWITCHES, 100), 100, 200, {"discoverer": "s0", "descender": "s1"})
    widths = [float(rect["width"]) for rect in rects(svg)]
    assert widths == [25.0, 15.0, 10.0, 50.0]


def test_text_is_escaped():
    svg = plots.stacked([(1.0, "s0", "<script>alert(1)</script>")])
    assert "<script>" not in svg
    assert titles(svg) == ["<script>alert(1)</script>"]
