"""Whether skills do what they are for: what counts as an activation's success, and each skill's figures over episodes.

This is the one place that says what a skill's success is, for every world: what its success.toml says of the states at
the activation's start and end; for a skill without that file, that its own termination ended it. The termination alone
would not do where there is something better: a descender's also ends it one level up, and near an altar.
"""

from __future__ import annotations

import typing
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maestro.content import SkillContent
from maestro.envs import load_world_module
from maestro.errors import SpecError, UnknownNameError
from maestro.evaluation.episode import EpisodeRecord, Seeds, SkillUse
from maestro.evaluation.statistics import clustered_rate, shares
from maestro.options.accounting import EPISODE, FAILED, TERMINATED, Switch
from maestro.specs import SkillSuccessSpec, load_toml

OWN_TERMINATION = "its termination"
_CUT = frozenset({"success", "missed", "truncated", "error"})
"""Endings of an episode that say nothing about the skill that ran: the task was decided, the budget spent, or generated
code broke. A dead hero, or one who left the dungeon, does say something."""
_CHANGES: dict[str, Callable[[Any, Any], bool]] = {
    "rose": lambda start, end: None not in (start, end) and end > start,
    "fell": lambda start, end: None not in (start, end) and end < start,
    "same": lambda start, end: end == start,
    "changed": lambda start, end: end != start,
}
_ORDERED = (int, float, bool, int | None, float | None)
"""Types of the fields that can rise and fall."""


@dataclass(frozen=True)
class SkillSuccess:
    """What counts as a success of one activation of a skill."""

    all_of: tuple[tuple[str, str], ...] = ()
    """(field, change) pairs that must all hold."""
    any_of: tuple[tuple[str, str], ...] = ()
    """Pairs of which one must hold, if there are any. With no pair at all, the termination's word counts."""

    def __str__(self) -> str:
        """Say it in words that are equal exactly where what counts is equal: "depth same and (gold rose or ...)"."""
        needed = [f"{field} {change}" for field, change in self.all_of]
        choice = " or ".join(f"{field} {change}" for field, change in self.any_of)
        if choice:
            needed.append(f"({choice})" if needed and len(self.any_of) > 1 else choice)
        return " and ".join(needed) or OWN_TERMINATION

    def reached(self, ended: str | None, start: Any, end: Any) -> bool:
        """Judge an activation by why it ended and the states around it."""
        if not self.all_of and not self.any_of:
            return ended == TERMINATED

        def holds(pair: tuple[str, str]) -> bool:
            field, change = pair
            return _CHANGES[change](getattr(start, field), getattr(end, field))

        return all(map(holds, self.all_of)) and (not self.any_of or any(map(holds, self.any_of)))


class Judge:
    """Counts the successes of one episode, reason by reason, as activations end."""

    def __init__(self, successes: Mapping[str, SkillSuccess]) -> None:
        self._successes = successes
        self._reached: dict[str, Counter[str]] = {name: Counter() for name in successes}

    def ended(self, switch: Switch, start: Any, end: Any) -> None:
        """Judge an activation that ended; `start` and `end` are the states around it."""
        if switch.ended is not None and self._successes[switch.skill].reached(switch.ended, start, end):
            self._reached[switch.skill][switch.ended] += 1

    def of_skill(self, name: str) -> dict[str, Any]:
        """Give the fields of a `SkillUse` that say what was reached."""
        return {"success_is": str(self._successes[name]), "reached": dict(self._reached[name])}


def load_successes(skills: Mapping[str, SkillContent]) -> dict[str, SkillSuccess]:
    """Read what counts as each skill's success.

    Raises SpecError for a success.toml of another shape or a field that cannot rise or fall, UnknownNameError for a
    field that the world's State does not have.
    """
    return {name: _load(skill) for name, skill in skills.items()}


def skill_figures(episodes: Sequence[tuple[str, EpisodeRecord]]) -> dict[str, dict[str, Any]]:
    """Draw up every skill's figures over episodes, each given with its task's fallback skill; of one task or several.

    Shares are of all steps (turns, endings) together; `activations`, `refused` and `forced` are a mean episode's,
    `total_activations` are all. `success` is None where no record says anything of it (those of an older release do
    not, and those judged by another definition than most are left out). `asked` counts the policy's choices of the
    skill, allowed or refused; `refused_share` is None where there was none.
    """
    names = list(dict.fromkeys(name for _, record in episodes for name in record.skills))
    uses = {name: [record.skills[name] for _, record in episodes if name in record.skills] for name in names}
    of_steps = shares({name: float(sum(use.steps for use in uses[name])) for name in names})
    of_turns = shares({name: float(sum(use.turns for use in uses[name])) for name in names})
    found = {}
    for name in names:
        activations = sum(use.activations for use in uses[name])
        refused = sum(use.refused for use in uses[name])
        steps = sum(use.steps for use in uses[name])
        asked = sum(_asked(name, fallback, record) for fallback, record in episodes)
        ended = sum((Counter(use.ended) for use in uses[name]), Counter())
        found[name] = {
            "share": of_steps[name],
            "share_turns": of_turns[name],
            "activations": activations / len(episodes),
            "total_activations": activations,
            "steps_per_activation": steps / activations if activations else None,
            "success": _success(name, [record for _, record in episodes]),
            "refused": refused / len(episodes),
            "asked": asked,
            "refused_share": refused / asked if asked else None,
            "forced": sum(use.forced for use in uses[name]) / len(episodes),
            "ended": dict(ended.most_common()),
        }
    return found


def refused_share(records: Iterable[EpisodeRecord]) -> float | None:
    """Tell which part of all choices of the policies over skills was refused; None where nothing was ever chosen."""
    uses = [use for record in records for use in record.skills.values()]
    chosen = sum(use.activations for use in uses)  # every choice, refused or not, began one activation
    return sum(use.refused for use in uses) / chosen if chosen else None


def _asked(name: str, fallback: str, record: EpisodeRecord) -> int:
    """Count how often the policy chose a skill: the fallback also ran without having been chosen, once a refusal."""
    use = record.skills.get(name, SkillUse())
    stood_in = sum(other.refused for other in record.skills.values()) if name == fallback else 0
    return use.activations + use.refused - stood_in


def _success(name: str, records: Sequence[EpisodeRecord]) -> dict[str, Any] | None:
    """Estimate the rate of success over the activations that were not cut short by an end of the episode."""
    meanings = Counter(
        use.success_is
        for record in records
        if (use := record.skills.get(name)) and use.success_is is not None
    )
    if not meanings:
        return None
    meaning = meanings.most_common(1)[0][0]
    # Episodes with the same seeds, of several tasks, often are the same game for a while: they are one cluster.
    reached: Counter[Seeds] = Counter()
    tried: Counter[Seeds] = Counter()
    for record in records:
        use = record.skills.get(name)
        if use is not None and use.success_is == meaning:
            reached[record.seeds] += sum(use.reached.values())
            tried[record.seeds] += use.activations - _num_cut(record, use)
    if not tried.total():
        return {"mean": None, "interval": None, "reached": 0, "tried": 0, "is": meaning}
    rate = clustered_rate([reached[seeds] for seeds in tried], list(tried.values()), seed=0)
    return {**rate.to_dict(), "reached": reached.total(), "tried": tried.total(), "is": meaning}


def _num_cut(record: EpisodeRecord, use: SkillUse) -> int:
    if record.ended.by not in _CUT:
        return 0
    return sum(use.ended.get(reason, 0) - use.reached.get(reason, 0) for reason in (EPISODE, FAILED))


def _load(skill: SkillContent) -> SkillSuccess:
    path = skill.success_path
    if not path.is_file():
        return SkillSuccess()
    spec = load_toml(path, SkillSuccessSpec)
    types = typing.get_type_hints(load_world_module(skill.spec.world).State)
    for key, changes in (("all", spec.all), ("any", spec.any)):
        for field, change in changes.items():
            where = f"{path}: {key}.{field}"
            if field not in types:
                raise UnknownNameError("field of State", field, list(types), where=where)
            if change in ("rose", "fell") and types[field] not in _ORDERED:
                raise SpecError(
                    f"{field} is no number: it cannot have been seen that it {change}",
                    where=where,
                    expected="'same' or 'changed'",
                )
    return SkillSuccess(tuple(spec.all.items()), tuple(spec.any.items()))
