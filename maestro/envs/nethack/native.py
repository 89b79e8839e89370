"""The one place where nle is imported: what else uses it takes it from here, and versions are told apart here only."""

from __future__ import annotations

from importlib import import_module, metadata
from typing import Any

from maestro.errors import DependencyError

SUPPORTED_NLE = ("1.0.0", "1.1.0")
"""Versions whose engines lay out their memory and files as this project expects."""

try:
    # Its classes are made by a C++ extension and its names by loops, so no type checker knows them.
    nethack: Any = import_module("nle.nethack")
    _module: Any = import_module("nle.nethack.nethack")
    pynethack: Any = import_module("nle._pynethack")
except ImportError as error:
    raise DependencyError(
        f"NetHack Learning Environment (nle) cannot be imported: {error}",
        where="maestro.envs.nethack",
        expected=f"nle {SUPPORTED_NLE[0]}",
        hint=f"pip install nle=={SUPPORTED_NLE[0]} (maestro doctor lists everything that is missing)",
    ) from error

ENGINE_PATH: str = _module.DLPATH
"""The engine's shared library."""
GAME_FILES: str = _module.HACKDIR
"""The folder with NetHack's data file."""


def check_version() -> str:
    """Return the installed version of nle; raise DependencyError for one this project was not tested with."""
    version = metadata.version("nle")
    if version not in SUPPORTED_NLE:
        raise DependencyError(
            f"nle {version} is installed",
            where="maestro.envs.nethack",
            expected="nle " + " or ".join(SUPPORTED_NLE),
            hint=f"pip install nle=={SUPPORTED_NLE[0]}",
        )
    return version
