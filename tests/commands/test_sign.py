"""`maestro sign`: hand-written code runs after it was signed, and the command says what it signed."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.cli import main
from maestro.content import Content
from maestro.errors import GeneratedCodeError
from maestro.options.load import load_policy

TASK = """
name = "dig"
world = "corridor"
instruction = "Dig."
fallback = "keyfinder"

[success]
true = "door_opened"
compatible = "door_message"
"""
POLICY = (
    "class Policy:\n    def select_skill(self, state, finished, startable):\n        return 'keyfinder'\n"
)


def test_a_policy_runs_once_it_is_signed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "meta_policies" / "dig"
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text(TASK)
    (folder / "policy.py").write_text(POLICY)
    task = Content.find(tmp_path).task("dig")
    with pytest.raises(GeneratedCodeError):
        load_policy(task)

    assert main(["sign", str(folder), "--author", "Ada"]) == 0
    assert capsys.readouterr().out == f"signed {folder / 'policy.py'}\n"
    assert load_policy(task).provenance.author == "Ada"


@pytest.mark.parametrize(
    ("arguments", "text"), [(["nowhere"], "no folder of a skill or a task"), ([], "no folder was")]
)
def test_what_cannot_be_signed_is_said(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]):
    assert main(["sign", *arguments]) == 1
    assert text in capsys.readouterr().err
