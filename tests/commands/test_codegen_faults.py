"""`maestro codegen` where a file or folder gets in its way: one line for people, and nothing half done."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import maestro.commands._codegen.write as write
import maestro.commands.codegen as command
from codegen.errors import ContractError, SandboxError
from codegen.transcript import Transcript
from maestro.cli import main
from maestro.content import Content
from maestro.options.load import load_policy

TASK = ["codegen", "--task", "locked_door"]


def files(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "fault", [SandboxError("the sandbox was closed"), ContractError("not builtins: foo")]
)
@pytest.mark.parametrize("arguments", [TASK, ["codegen", "--all"], [*TASK, "--dry-run"]])
def test_faults_of_the_package_codegen_are_said_in_one_line(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys, fault: Exception, arguments: list[str]
):
    def fail(content: Content) -> list:
        raise fault

    monkeypatch.setattr(command, "_units", lambda config, content: [fail])
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert str(fault) in said.out + said.err
    assert "Traceback" not in said.err


def test_a_transcript_that_cannot_be_written_is_said(place: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    add = Transcript.add

    def gone(self: Transcript, kind: str, **content: object) -> None:
        self.path.unlink(missing_ok=True)
        self.path.mkdir()
        add(self, kind, **content)

    monkeypatch.setattr(Transcript, "add", gone)
    assert main(TASK) == 1
    error = capsys.readouterr().err
    assert "the conversation cannot be kept" in error and "--content" in error
    assert "Traceback" not in error


def test_a_failed_conversation_that_cannot_be_kept_is_said(place: Path, say, capsys):
    (place / "content" / "transcripts" / "locked_door.failed.jsonl").mkdir(parents=True)
    say("I am sorry.")
    assert main([*TASK, "--attempts", "1"]) == 1
    error = capsys.readouterr().err
    assert "cannot be written" in error and "Traceback" not in error


# ---- the files of a module are all there, or none of them


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("at", ["policy.py", "task.toml", "provenance.toml", "transcript.jsonl"])
@pytest.mark.parametrize("arguments", [TASK, [*TASK, "--code-seed", "3"]])
def test_a_replacement_that_fails_leaves_no_description_behind(
    place: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException, at: str, arguments: list[str]
):
    """A task.toml without its policy would stand before the task that ships."""
    replace = os.replace

    def fail(source: Path, target: Path) -> None:
        if Path(target).name == at:
            raise fault
        replace(source, target)

    monkeypatch.setattr(write.os, "replace", fail)
    assert main(arguments) in (1, 130)
    assert not (place / "content" / "meta_policies").exists()
    assert not [name for name in files(place) if name.endswith(".new")]


def test_a_full_disk_takes_nothing_from_what_was_there(place: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    assert main(TASK) == 0
    folder = place / "content" / "meta_policies"
    before = files(folder)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write.os, "fsync", full)
    assert main([*TASK, "--code-seed", "3"]) == 1
    assert "No space left" in capsys.readouterr().err
    assert files(folder) == before
    assert not (folder / "locked_door" / "seed3").exists()


def test_a_signal_during_the_replacement_waits_and_undoes_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    replace = os.replace

    def interrupted(source: Path, target: Path) -> None:
        if Path(target).name == "policy.py":
            os.kill(os.getpid(), signal.SIGINT)
        replace(source, target)

    monkeypatch.setattr(write.os, "replace", interrupted)
    assert main(TASK) == 130
    load_policy(Content.find(place / "content").task("locked_door"))
    assert (place / "content" / "meta_policies" / "locked_door" / "transcript.jsonl").is_file()
