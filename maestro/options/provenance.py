"""Who made a generated file, and the proof that it is still that file.

`provenance.toml` lies beside the files it speaks for. What decides whether they run: a table `source_sha256` from file
name to hash, `state_version` (the version of the world's State they were written against), `validator_version` (of the
validator that found nothing wrong with them) and `skills` (the names they were checked against; skills that were added
since are no reason to doubt them, one that is gone is). For people: `author`, and a table for every file that a model
wrote, which names the model and the hashes of what it was told.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from maestro.errors import GeneratedCodeError, RunError, SpecError
from maestro.specs import load_toml

FILE_NAME = "provenance.toml"
GENERATED_FILES = ("initiation.py", "termination.py", "policy.py")
"""Every file name that provenance can speak for."""
OWN_AUTHOR = "maestro project (hand-written)"
"""Author of the code that ships with maestro until a language model's replaces it."""
DEFAULT_AUTHOR = "hand-written"
"""Author of code that was changed since it was signed, or never was, where nobody is named."""


class Origin(BaseModel):
    """How a model came to write one file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    model: str
    """The spec it was asked by, or who wrote the recorded replies."""
    prompt_sha256: str
    """Hash of the first messages as they were sent."""
    skills_sha256: str
    """Hash of what the model was told about the skills: names, descriptions, limits."""
    attempts: int
    """Replies until one was good."""
    code_seed: int | None = None


class Provenance(BaseModel):
    """Contents of a provenance.toml."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    author: str
    state_version: int
    validator_version: int
    """Version of the validator that passed these files; 0 says that none did."""
    skills: list[str]
    source_sha256: dict[str, str]
    origin: dict[str, Origin] = Field(default_factory=dict)
    """By file name, for those that a model wrote."""


def hash_source(source: bytes) -> str:
    """Give the SHA-256 of a source file's bytes in hexadecimal."""
    return hashlib.sha256(source).hexdigest()


def check_provenance(
    path: Path,
    source: bytes,
    *,
    state_version: int | None,
    validator_version: int,
    skills: Collection[str] | None = None,
) -> Provenance:
    """Check that the provenance beside `path` speaks for exactly these bytes, and return it.

    `state_version` is the version of the State the code will be given, `validator_version` that of the validator here,
    `skills` the names of the skills there are; None leaves State or skills unchecked.
    Raises GeneratedCodeError for a file without provenance, changed since, or checked against another State, validator
    or skills; SpecError for a provenance.toml that is damaged.
    """
    renew = f"`{sign_command(path.parent)}` checks and signs it again"
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
    if provenance.validator_version != validator_version:
        raise GeneratedCodeError(
            f"it was passed by version {provenance.validator_version} of the validator", where=str(path),
            expected=f"version {validator_version}", hint=renew,
        )  # fmt: skip
    gone = sorted(set(provenance.skills) - set(skills)) if skills is not None else []
    if gone:
        raise GeneratedCodeError(
            f"it was written for skills that are not there any more: {', '.join(gone)}", where=str(path),
            expected=f"the skills {', '.join(provenance.skills)}", hint=f"bring them back, or mend it; {renew}",
        )  # fmt: skip
    return provenance


def sign(
    folder: Path,
    *,
    author: str | None,
    state_version: int,
    validator_version: int,
    skills: Iterable[str],
    origin: Mapping[str, Origin] | None = None,
    sources: Mapping[str, bytes] | None = None,
) -> list[Path]:
    """Write `provenance.toml` for the generated files in `folder`; return those files.

    A file that is still what the old provenance speaks for keeps its origin, one that was changed by hand is no longer
    a model's; `origin` comes before both. Without an `author` the old one stays if no file was changed, else it is
    DEFAULT_AUTHOR. `sources` are the files' bytes where they were read before, by file name.
    Raises GeneratedCodeError where there is no such file, RunError where the folder cannot be written.
    """
    from maestro.runs import write_atomically  # games only read provenance

    paths = signable_files(folder)
    try:
        hashes = {
            path.name: hash_source(path.read_bytes() if sources is None else sources[path.name])
            for path in paths
        }
        old = _old_provenance(folder)
        listed, origins = (old.source_sha256, old.origin) if old is not None else ({}, {})
        unchanged = {name for name, value in hashes.items() if listed.get(name) == value}
        kept = {name: each for name, each in origins.items() if name in unchanged}
        if author is None:
            author = old.author if old is not None and unchanged == hashes.keys() else DEFAULT_AUTHOR
        provenance = Provenance(
            author=author,
            state_version=state_version,
            validator_version=validator_version,
            skills=sorted(skills),
            source_sha256=hashes,
            origin={**kept, **(origin or {})},
        )
        write_atomically(folder / FILE_NAME, provenance_text(provenance))
    except OSError as error:
        raise RunError(f"cannot sign: {error.strerror}", where=str(folder)) from None
    return paths


def _old_provenance(folder: Path) -> Provenance | None:
    """Read what was signed before; a damaged provenance says nothing, and is replaced."""
    try:
        return load_toml(folder / FILE_NAME, Provenance)
    except SpecError:
        return None


def signable_files(folder: Path) -> list[Path]:
    """List the generated files of a folder; raises GeneratedCodeError where there is none."""
    paths = [folder / name for name in GENERATED_FILES if (folder / name).is_file()]
    if not paths:
        raise GeneratedCodeError(
            "there is nothing to sign", where=str(folder), expected=f"one of {', '.join(GENERATED_FILES)}"
        )
    return paths


def provenance_text(provenance: Provenance) -> str:
    """Write provenance as TOML, the same text for the same contents."""
    lines = [
        f"{key} = {json.dumps(getattr(provenance, key), ensure_ascii=False)}"
        for key in ("author", "state_version", "validator_version", "skills")
    ]
    lines += ["", "[source_sha256]"]
    lines += [f"{json.dumps(name)} = {json.dumps(value)}" for name, value in provenance.source_sha256.items()]
    for name, origin in provenance.origin.items():
        lines += ["", f"[origin.{json.dumps(name)}]"]
        facts = origin.model_dump(exclude_none=True)
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in facts.items()]
    return "\n".join(lines).replace("\x7f", "\\u007f") + "\n"


def sign_command(folder: Path) -> str:
    """Give the command line that signs what is in `folder`."""
    return f"maestro sign {folder}"
