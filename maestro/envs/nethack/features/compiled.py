"""`compiled`: numba's compiler with a cache that is found again and that never holds code of another version.

Compiling takes half a minute, loading from the cache a fraction of a second. numba looks only at the file of the
function that is called, not at those of the functions called by it, so the cache's folder is named after a hash of all
files that count. It lies in `NUMBA_CACHE_DIR` if that is set, else beside the package, else (installed read-only) in
the user's cache folder, else in the folder for temporary files. numba writes each file under another name first and
renames it, so processes that start together cannot spoil it: they compile twice at worst.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
_PACKAGE = Path(__file__).parent
_NETHACK = _PACKAGE.parent
_CONSTANTS = (_NETHACK / "keys.py", _NETHACK / "state.py", _NETHACK / "reference" / "glyphs.py")
"""Files outside this package whose constants are compiled in."""
_numba: Any = import_module("numba")  # its settings are made by loops, so no type checker knows them


def cache_folder() -> Path:
    """Return the folder for compiled code of exactly these sources, creating it."""
    digest = hashlib.sha256(_numba.__version__.encode())
    for file in (*sorted(_PACKAGE.glob("*.py")), *_CONSTANTS):
        digest.update(file.name.encode() + file.read_bytes())
    name = f"numba-{digest.hexdigest()[:16]}"
    places = [
        _PACKAGE / "__pycache__",
        Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "maestro",
        Path(tempfile.gettempdir()) / f"maestro-{os.getuid()}",
    ]
    if _numba.config.CACHE_DIR:
        places.insert(0, Path(_numba.config.CACHE_DIR))
    for place in places:
        folder = place / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK | os.X_OK) and folder.stat().st_uid == os.getuid():
            return folder
    return Path(tempfile.mkdtemp(prefix="maestro-numba-"))


CACHE_FOLDER = cache_folder()


def is_compiled() -> bool:
    """Say whether an earlier process left code of these sources."""
    return any(CACHE_FOLDER.glob("*.nbi"))


def compiled(function: Function) -> Function:
    """Compile a function when it is first called, without holding Python's lock, and keep the code on disk."""
    before = _numba.config.CACHE_DIR
    _numba.config.CACHE_DIR = str(CACHE_FOLDER)  # numba asks for it here and now
    try:
        return _numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    finally:
        _numba.config.CACHE_DIR = before
