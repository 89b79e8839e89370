"""Fetch a trained policy from the Hugging Face hub.

    maestro hub pull ada/nethack-skills
    maestro hub pull ada/nethack-skills --revision 1a2b3c4 --out policies/old

Card and weights are checked before they count, and nothing of what is fetched is executed. For a private repository the
token is HF_TOKEN, or that of `hf auth login`; HF_ENDPOINT names another hub.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from maestro.commands._output import print_json
from maestro.runs import runs_root


@dataclass(frozen=True)
class Config:
    """Choose the policy, and where it goes."""

    repo: tyro.conf.Positional[str]
    """The repository: <user or organisation>/<name>."""
    out: Path | None = None
    """Folder for the policy; by default ./runs/policy-<name> (or below MAESTRO_RUNS)."""
    revision: str | None = None
    """A commit, branch or tag; by default the newest."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Pull and say how to play it."""
    from maestro.learner.hub import pull_policy

    folder = config.out or runs_root() / f"policy-{config.repo.rpartition('/')[2]}"
    card = pull_policy(config.repo, folder, revision=config.revision)
    skills = [skill.name for skill in card.skills]
    if config.json:
        told = {"world": card.world, "skills": skills, "steps": card.steps, "method": card.method}
        print_json({"repo": config.repo, "folder": str(folder), **told})
    else:
        print(f"pulled {config.repo} to {folder}: {', '.join(skills)} of {card.world}")
        print(f"made {card.method}; {card.steps:,} steps")
        print(f"play it with: maestro eval --target all --policy {folder}")
    return 0
