"""Every hostile program is refused before it runs, and does no harm where it is run nevertheless.

The programs stand in `programs.txt`. They are run with all builtins and without the validator: what stops them here is
the process they run in, and nothing else. A program that succeeds leaves `HARM` or the canary's secret in its result.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from codegen.contract import Contract
from codegen.sandbox import (
    Call,
    Limits,
    Returned,
    SandboxFailure,
    SandboxResult,
    StateValue,
    active_layers,
    run,
)
from codegen.sandbox.process import INSIDE_LAYERS
from codegen.validate import validate

SECRET = "canary-secret-5d1f"
LIMITS = Limits(wall_s=1.6, cpu_s=1, memory_bytes=400 * 2**20, output_bytes=200_000)
_TEXT = (Path(__file__).parent / "programs.txt").read_text(encoding="utf-8")
PROGRAMS = dict(re.findall(r"^### (\w+)\n(.*?)(?=^### |\Z)", _TEXT, re.MULTILINE | re.DOTALL))
INTERFACE_RULES = {"required-signature", "constant-predicates"}


class Yard:
    """What the programs try to harm: a file, an empty folder, a listener, another process, this process's secret."""

    def __init__(self, folder: Path) -> None:
        self.canary = folder / "canary.txt"
        self.canary.write_text(SECRET)
        self.canary.chmod(0o644)
        folder.chmod(0o755)
        self.open_folder = folder / "open"
        self.open_folder.mkdir()
        self.open_folder.chmod(0o777)
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(16)
        self.listener.setblocking(False)
        self.victim = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
        )

    def fill(self, name: str, program: str) -> str:
        """Put the names of what can be harmed into a program."""
        given = {
            "CANARY": self.canary, "WRITE": self.open_folder / name, "PORT": self.listener.getsockname()[1],
            "VICTIM": self.victim.pid,
        }  # fmt: skip
        return program.format(**given) if "{" in program else program

    def harm(self) -> list[str]:
        """List what was harmed."""
        found = [f"{each.name} was written" for each in self.open_folder.iterdir()]
        if not self.canary.is_file() or self.canary.read_text() != SECRET:
            found.append("the canary was changed")
        if self.victim.poll() is not None:
            found.append("another process was killed")
        try:
            self.listener.accept()
            found.append("a connection was made")
        except BlockingIOError:
            pass
        return found

    def close(self) -> None:
        self.victim.kill()
        self.victim.wait()
        self.listener.close()


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    os.environ["CODEGEN_TEST_SECRET"] = SECRET
    made = Yard(tmp_path_factory.mktemp("yard"))
    yield made
    made.close()
    del os.environ["CODEGEN_TEST_SECRET"]


def _complete(program: str, suffix: str) -> str:
    return program if "def can_initiate" in program else f"{program}\n{suffix}"


@pytest.fixture(scope="module")
def outcomes(
    yard: Yard, contracts: dict[str, Contract]
) -> Iterator[Callable[[str], tuple[SandboxResult | SandboxFailure, float]]]:
    """Run all programs a few at a time; a test waits for its own."""

    def attack(name: str) -> tuple[SandboxResult | SandboxFailure, float]:
        program = _complete(
            yard.fill(name, PROGRAMS[name]),
            'def can_initiate(state):\n    return globals().get("result", "none")\n',
        )
        start = time.monotonic()
        calls = [Call("can_initiate", (StateValue({"depth": 2}),))]
        outcome = run(program, calls, contracts["initiation"], limits=LIMITS, restricted=False)
        return outcome, time.monotonic() - start

    with ThreadPoolExecutor(4) as pool:
        futures: dict[str, Future[tuple[SandboxResult | SandboxFailure, float]]] = {
            name: pool.submit(attack, name) for name in PROGRAMS
        }
        yield lambda name: futures[name].result()


def test_there_are_enough_programs():
    assert len(PROGRAMS) == _TEXT.count("### ") >= 80


@pytest.mark.parametrize("name", PROGRAMS)
def test_refused_before_it_runs(name, yard, contracts):
    program = _complete(yard.fill(name, PROGRAMS[name]), "def can_initiate(state):\n    return state.blind\n")
    kind = "policy" if "class Policy" in program else "initiation"
    rules = {violation.rule for violation in validate(program, contracts[kind])}
    assert rules - INTERFACE_RULES


@pytest.mark.parametrize("name", PROGRAMS)
def test_contained_where_it_runs(name, yard, outcomes):
    if not {"seccomp", "landlock"} & set(active_layers()):
        pytest.fail(
            "this kernel offers neither seccomp nor Landlock: generated code cannot be contained here"
        )
    outcome, seconds = outcomes(name)
    assert SECRET not in str(outcome)
    assert not [each for each in outcome.answers if isinstance(each, Returned) and "HARM" in str(each.value)]
    assert yard.harm() == []
    assert seconds < LIMITS.wall_s + 10


def test_a_harmless_program_is_answered_under_the_same_limits(contracts):
    calls = [Call("can_initiate", (StateValue({"blind": True}),))]
    outcome = run(
        "def can_initiate(state):\n    return state.blind\n", calls, contracts["initiation"],
        limits=LIMITS, restricted=False,
    )  # fmt: skip
    assert isinstance(outcome, SandboxResult)
    assert set(outcome.layers) == set(INSIDE_LAYERS) & set(active_layers())
    assert outcome.answers[0].value is True  # type: ignore[union-attr]


def test_the_programs_do_harm_where_nothing_contains_them(yard, tmp_path):
    """What proves that the others prove something: run outside the sandbox, a program leaves its mark."""
    program = PROGRAMS["write_file"].format(WRITE=tmp_path / "mark") + PROGRAMS["read_file"].format(
        CANARY=yard.canary
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"{program}\nprint(result)"], capture_output=True, text=True, check=True
    )
    assert SECRET in done.stdout
    assert (tmp_path / "mark").is_file()
