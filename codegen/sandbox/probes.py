"""Which layers of confinement hold on this machine: each is tried alone, by doing what it must prevent."""

from __future__ import annotations

import functools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from codegen.contract import Contract, Parameter, RequiredFunction
from codegen.sandbox.outcome import Call, Limits, Returned, SandboxFailure
from codegen.sandbox.process import command, open_session


@dataclass(frozen=True)
class Layer:
    """One layer: whether it holds, and what it does or why it does not hold."""

    name: str
    active: bool
    detail: str


_PROBES = {
    "limits": (
        "memory, processor time, files and processes are bounded",
        "def probe():\n"
        "    try:\n"
        "        bytes(4 * 2**30)\n"
        "    except MemoryError:\n"
        "        return True\n"
        "    return False\n",
    ),
    "privileges": (
        "runs as an unprivileged user",
        "import posix\ndef probe():\n    return posix.geteuid() != 0\n",
    ),
    "landlock": (
        "no file can be opened",
        "import posix\n"
        "def probe():\n"
        "    try:\n"
        "        posix.open('/', posix.O_RDONLY)\n"
        "    except PermissionError:\n"
        "        return True\n"
        "    return False\n",
    ),
    "network": (
        "there is no network, not even to this machine",
        "import _socket\n"
        "def probe():\n"
        "    try:\n"
        "        _socket.socket().connect(('127.0.0.1', PORT))\n"
        "    except OSError:\n"
        "        return True\n"
        "    return False\n",
    ),
    "seccomp": (
        "system calls beyond computing are refused",
        "import posix\n"
        "def probe():\n"
        "    try:\n"
        "        child = posix.fork()\n"
        "    except PermissionError:\n"
        "        return True\n"
        "    if child == 0:\n"
        "        posix._exit(0)\n"
        "    return False\n",
    ),
}
_CONTRACT = Contract(
    "initiation", (RequiredFunction("probe", (Parameter("state", "state"),), "bool"),), (), ()
)


@functools.cache
def layers() -> tuple[Layer, ...]:
    """Try every layer once in the life of this process, which takes some 0.3 s, and say which hold."""
    with socket.socket() as listener, ThreadPoolExecutor(3) as pool:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        port = listener.getsockname()[1]
        own = list(pool.map(lambda name: _probe(name, port), _PROBES))
    group = Layer("process-group", hasattr(os, "killpg"), "killed as a whole at the deadline")
    return (group, *own, _probe_bubblewrap())


def active_layers() -> tuple[str, ...]:
    """List the names of the layers that hold."""
    return tuple(layer.name for layer in layers() if layer.active)


@functools.cache
def bubblewrap() -> str | None:
    """Find bubblewrap; None where it is absent or does not work, as in many containers."""
    path = shutil.which("bwrap")
    return path if path is not None and _bubblewrap_fault(path) == "" else None


def _probe(name: str, port: int) -> Layer:
    detail, source = _PROBES[name]
    limits = Limits(wall_s=10.0)
    source = source.replace("PORT", str(port))
    with open_session(
        source, _CONTRACT, limits=limits, layers=(name,), required=(name,), restricted=False
    ) as session:
        answer = session if isinstance(session, SandboxFailure) else session.ask(Call("probe"))
    if isinstance(answer, Returned) and answer.value is True:
        return Layer(name, True, detail)
    why = "it holds on paper only" if isinstance(answer, Returned) else str(answer)
    return Layer(name, False, why)


def _probe_bubblewrap() -> Layer:
    path = shutil.which("bwrap")
    if path is None:
        return Layer("bubblewrap", False, "not installed; not needed")
    fault = _bubblewrap_fault(path)
    return Layer("bubblewrap", not fault, fault or "the file system is read-only, everything unshared")


def _bubblewrap_fault(path: str) -> str:
    """Start an interpreter in bubblewrap that writes a file; say what went wrong, or nothing."""
    folder = tempfile.mkdtemp(prefix="codegen-")
    try:
        line = command(folder, path)[: -len(command(folder, None))]
        write = (
            f"import posix\ntry: posix.open({folder!r} + '/x', posix.O_CREAT)\nexcept OSError: print('held')"
        )
        done = subprocess.run(
            [*line, sys.executable, "-I", "-S", "-c", write],
            capture_output=True,
            text=True,
            timeout=10,
            env={},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not work: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if done.stdout.strip() == "held":
        return ""
    return f"does not work: {(done.stderr.strip() or 'files can be written').splitlines()[-1]}"
