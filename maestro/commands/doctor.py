"""Check this installation and say what to do about what is missing.

    maestro doctor
    maestro doctor --json
    maestro doctor --run /data/runs
    maestro doctor --llm openai:llama@http://localhost:8000/v1

Looks at Python, the packages and their versions, the game engine (by playing it for a moment), torch and GPUs, the
content folders, what confines generated code, the folder for runs, and the terminal. With `--llm` it looks at that language model instead: whether
each server answers, which models it has, whether it obeys constrained choice (asked a question whose natural answer
lies outside the choices), and whether it tells how likely each choice was. The exit code is 1 when something is broken.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

from maestro.commands._output import print_json
from maestro.content import Content
from maestro.envs import make_world, world_names
from maestro.errors import DependencyError, MaestroError
from maestro.llm.doctor import findings
from maestro.options.load import sandbox_layers
from maestro.runs import runs_root
from maestro.versions import versions

DISTRIBUTION = "maestro-skills"
EXTRAS = {
    "vllm": "annotating with a language model in this process",
    "ray": "work spread over several machines",
}
MIN_FREE_GB = 1.0
NLE_HINT = "pip install nle==1.0.0"
if sys.version_info >= (
    3,
    12,
):  # no wheel of 1.0.0, and 1.1.0 asks for a gymnasium that sample-factory refuses
    NLE_HINT = "pip install --no-deps nle==1.1.0, or use Python 3.11"
SCREEN = (80, 24)  # columns and rows of NetHack's map


@dataclass(frozen=True)
class Config:
    """Choose what to look at."""

    run: Path | None = None
    """The folder for runs to check; without it MAESTRO_RUNS or ./runs."""
    content: Path | None = None
    """A folder with skills, prompts or meta_policies of your own, searched first."""
    llm: str | None = None
    """A language model to look at, and at nothing else: replay, openai:<model>@<url>[,<url>...], hf:<model>, ..."""
    json: bool = False
    """Print one JSON object."""


@dataclass(frozen=True)
class Check:
    """One finding: `fail` is broken, `warn` may surprise, `note` is worth knowing."""

    name: str
    status: Literal["ok", "note", "warn", "fail"]
    found: str
    hint: str | None = None


def run(config: Config) -> int:
    """Run all checks; every one of them answers, whatever the others found."""
    checks: list[Check] = []
    for group in _groups(config):
        for check in group():
            checks.append(check)
            if not config.json:
                print(_line(check), flush=True)
    num_broken = sum(check.status == "fail" for check in checks)
    if config.json:
        print_json(
            {"ok": num_broken == 0, "checks": [asdict(check) for check in checks], "versions": versions()}
        )
    else:
        print(f"\n{num_broken} broken." if num_broken else "\nAll is well.")
    return 1 if num_broken else 0


def _groups(config: Config) -> list[Callable[[], Iterator[Check]]]:
    if config.llm is not None:
        return [lambda: _llm(config.llm or "")]
    return [
        _python,
        _packages,
        _extras,
        _machine,
        _torch,
        lambda: _content(config.content),
        _sandbox,
        _worlds,
        lambda: _run_folder(config.run),
        _terminal,
    ]


def _llm(spec: str) -> Iterator[Check]:
    for finding in findings(spec):
        yield Check(**asdict(finding))


def _python() -> Iterator[Check]:
    supported = (3, 10) <= sys.version_info[:2] < (3, 13)
    hint = None if supported else "use Python 3.11; 3.10 and 3.12 work too"
    found = f"{platform.python_version()} in {sys.prefix}"
    yield Check("python", "ok" if supported else "fail", found, hint)


def _packages() -> Iterator[Check]:
    """Compare what is installed with what the distribution asks for."""
    try:
        required = [Requirement(text) for text in metadata.requires(DISTRIBUTION) or ()]
    except metadata.PackageNotFoundError:
        yield Check("packages", "warn", "maestro is not installed, only on the path", "pip install -e .")
        return
    for requirement in required:
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield _package(requirement)


def _package(requirement: Requirement) -> Check:
    install = f"pip install '{requirement.name}{requirement.specifier}'"
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return Check(requirement.name, "fail", f"missing; expected {requirement.specifier}", install)
    if not requirement.specifier.contains(version, prereleases=True):
        return Check(requirement.name, "fail", f"{version}; expected {requirement.specifier}", install)
    return Check(requirement.name, "ok", version)


def _extras() -> Iterator[Check]:
    for extra, purpose in EXTRAS.items():
        try:
            yield Check(extra, "ok", metadata.version(extra))
        except metadata.PackageNotFoundError:
            hint = f"for {purpose}: pip install '{DISTRIBUTION}[{extra}]'"
            yield Check(extra, "note", "optional, not installed", hint)


def _machine() -> Iterator[Check]:
    num_cores = len(os.sched_getaffinity(0))
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    yield Check("machine", "ok", f"{num_cores} CPU cores, {memory_gb:.0f} GB memory, {platform.platform()}")


def _torch() -> Iterator[Check]:
    try:
        import torch
    except (ImportError, OSError) as error:
        yield Check("torch", "fail", f"cannot be imported: {error}", "pip install --force-reinstall torch")
        return
    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    if torch.cuda.is_available():
        yield Check("gpu", "ok", f"{', '.join(names)} (CUDA {torch.version.cuda})")
    else:
        yield Check("gpu", "note", "none: torch computes on the CPU", "enough to play; training is slower")


def _content(extra: Path | None) -> Iterator[Check]:
    try:
        content = Content.find(extra)
        found = f"{len(content.skills())} skills, {len(content.tasks())} tasks"
    except MaestroError as error:
        yield Check("content", "fail", f"{error.where or 'content'}: {error.what}", error.hint)
        return
    yield Check("content", "ok", f"{found} in {', '.join(map(str, content.roots))}")


def _worlds() -> Iterator[Check]:
    """Play a few steps of every world: nothing else shows that an engine really works here."""
    for name in world_names():
        start = time.perf_counter()
        try:
            world = make_world(name, 1)
            try:
                world.reset()
                for _ in range(5):
                    world.step([1])
            finally:
                world.close()
        except MaestroError as error:
            hint = NLE_HINT if isinstance(error, DependencyError) and name == "nethack" else error.hint
            yield Check(f"world {name}", "fail", f"{error.what}; expected {error.expected}", hint)
        except (ImportError, OSError) as error:
            yield Check(
                f"world {name}", "fail", f"does not play: {error}", NLE_HINT if name == "nethack" else None
            )
        else:
            yield Check(
                f"world {name}", "ok", f"plays ({time.perf_counter() - start:.1f} s to the first steps)"
            )


def _sandbox() -> Iterator[Check]:
    """Say what confines generated code while `maestro codegen` tests it."""
    for layer in sandbox_layers():
        needed = layer.name == "limits"
        status = "ok" if layer.active else "fail" if needed else "note"
        hint = "`maestro codegen` refuses to run code without it" if needed and not layer.active else None
        yield Check(f"sandbox {layer.name}", status, layer.detail, hint)


def _run_folder(folder: Path | None) -> Iterator[Check]:
    root = runs_root(folder).absolute()
    existing = next(path for path in (root, *root.parents) if path.exists())
    hint = "choose another folder with --run DIR or MAESTRO_RUNS=DIR"
    try:
        with tempfile.TemporaryFile(dir=existing):
            free_gb = shutil.disk_usage(existing).free / 1e9
    except OSError as error:
        yield Check("run folder", "fail", f"{root} cannot be written: {error.strerror}", hint)
        return
    low = free_gb < MIN_FREE_GB
    yield Check(
        "run folder", "warn" if low else "ok", f"{root}, {free_gb:.1f} GB free", hint if low else None
    )


def _terminal() -> Iterator[Check]:
    if not sys.stdout.isatty():
        yield Check("terminal", "note", "none: output goes to a file or another program")
        return
    columns, rows = shutil.get_terminal_size()
    found = f"{columns} x {rows}, {sys.stdout.encoding}"
    if (columns, rows) < SCREEN or rows < SCREEN[1]:
        yield Check("terminal", "warn", found, f"`maestro watch` shows a map of {SCREEN[0]} x {SCREEN[1]}")
    else:
        yield Check("terminal", "ok", found)


def _line(check: Check) -> str:
    """Set one check as a hanging paragraph that fits the terminal."""
    width = min(shutil.get_terminal_size((110, 24)).columns, 110)
    mark = check.status.upper() if check.status == "fail" else check.status
    text = check.found
    if check.hint is not None:
        text += f" ({check.hint})" if check.status == "note" else f". Next: {check.hint}"
    return textwrap.fill(
        text,
        max(width, 40),
        initial_indent=f"{mark:<5} {check.name:<17} ",
        subsequent_indent=" " * 24,
        break_on_hyphens=False,
    )
