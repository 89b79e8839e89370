"""The viewer: keys move through the frames, and a frame fits any terminal."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from maestro.content import shipped_root
from maestro.envs.world import Screen
from maestro.evaluation.episode import EpisodeFile
from maestro.evaluation.games import Setup
from maestro.evaluation.play import play_here
from maestro.evaluation.replay import Replay
from maestro.evaluation.viewer import SPEEDS, Viewer, draw_screen

(OUTCOME,) = play_here(Setup("locked_door", "reference", 0, 1, (shipped_root(),)), [3])
assert OUTCOME.file is not None
FILE: EpisodeFile = OUTCOME.file
STARTS = [switch.step for switch in FILE.switches]


@pytest.fixture
def viewer() -> Viewer:
    return Viewer(iter(Replay(FILE, render=True)), FILE.record.steps, "locked_door, episode 3", speed=10)


def shown(viewer: Viewer, width: int, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=False)
    console.print(viewer.render(width, height))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


def test_steps_go_forth_and_back_and_pause(viewer: Viewer):
    viewer.press(".")
    viewer.press("right")
    assert (viewer.position, viewer.is_paused) == (2, True)
    viewer.press(",")
    assert viewer.frame.step == 1
    viewer.press("left")
    viewer.press("left")
    assert viewer.position == 0


def test_space_pauses_and_goes_on_and_starts_again_at_the_end(viewer: Viewer):
    viewer.press(" ")
    assert viewer.is_paused
    viewer.press(" ")
    assert not viewer.is_paused
    viewer.advance(1000)
    assert viewer.at_end
    assert viewer.is_paused
    viewer.press(" ")
    assert (viewer.position, viewer.is_paused) == (0, False)


def test_speed_goes_up_and_down_within_its_bounds(viewer: Viewer):
    intervals = []
    for _ in range(20):
        intervals.append(viewer.interval_s / viewer.frames_per_draw)
        viewer.press("+")
    assert intervals == sorted(intervals, reverse=True)
    assert intervals[-1] == pytest.approx(1 / SPEEDS[-1])
    for _ in range(20):
        viewer.press("-")
    assert viewer.interval_s == 1 / SPEEDS[0]


def test_a_fast_episode_is_drawn_no_oftener_than_a_terminal_can():
    fast = Viewer(iter(Replay(FILE, render=True)), FILE.record.steps, "t", speed=500)
    assert fast.interval_s >= 1 / 40
    assert fast.frames_per_draw / fast.interval_s == pytest.approx(500)


def test_n_and_p_go_from_skill_to_skill(viewer: Viewer):
    viewer.press("n")
    assert viewer.position == STARTS[1]
    viewer.press("n")
    assert viewer.position == STARTS[2]
    viewer.press("p")
    assert viewer.position == STARTS[1]
    viewer.press(".")
    viewer.press("p")
    assert viewer.position == STARTS[1]
    viewer.press("p")
    viewer.press("p")
    assert viewer.position == 0
    for _ in range(9):
        viewer.press("n")
    assert viewer.at_end


def test_q_quits_and_other_keys_do_nothing(viewer: Viewer):
    viewer.press("x")
    viewer.press("")
    assert (viewer.position, viewer.is_paused, viewer.has_quit) == (0, False, False)
    viewer.press("q")
    assert viewer.has_quit


@pytest.mark.parametrize(
    ("width", "height"), [(200, 50), (120, 30), (110, 24), (100, 40), (80, 24), (60, 24), (40, 12)]
)
def test_every_terminal_shows_map_skill_and_keys_and_no_line_too_long(
    viewer: Viewer, width: int, height: int
):
    viewer.advance(STARTS[1] + 1)
    lines = shown(viewer, width, height)
    text = "\n".join(lines)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    assert "eastwalker" in text
    assert "@" in text
    assert f"step {viewer.position}/{FILE.record.steps}" in text
    assert "q quit" in text


def test_the_panel_stands_beside_the_map_where_there_is_room(viewer: Viewer):
    viewer.advance(2)
    wide = shown(viewer, 120, 30)
    narrow = shown(viewer, 80, 40)
    assert any("keyfinder" in line and line.index("keyfinder") > 80 for line in wide)
    assert any(line.lstrip().startswith("keyfinder") for line in narrow)


def test_events_are_told_newest_first(viewer: Viewer):
    viewer.advance(1000)
    told = [line.strip() for line in shown(viewer, 80, 40) if ": door open" in line or ": keys" in line]
    assert told == [f"{FILE.record.steps}: door open", f"{STARTS[1]}: keys 0 to 1"]


def test_the_refused_choice_is_shown():
    refused = [FILE.switches[0]._replace(refused="opener"), *FILE.switches[1:]]
    viewer = Viewer(iter(Replay(FILE._replace(switches=refused), render=True)), FILE.record.steps, "t")
    assert "in place of opener" in "\n".join(shown(viewer, 120, 30))


def screen(cursor: tuple[int, int]) -> Screen:
    chars = np.full((24, 80), ord("."), np.uint8)
    chars[cursor] = ord("@")
    return Screen(chars, np.full((24, 80), 7, np.int8), cursor)


@pytest.mark.parametrize("cursor", [(0, 0), (23, 79), (12, 40), (1, 79), (23, 0)])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 20), (10, 3), (200, 100)])
def test_the_hero_is_always_in_the_picture(cursor: tuple[int, int], width: int, height: int):
    text = draw_screen(screen(cursor), width, height)
    lines = text.plain.split("\n")
    assert text.plain.count("@") == 1
    assert len(lines) == min(height, 24)
    assert {len(line) for line in lines} == {min(width, 80)}
    at = text.plain.index("@")
    assert any(span.start == at and span.end == at + 1 and span.style == "reverse" for span in text.spans)


def test_colours_are_kept():
    found = screen((0, 0))
    found.colors[0, 5] = 9
    found.colors[0, 6] = 16 + 1
    spans: dict[int, Any] = {span.start: span.style for span in draw_screen(found, 80, 24).spans}
    assert spans[5].color.number == 9
    assert spans[6].reverse
