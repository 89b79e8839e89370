"""Give up every right the process has, one layer after the other, after exec and before foreign code is loaded.

Set from inside rather than by `preexec_fn`, which deadlocks in parents with threads.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
from collections.abc import Mapping, Sequence

from codegen.sandbox.inside import seccomp

_NEW_USER, _NEW_NET, _NEW_IPC = 0x10000000, 0x40000000, 0x08000000
_PR_SET_NO_NEW_PRIVS, _PR_SET_DUMPABLE = 38, 4
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446
_NOBODY = 65534


def lock_down(wanted: Sequence[str], limits: Mapping[str, int]) -> dict[str, str]:
    """Apply the wanted layers; answer each with "" where it holds, or with what the kernel said against it.

    `limits` has memory_bytes, cpu_s and wall_s. The order matters: each layer still needs what the next takes away.
    """
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    steps = {
        "network": lambda: _leave_network(library),
        "privileges": _drop_privileges,
        "landlock": lambda: _forbid_files(library),
        "limits": lambda: _limit(limits),
        "seccomp": lambda: seccomp.install(library),
    }
    # Whatever happens to the parent, this process ends; with seccomp, it cannot change what the alarm does.
    signal.alarm(int(limits["wall_s"]) + 2)
    answers: dict[str, str] = {}
    for name, step in steps.items():
        if name not in wanted:
            continue
        try:
            step()
            answers[name] = ""
        except (OSError, ValueError, KeyError, AttributeError) as error:
            answers[name] = f"{type(error).__name__}: {error}"
    library.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    return answers


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _leave_network(library: ctypes.CDLL) -> None:
    """Move into a network namespace without any interface; unprivileged users need one for users as well.

    Root that may not do the first becomes nobody before the second: inside a namespace of its own its number is not
    mapped, so that it would look unprivileged while it owns everything of root's outside.
    """
    if os.geteuid() == 0:
        if library.unshare(_NEW_NET | _NEW_IPC) == 0:
            return
        _drop_privileges()
    _check(library.unshare(_NEW_USER | _NEW_NET | _NEW_IPC), "unshare")


def _drop_privileges() -> None:
    """Become nobody where the process is root in any way; elsewhere there is nothing to drop."""
    if 0 not in (*os.getresuid(), *os.getresgid()):
        return
    os.setgroups([])
    os.setresgid(_NOBODY, _NOBODY, _NOBODY)
    os.setresuid(_NOBODY, _NOBODY, _NOBODY)


def _forbid_files(library: ctypes.CDLL) -> None:
    """Let Landlock refuse every access to files, TCP and, where it can, signals to others: no exception is made."""
    abi = _check(library.syscall(_LANDLOCK_CREATE, None, 0, 1), "landlock")
    files = (1 << 13) - 1
    files |= (1 << 13) * (abi >= 2) | (1 << 14) * (abi >= 3) | (1 << 15) * (abi >= 5)
    attributes = struct.pack("Q", files)
    if abi >= 4:
        attributes += struct.pack("Q", 0b11)  # bind and connect
    if abi >= 6:
        attributes += struct.pack("Q", 0b11)  # abstract sockets and signals
    ruleset = _check(library.syscall(_LANDLOCK_CREATE, attributes, len(attributes), 0), "landlock")
    try:
        _check(library.syscall(_LANDLOCK_RESTRICT, ruleset, 0), "landlock")
    finally:
        os.close(ruleset)


def _limit(limits: Mapping[str, int]) -> None:
    """Bound memory and processor time; allow no new file, descriptor, process or core dump."""
    for name, soft, hard in (
        ("RLIMIT_AS", limits["memory_bytes"], limits["memory_bytes"]),
        ("RLIMIT_CPU", limits["cpu_s"], limits["cpu_s"] + 1),
        ("RLIMIT_FSIZE", 0, 0),
        ("RLIMIT_CORE", 0, 0),
        ("RLIMIT_NPROC", 0, 0),
        ("RLIMIT_NOFILE", 0, 0),
    ):
        resource.setrlimit(getattr(resource, name), (soft, hard))
