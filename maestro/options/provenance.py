"""Who made a generated file, and the proof that it is still that file.

`provenance.toml` lies beside the files it speaks for: `author`, `state_version` (the version of the world's State the
code was written against) and a table `source_sha256` from file name to hash. Only files whose hash is listed are
executed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from maestro.errors import GeneratedCodeError, RunError
from maestro.specs import load_toml

FILE_NAME = "provenance.toml"
GENERATED_FILES = ("initiation.py", "termination.py", "policy.py")
"""Every file name that provenance can speak for."""
OWN_AUTHOR = "maestro project (hand-written)"
"""Author of the code that ships with maestro until a language model's replaces it."""


class Provenance(BaseModel):
    """Contents of a provenance.toml."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    author: str
    state_version: int
    source_sha256: dict[str, str]


def hash_source(source: bytes) -> str:
    """Give the SHA-256 of a source file's bytes in hexadecimal."""
    return hashlib.sha256(source).hexdigest()


def check_provenance(path: Path, source: bytes, state_version: int | None) -> Provenance:
    """Check that the provenance beside `path` speaks for exactly these bytes, and return it.

    `state_version` is the version of the State the code will be given; None leaves it unchecked.
    Raises GeneratedCodeError for a file without provenance, changed since, or written for another State; SpecError
    for a provenance.toml that is damaged.
    """
    sign_it = f"read {path.name}; if it should run, sign it: `{sign_command(path.parent)}`"
    file = path.parent / FILE_NAME
    if not file.is_file():
        raise GeneratedCodeError(f"there is no {FILE_NAME} beside it", where=str(path), hint=sign_it)
    provenance = load_toml(file, Provenance)
    listed = provenance.source_sha256.get(path.name)
    actual = hash_source(source)
    if listed is None:
        raise GeneratedCodeError(f"{FILE_NAME} does not speak for this file", where=str(path), hint=sign_it)
    if listed != actual:
        raise GeneratedCodeError(
            f"the file was changed after {provenance.author!r} signed it: its SHA-256 is {actual[:12]}...",
            where=str(path), expected=f"{listed[:12]}..., as {FILE_NAME} says", hint=sign_it,
        )  # fmt: skip
    if state_version is not None and provenance.state_version != state_version:
        raise GeneratedCodeError(
            f"it was written for version {provenance.state_version} of State", where=str(path),
            expected=f"version {state_version}",
            hint=f"check it against the fields of State, then sign it again: `{sign_command(path.parent)}`",
        )  # fmt: skip
    return provenance


def sign(folder: Path, state_version: int, author: str) -> list[Path]:
    """Write `provenance.toml` for the generated files in `folder` as they are now; return those files.

    Whatever the provenance said before is replaced: code that was changed by hand is no longer a model's.
    Raises GeneratedCodeError where there is no such file, RunError where the folder cannot be written.
    """
    paths = [folder / name for name in GENERATED_FILES if (folder / name).is_file()]
    if not paths:
        raise GeneratedCodeError(
            "there is nothing to sign", where=str(folder), expected=f"one of {', '.join(GENERATED_FILES)}"
        )
    lines = [f"author = {json.dumps(author)}", f"state_version = {state_version}", "", "[source_sha256]"]
    try:
        lines += [f"{json.dumps(path.name)} = {json.dumps(hash_source(path.read_bytes()))}" for path in paths]
        (folder / FILE_NAME).write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise RunError(f"cannot sign: {error.strerror}", where=str(folder)) from None
    return paths


def sign_command(folder: Path) -> str:
    """Give the command line that signs what is in `folder`."""
    return f"maestro sign {folder}"
