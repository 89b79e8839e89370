"""`maestro codegen` against a real vLLM server: a model of random weights never writes a module, and that is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from maestro.cli import main

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(1800)]


@pytest.fixture
def small_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Prompts that fit the tiny model's context."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "mine" / "prompts" / "codegen"
    folder.mkdir(parents=True)
    (folder / "settings.toml").write_text("max_tokens = 100\n")
    (folder / "task.j2").write_text("Write class Policy for: {{ task.instruction }}")
    (folder / "repair.j2").write_text('Mend: {{ problems | join("; ") }}')
    return tmp_path / "mine"


def test_a_conversation_is_held_and_its_failure_is_explained(vllm_server, small_prompts: Path, capsys):
    command = ["codegen", "--task", "locked_door", "--content", str(small_prompts), "--llm", vllm_server.spec]
    assert main([*command, "--attempts", "3", "--code-seed", "1", "--json"]) == 1
    (module,) = json.loads(capsys.readouterr().out)["modules"]
    assert module["reasons"][0] == "all 3 attempts were used"
    assert [attempt["stage"] for attempt in module["attempts"]] == ["extract"] * 3
    assert all(attempt["tokens"] > 100 for attempt in module["attempts"])


def test_a_prompt_that_is_too_long_is_said_with_what_to_do(vllm_server, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["codegen", "--task", "locked_door", "--llm", vllm_server.spec]) == 1
    out = capsys.readouterr().out
    assert "4096" in out and "max_tokens" in out and "settings.toml" in out
