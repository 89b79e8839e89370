"""What is preferred: the preference of a skill, or one of the goals in prompts/preference/goals/ (Motif's five)."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

from maestro.content import Content
from maestro.errors import UnknownNameError
from maestro.specs import Name, PreferenceRule, load_toml

FOLDER = "preference/goals"


class GoalSpec(BaseModel):
    """A goal file. An empty preference leaves the choice to what the annotator knows of the game."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: Name
    preference: str
    motif_name: str = ""
    """What Motif calls the goal in the names of its annotation files."""
    world: Name = "nethack"
    rules: list[PreferenceRule] = []


@dataclass(frozen=True)
class Goal:
    """What to prefer, and for whom."""

    name: str
    preference: str
    world: str
    rules: tuple[PreferenceRule, ...] = field(default=())
    motif_name: str = ""
    """Empty for a skill."""


def find_goal(content: Content, name: str) -> Goal:
    """Give the preference of a skill, else a ready goal; raises UnknownNameError naming both kinds."""
    skills = content.skills()
    if name in skills:
        spec = skills[name].spec
        return Goal(name, spec.preference, spec.world, tuple(spec.rules))
    goals = ready_goals(content)
    if name in goals:
        return goals[name]
    raise UnknownNameError("skill or goal", name, [*skills, *goals], where="--skill")


def ready_goals(content: Content) -> dict[str, Goal]:
    """List the goals below the prompt folders by name; a user's folder counts before ours."""
    found: dict[str, Goal] = {}
    for folder in content.prompt_folders():
        for path in sorted((folder / FOLDER).glob("*.toml")):
            spec = load_toml(path, GoalSpec)
            goal = Goal(spec.name, spec.preference.strip(), spec.world, tuple(spec.rules), spec.motif_name)
            found.setdefault(spec.name, goal)
    return found
