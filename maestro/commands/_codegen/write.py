"""Put finished modules where they belong: files that are good stay until all of their successors are."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from maestro.commands._codegen.jobs import Job
from maestro.content import CONTENT_VARIABLE, SUCCESS_FILE, Content, shipped_root
from maestro.errors import RunError
from maestro.options.load import VALIDATOR_VERSION, state_version
from maestro.options.provenance import FILE_NAME, Origin, Provenance, hash_source, provenance_text

DEFAULT_ROOT = Path("content")
TRANSCRIPT = "transcript.jsonl"
TRANSCRIPTS = Path("transcripts")
"""Conversations that have not led to a good module lie apart: a folder without its module would be a broken skill."""
DESCRIPTIONS = ("skill.toml", SUCCESS_FILE, "task.toml", "training.toml")


@dataclass(frozen=True)
class Written:
    """A module that passed, its author, and how it came about."""

    job: Job
    source: str
    author: str
    origin: Origin


def output_root(named: Path | None) -> Path:
    """Choose the content folder that is written: `--content`, else the first of MAESTRO_CONTENT, else ./content.

    What ships inside an installed package is never written, whatever is named.
    """
    from_environment = [entry for entry in os.environ.get(CONTENT_VARIABLE, "").split(os.pathsep) if entry]
    root = named or (Path(from_environment[0]) if from_environment else DEFAULT_ROOT)
    shipped = shipped_root()
    if shipped.name == "_content" and root.resolve() == shipped:
        raise RunError(
            "what ships with maestro is not overwritten",
            where=str(root),
            hint="name a folder of your own with --content; it is searched before what ships",
        )
    return root


def find_content(root: Path) -> Content:
    """Look for content in the folder that is written, if it has some yet, and then wherever else there is some."""
    has_content = any((root / name).is_dir() for name in ("skills", "prompts", "meta_policies"))
    return Content.find(root if has_content else None)


def folder_of(job: Job, root: Path, code_seed: int | None) -> Path:
    """Give the folder a job's module belongs into."""
    kind = "skills" if job.file_name != "policy.py" else "meta_policies"
    folder = root / kind / job.item.name
    return folder if code_seed is None else folder / f"seed{code_seed}"


def new_transcript(job: Job, root: Path, code_seed: int | None) -> Path:
    """Give the file in which a conversation that begins now is kept until it has led to something."""
    seed = "" if code_seed is None else f"-seed{code_seed}"
    path = root / TRANSCRIPTS / f"{job.item.name}{seed}.unfinished.jsonl"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
    except OSError as error:
        raise _not_written(error, root) from None
    return path


def keep_failed(transcript: Path) -> Path:
    """Keep the conversation of a generation that failed, until the next one fails; raises RunError."""
    kept = transcript.with_name(transcript.name.replace(".unfinished", ".failed"))
    try:
        os.replace(transcript, kept)
    except OSError as error:
        raise _not_written(error, transcript.parent) from None
    return kept


def _descriptions(job: Job, folder: Path, code_seed: int | None) -> dict[Path, bytes]:
    """Read what makes a folder a skill's or a task's, where the module belongs to one that lies elsewhere.

    Beside a code seed's policy the task's own one is copied too: this folder now stands before the one it is from.
    """
    described = folder if code_seed is None else folder.parent
    names = [name for name in DESCRIPTIONS if (job.item.folder / name).is_file()]
    if code_seed is not None and (job.item.folder / "policy.py").is_file():
        names += ["policy.py", FILE_NAME]
    return {
        described / name: (job.item.folder / name).read_bytes()
        for name in names
        if not (described / name).exists()
    }


def _not_written(error: OSError, root: Path) -> RunError:
    return RunError(
        f"cannot be written: {error.strerror}",
        where=str(error.filename or root),
        hint="name another folder with --content",
    )


def commit(folder: Path, written: list[Written], transcript: Path, code_seed: int | None) -> list[Path]:
    """Replace the modules of a folder and its provenance, each in one step and all within one moment.

    Returns the modules. Signals wait until it is done; a machine that stops in between leaves files whose hashes do not
    match, which the loader refuses by name. Where it fails, nothing new stays: a description without its module would
    hide the skill or task that ships.
    """
    first = written[0].job
    sources = {each.job.file_name: each.source.encode("utf-8") for each in written}
    provenance = Provenance(
        author=" and ".join(dict.fromkeys(each.author for each in written)),
        state_version=state_version(first.world),
        validator_version=VALIDATOR_VERSION,
        skills=sorted(first.contract.skills),
        source_sha256={name: hash_source(source) for name, source in sources.items()},
        origin={each.job.file_name: each.origin for each in written},
    )
    text = provenance_text(provenance).encode("utf-8")
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    contents: dict[Path, bytes] = {}
    fresh: set[Path] = set()
    is_done = False
    try:
        contents = _descriptions(first, folder, code_seed)
        contents |= {folder / name: data for name, data in (sources | {FILE_NAME: text}).items()}
        fresh = {path for path in contents if not path.exists()}
        folder.mkdir(parents=True, exist_ok=True)
        for path, data in contents.items():
            _write_synced(_temporary(path), data)
        with _undisturbed():
            for path in contents:
                os.replace(_temporary(path), path)
            os.replace(transcript, folder / TRANSCRIPT)
            is_done = True
        with contextlib.suppress(OSError):
            transcript.parent.rmdir()  # unless it holds others
    except BaseException as error:
        if not is_done:  # a signal that waited comes when everything is in its place
            _take_back(contents, fresh, made)
        if isinstance(error, OSError):
            raise _not_written(error, folder) from None
        raise
    return [folder / name for name in sources]


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


def _write_synced(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _take_back(written: Iterable[Path], fresh: Collection[Path], folders: Iterable[Path]) -> None:
    """Remove the temporaries, the files that are new here, and the folders made for them, innermost first."""
    for path in written:
        for each in (_temporary(path), *([path] if path in fresh else [])):
            with contextlib.suppress(OSError):
                each.unlink()
    for folder in folders:
        with contextlib.suppress(OSError):  # unless it holds something else
            folder.rmdir()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Let signals wait until the end of the block.

    A blocked signal would come through one of the threads that numerical libraries start. Python runs handlers in the
    main thread alone: elsewhere nothing disturbs.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    with contextlib.ExitStack() as after:
        after.callback(lambda: [signal.raise_signal(each) for each in came])
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            before = signal.signal(each, lambda number, _: came.append(number))
            after.callback(signal.signal, each, signal.SIG_DFL if before is None else before)
        yield
