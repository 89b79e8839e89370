"""`replay` and `replay:<folder>`: answers from recorded exchanges; offline, the same on every run.

Without a folder the replies that ship with the project are used: `replies/` in the prompt folders, a user's own
first. A question is found by the hash of its messages and sampling. Where nothing fits exactly, the answer is an
error that names the nearest recorded question and the first line that differs: silently taking a reply to another
prompt would hide that the prompt changed.

After a change of a prompt, `MAESTRO_REPLAY=renew` (or the setting `on_miss="renew"`) keeps the replies: each new
question takes over the recorded one of the same label that is nearest to it, and its file is rewritten with the new
messages. Look at the changes with `git diff` before keeping them. What ships inside an installed package is never
changed: such a reply is renewed into the first content folder of your own.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import Field

from maestro.content import CONTENT_VARIABLE, Content, shipped_root
from maestro.errors import ContentError, RecordError, SpecError
from maestro.llm.chat import ChatModel, ChatSettings
from maestro.llm.exchange import SUFFIX, Exchange, continues_of, read_exchange, write_exchange
from maestro.llm.messages import Outcome, ReplyFailed, Request, ServerInfo, shorten
from maestro.llm.recording import write_file

NAME = "replay"
MISS_VARIABLE = "MAESTRO_REPLAY"
REPLIES = "replies"
_LEAST_ALIKE = 0.2  # below this a recorded question is another question, and is not offered for renewal


def _on_miss() -> Literal["fail", "renew"]:
    value = os.environ.get(MISS_VARIABLE, "") or "fail"
    if value not in ("fail", "renew"):
        raise SpecError(f"the value is {value!r}", where=MISS_VARIABLE, expected="fail or renew")
    return "renew" if value == "renew" else "fail"


class Settings(ChatSettings):
    """Settings of replay."""

    on_miss: Literal["fail", "renew"] = Field(default_factory=_on_miss)


def open_model(rest: str, settings: Settings) -> ReplayModel:
    """Open the folder after `replay:`, or the replies that ship with the project."""
    if rest.strip():
        folder = Path(rest.strip()).expanduser()
        if not folder.is_dir():
            raise ContentError(
                "the folder of recorded replies does not exist",
                where=str(folder),
                hint="record one: any model given `record=<folder>` writes it",
            )
        return ReplayModel(f"replay:{rest.strip()}", [folder], settings)
    content = Content.find()
    folders = [folder / REPLIES for folder in content.prompt_folders()]
    own = next((root / "prompts" / REPLIES for root in content.roots if not is_packaged(root)), None)
    return ReplayModel("replay", [folder for folder in folders if folder.is_dir()], settings, own)


class ReplayModel(ChatModel):
    """Recorded replies; where two folders answer a question, the earlier one counts.

    `own` is the folder into which a reply that ships inside an installed package is renewed; None where there is none.
    """

    live = False
    settings: Settings

    def __init__(self, spec: str, folders: list[Path], settings: Settings, own: Path | None = None) -> None:
        super().__init__(spec, settings)
        self._own = own
        self.folders = folders
        self.exchanges = read_folders(folders)
        self._by_key = _index(self.exchanges)
        self._used: set[Path] = set()

    @property
    def servers(self) -> tuple[str, ...]:
        return tuple(f"replay:{folder}" for folder in self.folders) or ("replay:",)

    def describe(self) -> list[ServerInfo]:
        return [
            ServerInfo(
                f"replay:{folder}",
                models=tuple(sorted({e.author for e in self.exchanges if e.path.is_relative_to(folder)})),
            )
            for folder in self.folders
        ]

    async def answer(self, request: Request, *, server: str | None = None) -> Outcome:
        exchange = self._by_key.get(request.key)
        if exchange is None:
            return self._missed(request)
        self._used.add(exchange.path)
        return exchange.reply()

    def _missed(self, request: Request) -> Outcome:
        where = ", ".join(str(folder) for folder in self.folders) or "replay"
        if not self.exchanges:
            return ReplyFailed(
                "not_recorded", "there are no recorded replies", where, hint="name a model with --llm"
            )
        # another label is another question however alike their prompts are: most of what they say is shared
        namesakes = [e for e in self.exchanges if not request.label or e.request.label == request.label]
        near = nearest(request, namesakes or self.exchanges)
        label = f" {request.label!r}" if request.label else ""
        hint = (
            f"if only the prompt's wording changed, run this again with {MISS_VARIABLE}=renew and look at the "
            "difference; else record an answer of a real model (--llm) or write one into a file beside it"
        )
        renewable = bool(namesakes) and near.alike >= _LEAST_ALIKE and near.exchange.path not in self._used
        if self.settings.on_miss == "renew" and renewable:
            target = self._renewed_path(near.exchange, request)
            if target is not None:
                return self._renew(near.exchange, request, target)
            hint = (
                "what ships inside an installed package is never changed: name a content folder of your own in "
                f"{CONTENT_VARIABLE}, and the reply is renewed there"
            )
        what = (
            f"no reply is recorded to this question{label}; nearest is {near.exchange.path} "
            f"({near.alike:.0%} alike): {_first_difference(request, near.exchange.request)}"
        )
        if near.exchange.path in self._used:
            what += "; that reply already answered another question of this run"
        if not namesakes:
            what += "; no recorded reply has this label, and those of others are not renewed for it"
        return ReplyFailed("not_recorded", what, where, hint=hint)

    def _renewed_path(self, exchange: Exchange, request: Request) -> Path | None:
        """Choose the file of a renewed reply: its own, or one in the user's folder; None where there is no such folder."""
        if not is_packaged(exchange.path):
            return exchange.path
        if self._own is None:
            return None
        folder = next(folder for folder in self.folders if exchange.path.is_relative_to(folder))
        target = self._own / exchange.path.relative_to(folder)
        taken = target.exists()  # by a reply of the user's own, which stays
        return target.with_name(f"{target.stem}-{request.key[:8]}{SUFFIX}") if taken else target

    def _renew(self, exchange: Exchange, request: Request, target: Path) -> Outcome:
        """Let an old reply answer the new question, in the file `target`; what continues it follows."""
        by_path = {e.path: e for e in self.exchanges}
        parent = by_path.get(target.parent / exchange.continues) if exchange.continues else None
        if parent is not None and not _goes_on(request, parent):
            parent = None
        renewed = replace(
            exchange, path=target, request=request, continues=parent.path.name if parent else ""
        )
        if target != exchange.path:
            self._make_own(target.parent)
        write_file(target, write_exchange(renewed, parent))
        self.exchanges = read_folders(self.folders)
        self._by_key = _index(self.exchanges)
        self._used |= {exchange.path, target}
        return self._by_key[request.key].reply()

    def _make_own(self, folder: Path) -> None:
        """Make a folder for renewed replies, and look for replies in the user's folder first."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordError(f"the folder cannot be made: {error.strerror}", where=str(folder)) from None
        if self._own is not None and self._own not in self.folders:
            self.folders.insert(0, self._own)


def is_packaged(path: Path) -> bool:
    """Tell whether something ships inside an installed package, where nothing may be written."""
    shipped = shipped_root()
    return shipped.name == "_content" and path.resolve().is_relative_to(shipped)


@dataclass(frozen=True)
class Nearest:
    """A recorded exchange and how alike its question is, 0 to 1."""

    exchange: Exchange
    alike: float


def nearest(request: Request, exchanges: Iterable[Exchange]) -> Nearest:
    """Find the recorded question most like `request`.

    Lines are compared, and a line counts the more the fewer questions hold it: what all prompts share says nothing
    about which one is meant. The same label decides between questions that are equally alike, and weighs as much as
    the text does.
    """
    known = list(exchanges)
    lines = [_lines(exchange.request) for exchange in known]
    asked = _lines(request)
    held = Counter(line for each in [*lines, asked] for line in each)
    weight = {line: math.log(1 + (len(known) + 1) / count) for line, count in held.items()}

    def alike(index: int) -> tuple[float, float]:
        union = sum(weight[line] for line in lines[index] | asked)
        text = sum(weight[line] for line in lines[index] & asked) / union if union else 1.0
        same_label = bool(request.label) and known[index].request.label == request.label
        same_shape = len(known[index].request.messages) == len(request.messages)
        return text + same_label + 0.5 * same_shape, text

    best = max(range(len(known)), key=alike)
    return Nearest(known[best], alike(best)[1])


def read_folders(folders: Iterable[Path]) -> list[Exchange]:
    """Read every exchange below the folders, those that others continue first; raises ContentError."""
    found: dict[Path, Exchange] = {}
    for folder in folders:
        paths = [path for path in sorted(folder.rglob(f"*{SUFFIX}")) if path.name != "README.md"]
        parents = {path: continues_of(path) for path in paths}
        for path in paths:
            _read_with_parents(path, parents, found, ())
    return list(found.values())


def _read_with_parents(
    path: Path, parents: dict[Path, str], found: dict[Path, Exchange], on_the_way: tuple[Path, ...]
) -> None:
    if path in found:
        return
    if path in on_the_way:
        raise ContentError("it continues itself, by way of others", where=str(path))
    beside: dict[str, Exchange] = {}
    parent = parents.get(path, "")
    if parent and path.parent / parent in parents:
        _read_with_parents(path.parent / parent, parents, found, (*on_the_way, path))
        beside[parent] = found[path.parent / parent]
    found[path] = read_exchange(path, beside)


def _index(exchanges: Iterable[Exchange]) -> dict[str, Exchange]:
    by_key: dict[str, Exchange] = {}
    for exchange in exchanges:
        by_key.setdefault(exchange.request.key, exchange)
    return by_key


def _goes_on(request: Request, parent: Exchange) -> bool:
    before = (*parent.request.messages, {"role": "assistant", "content": parent.text})
    return tuple(map(dict, request.messages[: len(before)])) == tuple(map(dict, before))


def _lines(request: Request) -> set[tuple[str, str]]:
    return {
        (message["role"], line.strip())
        for message in request.messages
        for line in message["content"].splitlines()
        if line.strip()
    }


def _first_difference(asked: Request, recorded: Request) -> str:
    """Say where two questions part."""
    if len(asked.messages) != len(recorded.messages):
        return f"{len(asked.messages)} messages here, {len(recorded.messages)} there"
    for number, (here, there) in enumerate(zip(asked.messages, recorded.messages, strict=True), 1):
        if here["role"] != there["role"]:
            return f"message {number} is by {here['role']} here, by {there['role']} there"
        ours, theirs = here["content"].split("\n"), there["content"].split("\n")
        for line in range(max(len(ours), len(theirs))):
            mine = ours[line] if line < len(ours) else "(nothing)"
            other = theirs[line] if line < len(theirs) else "(nothing)"
            if mine != other:
                place = f"message {number}, line {line + 1}"
                return f"{place} is {shorten(mine, 80)!r} here, {shorten(other, 80)!r} there"
    return f"the messages are the same, the sampling is {asked.sampling} here, {recorded.sampling} there"
