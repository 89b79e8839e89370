"""Put a trained policy on the Hugging Face hub, with a model card made from its own card.

    maestro hub push ada/nethack-skills
    maestro hub push ada/nethack-skills --policy runs/mine/policy --private

The repository is made if there is none; a repository of something else is left alone. The token is HF_TOKEN, or that of
`hf auth login`; HF_ENDPOINT names another hub.
"""

from __future__ import annotations

from dataclasses import dataclass

import tyro

from maestro.commands._output import print_json
from maestro.content import Content
from maestro.evaluation.policies import TRAINED, trained_folder


@dataclass(frozen=True)
class Config:
    """Choose what goes where."""

    repo: tyro.conf.Positional[str]
    """The repository: <user or organisation>/<name>."""
    policy: str = TRAINED
    """The folder of a policy, or "trained" for the one in skills/policy."""
    world: str = "nethack"
    """The world whose policy "trained" means."""
    private: bool = False
    """Make a new repository private."""
    message: str | None = None
    """What to say about this version."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Push and say where it is."""
    from maestro.learner.hub import push_policy

    folder = trained_folder(config.policy, config.world, Content.find())
    pushed = push_policy(folder, config.repo, private=config.private, message=config.message)
    if config.json:
        print_json({"repo": config.repo, "folder": str(folder), **pushed._asdict()})
    else:
        print(f"pushed {folder} to {pushed.url}, revision {pushed.commit}")
        print(f"others fetch it with: maestro hub pull {config.repo}")
    return 0
