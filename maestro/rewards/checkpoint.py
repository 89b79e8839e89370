"""The state of a fit between two epochs, on disk, so that a fit that was killed loses little."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

EVERY_S = 15.0
"""Fits shorter than this are simply done again."""


class Checkpoint:
    """One file; without a path, nothing is kept."""

    def __init__(self, path: Path | None, identity: str) -> None:
        """`identity` says of what data and config the state is; a state of another identity does not count."""
        self._path, self._identity = path, identity
        self._saved_at = time.monotonic()

    def load(self, device: torch.device) -> dict[str, Any]:
        """Give what was saved last; empty where there is nothing, or nothing that can be used here."""
        if self._path is None or not self._path.is_file():
            return {}
        try:
            saved = torch.load(self._path, map_location=device, weights_only=True)
        except Exception:  # noqa: BLE001 - torch raises anything for a damaged file, and the fit begins anew then
            return {}
        return saved["state"] if isinstance(saved, dict) and saved.get("identity") == self._identity else {}

    def save(self, state: Callable[[], dict[str, Any]]) -> None:
        """Keep the state if the last one is old enough; a disk that is full costs the checkpoint and not the fit."""
        if self._path is None or time.monotonic() - self._saved_at < EVERY_S:
            return
        self._saved_at = time.monotonic()
        temporary = self._path.with_name(self._path.name + ".tmp")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            torch.save({"identity": self._identity, "state": state()}, temporary)
            os.replace(temporary, self._path)
        except (OSError, RuntimeError):  # torch turns some failures of writing into RuntimeError
            with contextlib.suppress(OSError):
                temporary.unlink()

    def remove(self) -> None:
        """Forget the state: the fit is over."""
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
