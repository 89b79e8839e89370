"""One running copy of NetHack: its files, its options, its private engine, and pages shared with its siblings.

NLE loads a copy of the engine for every instance and takes its options from one string. An options *file* can say
more (exceptions from autopickup, hidden messages), and a file needs the string to be its path and nothing else; so
instances are made here directly on NLE's compiled core, and no installed file is touched.
"""

from __future__ import annotations

import _ctypes
import ctypes
import functools
import mmap
import os
import struct
import sys
import tempfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from maestro.envs.nethack.clock import BIRTHDAY, stop_clock
from maestro.envs.nethack.native import ENGINE_PATH, GAME_FILES, nethack, pynethack
from maestro.envs.nethack.patching import address_of
from maestro.envs.nethack.unseen import draw_nothing
from maestro.errors import EngineError

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]
_MAP_FIXED = 0x10
_TOLD_OF_GAMES = ("record", "logfile", "xlogfile")
"""Files to which every game that ends is added. The next one must not find them: it reads its ghosts and statues there."""

OBSERVATION_DESC = nethack.OBSERVATION_DESC
"""Name to shape and dtype of the arrays the engine can fill. Source: nle.nethack."""


class Instance:
    """A private copy of the engine with its own folder of game files, started anew by every `restart`."""

    def __init__(
        self, character: str, buffers: dict[str, np.ndarray], *, wizard: bool = False, overview: bool = True
    ):
        """Prepare the files; the game itself begins with `restart`.

        `buffers` are the arrays (one game's rows) the engine writes its observations into from now on; without
        `overview`, a game that is not drawn does not keep what #overview lists.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="maestro-nethack-")
        folder = self._folder.name
        os.symlink(os.path.join(GAME_FILES, "nhdat"), os.path.join(folder, "nhdat"))
        for name in ("perm", *_TOLD_OF_GAMES):
            open(os.path.join(folder, name), "wb").close()
        os.mkdir(os.path.join(folder, "save"))
        options = resources.files("maestro.envs.nethack").joinpath("nethackrc").read_text()
        options += _character_options(character) + ("OPTIONS=playmode:debug\n" if wizard else "")
        path = os.path.join(folder, "nethackrc")
        with open(path, "w") as file:
            file.write(options)
        self._shared_file = _engine_file("tty_chars" in buffers, overview)
        self._file, self.library_path = _copy_of_engine(folder, self._shared_file)
        self._engine: Any = pynethack.Nethack(self.library_path, folder, "@" + path, True)
        self._buffers = buffers
        self._engine.set_buffers(**buffers)
        self.send: Callable[[int], None] = self._engine.step
        """Send one key to the running game."""
        self.is_done: Callable[[], bool] = self._engine.done

    def restart(self, seeds: tuple[int, int] | None, wizkit: str = "") -> None:
        """Begin a new game, with `seeds` (core, display) or, without, with seeds of the engine's own.

        `wizkit` (wizard mode): names of objects to carry from the start, one per line.
        """
        if self._engine is None:
            raise EngineError("this game was closed", where="Instance.restart", hint="make a new world")
        if seeds is not None:
            self._engine.set_initial_seeds(*seeds, False)
        if wizkit:
            self._engine.set_wizkit(wizkit)
        for name in _TOLD_OF_GAMES:
            os.truncate(os.path.join(self._folder.name, name), 0)
        self._engine.reset()
        if sys.platform == "linux":
            share_read_only_pages(self.library_path, self._shared_file)
            born = _load_address(self.library_path) + _birthday_address()
            ctypes.c_int64.from_address(born).value = BIRTHDAY

    def seeds(self) -> tuple[int, int]:
        """Return the seeds (core, display) that the running game's random numbers began with, or were last given."""
        core, display, _ = self._engine.get_seeds()
        return core, display

    def reseed(self, core: int, display: int) -> None:
        """Let the running game's random numbers go on from other seeds."""
        self._engine.set_seeds(core, display, False)

    def how_done(self) -> str:
        """Return how the game ended as NetHack names it: 'DIED', 'STARVING', 'ESCAPED', 'QUIT', ..."""
        return self._engine.how_done().name

    def close(self) -> None:
        """End the game and remove its files. Harmless when called twice."""
        if self._engine is None:
            return
        self._engine.close()
        self._engine = None
        self._file.close()
        self._folder.cleanup()


def _character_options(character: str) -> str:
    """Word a character ('mon-hum-neu-mal': role, race, alignment, gender; '@': chance) as options of the game."""
    parts = ["random"] * 4 if character == "@" else character.split("-")
    pairs = zip(("role", "race", "align", "gender"), parts, strict=True)
    return "OPTIONS=name:Agent," + ",".join(f"{key}:{value}" for key, value in pairs) + "\n"


def _copy_of_engine(folder: str, engine: int):
    """Copy the engine's library to a file without a name and return (open file, path to load it by)."""
    if hasattr(os, "memfd_create"):
        file = os.fdopen(os.memfd_create("nle.so"), "w+b")
    else:
        file = tempfile.TemporaryFile(suffix="libnethack.so", dir=folder)  # noqa: SIM115 - the caller closes it
    file.write(os.pread(engine, os.fstat(engine).st_size, 0))
    file.flush()
    return file, f"/proc/self/fd/{file.fileno()}"


def share_read_only_pages(library_path: str, engine: int) -> int:
    """Map the read-only pages of a loaded copy onto `engine`, the open file it was copied from; return how many segments.

    Copies step in turn, and with private code each would push the others' out of the cache. Only segments that are
    byte for byte those of the file are shared (compared once per process); relocated ones stay private.
    """
    shared = 0
    base = _load_address(library_path)
    for offset, address, length, protection in _read_only_segments(engine):
        if not _equals_file(base + address, length, offset, engine):
            continue
        flags = mmap.MAP_PRIVATE | _MAP_FIXED
        if _LIBC.mmap(base + address, length, protection, flags, engine, offset) != base + address:
            raise EngineError(
                f"sharing pages failed: {os.strerror(ctypes.get_errno())}", where="maestro.envs.nethack"
            )
        shared += 1
    return shared


def _load_address(library_path: str) -> int:
    """Return where a loaded library lies. Its handle is a `struct link_map`, whose first field says so (glibc)."""
    handle = ctypes.CDLL(library_path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)._handle
    try:
        return ctypes.c_size_t.from_address(handle).value
    finally:
        _ctypes.dlclose(handle)  # an open handle would keep the next game from loading its own copy


@functools.cache
def _engine_file(shown: bool, overview: bool) -> int:
    """Return a descriptor of the library that instances are copies of: nle's own, with its clock stopped on Linux.

    Unless the game is `shown` on a terminal, it draws nothing there; see `draw_nothing` for `overview`.
    """
    if sys.platform != "linux":
        return os.open(ENGINE_PATH, os.O_RDONLY | os.O_CLOEXEC)
    library = stop_clock(Path(ENGINE_PATH).read_bytes())
    file = os.memfd_create("nle-for-maestro")
    with open(file, "wb", closefd=False) as copy:
        copy.write(library if shown else draw_nothing(library, overview=overview))
    return file


@functools.cache
def _birthday_address() -> int:
    """Return where the engine keeps the hero's time of birth, relative to its load address."""
    return address_of(Path(ENGINE_PATH).read_bytes(), "ubirthday")


@functools.cache
def _read_only_segments(engine: int) -> tuple[tuple[int, int, int, int], ...]:
    """Read from the library's program headers (file offset, address, length, protection) of what is never written.

    Source: ELF-64, program header table; lengths and addresses are widened to whole pages.
    """
    data = os.pread(engine, 4096, 0)
    table, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    segments = []
    for number in range(count):
        kind, flags, offset, address, _, in_file, _, _ = struct.unpack_from(
            "<IIQQQQQQ", data, table + number * size
        )
        if kind == _ELF_LOAD and not flags & _ELF_WRITABLE:
            start = address % mmap.PAGESIZE
            length = -(-(in_file + start) // mmap.PAGESIZE) * mmap.PAGESIZE
            protection = mmap.PROT_READ | (mmap.PROT_EXEC if flags & _ELF_EXECUTABLE else 0)
            segments.append((offset - start, address - start, length, protection))
    return tuple(segments)


def _equals_file(address: int, length: int, offset: int, engine: int) -> bool:
    """Say whether a segment in memory holds what the file holds; all copies are loaded alike, so one look will do."""
    known = _EQUAL_SEGMENTS.get((engine, offset))
    if known is None:
        data = os.pread(engine, length, offset).ljust(length, b"\0")
        known = _EQUAL_SEGMENTS[engine, offset] = ctypes.string_at(address, length) == data
    return known


_ELF_LOAD, _ELF_EXECUTABLE, _ELF_WRITABLE = 1, 1, 2
_EQUAL_SEGMENTS: dict[tuple[int, int], bool] = {}
