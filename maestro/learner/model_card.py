"""The README of a policy on the hub, made from its card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maestro.learner.policy_file import PolicyCard

_HEADER = """---
license: apache-2.0
library_name: maestro-skills
pipeline_tag: reinforcement-learning
tags:
- reinforcement-learning
- hierarchical-reinforcement-learning
- options
- maestro
- {world}
---
"""


def model_card(card: PolicyCard, repo: str) -> str:
    """Write the model card as Markdown with the hub's metadata before it."""
    skills = ", ".join(f"`{skill.name}`" for skill in card.skills)
    architecture = ", ".join(f"{key} {value}" for key, value in card.architecture.model_dump().items())
    options = "".join(f", with {name} = {value}" for name, value in card.world_options.items())
    parts = [
        _HEADER.format(world=card.world),
        f"# A skill-conditioned policy for {card.world}",
        f"One network plays {len(card.skills)} skills: {skills}. Which one runs is decided from outside, by generated "
        "or hand-written policies over skills, so that new tasks need no training.",
        f"**How it was made:** {card.method}; {card.steps:,} steps of the world in all.",
        "## Use",
        f"```\npip install maestro-skills\nmaestro hub pull {repo} --out policy\n"
        "maestro eval --target all --policy policy\n```",
        "Loading compares the card with the world, its actions, the features and the skills of your installation, refuses "
        "what does not fit and names skills that changed.",
        "## Evaluation",
        _evaluation(card.evaluation),
        "## Network",
        f"{card.num_parameters:,} parameters, stored as {card.stored}. It sees the features `{card.features.name}` "
        f"(version {card.features.version}) and chooses among {len(card.action_names)} actions{options}. {architecture}.",
        f"Made with maestro {card.maestro_version}. Configuration of every stage, curves and hashes of the skills are in "
        "`card.json`.",
    ]
    return "\n\n".join(parts) + "\n"


def _evaluation(evaluation: Mapping[str, Any]) -> str:
    """Show one row a task and test; the card's evaluation is as `maestro export --evaluation` writes it."""
    rows = []
    for task, figures in evaluation.items():
        kind, published = figures["kind"], figures.get("published")
        for test, success in figures["success"].items():
            if success is not None:
                cells = [task, test, _estimate(success, kind), str(figures["episodes"])]
                rows.append(f"| {' | '.join(cells)} | {_estimate(published, kind) if published else '-'} |")
    if not rows:
        return "None is recorded in the card."
    head = "| task | test | mean (95 % interval) | episodes | published |\n|---|---|---|---|---|\n"
    return head + "\n".join(rows)


def _estimate(row: Mapping[str, Any], kind: str) -> str:
    scale, places, unit = (100, 1, " %") if kind == "rate" else (1, 2, "")
    mean, low, high = (f"{scale * value:.{places}f}" for value in (row["mean"], *row["interval"]))
    return f"{mean}{unit} ({low} to {high})"
