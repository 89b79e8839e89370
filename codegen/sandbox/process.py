"""Start a sandbox process, talk to it under a deadline, and end it whatever it does."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from codegen.contract import Contract
from codegen.errors import SandboxError
from codegen.sandbox.outcome import (
    Answer,
    Limits,
    New,
    Raised,
    Reason,
    Request,
    Returned,
    RunTest,
    SandboxFailure,
    StateValue,
    TestReport,
)  # fmt: skip

INSIDE_LAYERS = ("limits", "privileges", "landlock", "network", "seccomp")
"""Layers that the process puts on itself."""

_START = """
import sys
for name, folder in (("codegen", {0!r}), ("codegen.sandbox", {1!r})):
    package = type(sys)(name)
    package.__path__ = [folder]
    sys.modules[name] = package
from codegen.sandbox.inside.main import main
main()
"""
"""Stands in for the parents of `inside`: importing them as they are would load libcst."""

_BWRAP = [
    "--unshare-all",
    "--die-with-parent",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--chdir",
]


def command(folder: str, bubblewrap: str | None) -> list[str]:
    """Give the command line of a sandbox process; `bubblewrap` is the program's path, or None."""
    here = Path(__file__).parent
    start = _START.format(str(here.parent), str(here))
    python = [sys.executable, "-I", "-S", "-X", "utf8", "-c", start]
    return [bubblewrap, *_BWRAP, folder, *python] if bubblewrap else python


class Session:
    """A running sandbox process with one loaded module. Made by `open_session`."""

    def __init__(self, limits: Limits, bubblewrap: str | None) -> None:
        self.limits = limits
        self.layers: tuple[str, ...] = ()
        self.stderr = b""
        self.failure: SandboxFailure | None = None
        self._start = time.monotonic()
        self._buffer = b""
        self._received = 0
        self._folder = tempfile.mkdtemp(prefix="codegen-")
        try:
            self._process = subprocess.Popen(
                command(self._folder, bubblewrap), env={}, cwd=self._folder, start_new_session=True, close_fds=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
            )  # fmt: skip
        except OSError:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        assert self._process.stdin and self._process.stdout and self._process.stderr
        os.set_blocking(self._process.stdin.fileno(), False)
        self._selector = selectors.DefaultSelector()
        for stream in (self._process.stdout, self._process.stderr):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ)

    @property
    def duration_s(self) -> float:
        """Give the seconds since the process was started."""
        return time.monotonic() - self._start

    def ask(self, request: Request) -> Answer | SandboxFailure:
        """Send one request and wait for its answer. After a failure every further request has that failure."""
        if self.failure is not None:
            return self.failure
        answer = self.exchange(_encode(request))
        if isinstance(answer, SandboxFailure):
            return answer
        return self._decode(answer)

    def exchange(self, message: dict[str, Any] | None) -> dict[str, Any] | SandboxFailure:
        """Send one line (None: only wait) and read one line."""
        if self._process.returncode is not None:
            raise SandboxError("the sandbox was closed")
        line = self._talk(b"" if message is None else json.dumps(message).encode("ascii") + b"\n")
        if isinstance(line, SandboxFailure):
            return line
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            return self.fail("output", "the process answered something that was not asked for")
        return answer

    def fail(self, reason: Reason, message: str, raised: Raised | None = None) -> SandboxFailure:
        """End the process and remember why."""
        self.close()
        text = self.stderr.decode("utf-8", "replace")
        self.failure = SandboxFailure(reason, message, text, (), raised, self.duration_s)
        return self.failure

    def close(self) -> None:
        """Kill the process group, whatever it is doing, and remove its folder. May be called again."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._drain()
            self._selector.close()
            for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
                with contextlib.suppress(OSError):
                    if stream is not None:
                        stream.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _talk(self, data: bytes) -> bytes | SandboxFailure:
        """Write all of `data` and read until a whole line is there, within the deadline and the output limit."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if data:
            self._selector.register(stdin, selectors.EVENT_WRITE)  # type: ignore[arg-type]
        while b"\n" not in self._buffer:
            left = self.limits.wall_s - self.duration_s
            if left <= 0:
                return self.fail("timeout", f"no answer within {self.limits.wall_s:g} s")
            for key, _ in self._selector.select(left):
                if key.fileobj is stdin:
                    data = self._write(data)
                elif not self._read(key.fileobj) and key.fileobj is stdout:
                    return self._died()
            if self._received > self.limits.output_bytes:
                return self.fail("output", f"more than {self.limits.output_bytes} bytes were written")
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _write(self, data: bytes) -> bytes:
        assert self._process.stdin is not None
        try:
            data = data[os.write(self._process.stdin.fileno(), data) :]
        except BlockingIOError:
            return data
        except BrokenPipeError:
            data = b""
        if not data:
            self._selector.unregister(self._process.stdin)
        return data

    def _read(self, stream: Any) -> bool:
        """Read what is there; False at the end of the stream."""
        block = os.read(stream.fileno(), 65536)
        self._received += len(block)
        if stream is self._process.stdout:
            self._buffer += block
        elif len(self.stderr) < 20_000:
            self.stderr += block
        if not block:
            self._selector.unregister(stream)
        return bool(block)

    def _drain(self) -> None:
        """Read what is left of the error stream, to explain a crash."""
        assert self._process.stderr is not None
        with contextlib.suppress(OSError, ValueError):
            while len(self.stderr) < 20_000 and (block := os.read(self._process.stderr.fileno(), 65536)):
                self.stderr += block

    def _died(self) -> SandboxFailure:
        """Say why the process ended by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, self.limits.wall_s - self.duration_s))
        code = self._process.returncode
        if code is None:
            return self.fail("crash", "the process closed its output")
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)  # what it may have left behind
        self._process.returncode = None  # so that close() tidies up
        if -code in (signal.SIGXCPU, signal.SIGALRM, signal.SIGKILL):
            return self.fail("timeout", f"more than {self.limits.cpu_s} s of processor time were used")
        if b"MemoryError" in self.stderr or b"bad_alloc" in self.stderr:
            return self.fail("memory", f"more than {self.limits.memory_bytes} bytes were used")
        what = f"signal {-code}" if code < 0 else f"exit code {code}"
        return self.fail("crash", f"the process ended by itself ({what})")

    def _decode(self, answer: dict[str, Any]) -> Answer | SandboxFailure:
        """Make an answer's type out of what the process wrote, believing nothing of it."""
        try:
            if "error" in answer:
                if answer["error"].get("memory"):
                    return self.fail("memory", f"more than {self.limits.memory_bytes} bytes were needed")
                return raised(answer["error"])
            if "tests" in answer:
                failures = tuple((str(name), raised(error)) for name, error in answer["failures"])
                return TestReport(tuple(map(str, answer["tests"])), failures, str(answer["printed"]))
            return Returned(answer.get("value"), str(answer.get("other", "")), float(answer["seconds"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            return self.fail("output", "the process answered something that was not asked for")


def raised(error: dict[str, Any]) -> Raised:
    """Read the description of an exception. Raises KeyError, TypeError or ValueError for anything else."""
    return Raised(
        str(error["type"]),
        str(error["message"]),
        int(error["line"]),
        str(error["function"]),
        str(error["text"]),
    )


def _encode(request: Request) -> dict[str, Any]:
    if isinstance(request, New):
        return {"do": "new"}
    if isinstance(request, RunTest):
        return {"do": "test", "source": request.source}
    return {"do": "call", "name": request.name, "arguments": [_argument(each) for each in request.arguments]}


def _argument(value: Any) -> Any:
    if isinstance(value, StateValue):
        return {"state": {name: _listed(each) for name, each in value.fields.items()}}
    if isinstance(value, (set, frozenset)):
        return {"set": sorted(value)}
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise SandboxError(f"a {type(value).__name__} cannot be passed into the sandbox")


def _listed(value: Any) -> Any:
    return sorted(value) if isinstance(value, (set, frozenset)) else value


@contextlib.contextmanager
def open_session(
    source: str, contract: Contract, *, limits: Limits | None = None, seed: int = 0,
    layers: Sequence[str] = INSIDE_LAYERS, required: Sequence[str] = ("limits",),
    bubblewrap: str | None = None, restricted: bool = True,
) -> Iterator[Session | SandboxFailure]:  # fmt: skip
    """Run a module in a sandbox process of its own, for as many requests as are wanted.

    `layers` are tried, `required` must hold: otherwise the module is not loaded and the failure is `refused`.
    `restricted=False` hands the module all builtins, which only the tests of the sandbox itself want.
    """
    limits = limits or Limits()
    try:
        session = Session(limits, bubblewrap)
    except OSError as error:
        yield SandboxFailure("refused", f"no process can be started: {error}")
        return
    try:
        yield _load(session, source, contract, seed, layers, required, restricted)
    finally:
        session.close()


def _load(
    session: Session, source: str, contract: Contract, seed: int, layers: Sequence[str], required: Sequence[str],
    restricted: bool,
) -> Session | SandboxFailure:  # fmt: skip
    limits = session.limits
    setup = {
        "source": source, "seed": seed, "layers": list(layers), "restricted": restricted,
        "limits": {"memory_bytes": limits.memory_bytes, "cpu_s": limits.cpu_s, "wall_s": int(limits.wall_s) + 1},
        "state_name": contract.state_name, "class_name": contract.class_name,
        "fields": [[each.name, each.type, _listed(each.default)] for each in contract.state_fields],
        "builtins": sorted(contract.builtins),
        "imports": {name: sorted(members) for name, members in contract.imports.items()},
    }  # fmt: skip
    hello = session.exchange(setup)
    if isinstance(hello, SandboxFailure):
        return hello
    answers = hello.get("layers")
    if not isinstance(answers, dict):
        return session.fail("output", "the process did not say how it is confined")
    session.layers = tuple(name for name, fault in answers.items() if not fault)
    missing = [
        f"{name} ({answers.get(name, 'not asked for')})" for name in required if name not in session.layers
    ]
    if missing:
        return session.fail("refused", f"these layers do not hold: {', '.join(missing)}")
    loaded = session.exchange(None)
    if isinstance(loaded, SandboxFailure):
        return loaded
    if "error" in loaded:
        if loaded["error"].get("memory"):
            return session.fail("memory", f"more than {limits.memory_bytes} bytes were needed")
        error = raised(loaded["error"])
        return session.fail("crash", f"the module could not be loaded: {error}", error)
    return session
