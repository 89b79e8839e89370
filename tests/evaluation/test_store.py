"""A run folder: what continues, what is refused, and what survives."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from maestro.content import shipped_root
from maestro.errors import RecordError, RunError
from maestro.evaluation.episode import read_episode
from maestro.evaluation.games import Setup
from maestro.evaluation.play import play_here
from maestro.evaluation.store import EvaluationRun, default_folder, episode_path, identity
from maestro.options.load import sign_folder

ROOTS = (shipped_root(),)


def setup(
    seed: int = 0, policy: str = "reference", roots: tuple[Path, ...] = ROOTS, num_games: int = 2
) -> Setup:
    return Setup("locked_door", policy, seed, num_games, roots)


def play_into(folder: Path, numbers: list[int], num_episodes: int = 6, given: Setup | None = None) -> None:
    given = given or setup()
    with EvaluationRun(given, num_episodes, folder) as run:
        for outcome in play_here(given, numbers):
            run.add(outcome)


def test_what_was_played_is_not_missing_any_more(tmp_path: Path):
    play_into(tmp_path / "run", [0, 2])
    with EvaluationRun(setup(), 6, tmp_path / "run") as run:
        assert run.missing == [1, 3, 4, 5]
        assert [record.episode for record in run.records] == [0, 2]
        assert run.read_file(2).record == run.records[1]


def test_fewer_and_more_episodes_are_the_same_evaluation(tmp_path: Path):
    play_into(tmp_path / "run", [0, 2, 5])
    with EvaluationRun(setup(), 3, tmp_path / "run") as run:
        assert run.missing == [1]
        assert [record.episode for record in run.records] == [0, 2]
    with EvaluationRun(setup(), 8, tmp_path / "run") as run:
        assert run.missing == [1, 3, 4, 6, 7]


def test_a_file_without_its_record_is_played_again(tmp_path: Path):
    """The process was killed between the two."""
    play_into(tmp_path / "run", [0, 1])
    path = tmp_path / "run" / "episodes.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0])
    (tmp_path / "run" / "episodes" / "1.npz").write_bytes(b"half")
    kept = json.loads(lines[0])["episode"]
    with EvaluationRun(setup(), 2, tmp_path / "run") as run:
        assert run.missing == [1 - kept]
    play_into(tmp_path / "run", [1 - kept], num_episodes=2)
    assert read_episode(episode_path(tmp_path / "run", 1)).record.episode == 1


def test_a_half_written_record_is_played_again(tmp_path: Path):
    play_into(tmp_path / "run", [0, 1])
    path = tmp_path / "run" / "episodes.jsonl"
    content = path.read_bytes()
    path.write_bytes(content[:-40])
    with EvaluationRun(setup(), 2, tmp_path / "run") as run:
        assert len(run.missing) == 1
        for outcome in play_here(setup(), run.missing):
            run.add(outcome)
    assert sorted(json.loads(line)["episode"] for line in path.read_text().splitlines()) == [0, 1]


def test_a_damaged_record_is_named_and_the_run_is_free_again(tmp_path: Path):
    play_into(tmp_path / "run", [0, 1])
    path = tmp_path / "run" / "episodes.jsonl"
    good = path.read_text()
    path.write_text('{"episode": 0}\n' + good)
    for _ in range(2):
        with pytest.raises(RecordError, match=r"episodes.jsonl: record 1: seeds"):
            EvaluationRun(setup(), 2, tmp_path / "run")
    path.write_text(good)
    with EvaluationRun(setup(), 2, tmp_path / "run") as run:
        assert run.missing == []


@pytest.mark.parametrize(
    ("other", "key"), [({"seed": 1}, "seed = 0"), ({"policy": "random"}, "policy_identity = 'reference'")]
)
def test_another_configuration_is_refused_with_its_key(other: dict, key: str, tmp_path: Path):
    play_into(tmp_path / "run", [0])
    with pytest.raises(RunError, match=key):
        EvaluationRun(setup(**other), 6, tmp_path / "run")


def test_changed_code_is_another_evaluation(tmp_path: Path):
    task = tmp_path / "content" / "meta_policies" / "locked_door"
    shutil.copytree(shipped_root() / "meta_policies" / "locked_door", task)
    roots = (tmp_path / "content", *ROOTS)
    play_into(tmp_path / "run", [0], given=setup(roots=roots))
    before = default_folder(setup(roots=roots), identity(setup(roots=roots)))
    (task / "policy.py").write_text((task / "policy.py").read_text() + "\n# changed\n")
    sign_folder(task, "test")
    with pytest.raises(RunError, match=r"meta_policies/locked_door/policy\.py"):
        EvaluationRun(setup(roots=roots), 6, tmp_path / "run")
    assert default_folder(setup(roots=roots), identity(setup(roots=roots))) != before


def test_a_policy_is_the_same_however_its_path_is_spelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("def make_skill_policy(num_games): ...\n")
    names = ["mine.py", "./mine.py", str(tmp_path / "mine.py"), "here/../mine.py"]
    folders = {default_folder(setup(policy=name), identity(setup(policy=name))) for name in names}
    assert len(folders) == 1 and next(iter(folders)).name.startswith("eval-locked_door-mine-")
    for name in names:
        EvaluationRun(setup(policy=name), 5, tmp_path / "one").run.close()
    Path("mine.py").write_text("def make_skill_policy(num_games): return None\n")
    with pytest.raises(RunError, match="policy_identity"):
        EvaluationRun(setup(policy="mine.py"), 5, tmp_path / "one")


def test_the_default_folder_follows_from_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MAESTRO_RUNS", str(tmp_path))
    first = default_folder(setup(), identity(setup()))
    assert first.parent == tmp_path
    assert first.name.startswith("eval-locked_door-reference-")
    assert default_folder(setup(num_games=7), identity(setup(num_games=7))) == first
    assert default_folder(setup(seed=1), identity(setup(seed=1))) != first


def test_two_processes_cannot_write_one_run(tmp_path: Path):
    with EvaluationRun(setup(), 2, tmp_path / "run"), pytest.raises(RunError, match="another process"):
        EvaluationRun(setup(), 2, tmp_path / "run")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        EvaluationRun(setup(), 2, tmp_path / "file" / "run")


def test_an_episode_that_cannot_be_written_leaves_no_record(tmp_path: Path):
    with EvaluationRun(setup(), 2, tmp_path / "run") as run:
        (tmp_path / "run" / "episodes").write_text("a file where the folder should be")
        (outcome,) = play_here(setup(), [0])
        with pytest.raises((RecordError, RunError), match="cannot be written"):
            run.add(outcome)
        assert run.missing == [0, 1]
