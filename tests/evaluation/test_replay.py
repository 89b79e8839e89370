"""A replay is the recorded game, and says so only when it is."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from maestro.content import shipped_root
from maestro.envs.corridor import State
from maestro.errors import RecordError, UnknownNameError
from maestro.evaluation.asciicast import ansi_row, cast_lines, screen_rows, sgr
from maestro.evaluation.episode import EpisodeFile
from maestro.evaluation.games import Setup
from maestro.evaluation.play import play_here
from maestro.evaluation.replay import Replay, events, verify

ROOTS = (shipped_root(),)


def play(policy: str, number: int) -> EpisodeFile:
    (outcome,) = play_here(Setup("locked_door", policy, 0, 1, ROOTS), [number])
    assert outcome.file is not None
    return outcome.file


WON, RANDOM = play("reference", 3), play("random", 1)


@pytest.mark.parametrize("file", [WON, RANDOM, play("random", 2), play("reference", 0)])
def test_an_episode_replays_bit_for_bit(file: EpisodeFile):
    assert verify(file) == []


def test_other_seeds_are_noticed():
    seeds = WON.record.seeds._replace(core=WON.record.seeds.core + 1)
    assert verify(WON._replace(record=WON.record.model_copy(update={"seeds": seeds})))


def test_one_other_action_is_noticed():
    actions = RANDOM.actions.copy()
    actions[20] = (actions[20] + 1) % 4
    found = verify(RANDOM._replace(actions=actions))
    assert any("checksum" in line for line in found)


def test_a_game_that_ends_early_is_noticed():
    longer = np.concatenate([WON.actions, WON.actions[:3]])
    assert verify(WON._replace(actions=longer)) == [
        f"the game ended at step {len(WON.actions)} of {len(longer)}"
    ]


@pytest.mark.parametrize(
    ("field", "value"), [("turns", 99), ("success", {"true": 0.0, "compatible": 1.0}), ("checksum", 1)]
)
def test_a_record_that_is_not_this_games_is_noticed(field: str, value: object):
    found = verify(WON._replace(record=WON.record.model_copy(update={field: value})))
    assert len(found) == 1
    assert field in found[0]


def test_another_version_is_offered_as_the_reason():
    changed = WON.record.model_copy(update={"checksum": 1})
    found = verify(WON._replace(record=changed, versions={"maestro": "0.0.1"}))
    assert "it was played with maestro 0.0.1" in found[-1]


def test_a_world_with_other_actions_is_refused():
    with pytest.raises(RecordError, match="other actions"):
        verify(WON._replace(action_names=("west", "east")))


def test_a_test_that_is_gone_is_named():
    with pytest.raises(UnknownNameError, match="door_opn"):
        verify(WON._replace(tests={"true": "door_opn", "compatible": "door_message"}))


def test_differences_are_known_only_at_the_end():
    replay = Replay(WON)
    next(iter(replay))
    with pytest.raises(ValueError, match="not reached its end"):
        _ = replay.differences


def test_frames_tell_the_story():
    frames = list(Replay(WON, render=True))
    assert [frame.step for frame in frames] == list(range(len(WON.actions) + 1))
    assert frames[0].action == ""
    assert frames[0].caption == ""
    assert frames[0].switch is not None
    assert frames[0].switch.skill == "keyfinder"
    assert frames[-1].switch is not None
    assert frames[-1].switch.skill == "opener"
    assert frames[-1].events == ("door open",)
    assert "The door opens" in frames[-1].caption or "It opens" in frames[-1].caption
    picked = next(frame for frame in frames if frame.events)
    assert picked.events == ("keys 0 to 1",)
    # The step that ends a skill is that skill's; from its frame on, the next one runs.
    assert picked.switch is not None
    assert picked.switch.skill == "eastwalker"
    assert frames[3].screen is not None
    assert frames[3].screen.chars.shape == (24, 80)
    assert {id(frame.state) for frame in frames} == {id(frame.state) for frame in frames if frame.state}


def test_captions_begin_where_the_skill_began():
    frames = list(Replay(WON))
    walked = frames[-2]
    assert walked.switch is not None
    assert f"to {walked.state.position}" in walked.caption
    assert "Keys: same" in walked.caption  # the key was found before this skill began


def test_events_are_words():
    before = State(0, 0, 5, 12, False, 0, False, "")
    assert events(before, before._replace(step=1, position=6, message="x")) == ()
    assert events(before, before._replace(num_keys=1, door_open=True)) == ("keys 0 to 1", "door open")
    assert events(before._replace(door_open=True), before) == ("no longer door open",)


def test_an_asciicast_has_header_outputs_and_markers():
    lines = [json.loads(line) for line in cast_lines(Replay(WON, render=True), title="t", steps_per_s=4)]
    assert lines[0] == {"version": 2, "width": 80, "height": 28, "title": "t"}
    times = [line[0] for line in lines[1:]]
    assert times == sorted(times)
    assert times[-1] == len(WON.actions) / 4
    markers = [line for line in lines[1:] if line[1] == "m"]
    assert [marker[2] for marker in markers] == ["keyfinder", "eastwalker", "opener"]
    assert [marker[0] for marker in markers] == [switch.step / 4 for switch in WON.switches]
    assert {line[1] for line in lines[1:]} == {"o", "m"}


def test_playing_a_cast_back_gives_the_last_screen():
    """Follow the escape sequences like a terminal does and compare with the world's own screen."""
    rows = [""] * 28
    for line in list(cast_lines(Replay(WON, render=True), title="t"))[1:]:
        _, kind, output = json.loads(line)
        for row, text in re.findall(r"\x1b\[(\d+);1H(.*?)\x1b\[K", output) if kind == "o" else ():
            rows[int(row) - 1] = re.sub(r"\x1b\[[\d;]*m", "", text)
    last = list(Replay(WON, render=True))[-1].screen
    assert last is not None
    assert rows[:24] == [row.rstrip() for row in screen_rows(last)]


def test_a_cast_needs_screens_and_a_speed():
    with pytest.raises(ValueError, match="without a screen"):
        list(cast_lines(Replay(WON), title="t"))
    with pytest.raises(ValueError, match="steps per second"):
        list(cast_lines(Replay(WON, render=True), title="t", steps_per_s=0))


@pytest.mark.parametrize(
    ("color", "code"), [(0, "90"), (1, "31"), (7, "37"), (8, "39"), (9, "91"), (15, "97"), (17, "31;7")]
)
def test_curses_colours_become_terminal_colours(color: int, code: str):
    assert sgr(color) == code


def test_a_row_ends_with_its_last_visible_character():
    assert ansi_row([64, 32, 32], [7, 7, 7]) == "\x1b[0;37m@\x1b[0m"
    assert ansi_row([32, 0], [7, 7]) == ""
    assert ansi_row([64, 46, 7], [15, 7, 7]) == "\x1b[0;97m@\x1b[0;37m. \x1b[0m"
