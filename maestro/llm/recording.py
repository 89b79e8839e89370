"""Keep every reply of a model in a folder that `replay:` can answer from."""

from __future__ import annotations

import datetime
import os
import re
import tempfile
from pathlib import Path

from maestro.errors import RecordError
from maestro.llm.chat import ChatModel
from maestro.llm.exchange import SUFFIX, Exchange, exchange_of, write_exchange
from maestro.llm.messages import Outcome, Reply, Request, ServerInfo


class RecordingModel(ChatModel):
    """Another model, whose replies are written down; failures are not.

    A file is named after its question (label and key), so asking again replaces it, and several processes may record
    into one folder.
    """

    def __init__(self, model: ChatModel, folder: Path, *, author: str = "") -> None:
        super().__init__(model.spec, model.settings)
        self.folder = folder
        self.live = model.live
        self._model = model
        self._thread = model._thread  # connections belong to one event loop
        self._author = author
        self._written: dict[str, Exchange] = {}
        """By the key of the conversation up to and with the reply."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordError(f"the folder cannot be made: {error.strerror}", where=str(folder)) from None

    @property
    def servers(self) -> tuple[str, ...]:
        return self._model.servers

    def describe(self) -> list[ServerInfo]:
        return self._model.describe()

    async def answer(self, request: Request, *, server: str | None = None) -> Outcome:
        outcome = await self._model.answer(request, server=server)
        if isinstance(outcome, Reply):
            self._write(request, outcome)
        return outcome

    def _write(self, request: Request, reply: Reply) -> None:
        name = re.sub(r"[^A-Za-z0-9]+", "-", request.label).strip("-")[:80] or "exchange"
        path = self.folder / f"{name}-{request.key[:8]}{SUFFIX}"
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        exchange = exchange_of(request, reply, path, author=self._author, recorded=now)
        write_file(path, write_exchange(exchange, self._parent(request)))
        said = {"role": "assistant", "content": reply.text}
        self._written[_conversation((*request.messages, said))] = exchange

    def _parent(self, request: Request) -> Exchange | None:
        """Find the exchange that this request goes on from."""
        last = max((i for i, m in enumerate(request.messages) if m["role"] == "assistant"), default=-1)
        return self._written.get(_conversation(request.messages[: last + 1])) if last >= 0 else None


def write_file(path: Path, text: str) -> None:
    """Write a file in one step: another process sees the old or the new one; raises RecordError."""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem[:40]}-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise RecordError(
            f"the reply cannot be written: {error.strerror}",
            where=str(path),
            hint="choose another folder, or make room on the disk",
        ) from None


def _conversation(messages: tuple) -> str:
    return Request(messages).key
