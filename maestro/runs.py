"""A run: one folder with its configuration, its versions and its records.

    <runs>/<name>/config.json       the resolved configuration and the versions it was started with
    <runs>/<name>/sessions.jsonl    one line for every time the run was opened
    <runs>/<name>/<record>.jsonl    records, one JSON object a line, on the disk before `append_record` returns
    <runs>/<name>/.lock             held by the process that writes

A run may be killed at any point: opening it again with the same configuration continues it, and a line that was
half written is dropped. A full disk costs the record in hand and nothing that was written before.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, BinaryIO

from maestro.errors import RecordError, RunError
from maestro.versions import versions

RUNS_VARIABLE = "MAESTRO_RUNS"
_LONGEST_SHOWN = 100
"""Characters of a setting that a message repeats."""
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def runs_root(folder: Path | None = None) -> Path:
    """Choose where runs are kept: `folder` (a command's `--run`), else MAESTRO_RUNS, else ./runs."""
    return folder or Path(os.environ.get(RUNS_VARIABLE) or "runs")


class Run:
    """One run folder, open for writing by this process only.

    Use it as a context manager, or call `close`. Reading needs no Run: see `read_records` and `read_config`.
    """

    def __init__(
        self,
        name: str,
        *,
        config: Mapping[str, Any],
        root: Path | None = None,
        may_differ: Iterable[str] = (),
    ) -> None:
        """Make the folder, or open it again to continue.

        `config` must be plain JSON data. When the run exists its saved configuration has to equal `config`,
        except for the keys in `may_differ` ("num_workers", or "games.num_games" for one in a table) and in tables named there.

        Raises RunError for a folder that cannot be made or written, that another process is writing, or that
        belongs to another configuration.
        """
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", name):
            raise RunError(
                f"{name!r} is no name for a run",
                expected="letters, digits and _ . + -, starting with a letter or a digit",
            )
        self.name = name
        self.folder = (runs_root(root) / name).absolute()
        self._lock_fd: int | None = None
        self._repaired: set[str] = set()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock()
            self.continued = (self.folder / "config.json").exists()
            self._settle_config(_plain_copy(config), may_differ)
            self.append_record("sessions", {"started": _now(), "pid": os.getpid(), "versions": versions()})
        except OSError as error:
            self.close()
            raise _cannot_write(RunError, self.folder, error) from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def path(self, *parts: str) -> Path:
        """Name a file in the run folder and make the folders on the way to it."""
        path = self.folder.joinpath(*parts)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _cannot_write(RunError, path.parent, error) from error
        return path

    def append_record(self, name: str, record: Mapping[str, Any]) -> None:
        """Append `record` to `<name>.jsonl`; when this returns, the record survives a kill and a power cut.

        Numpy scalars and arrays and paths are written as plain JSON. Raises RecordError when it cannot be
        written; the file then holds exactly the records it held before, and the call may be repeated.
        """
        path = self.folder / f"{name}.jsonl"
        line = _to_json(record, path).encode() + b"\n"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)  # a name may have folders: "replays/12"
            self._repair_tail(name, path)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                _append_all(fd, line)
            finally:
                os.close(fd)
        except OSError as error:
            raise _cannot_write(RecordError, path, error) from error

    def read_records(self, name: str) -> list[dict[str, Any]]:
        """Read all records of `<name>.jsonl`, those of earlier sessions included; see `read_records`."""
        return read_records(self.folder / f"{name}.jsonl")

    def write_json(self, file_name: str, data: Any) -> Path:
        """Write a JSON file that is either the old one or the complete new one, whatever happens meanwhile."""
        path = self.path(file_name)
        return self.write_text(file_name, _to_json(data, path, indent=2) + "\n")

    def write_text(self, file_name: str, text: str) -> Path:
        """Write a text file that is either the old one or the complete new one, whatever happens meanwhile."""
        path = self.path(file_name)
        try:
            write_atomically(path, text)
        except OSError as error:
            raise _cannot_write(RecordError, path, error) from error
        return path

    def close(self) -> None:
        """Let other processes write this run; closing twice is harmless."""
        if self._lock_fd is not None:
            _open_locks.discard(self)
            os.close(self._lock_fd)
            self._lock_fd = None

    def _lock(self) -> None:
        """Hold the folder as long as this process lives: the kernel drops the lock of a killed process."""
        fd = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(fd, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(fd)
            raise RunError(
                f"the run is being written by another process (id {holder})",
                where=str(self.folder),
                hint="wait until it has ended, or give this run another name",
            ) from None
        except BaseException:
            os.close(fd)
            raise
        self._lock_fd = fd
        _open_locks.add(self)
        os.ftruncate(fd, 0)
        os.pwrite(fd, str(os.getpid()).encode(), 0)

    def _settle_config(self, config: dict[str, Any], may_differ: Iterable[str]) -> None:
        path = self.folder / "config.json"
        if not self.continued:
            document = {"name": self.name, "created": _now(), "config": config, "versions": versions()}
            write_atomically(path, _to_json(document, path, indent=2) + "\n")
            return
        check_config(self.folder, config, may_differ)

    def _repair_tail(self, name: str, path: Path) -> None:
        """Drop or complete the half line a killed process left, once a session, before anything is appended."""
        if name in self._repaired:
            return
        with contextlib.suppress(FileNotFoundError), open(path, "rb+") as file:
            tail, start = _last_line(file) if path.is_file() else (b"", 0)
            if tail and _parses(tail):
                file.seek(0, os.SEEK_END)
                file.write(b"\n")
            elif tail:
                file.truncate(start)
        self._repaired.add(name)


def _dotted(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten tables: {"games": {"seed": 0}} becomes {"games.seed": 0}."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict) and value:
            flat |= _dotted(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def read_records(path: Path) -> list[dict[str, Any]]:
    """Read a file of records; an absent file has none, and a half-written last line does not count.

    Raises RecordError, naming the line, for a damaged line before the last one.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RecordError(f"cannot be read: {error.strerror}", where=str(path)) from error
    records = []
    for number, line in enumerate(lines, 1):
        try:
            if line.strip():
                records.append(json.loads(line))
        except ValueError:
            if number == len(lines):  # no newline after it: the process was killed while it wrote
                break
            raise RecordError(
                f"the line is damaged: {line[:60].decode(errors='replace')!r}",
                where=f"{path}:{number}",
                expected="one JSON object on every line",
                hint="delete that line; what it recorded will be done again",
            ) from None
    return records


def read_config(folder: Path) -> dict[str, Any]:
    """Read a run's config.json: `name`, `created`, `config` and `versions`; raises RunError without one."""
    path = folder / "config.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise RunError(
            "there is no run here", where=str(folder), expected="a folder with a config.json"
        ) from None
    except (OSError, ValueError) as error:
        raise RunError(
            f"the file is damaged: {error}",
            where=str(path),
            expected="what the run was started with, as JSON",
            hint="put the file back from a copy; everything else in the folder is as it was. Or begin another run",
        ) from error


def check_config(folder: Path, config: Mapping[str, Any], may_differ: Iterable[str] = ()) -> None:
    """Compare what a run was started with with `config`, as opening it does; nothing for a folder that is no run yet.

    Raises RunError with the first setting that differs and is not in `may_differ`.
    """
    path = folder / "config.json"
    if not path.exists():
        return
    saved, now = _dotted(read_config(folder)["config"]), _dotted(_plain_copy(config))
    free = tuple(may_differ)
    for key in sorted(saved.keys() | now.keys()):
        if saved.get(key) == now.get(key) or any(f"{key}.".startswith(f"{name}.") for name in free):
            continue
        if 2 * len(saved.keys() & now.keys()) < min(len(saved), len(now)):
            raise RunError(
                f"the run is of another command: its settings are {_shown(', '.join(sorted(saved)))}",
                where=str(path),
                hint="give this run another folder",
            )
        raise RunError(
            f"the run was started with {key} = {_shown(saved.get(key))}, and now {key} = {_shown(now.get(key))}",
            where=str(path),
            expected="the same configuration, so that its records belong together",
            hint="give this run another name, or use the first setting again",
        )


def write_atomically(path: Path, text: str) -> None:
    """Put `text` in `path` through a file beside it, synced before it takes the name; raises OSError."""
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(
                file.fileno(), 0o666 & ~_umask()
            )  # mkstemp gives 0600; a result is for the group to read
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


_open_locks: weakref.WeakSet[Run] = weakref.WeakSet()


def _forget_locks_in_child() -> None:
    """Let go of inherited locks, so that an orphaned worker cannot keep its dead parent's run locked."""
    for run in list(_open_locks):
        run.close()


os.register_at_fork(after_in_child=_forget_locks_in_child)


def _last_line(file: BinaryIO) -> tuple[bytes, int]:
    """Give what follows the last newline, and where it begins, reading backwards and no more than needed."""
    tail, start = b"", file.seek(0, os.SEEK_END)
    while start > 0 and b"\n" not in tail:
        size = min(65_536, start)
        start = file.seek(start - size)
        tail = file.read(size) + tail
    cut = tail.rfind(b"\n") + 1
    return tail[cut:], start + cut


def _append_all(fd: int, line: bytes) -> None:
    """Write the whole line and sync it, or leave the file as it was."""
    size = os.fstat(fd).st_size
    try:
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(fd, rest) :]
        os.fsync(fd)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(fd, size)
        raise


def _cannot_write(kind: type[RunError | RecordError], path: Path, error: OSError) -> RunError | RecordError:
    if error.errno in _DISK_FULL:
        return kind(
            "cannot be written: the disk, or your share of it, is full",
            where=str(path),
            hint="free some space and give the same command again: what was recorded is kept, and it continues",
        )
    return kind(
        f"cannot be written: {error.strerror or error}",
        where=str(path),
        expected="a folder you may write in",
        hint=f"choose another one with --run DIR or {RUNS_VARIABLE}=DIR",
    )


def _to_json(data: Any, path: Path, indent: int | None = None) -> str:
    try:
        return json.dumps(data, default=_plain, allow_nan=False, indent=indent, ensure_ascii=False)
    except ValueError as error:
        raise RecordError(f"the record is not plain data: {error}", where=str(path)) from error


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numpy scalars and arrays, without importing numpy
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def _plain_copy(config: Mapping[str, Any]) -> dict[str, Any]:
    """Give the configuration as JSON will give it back, so that saved and new ones can be compared."""
    return json.loads(json.dumps(dict(config), default=_plain))


def _parses(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
