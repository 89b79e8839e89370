"""`maestro sign`: hand-written code runs after it was signed, and the command says what it signed."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from maestro.cli import main
from maestro.content import Content, shipped_root
from maestro.errors import GeneratedCodeError, RunError
from maestro.options import load
from maestro.options.load import load_policy, sign_folder, validate_file
from maestro.options.provenance import Origin, Provenance, hash_source
from maestro.specs import load_toml

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


# ---- signing again

LATER = Origin(model="llama", prompt_sha256="a", skills_sha256="b", attempts=2, code_seed=3)


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    """A skill's folder, both files of which a model wrote."""
    folder = tmp_path / "skills" / "keyfinder"
    shutil.copytree(shipped_root() / "skills" / "keyfinder", folder)
    origin = {"initiation.py": LATER, "termination.py": LATER.model_copy(update={"attempts": 1})}
    sign_folder(folder, "llama", origin)
    return folder


def provenance_of(folder: Path) -> Provenance:
    return load_toml(folder / "provenance.toml", Provenance)


def test_signing_unchanged_code_again_keeps_its_author_and_origin(skill: Path):
    file = skill / "provenance.toml"
    before = file.read_text()
    version = provenance_of(skill).validator_version
    file.write_text(before.replace(f"validator_version = {version}", "validator_version = 0"))
    assert main(["sign", str(skill)]) == 0
    assert file.read_text() == before


def test_a_file_that_was_changed_is_nobodys_any_more(skill: Path):
    with (skill / "initiation.py").open("a") as file:
        file.write("\n# mended\n")
    assert main(["sign", str(skill)]) == 0
    provenance = provenance_of(skill)
    assert provenance.author == "hand-written"
    assert {name: origin.attempts for name, origin in provenance.origin.items()} == {"termination.py": 1}


def test_a_named_author_answers_for_unchanged_code_too(skill: Path):
    assert main(["sign", str(skill), "--author", "Ada"]) == 0
    assert provenance_of(skill).author == "Ada"
    assert set(provenance_of(skill).origin) == {"initiation.py", "termination.py"}


def test_a_damaged_provenance_is_replaced(skill: Path):
    (skill / "provenance.toml").write_text("author = ")
    assert main(["sign", str(skill)]) == 0
    assert (provenance_of(skill).author, provenance_of(skill).origin) == ("hand-written", {})


def test_what_is_signed_is_what_was_validated(skill: Path, monkeypatch: pytest.MonkeyPatch):
    """An editor that saves between the two must not get unseen code signed."""
    path = skill / "initiation.py"
    seen = hash_source(path.read_bytes())

    def validate_then_change(*arguments: Any) -> Any:
        found = validate_file(*arguments)
        path.write_text("import os\n")
        return found

    monkeypatch.setattr(load, "validate_file", validate_then_change)
    sign_folder(skill)
    assert provenance_of(skill).source_sha256["initiation.py"] == seen


def test_a_full_disk_keeps_the_old_provenance(skill: Path, monkeypatch: pytest.MonkeyPatch):
    before = (skill / "provenance.toml").read_text()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match="cannot sign: No space left"):
        sign_folder(skill, "Ada")
    assert (skill / "provenance.toml").read_text() == before
    assert not list(skill.glob(".provenance*"))
