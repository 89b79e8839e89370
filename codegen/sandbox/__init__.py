"""Run foreign code in a process that can compute and answer, and do nothing else."""

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
