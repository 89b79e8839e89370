"""What a policy belongs to (world, actions, skills, features), and whether training may go on with it.

Weights know skills and actions by their numbers only. A skill that was renamed, replaced or numbered anew leaves every
shape as it was, and the policy would play one skill under the name of another; so names are compared, in their order.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from maestro.content import Content
from maestro.errors import TrainingError
from maestro.learner.games import SkillGames
from maestro.learner.policy_file import FeaturesCard, PolicyCard, SkillCard, describe


class Belonging(BaseModel):
    """The part of a policy's card that says what it belongs to; see `policy_file.PolicyCard`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    world: str
    action_names: tuple[str, ...]
    skills: tuple[SkillCard, ...]
    """In the order of their numbers in `option`; one that is no skill of the content has no hashes."""
    features: FeaturesCard

    @staticmethod
    def of_card(card: PolicyCard) -> Belonging:
        """Take it out of a policy's card."""
        return Belonging(
            world=card.world, action_names=card.action_names, skills=card.skills, features=card.features
        )

    @property
    def skill_names(self) -> tuple[str, ...]:
        """Name the skills in their order."""
        return tuple(skill.name for skill in self.skills)


def belonging_of(games: SkillGames, content: Content) -> Belonging:
    """Say what a policy belongs to that is trained in these games of this content."""
    known = content.skills(games.config.world)
    told = describe(games.world, games.features, [known[name] for name in games.skills if name in known])
    hashes = {skill["name"]: skill["sha256"] for skill in told["skills"]}
    told["skills"] = [{"name": name, "sha256": hashes.get(name, {})} for name in games.skills]
    return Belonging.model_validate(told)


def check_belonging(
    theirs: Belonging, ours: Belonging, *, what: str, where: str, hint: str
) -> tuple[str, ...]:
    """Compare what a policy was trained for (`theirs`) with what it is to be trained for; return what changed harmlessly.

    `what` names the policy ("the checkpoint"). The sentences returned name the skills whose files have changed.
    Raises TrainingError that says what differs where another world, action, skill, order or array is meant.
    """
    difference = _difference(theirs, ours)
    if difference is not None:
        was, now = difference
        raise TrainingError(f"{what} was trained for {was}", where=where, expected=now, hint=hint)
    notes = []
    for old, new in zip(theirs.skills, ours.skills, strict=True):
        files = sorted({*old.sha256, *new.sha256})
        changed = [name for name in files if old.sha256.get(name) != new.sha256.get(name)]
        if changed:
            notes.append(f"the skill {old.name} has changed since {what} was made: {', '.join(changed)}")
    return tuple(notes)


def _difference(theirs: Belonging, ours: Belonging) -> tuple[str, str] | None:
    """Give the first thing that differs, as it was and as it is now; None where nothing does."""
    if theirs.world != ours.world:
        return f"the world {theirs.world!r}", repr(ours.world)
    if theirs.skill_names != ours.skill_names:
        return f"the skills {', '.join(theirs.skill_names)}", f"{', '.join(ours.skill_names)}, in this order"
    if theirs.action_names != ours.action_names:
        return _actions(theirs.action_names, ours.action_names)
    old, new = theirs.features, ours.features
    if (old.name, old.version) != (new.name, new.version):
        return f"features {old.name!r} of version {old.version}", f"{new.name!r} of version {new.version}"
    for name in sorted(old.arrays.keys() | new.arrays.keys()):
        was, now = old.arrays.get(name), new.arrays.get(name)
        if was != now:
            return f"the array `{name}` as {_shown(was)}", f"{_shown(now)}, as {new.name!r} gives it now"
    return None


def _actions(theirs: Sequence[str], ours: Sequence[str]) -> tuple[str, str]:
    number = next(
        (number for number, (old, new) in enumerate(zip(theirs, ours, strict=False)) if old != new),
        min(len(theirs), len(ours)),
    )

    def told(names: Sequence[str]) -> str:
        return f"{len(names)} actions, " + (
            f"of which {names[number]!r} is number {number}"
            if number < len(names)
            else f"none of number {number}"
        )

    return told(theirs), told(ours)


def _shown(spec: tuple[tuple[int, ...], str] | None) -> str:
    return "nothing" if spec is None else f"{spec[1]} {tuple(spec[0])}"
