"""`maestro validate`: every broken rule with its place, and what to do about code that may not run yet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from maestro.cli import main
from maestro.content import shipped_root

TASK = (
    (shipped_root() / "meta_policies" / "locked_door" / "task.toml").read_text().replace("locked_door", "dig")
)
POLICY = (
    "class Policy:\n    def select_skill(self, state, finished, startable):\n        return 'keyfinder'\n"
)


@pytest.fixture
def task(tmp_path: Path) -> Path:
    folder = tmp_path / "meta_policies" / "dig"
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text(TASK)
    (folder / "policy.py").write_text(POLICY)
    return folder


def test_valid_code_is_signed_next_and_then_runs(task: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["validate", str(task)]) == 0
    out = capsys.readouterr().out
    assert f"{task / 'policy.py'}: valid, but there is no provenance.toml beside it" in out
    command = out.splitlines()[-1].removeprefix("Next: maestro ").split()
    assert main(command) == 0
    capsys.readouterr()
    assert main(["validate", str(task / "policy.py")]) == 0
    assert capsys.readouterr().out == f"{task / 'policy.py'}: valid and signed\n"

    (task / "policy.py").write_text(POLICY.replace("keyfinder", "opener"))
    assert main(["validate", str(task)]) == 0
    assert "valid, but the file was changed after" in capsys.readouterr().out


def test_every_broken_rule_has_its_line_and_a_hint(task: Path, capsys: pytest.CaptureFixture[str]):
    (task / "policy.py").write_text(
        "import os\n" + POLICY.replace("'keyfinder'", "'keyfnder'") + "        state.hp\n"
    )
    assert main(["validate", str(task), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    (file,) = answer["files"]
    assert not answer["ok"] and not file["valid"] and not file["may_run"]
    found = {(each["rule"], each["line"]) for each in file["violations"]}
    assert {("imports", 1), ("skill-names", 4), ("state-fields", 5)} <= found
    assert main(["validate", str(task)]) == 1
    out = capsys.readouterr().out
    assert "policy.py:4:16: 'keyfnder' is not a skill" in out and "Did you mean 'keyfinder'?" in out
    assert "1 of 1 files break rules." in out
    assert main(["sign", str(task)]) == 1
    assert "is not signed" in capsys.readouterr().err


def test_everything_that_ships_is_valid_and_signed(capsys: pytest.CaptureFixture[str]):
    root = shipped_root()
    assert main(["validate", str(root / "skills"), str(root / "meta_policies"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    # codegen's, the two curricula, and two more policies for each of nine tasks
    assert len(answer["files"]) == 28 + 2 + 18
    assert all(file["may_run"] for file in answer["files"])


def test_a_skill_of_ones_own_counts_among_the_skills(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "skills" / "digger"
    folder.mkdir(parents=True)
    (folder / "skill.toml").write_text(
        'name = "digger"\nworld = "corridor"\ndescription = "digs"\npreference = "digging"\n'
    )
    (folder / "initiation.py").write_text("def can_initiate(state):\n    return True\n")
    (folder / "termination.py").write_text(
        "def should_terminate(state, start, startable):\n    return 'digger' not in startable\n"
    )
    assert main(["validate", str(folder)]) == 0
    assert main(["sign", str(folder)]) == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plan.py", "the name does not say what this file is"),
        ("", "nothing was named"),
        ("polcy.py", "there is no such file or folder"),
        (".", "there is no code of a skill or task in it"),
    ],
)
def test_wrong_paths_are_answered(tmp_path: Path, name: str, text: str, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "plan.py").write_text(POLICY)
    assert main(["validate", *([str(tmp_path / name)] if name else [])]) == 1
    assert text in capsys.readouterr().err


def test_bytes_that_are_no_text_are_answered(task: Path, capsys: pytest.CaptureFixture[str]):
    (task / "policy.py").write_bytes(b"\xff\xfe")
    assert main(["validate", str(task)]) == 1
    assert "not UTF-8 text" in capsys.readouterr().err
