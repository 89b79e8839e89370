"""Commands run in an empty folder, and language models that say what they were told to."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import maestro.commands.codegen as command
from maestro.content import shipped_root
from maestro.llm.chat import ChatModel, ChatSettings
from maestro.llm.messages import Reply, ReplyFailed, Usage


class Scripted(ChatModel):
    """A live model that says what it was given, one text after the other, and "yes" to every judge."""

    def __init__(self, *texts: str | ReplyFailed, verdicts: tuple[str, ...] = ()) -> None:
        super().__init__("scripted", ChatSettings())
        self.texts, self.verdicts = list(texts), list(verdicts)
        self.requests: list = []

    servers = ("scripted",)

    def describe(self):
        return []

    async def answer(self, request, *, server=None):
        self.requests.append(request)
        if request.sampling.choices:
            text = self.verdicts.pop(0) if self.verdicts else "yes"
        else:
            asked = sum(not each.sampling.choices for each in self.requests)
            text = self.texts[min(asked, len(self.texts)) - 1]
        if isinstance(text, ReplyFailed):
            return text
        return Reply(text, None, Usage(100, 50), "tiny-llama", "scripted")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MAESTRO_CONTENT", raising=False)
    return tmp_path


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scripted]:
    def use(*texts: str | ReplyFailed, verdicts: tuple[str, ...] = ()) -> Scripted:
        model = Scripted(*texts, verdicts=verdicts)
        monkeypatch.setattr(command, "load_chat_model", lambda spec, record=None: model)
        return model

    return use


@pytest.fixture
def second_door(tmp_path: Path) -> Path:
    """Make content with a second task, which differs from `locked_door` in nothing but its name."""
    content = tmp_path / "content"
    other = content / "meta_policies" / "second_door"
    shutil.copytree(shipped_root() / "meta_policies" / "locked_door", other)
    toml = (other / "task.toml").read_text().replace('"locked_door"', '"second_door"')
    (other / "task.toml").write_text(toml)
    return content
