"""`maestro list`: tables and JSON."""

import json
import subprocess
import sys

import pytest

from maestro import cli


@pytest.fixture(autouse=True)
def _no_content_of_the_user(monkeypatch):
    monkeypatch.delenv("MAESTRO_CONTENT", raising=False)


def listed(capsys, *arguments):
    assert cli.main(["list", *arguments]) == 0
    return capsys.readouterr().out


def test_json_holds_the_whole_description(capsys):
    tasks = {task["name"]: task for task in json.loads(listed(capsys, "tasks", "--json"))}
    assert tasks["minetown"]["published"] == {
        "value": 7.2,
        "stderr": 0.5,
        "unit": "percent",
        "source": tasks["minetown"]["published"]["source"],
    }
    assert tasks["locked_door"]["success"] == {"true": "door_opened", "compatible": "door_message"}
    skills = json.loads(listed(capsys, "skills", "--json"))
    assert all(skill["preference"] for skill in skills)
    assert [world["name"] for world in json.loads(listed(capsys, "worlds", "--json"))] >= [
        "corridor",
        "nethack",
    ]


def test_only_one_world(capsys):
    names = [skill["name"] for skill in json.loads(listed(capsys, "skills", "--world", "corridor", "--json"))]
    assert names == ["keyfinder", "eastwalker", "opener"]
    assert [
        world["name"] for world in json.loads(listed(capsys, "worlds", "--world", "corridor", "--json"))
    ] == ["corridor"]


def test_an_unknown_world_is_an_error_and_not_an_empty_list(capsys):
    assert cli.main(["list", "skills", "--world", "nethak"]) == 1
    assert "did you mean 'nethack'?" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["skills", "tasks", "worlds"])
@pytest.mark.parametrize("columns", [60, 100])
def test_tables_fit_the_terminal_and_lose_no_name(capsys, monkeypatch, what, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    names = [row["name"] for row in json.loads(listed(capsys, what, "--json"))]
    lines = listed(capsys, what).splitlines()
    assert max(len(line) for line in lines) <= columns
    assert [line.split()[0] for line in lines[1:] if not line.startswith(" ")] == names


def test_brackets_in_a_description_are_shown(capsys, tmp_path):
    folder = tmp_path / "skills" / "a"
    folder.mkdir(parents=True)
    (folder / "skill.toml").write_text('name = "a"\ndescription = "[bold] walks"\npreference = "p"\n')
    assert "[bold] walks" in listed(capsys, "skills", "--content", str(tmp_path))


def test_worlds_are_listed_without_their_engines():
    program = (
        "import sys; sys.modules['nle'] = None; from maestro.cli import main; code = main(['list', 'worlds']);"
        "sys.exit(code or 'torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "nethack" in result.stdout
