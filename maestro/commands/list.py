"""List the skills, tasks or worlds there are.

    maestro list skills
    maestro list tasks --world nethack
    maestro list worlds --json

Skills and tasks are folders of content: those that ship with maestro, and yours in --content or MAESTRO_CONTENT.
"""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from maestro.commands._output import print_json, print_table
from maestro.content import Content
from maestro.envs import world_names
from maestro.errors import UnknownNameError


@dataclass(frozen=True)
class Config:
    """Choose what to list."""

    what: tyro.conf.Positional[Literal["skills", "tasks", "worlds"]]
    """What to list."""
    world: str | None = None
    """Only what belongs to this world."""
    content: Path | None = None
    """A folder with skills, prompts or meta_policies of your own, searched first."""
    json: bool = False
    """Print one JSON array."""


def run(config: Config) -> int:
    """Print the table, or the JSON array, that was asked for."""
    rows = {"skills": _skills, "tasks": _tasks, "worlds": _worlds}[config.what](config)
    if config.json:
        print_json(rows)
    elif config.what == "skills":
        columns = {"skill": "name", "world": "world", "what it does": "description"}
        print_table(columns, rows, empty="There are no skills.")
    elif config.what == "tasks":
        columns = {"task": "name", "world": "world", "scored by": "kind", "instruction": "instruction"}
        print_table(columns, rows, empty="There are no tasks.")
    else:
        print_table({"world": "name", "what it is": "description"}, rows, empty="There are no worlds.")
    return 0


def _skills(config: Config) -> list[dict[str, Any]]:
    content = Content.find(config.content)
    return [
        {**skill.spec.model_dump(), "folder": str(skill.folder)}
        for skill in content.skills(_known_world(config)).values()
    ]


def _tasks(config: Config) -> list[dict[str, Any]]:
    content = Content.find(config.content)
    return [
        {**task.spec.model_dump(), "folder": str(task.folder)}
        for task in content.tasks(_known_world(config)).values()
    ]


def _worlds(config: Config) -> list[dict[str, Any]]:
    wanted = _known_world(config)
    return [
        {"name": name, "description": _world_summary(name)}
        for name in world_names()
        if wanted in (None, name)
    ]


def _known_world(config: Config) -> str | None:
    """Refuse a world that does not exist, which would otherwise show an empty list."""
    if config.world is not None and config.world not in world_names():
        raise UnknownNameError("world", config.world, world_names(), where="--world")
    return config.world


def _world_summary(name: str) -> str:
    """Read the first line of a world's docstring without importing it, so that a missing engine does not matter."""
    spec = importlib.util.find_spec(f"maestro.envs.{name}")
    if spec is None or spec.origin is None:
        return ""
    text = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]
