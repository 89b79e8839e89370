"""The wordings of captions."""

from __future__ import annotations

import pytest

from maestro.content import Content
from maestro.errors import PromptError, UnknownNameError
from maestro.preferences.captions import Captioner, caption_versions
from maestro.prompts import Prompts


@pytest.fixture
def prompts() -> Prompts:
    return Prompts(Content.find().prompt_folders())


def test_the_default_is_the_worlds_own(prompts, helpers):
    row = helpers.make_row(message="x  y\n\n\n<z>", caption='Messages: "" then "x"\n\n\nA: same')
    assert Captioner(prompts, "default").word(row) == row.caption


def test_reworded_says_the_same_otherwise(prompts, helpers):
    row = helpers.make_row(message="You fall!", previous_message="Oops.", depth_after=2)
    text = Captioner(prompts, "reworded").word(row)
    assert text != row.caption
    for part in ("You fall!", "Oops.", "Dungeon level - down from 1 to 2", "Gold - unchanged"):
        assert part in text


def test_both_versions_keep_any_byte(prompts, helpers):
    text = bytes(range(256)).decode("latin-1")
    row = helpers.make_row(message=text)
    for version in caption_versions(prompts):
        assert text in Captioner(prompts, version).word(row)


def test_an_unknown_or_broken_wording_is_named(prompts, tmp_path):
    assert caption_versions(prompts) == ["default", "reworded"]
    with pytest.raises(UnknownNameError, match=r"unknown wording 'rewordd'.*did you mean 'reworded'"):
        Captioner(prompts, "rewordd")
    (tmp_path / "preference" / "mine").mkdir(parents=True)
    (tmp_path / "preference" / "mine" / "caption.j2").write_text("{{ mesage }}")
    with pytest.raises(PromptError, match="'mesage' is not known here"):
        Captioner(Prompts([tmp_path]), "mine")
