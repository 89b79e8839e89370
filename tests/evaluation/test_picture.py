"""The picture of a moment: well-formed, with everything that was on the screen, and the skills below it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from maestro.content import shipped_root
from maestro.envs.world import Screen
from maestro.evaluation.games import Setup
from maestro.evaluation.picture import episode_picture
from maestro.evaluation.play import play_here
from maestro.evaluation.replay import Replay

SPACE = "{http://www.w3.org/2000/svg}"
(OUTCOME,) = play_here(Setup("locked_door", "reference", 0, 1, (shipped_root(),)), [3])
assert OUTCOME.file is not None
FILE = OUTCOME.file
FRAMES = list(Replay(FILE, render=True))


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SPACE}text")]


def test_it_shows_the_screen_and_the_skills():
    found = texts(episode_picture(FRAMES[5], FILE))
    assert "@" in found
    assert "+" in found
    assert f"locked_door, step 5 of {FILE.record.steps}: eastwalker" in found
    assert found[-3:] == ["keyfinder", "eastwalker", "opener"]


def test_every_stretch_of_the_timeline_says_what_it_is():
    root = ET.fromstring(episode_picture(FRAMES[0], FILE))
    told = [element.text or "" for element in root.iter(f"{SPACE}title")]
    assert [text.split(":")[0] for text in told[1:]] == ["keyfinder", "eastwalker", "opener"]


def test_characters_that_mean_something_in_xml_and_reversed_ones_are_drawn():
    chars = np.full((24, 80), 32, np.uint8)
    colors = np.full((24, 80), 7, np.int8)
    for column, char in enumerate(b"<&>\x07"):
        chars[0, 10 + column] = char
    chars[1, 3], colors[1, 3] = ord("d"), 16 + 1
    svg = episode_picture(FRAMES[0]._replace(screen=Screen(chars, colors, (0, 0))), FILE)
    assert "<&>" in texts(svg)
    reversed_text = next(
        element for element in ET.fromstring(svg).iter(f"{SPACE}text") if element.text == "d"
    )
    assert reversed_text.attrib["fill"] == "#14181b"


def test_a_frame_without_a_screen_is_refused():
    with pytest.raises(ValueError, match="without a screen"):
        episode_picture(FRAMES[0]._replace(screen=None), FILE)
