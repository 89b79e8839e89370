"""Check code of a skill or a task that you wrote or changed, without running it.

    maestro validate mine/meta_policies/rattle
    maestro validate mine/skills/digger/termination.py
    maestro validate skills meta_policies --json

Names every broken rule with file, line, column and what to write instead. A file is judged by its name (initiation.py,
termination.py, policy.py) and by the world that the skill.toml or task.toml beside it names; folders are searched for such
files. Code that is valid runs once it is signed: `maestro sign FOLDER` checks the same rules and records the hash. The exit
code is 0 when every file is valid.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from maestro.commands._output import print_json
from maestro.errors import ContentError, GeneratedCodeError, SpecError, suggestion
from maestro.options.load import Judged, check_signed, validate_file
from maestro.options.provenance import GENERATED_FILES, sign_command


@dataclass(frozen=True)
class Config:
    """Choose what to check."""

    paths: tyro.conf.Positional[tuple[Path, ...]]
    """Files, or folders with such files anywhere below."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Check every file and say what is wrong, and whether it may run as it is."""
    files = _files(config.paths)
    judged = [validate_file(file) for file in files]
    faults = {each.path: _signature(each) for each in judged}
    num_invalid = sum(bool(each.violations) for each in judged)
    if config.json:
        print_json({"ok": num_invalid == 0, "files": [_to_json(each, faults[each.path]) for each in judged]})
        return 1 if num_invalid else 0
    for each in judged:
        for violation in each.violations:
            print(violation)
        if not each.violations:
            print(f"{each.path}: valid{f', but {faults[each.path]}' if faults[each.path] else ' and signed'}")
    if num_invalid:
        print(f"{num_invalid} of {len(judged)} files break rules.")
        return 1
    unsigned = list(dict.fromkeys(path.parent for path, fault in faults.items() if fault))
    for folder in unsigned:
        print(f"Next: {sign_command(folder)}")
    return 0


def _files(paths: tuple[Path, ...]) -> list[Path]:
    """List the generated files that are meant, each once."""
    if not paths:
        raise ContentError(
            "nothing was named", where="maestro validate", expected="files, or folders of skills or tasks"
        )
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for name in GENERATED_FILES for file in path.rglob(name))
            if not inside:
                raise ContentError(
                    "there is no code of a skill or task in it",
                    where=str(path),
                    expected=f"files called {', '.join(GENERATED_FILES)}",
                )
            found += inside
        elif path.exists():
            found.append(path)
        else:
            beside = [str(path.parent / other.name) for other in path.parent.glob("*")]
            raise ContentError(
                "there is no such file or folder", where=str(path), hint=suggestion(str(path), beside)
            )
    return list(dict.fromkeys(found))


def _signature(judged: Judged) -> str:
    """Say what keeps a valid file from running; "" where nothing does."""
    if judged.violations:
        return ""
    try:
        check_signed(judged.path)
    except (GeneratedCodeError, SpecError) as error:
        return error.what
    return ""


def _to_json(judged: Judged, fault: str) -> dict[str, Any]:
    return {
        "file": str(judged.path),
        "valid": not judged.violations,
        "violations": [violation.to_dict() for violation in judged.violations],
        "may_run": not judged.violations and not fault,
        "fault": fault or None,
    }
