"""The `maestro` command: find the sub-command by its file name, run it, and answer for what goes wrong.

A command is one file `maestro/commands/<name>.py` (or `<group>/<name>.py`, typed `maestro <group> <name>`) with

- a docstring: its first line is shown by `maestro --help`, all of it by `maestro <name> --help`, examples included;
- `Config`: a frozen dataclass or pydantic model, whose fields are the flags;
- `run(config) -> int`: the exit code.

Nothing but the chosen command is imported, so that help appears at once. Files that begin with `_` are no commands.

Exit codes: 0 done, 1 a fault the user can mend, 2 a mistyped command line, 130 Ctrl-C (or SIGTERM, by which clusters and
containers end a job: it is answered alike, so that checkpoints are written), 141 the reader went away.
"""

from __future__ import annotations

import ast
import contextlib
import errno
import importlib
import io
import json
import os
import shutil
import signal
import sys
import textwrap
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType, ModuleType

import maestro
from maestro.errors import DependencyError, MaestroError, suggestion

COMMANDS_FOLDER = Path(__file__).parent / "commands"
OK, FAULT, USAGE, INTERRUPTED, READER_GONE = 0, 1, 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; `arguments` are those after the program's name."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a latin-1 terminal shows "?" for what it lacks
    try:
        with _sigterm_answered():
            code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except MaestroError as error:
        if "--json" in arguments:
            print(json.dumps({"error": error.to_dict()}, ensure_ascii=False))
        print(f"maestro: {error}", file=sys.stderr)
        return FAULT
    except KeyboardInterrupt:
        print("\nmaestro: stopped. Whatever was recorded is kept.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _let_go_of_stdout()
        return READER_GONE
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            raise  # of a file, and nobody's fault who could mend it
        _let_go_of_stdout()
        print(
            "maestro: the output cannot be written: the disk is full. Whatever was recorded is kept.",
            file=sys.stderr,
        )
        return FAULT


def _let_go_of_stdout() -> None:
    """The interpreter flushes stdout once more at exit and would complain then."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _sigterm_answered() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, also where the shell that started this ignores Ctrl-C."""
    before = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread() or before != signal.SIG_DFL:
        yield
        return
    parent = os.getpid()

    def stop(number: int, frame: FrameType | None) -> None:
        if os.getpid() != parent:  # a forked worker: it is ended by SIGTERM, and at once
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.raise_signal(signal.SIGTERM)
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):
            raise KeyboardInterrupt
        handler(number, frame)

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def commands(folder: Path = COMMANDS_FOLDER) -> dict[str, Path]:
    """Find the commands in `folder` by their typed names, alphabetically: files, and folders for groups."""
    found = {}
    for path in sorted(folder.iterdir()):
        is_group = path.is_dir() and (path / "__init__.py").is_file()
        if (path.suffix == ".py" or is_group) and not path.name.startswith("_"):
            found[path.stem.replace("_", "-")] = path
    return found


def _dispatch(arguments: list[str]) -> int:
    typed, folder = ["maestro"], COMMANDS_FOLDER
    while True:
        known = commands(folder)
        word = arguments.pop(0) if arguments else None
        if word in ("-h", "--help"):
            print(_overview(typed, folder, known))
            return OK
        if word == "--version" and len(typed) == 1:
            print(f"maestro {maestro.__version__}")
            return OK
        if word is None:
            print(_overview(typed, folder, known), file=sys.stderr)
            return USAGE
        path = known.get(word.replace("_", "-"))
        if path is None:
            print(_unknown(typed, word, known), file=sys.stderr)
            return USAGE
        typed.append(path.stem.replace("_", "-"))
        if path.is_file():
            try:
                return _run(path, " ".join(typed), arguments)
            except ModuleNotFoundError as error:
                raise _missing_package(error) from error
        folder = path


def _run(path: Path, typed: str, arguments: list[str]) -> int:
    module = _import(path)
    import tyro  # a seventh of a second, which `maestro --help` need not pay

    if "-h" in arguments or "--help" in arguments:
        print(
            _wrapped(module.__doc__ or "", _columns()), end="\n\n"
        )  # tyro would join the lines of an example
    try:
        config = tyro.cli(
            module.Config,
            prog=typed,
            description="",
            args=_gathered(arguments, "--config"),
            config=(tyro.conf.FlagCreatePairsOff,),
        )
    except SystemExit as stop:  # tyro has printed its help or what it did not understand
        return stop.code if isinstance(stop.code, int) else USAGE
    return module.run(config)


def _gathered(arguments: list[str], flag: str) -> list[str]:
    """Put the values of a flag given several times behind its first; tyro would keep those of the last alone."""
    rest: list[str] = []
    values: list[str] = []
    place, taking = None, False
    for word in arguments:
        name, equals, value = word.partition("=")
        if name == flag:
            place = len(rest) if place is None else place
            taking = not equals
            values += [value] if equals else []
        elif taking and not word.startswith("--"):
            values.append(word)
        else:
            taking = False
            rest.append(word)
    return rest if place is None else [*rest[:place], flag, *values, *rest[place:]]


def _import(path: Path) -> ModuleType:
    parts = path.relative_to(COMMANDS_FOLDER).with_suffix("").parts
    return importlib.import_module(".".join(("maestro", "commands", *parts)))


def _missing_package(error: ModuleNotFoundError) -> DependencyError:
    """Turn a failed import into what to do about it; a missing module of ours is a bug and is raised as it is."""
    package = (error.name or "").partition(".")[0]
    if package in ("maestro", "codegen", ""):
        raise error
    return DependencyError(
        f"the package {package!r} is not installed",
        hint=f"pip install {package}; `maestro doctor` lists all that is missing, with versions",
    )


def _overview(typed: list[str], folder: Path, known: dict[str, Path]) -> str:
    columns = _columns()
    about = maestro.__doc__ or "" if len(typed) == 1 else _docstring(folder / "__init__.py")
    width = max((len(name) for name in known), default=0) + 4
    lines = [
        f"usage: {' '.join(typed)} <command> [options]",
        "",
        *textwrap.wrap(_first_line(about), columns),
        "",
    ]
    for name, path in known.items():
        summary = _first_line(_docstring(path if path.is_file() else path / "__init__.py"))
        lines += textwrap.wrap(
            summary,
            columns,
            initial_indent=f"  {name}".ljust(width),
            subsequent_indent=" " * width,
        )
    lines += ["", f"`{' '.join(typed)} <command> --help` shows a command's options and examples."]
    return "\n".join(lines)


def _unknown(typed: list[str], word: str, known: dict[str, Path]) -> str:
    what = "option" if word.startswith("-") else "command"
    close = suggestion(word, known)
    hint = f" Next: {close}" if close else ""
    return f"maestro: unknown {what} {word!r}. Expected: {' '.join(typed)} {'|'.join(known)}.{hint}"


def _docstring(path: Path) -> str:
    """Read a module's docstring without importing it."""
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def _columns() -> int:
    return min(shutil.get_terminal_size().columns, 100)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _wrapped(text: str, columns: int) -> str:
    """Wrap the paragraphs of a docstring to `columns`; indented blocks, which are examples, stay as they are."""
    blocks = []
    for block in textwrap.dedent(text).strip().split("\n\n"):
        is_prose = not any(line.startswith((" ", "-")) for line in block.splitlines())
        blocks.append(textwrap.fill(block, columns) if is_prose else block)
    return "\n\n".join(blocks)
