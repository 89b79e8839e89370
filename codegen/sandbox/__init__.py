"""Run foreign code in a process that can compute and answer, and do nothing else.

Against whom: code that tries to read or write files, reach a network, start or harm processes, change the interpreter
of the caller, or use time and memory without end. Each is prevented by the kernel, whatever the code does inside its
process, as far as `layers()` says that the layer holds. Not prevented: that code lies about itself. It shares its process
with what runs it, so its answers are what it wants to say; the caller reads them as data of bounded size and believes
nothing. Nor are processor caches and timing hidden from it.
"""

from __future__ import annotations

from codegen.sandbox.outcome import (
    Answer,
    Call,
    Limits,
    New,
    Raised,
    Reason,
    Request,
    Returned,
    RunTest,
    SandboxFailure,
    SandboxResult,
    StateValue,
    TestReport,
)  # fmt: skip
from codegen.sandbox.probes import Layer, active_layers, bubblewrap, layers
from codegen.sandbox.process import Session, open_session
from codegen.sandbox.script import run

__all__ = [
    "Answer", "Call", "Layer", "Limits", "New", "Raised", "Reason", "Request", "Returned", "RunTest", "SandboxFailure",
    "SandboxResult", "Session", "StateValue", "TestReport", "active_layers", "bubblewrap", "layers", "open_session",
    "run",
]  # fmt: skip
