"""Let hand-written code of a skill or task run, after you have read it.

    maestro sign skills/digger
    maestro sign meta_policies/goldenexit --author "Ada Lovelace"

initiation.py, termination.py and policy.py run only if the provenance.toml beside them lists their hashes and the version
of the validator that found nothing wrong with them. This command validates what the folders hold now (`maestro validate`
does that alone) and writes that file; do it again after every change, and after an upgrade that asks for it. Code that
was not changed since it was signed keeps its author, unless you name one, and what is known of the model that wrote it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from maestro.errors import ContentError
from maestro.options.load import sign_folder


@dataclass(frozen=True)
class Config:
    """Choose what to sign, and in whose name."""

    folders: tyro.conf.Positional[tuple[Path, ...]]
    """Folders of skills or tasks."""
    author: str | None = None
    """Who answers for the code; by default who did before, and "hand-written" for what is new or was changed."""


def run(config: Config) -> int:
    """Sign every folder and say which files may run now."""
    if not config.folders:
        raise ContentError("no folder was named", where="maestro sign", expected="folders of skills or tasks")
    for folder in config.folders:
        for path in sign_folder(folder, config.author):
            print(f"signed {path}")
    return 0
