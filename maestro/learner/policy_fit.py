"""Whether a policy fits the world, the features and the skills it is to be used with, and what to do if not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from maestro.envs.world import Features, World
from maestro.errors import PolicyFileError

if TYPE_CHECKING:
    from maestro.learner.policy_file import PolicyCard

_TRAIN = "train one with maestro train-policy"


def check_world(folder: Path, card: PolicyCard, world: World) -> None:
    """Refuse a policy of another world, or of one with other actions; raises PolicyFileError."""
    if card.world != world.name:
        raise PolicyFileError(
            f"this policy was made for the world {card.world!r}",
            where=str(folder),
            expected=f"a policy for {world.name!r}",
            hint=f"give --policy the folder of one, or {_TRAIN}",
        )
    mine, theirs = list(card.action_names), list(world.action_names)
    if mine == theirs:
        return
    more, fewer = [name for name in theirs if name not in mine], [name for name in mine if name not in theirs]
    parts = []
    if more:
        parts.append(f"it does not know {', '.join(more)}")
    if fewer:
        parts.append(f"the world has no {', '.join(fewer)}")
    raise PolicyFileError(
        f"this policy chooses among {len(mine)} actions that are not the world's: "
        + ("; ".join(parts) or "their order is another"),
        where=str(folder),
        expected=f"the {len(theirs)} actions of {world.name!r} in their order",
        hint=f"use the maestro that made it ({card.maestro_version}), or {_TRAIN}",
    )


def check_features(folder: Path, card: PolicyCard, features: Features) -> None:
    """Refuse a policy that sees something else than these features give; raises PolicyFileError."""
    mine = card.features
    if (mine.name, mine.version) != (features.name, features.version):
        raise PolicyFileError(
            f"this policy sees features {mine.name!r} of version {mine.version}",
            where=str(folder),
            expected=f"version {features.version} of {features.name!r}, which this maestro computes",
            hint=f"use the maestro that made it ({card.maestro_version}), or {_TRAIN}",
        )
    theirs = {name: (array.shape[1:], str(array.dtype)) for name, array in features.arrays.items()}
    for name in sorted(mine.arrays.keys() | theirs.keys()):
        if mine.arrays.get(name) != theirs.get(name):
            raise PolicyFileError(
                f"this policy sees the array `{name}` as {_shown(mine.arrays.get(name))}",
                where=str(folder),
                expected=f"{_shown(theirs.get(name))}, as {features.name!r} gives it here",
                hint="play a world of the same options as it was trained on",
            )


def check_skills(folder: Path, card: PolicyCard, skills: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """Compare skills (name to hashes of its files) with those a policy was made for; return what changed, in sentences.

    Raises PolicyFileError where a skill may run that the policy never learnt.
    """
    check_skills_named(folder, card, list(skills))
    known = {skill.name: skill.sha256 for skill in card.skills}
    notes = []
    for name, hashes in skills.items():
        changed = [
            file for file in sorted({*known[name], *hashes}) if known[name].get(file) != hashes.get(file)
        ]
        if changed:
            notes.append(f"the skill {name} has changed since its policy was trained: {', '.join(changed)}")
    gone = [name for name in known if name not in skills]
    if gone:
        notes.append(f"the policy also learnt {_listed(gone)}, which the content does not have")
    return tuple(notes)


def check_skills_named(folder: Path, card: PolicyCard, skills: Sequence[str]) -> None:
    """Refuse a policy that never learnt a skill that may run; raises PolicyFileError."""
    known = [skill.name for skill in card.skills]
    strange = [name for name in skills if name not in known]
    if strange:
        raise PolicyFileError(
            f"this policy never learnt {_listed(strange)}",
            where=str(folder),
            expected=f"skills among {', '.join(known)}",
            hint=f"{_TRAIN}; --policy reference plays meanwhile",
        )


def _listed(names: list[str]) -> str:
    return ("the skill " if len(names) == 1 else "the skills ") + ", ".join(names)


def _shown(spec: tuple[tuple[int, ...], str] | None) -> str:
    return "nothing" if spec is None else f"{spec[1]} {tuple(spec[0])}"
