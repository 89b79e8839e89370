"""The same promises on real NetHack games: replays bit for bit, and nothing depends on workers, batch or kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from maestro.content import shipped_root
from maestro.evaluation.episode import EpisodeFile, read_episode
from maestro.evaluation.games import Setup
from maestro.evaluation.play import Workers, play_here
from maestro.evaluation.replay import Replay, verify

ROOTS = (shipped_root(),)


def setup(policy: str, num_games: int = 4, target: str = "minetown") -> Setup:
    return Setup(target, policy, 0, num_games, ROOTS)


def files(outcomes: object) -> dict[int, EpisodeFile]:
    return {outcome.record.episode: outcome.file for outcome in outcomes}  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def played() -> dict[int, EpisodeFile]:
    return files(play_here(setup("random"), range(6)))


def test_random_games_replay_bit_for_bit(played: dict[int, EpisodeFile]):
    for file in played.values():
        assert verify(file) == []


def test_a_record_has_nethacks_facts(played: dict[int, EpisodeFile]):
    for file in played.values():
        record = file.record
        assert record.ended.by in ("died", "left", "truncated")
        assert record.max_depth is not None
        assert record.max_depth >= 1
        assert record.dungeon
        assert record.progression is not None
        assert record.kills is not None
        assert record.turns is not None
    assert any(file.record.ended.cause for file in played.values())


def test_a_descents_success_is_a_greater_depth():
    """Skill by skill, the successes in the record are those that the replayed states show."""
    found = 0
    for file in files(play_here(setup("reference", 2, "gnomish"), range(2))).values():
        states = [frame.state for frame in Replay(file)]
        ends = [*(switch.step for switch in file.switches[1:]), file.record.steps]
        for skill, sign in (("descender", 1), ("ascender", -1)):
            changes = [
                sign * (states[end].depth - states[switch.step].depth)
                for switch, end in zip(file.switches, ends, strict=True)
                if switch.skill == skill
            ]
            use = file.record.skills[skill]
            assert use.success_is == {1: "depth rose", -1: "depth fell"}[sign]
            assert sum(use.reached.values()) == sum(change > 0 for change in changes)
            assert use.activations == len(changes)
            found += sum(use.reached.values())
    assert found > 0


def test_drawing_screens_changes_nothing(played: dict[int, EpisodeFile]):
    file = min(played.values(), key=lambda one: one.record.steps)
    replay = Replay(file, render=True)
    frames = list(replay)
    assert replay.differences == []
    assert len(frames) == file.record.steps + 1
    screen = frames[0].screen
    assert screen is not None
    assert chr(screen.chars[screen.cursor]) == "@"


def test_workers_and_batches_change_nothing(played: dict[int, EpisodeFile]):
    with Workers(setup("random", num_games=2), 2) as workers:
        others = files(workers.play(reversed(range(6))))
    for number, file in played.items():
        assert others[number].record.deterministic() == file.record.deterministic()
        assert others[number].actions.tolist() == file.actions.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("target", ["minetown", "transactions"])
def test_reference_games_are_the_same_in_any_batch_and_replay(target: str):
    with Workers(setup("reference", 8, target), 1) as workers:
        together = files(workers.play(range(10)))
    with Workers(setup("reference", 3, target), 2) as workers:
        apart = files(workers.play([7, 3, 9, 0, 5, 1, 8, 2, 6, 4]))
    for number, file in together.items():
        assert apart[number].record.deterministic() == file.record.deterministic()
        assert apart[number].actions.tolist() == file.actions.tolist()
        assert apart[number].switches == file.switches
        assert verify(file) == []


@pytest.mark.slow
def test_an_evaluation_killed_again_and_again_ends_as_if_it_had_not_been(tmp_path: Path):
    def command(folder: str) -> list[str]:
        arguments = [
            "--target",
            "minetown",
            "--episodes",
            "16",
            "--workers",
            "2",
            "--run",
            str(tmp_path / folder),
        ]
        return [sys.executable, "-m", "maestro", "eval", *arguments]

    for wait_s in (0.7, 3.0, 5.0, 2.0):
        process = subprocess.Popen(
            command("killed"), cwd=ROOTS[0], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        time.sleep(wait_s)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    for folder in ("killed", "whole"):
        subprocess.run(command(folder), cwd=ROOTS[0], check=True, capture_output=True)
    kept, whole = (
        sorted(map(json.loads, (tmp_path / folder / "episodes.jsonl").read_text().splitlines()), key=_number)
        for folder in ("killed", "whole")
    )
    assert [_number(record) for record in kept] == list(range(16))
    for one, other in zip(kept, whole, strict=True):
        for key in ("seeds", "success", "ended", "steps", "turns", "score", "skills", "checksum"):
            assert one[key] == other[key]
    assert verify(read_episode(tmp_path / "killed" / "episodes" / "3.npz")) == []


@pytest.mark.slow
def test_an_evaluation_starts_within_six_seconds(tmp_path: Path):
    """The whole command, with one game of random play, which is short; the best of three, for machines are busy."""
    arguments = ["--policy", "random", "--episodes", "1"]
    command = [sys.executable, "-m", "maestro", "eval", "--target", "minetown", *arguments]
    took = []
    for number in range(3):
        started = time.monotonic()
        subprocess.run(
            [*command, "--run", str(tmp_path / str(number))], cwd=ROOTS[0], check=True, capture_output=True
        )
        took.append(time.monotonic() - started)
    assert min(took) < 6.0


def _number(record: dict) -> int:
    return record["episode"]
