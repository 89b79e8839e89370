"""The state of a fit between two epochs, on disk, so that a fit that was killed goes on."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

_VERSION = 2
"""Raised whenever the same state would lead to another model."""


class Checkpoint:
    """One file; without a path, nothing is kept."""

    def __init__(self, path: Path | None, identity: str, notice: Callable[[str], None]) -> None:
        """`identity` says of what data and config the state is; a state of another identity does not count.

        `notice` hears why a file is not used, or cannot be written.
        """
        self._path, self._identity, self._notice = path, f"{_VERSION} {identity}", notice

    def load(self, device: torch.device) -> dict[str, Any]:
        """Give what was saved last; empty where there is nothing, or nothing that can be used here."""
        if self._path is None or not self._path.is_file():
            return {}
        try:
            saved = torch.load(self._path, map_location=device, weights_only=True)
            identity, state = saved["identity"], saved["state"]
        except Exception:  # noqa: BLE001 - torch raises anything for a damaged file, and the fit begins anew then
            self._notice(f"{self._path} is damaged: the fit begins anew")
            return {}
        if identity != self._identity:
            self._notice(f"{self._path} is of another fit (other data or settings): this one begins anew")
            return {}
        return state

    def save(self, state: dict[str, Any]) -> None:
        """Keep the state; a disk that is full costs the checkpoint and not the fit."""
        if self._path is None:
            return
        temporary = self._path.with_name(self._path.name + ".tmp")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(temporary, "wb") as file:
                torch.save({"identity": self._identity, "state": state}, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self._path)
        except (OSError, RuntimeError) as error:  # torch turns some failures of writing into RuntimeError
            self._notice(f"no checkpoint could be written: {error}")
            with contextlib.suppress(OSError):
                temporary.unlink()
