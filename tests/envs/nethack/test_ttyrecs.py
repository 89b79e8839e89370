"""Recorded games, on recordings that the test makes itself with nle."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from maestro.envs.nethack.ttyrecs import read_games, recordings, states_of
from maestro.errors import DatasetError
from maestro.evaluation.collect import recorded_rows


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> tuple[Path, list[dict]]:
    """Two recorded games, and what nle's own observations said at the end of each."""
    from nle.env.tasks import NetHackScore

    folder = tmp_path_factory.mktemp("ttyrecs")
    env = NetHackScore(savedir=str(folder / "games"), save_ttyrec_every=1, character="mon-hum-neu-mal")
    ends = []
    for episode in range(2):
        env.seed(episode + 1, episode + 1, False)
        seen, _ = env.reset()
        chance = random.Random(episode)
        while True:
            before = seen["blstats"].copy()
            seen, _, done, cut, _ = env.step(chance.randrange(env.action_space.n))
            if done or cut or before[20] > 250:
                break
        stats = before
        ends.append({"depth": stats[12], "gold": stats[13], "max_hp": stats[11], "turn": stats[20]})
    env.close()
    return folder, ends


def test_recordings_tell_what_the_game_showed(recorded):
    folder, ends = recorded
    games = [list(states) for states in read_games(folder)]
    assert len(games) == 2
    for states, end in zip(games, ends, strict=True):
        assert states[0].message.startswith("Hello Agent, welcome to NetHack!")
        assert [state.step for state in states] == list(range(len(states)))
        assert all(a.turn <= b.turn for a, b in itertools.pairwise(states))
        assert not any("--More--" in state.message for state in states)
        close = [state for state in states if abs(state.turn - end["turn"]) <= 1]
        assert any((s.depth, s.gold, s.max_hp) == (end["depth"], end["gold"], end["max_hp"]) for s in close)
    assert len({state.message for states in games for state in states}) > 20


def test_they_become_transitions(recorded):
    folder, _ = recorded
    games = list(recorded_rows(folder, horizon=10))
    assert len(games) == 2
    for rows in games:
        assert {row.source for row in rows} == {"ttyrec"}
        assert {row.skill for row in rows} == {""}
        for before, after in itertools.pairwise(rows):
            assert after.previous_message == before.message
            assert f'then "{after.message}"' in after.caption


def test_a_folder_without_recordings_is_named(tmp_path):
    with pytest.raises(DatasetError, match=r"there are no recordings here.*save_ttyrec_every"):
        recordings(tmp_path)
    with pytest.raises(DatasetError, match="there are no recordings"):
        recordings(tmp_path / "absent")


def test_a_damaged_recording_is_named(recorded, tmp_path):
    source = recordings(recorded[0])[0]
    path = tmp_path / source.name
    path.write_bytes(b"this is not compressed at all")
    with pytest.raises(DatasetError, match="the recording is damaged"):
        list(states_of(path))
    path.write_bytes(source.read_bytes()[:700])
    with pytest.raises(DatasetError, match="the recording is damaged"):
        list(states_of(path))
