"""Put finished modules where they belong: files that are good stay until all of their successors are."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Iterator, Mapping
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
    """Keep the conversation of a generation that failed, until the next one fails."""
    kept = transcript.with_name(transcript.name.replace(".unfinished", ".failed"))
    os.replace(transcript, kept)
    return kept


def _describe(job: Job, folder: Path, code_seed: int | None) -> None:
    """Copy what makes a folder a skill's or a task's, where the module belongs to one that lies elsewhere.

    Beside a code seed's policy the task's own one is copied too: this folder now stands before the one it is from.
    """
    described = folder if code_seed is None else folder.parent
    names = [name for name in DESCRIPTIONS if (job.item.folder / name).is_file()]
    if code_seed is not None and (job.item.folder / "policy.py").is_file():
        names += ["policy.py", FILE_NAME]
    for name in names:
        if not (described / name).exists():
            shutil.copyfile(job.item.folder / name, described / name)


def _not_written(error: OSError, root: Path) -> RunError:
    return RunError(
        f"cannot be written: {error.strerror}",
        where=str(error.filename or root),
        hint="name another folder with --content",
    )


def commit(folder: Path, written: list[Written], transcript: Path, code_seed: int | None) -> list[Path]:
    """Replace the modules of a folder and its provenance, each in one step and all within one moment.

    Returns the modules. Signals wait until it is done; a machine that stops in between leaves files whose hashes do not
    match, which the loader refuses by name.
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
    contents: Mapping[str, bytes] = sources | {FILE_NAME: provenance_text(provenance).encode("utf-8")}
    temporary = {name: folder / f".{name}.new" for name in contents}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _describe(first, folder, code_seed)
        for name, data in contents.items():
            with open(temporary[name], "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        with _undisturbed():
            for name, path in temporary.items():
                os.replace(path, folder / name)
            os.replace(transcript, folder / TRANSCRIPT)
        with contextlib.suppress(OSError):
            transcript.parent.rmdir()  # unless it holds others
    except OSError as error:
        for path in temporary.values():
            with contextlib.suppress(OSError):
                path.unlink()
        raise _not_written(error, folder) from None
    return [folder / name for name in sources]


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Let signals wait."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
