"""Keep every message and reply of a generation, verbatim, one JSON line each, in a file that only grows."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codegen.errors import TranscriptError

_SECRET_NAME = re.compile(r"key|token|secret|password|credential", re.IGNORECASE)
_SECRET_TEXT = re.compile(
    r"\b(hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|AKIA[A-Z0-9]{16})\b"
    r"|(?<=Bearer )[A-Za-z0-9._~+/=-]{8,}"
)
_HIDDEN = "[hidden]"


@dataclass(frozen=True)
class TranscriptPart:
    """What was read back: the entries in order, and how many lines were damaged and left out."""

    entries: tuple[dict[str, Any], ...]
    num_damaged: int


class Transcript:
    """Append entries to a file. Each is written by one call of the system, so that lines of several writers do not
    mix; a line that a crash tore off stays damaged by itself.

    Values of environment variables that look like secrets, and texts of the known shapes of keys, are hidden.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock

    def add(self, kind: str, **content: Any) -> None:
        """Append one entry; `content` must be JSON. Raises TranscriptError where it cannot be written."""
        entry = {"time": round(self._clock(), 3), "kind": kind, **content}
        secrets = environment_secrets(os.environ)
        line = json.dumps(hide(entry, secrets), ensure_ascii=True)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                data = (b"\n" if _is_torn(descriptor) else b"") + line.encode("ascii") + b"\n"
                if os.write(descriptor, data) != len(data):
                    raise TranscriptError(f"{self.path}: the disk is full")
            finally:
                os.close(descriptor)
        except OSError as error:
            raise TranscriptError(f"{self.path}: cannot be written: {error.strerror}") from None


def read_transcript(path: Path) -> TranscriptPart:
    """Read a transcript; lines that are no JSON objects are counted and left out.

    Raises TranscriptError for a file that cannot be read at all.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise TranscriptError(f"{path}: cannot be read: {error.strerror}") from None
    entries: list[dict[str, Any]] = []
    num_damaged = 0
    for line in lines:
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if isinstance(entry, dict):
            entries.append(entry)
        else:
            num_damaged += 1
    return TranscriptPart(tuple(entries), num_damaged)


def environment_secrets(environment: Mapping[str, str]) -> tuple[str, ...]:
    """List the values of variables whose names say that they are secret, the longest first."""
    values = {value for name, value in environment.items() if _SECRET_NAME.search(name) and len(value) >= 8}
    return tuple(sorted(values, key=len, reverse=True))


def hide(value: Any, secrets: tuple[str, ...]) -> Any:
    """Replace secrets in all texts of a JSON value."""
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, _HIDDEN)
        return _SECRET_TEXT.sub(_HIDDEN, value)
    if isinstance(value, Mapping):
        return {hide(str(key), secrets): hide(each, secrets) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [hide(each, secrets) for each in value]
    return value


def _is_torn(descriptor: int) -> bool:
    """Tell whether the file ends in the middle of a line."""
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
