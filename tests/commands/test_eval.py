"""`maestro eval` as its users meet it: tables, JSON, stopping and continuing, and every kind of bad input."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from maestro.cli import main
from maestro.content import shipped_root
from maestro.evaluation.episode import read_episode
from maestro.evaluation.replay import verify
from maestro.options.load import VALIDATOR_VERSION, sign_folder
from maestro.options.provenance import sign

ROOT = shipped_root()
POLICY = """
class Policy:
    def select_skill(self, state, finished, startable):
        {extra}
        if "opener" in startable:
            return "opener"
        return "keyfinder" if state.num_keys == 0 else "eastwalker"
"""


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MAESTRO_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("COLUMNS", "110")
    return tmp_path / "runs"


def evaluate(*arguments: str) -> int:
    return main(["eval", "--target", "locked_door", "--workers", "0", *arguments])


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]


def own_content(folder: Path, extra: str) -> Path:
    task = folder / "content" / "meta_policies" / "locked_door"
    shutil.copytree(ROOT / "meta_policies" / "locked_door", task)
    (task / "policy.py").write_text(POLICY.replace("{extra}", extra))
    sign_folder(task, "test")
    return folder / "content"


def test_the_table_has_success_skills_and_files(capsys: pytest.CaptureFixture[str]):
    assert evaluate("--episodes", "10") == 0
    out, err = capsys.readouterr()
    assert "100.0 % (72.2 to 100.0)" in out
    assert "keyfinder" in out
    assert "success 10" in out
    assert "report.html" in out
    assert "maestro watch" in out
    assert "locked_door: 0/10 episodes" in err


def test_json_is_one_object_with_the_promised_keys(runs: Path, capsys: pytest.CaptureFixture[str]):
    assert evaluate("--episodes", "5", "--seed", "3", "--policy", "random", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["target"], found["policy"], found["episodes"], found["seed"]) == (
        "locked_door",
        "random",
        5,
        3,
    )
    assert len(found["seeds"]) == 5
    assert set(found["success"]) == {"true", "compatible"}
    for row in found["success"].values():
        assert set(row) == {"mean", "interval"}
        assert row["interval"][0] <= row["mean"] <= row["interval"][1]
    assert found["published"] is None
    assert found["complete"] is True
    folder = Path(found["run"])
    assert folder.parent == runs
    assert json.loads((folder / "summary.json").read_text()) == found
    assert (folder / "report.html").read_text().startswith("<!DOCTYPE html>")


def test_the_same_command_again_plays_nothing_twice(runs: Path, capsys: pytest.CaptureFixture[str]):
    assert evaluate("--episodes", "4", "--json") == 0
    first = json.loads(capsys.readouterr().out)
    assert evaluate("--episodes", "4", "--json") == 0
    second = json.loads(capsys.readouterr().out)
    assert second["speed"]["steps"] == 0
    assert second["success"] == first["success"]
    assert evaluate("--episodes", "6", "--json") == 0
    third = json.loads(capsys.readouterr().out)
    assert third["episodes"] == 6
    assert third["seeds"][:4] == first["seeds"]
    assert sorted(record["episode"] for record in records(Path(third["run"]))) == list(range(6))
    assert len(list(runs.iterdir())) == 1


def test_skills_are_told_apart_by_their_competence(capsys: pytest.CaptureFixture[str]):
    assert evaluate("--episodes", "8", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    for skill in ("keyfinder", "opener"):
        success = found["skills"][skill]["success"]
        assert (success["mean"], success["reached"], success["tried"]) == (1.0, 8, 8)
    assert found["skills"]["opener"]["total_activations"] == 8
    assert found["refused_share"] == 0.0
    assert evaluate("--episodes", "8") == 0
    assert "keyfinder num_keys rose" in capsys.readouterr().out


def test_records_of_an_older_release_are_continued(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    here = tmp_path / "here"
    assert evaluate("--episodes", "3", "--run", str(here)) == 0
    old = records(here)
    for record in old:
        for use in record["skills"].values():
            del use["success_is"], use["reached"]
    (here / "episodes.jsonl").write_text("".join(json.dumps(record) + "\n" for record in old))
    assert evaluate("--episodes", "3", "--run", str(here)) == 0
    capsys.readouterr()
    assert evaluate("--episodes", "3", "--run", str(here), "--json") == 0
    skill = json.loads(capsys.readouterr().out)["skills"]["opener"]
    assert (skill["success"], skill["total_activations"]) == (None, 3)
    assert evaluate("--episodes", "5", "--run", str(here), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["episodes"] == 5
    assert found["skills"]["opener"]["success"]["tried"] == 2  # the two that were played anew


def test_a_success_file_with_a_mistake_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    skill = tmp_path / "content" / "skills" / "opener"
    shutil.copytree(ROOT / "skills" / "opener", skill)
    for text, expected in (
        ("any.door_opn = 'rose'", "did you mean 'door_open'"),
        ("any.message = 'rose'", "message is no number"),
        ("any.door_open = 'grew'", "the value is 'grew'"),
        ("", "it says nothing"),
        ("some.door_open = 'rose'", "unknown key 'some'"),
    ):
        (skill / "success.toml").write_text(text)
        assert evaluate("--content", str(tmp_path / "content")) == 1
        assert expected in capsys.readouterr().err


def test_recorded_episodes_replay(tmp_path: Path):
    assert evaluate("--episodes", "3", "--policy", "random", "--run", str(tmp_path / "here")) == 0
    for number in range(3):
        assert verify(read_episode(tmp_path / "here" / "episodes" / f"{number}.npz")) == []


def test_several_tasks_give_one_object(second_door: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    arguments = [
        "--workers",
        "0",
        "--episodes",
        "3",
        "--content",
        str(second_door),
        "--run",
        str(tmp_path / "both"),
    ]
    assert main(["eval", "--target", "locked_door,second_door", "--json", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["target"] == "locked_door,second_door"
    assert found["episodes"] == 6
    assert set(found["tasks"]) == set(found["success"]) == {"locked_door", "second_door"}
    assert (tmp_path / "both" / "second_door" / "episodes.jsonl").exists()
    assert found["skills"]["opener"]["total_activations"] == 6
    assert found["skills"]["opener"]["success"]["mean"] == 1.0
    assert 'id="second_door"' in Path(found["report"]).read_text()
    assert main(["eval", "--target", "locked_door,second_door", *arguments]) == 0
    table = capsys.readouterr().out
    assert "second_door" in table
    assert "compatible (95 %)" in table
    assert "opener" in table
    assert found["tasks"]["second_door"]["speed"]["tasks_at_once"] == 2
    assert found["tasks"]["second_door"]["speed"] == found["tasks"]["locked_door"]["speed"]


def test_a_task_that_is_named_twice_is_played_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    arguments = ["--episodes", "2", "--workers", "0", "--run", str(tmp_path / "here"), "--json"]
    assert main(["eval", "--target", "locked_door, locked_door", *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 2


def test_an_error_in_generated_code_ends_one_episode_and_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    content = own_content(tmp_path, "state.position // (state.num_keys - 1 + (state.position % 4 > 0))")
    assert evaluate("--episodes", "12", "--content", str(content)) == 0
    out = capsys.readouterr().out
    assert "ZeroDivisionError" in out
    assert "policy.py:4" in out
    assert "error" in out
    assert "success" in out


def test_code_that_cannot_be_loaded_is_refused_before_anything_is_played(
    tmp_path: Path, runs: Path, capsys: pytest.CaptureFixture[str]
):
    content = own_content(tmp_path, "pass")
    (content / "meta_policies" / "locked_door" / "policy.py").write_text("def policy(: pass")
    folder = content / "meta_policies" / "locked_door"
    sign(folder, author="test", state_version=1, validator_version=VALIDATOR_VERSION, skills=())
    assert evaluate("--content", str(content)) == 1
    assert "policy.py:1" in capsys.readouterr().err
    assert not runs.exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--target", "locked_dor"], "did you mean 'locked_door'"),
        (["--policy", "refrence"], "did you mean 'reference'"),
        (["--policy", "nowhere/policy.py"], "there is no policy 'nowhere/policy.py'"),
        (["--episodes", "0"], "--episodes: the value is 0. Expected: at least 1"),
        (["--seed", "-1"], "--seed: the value is -1"),
        (["--workers", "-2"], "--workers: the value is -2"),
        (["--content", "/nowhere"], "/nowhere: the content folder does not exist"),
        (["--run", "/proc/run"], "cannot be"),
    ],
)
def test_bad_input_is_answered(
    arguments: list[str], text: str, runs: Path, capsys: pytest.CaptureFixture[str]
):
    assert evaluate(*arguments) == 1
    out, err = capsys.readouterr()
    assert text in err
    assert "Traceback" not in err
    assert out == ""
    assert not runs.exists()


def test_a_task_with_a_wrong_key_or_type_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    content = own_content(tmp_path, "pass")
    path = content / "meta_policies" / "locked_door" / "task.toml"
    good = path.read_text()
    for old, new, text in (
        ("max_steps = 100", 'max_steps = "100"', "task.toml: max_steps"),
        ("max_steps = 100", "max_step = 100", "unknown key 'max_step'"),
        ('"door_opened"', '"door_open"', "unknown success test 'door_open'"),
        ('fallback = "eastwalker"', 'fallback = "eastwalkr"', "did you mean 'eastwalker'"),
    ):
        assert old in good
        path.write_text(good.replace(old, new))
        assert evaluate("--content", str(content)) == 1
        assert text in capsys.readouterr().err


def test_a_run_of_another_configuration_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    here = ["--run", str(tmp_path / "here"), "--episodes", "2"]
    assert evaluate(*here) == 0
    assert evaluate(*here, "--seed", "1") == 1
    assert "the run was started with seed = 0, and now seed = 1" in capsys.readouterr().err


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_the_tables_fit_the_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert evaluate("--episodes", "4") == 0
    lines = [
        line for line in capsys.readouterr().out.splitlines() if not line.startswith(("report", "watch"))
    ]
    assert max(map(len, lines)) <= columns
