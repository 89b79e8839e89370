"""What the games measured, skill by skill: sums that can be added over games, groups and processes, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maestro.options.accounting import Switch

_FACTS = ("depth", "max_depth", "score", "experience_level", "num_kills")
"""Facts of an episode's last state whose means are told, where the world has them."""
_PER_SKILL = (
    "steps",
    "turns",
    "reward",
    "paid_steps",
    "looks",
    "value",
    "activations",
    "ended",
    "ended_steps",
    "refused",
    "forced",
    "levelled",
    "deeper",
    "higher",
)
_TOLD = ("steps", "activations", "ended", "refused", "forced", "looks", "levelled")
"""Sums that are told as they are: events, and those that the means are means of."""


class EpisodeSummary(NamedTuple):
    """One finished episode."""

    game: int
    episode: int
    """Number among the game's episodes, from 0."""
    steps: int
    turns: int
    reward: float
    """Sum of what the learner was given."""
    intrinsic: float
    """Sum of the shaped rewards, before their scale."""
    extrinsic: float
    """Sum of the world's (or task's) rewards, before scale and clipping."""
    ending: str
    """"terminated", "truncated", or "failed": generated code raised."""
    failure: str
    """What generated code did wrong; empty where it did not."""
    facts: dict[str, float]
    """Of the last state, as far as the world has them: depth, max_depth, score, ..."""


def facts_of_episode(state: Any) -> dict[str, float]:
    """Read off a last state what an episode is judged by."""
    return {name: float(getattr(state, name)) for name in _FACTS if hasattr(state, name)}


class Counts:
    """Sums over a stretch of training. Add counts to counts: every sum is a plain total."""

    def __init__(self, skills: Sequence[str]) -> None:
        self.skills = tuple(skills)
        self.by_skill = {name: np.zeros(len(self.skills)) for name in _PER_SKILL}
        self.reasons: dict[str, np.ndarray] = {}
        """Reason to how often each skill ended for it."""
        self.totals: dict[str, float] = {}
        self._number = {skill: number for number, skill in enumerate(self.skills)}

    def step(
        self,
        acted: np.ndarray,
        turns: np.ndarray,
        payers: np.ndarray,
        intrinsic: np.ndarray,
        reward: np.ndarray,
    ) -> None:
        """Count one step of all games, by arrays (N,).

        Args:
            acted: number of the skill that chose the action.
            turns: turns that passed.
            payers: number of the skill whose model paid.
            intrinsic: shaped rewards.
            reward: what the learner was given.
        """
        num_skills, sums = len(self.skills), self.by_skill
        sums["steps"] += np.bincount(acted, minlength=num_skills)
        sums["turns"] += np.bincount(acted, turns, num_skills)
        if intrinsic.any():
            sums["reward"] += np.bincount(payers, intrinsic, num_skills)
            sums["paid_steps"] += np.bincount(payers, intrinsic > 0, num_skills)
        self.add("reward", float(reward.sum()))

    def looks(self, skills: Sequence[int], values: Sequence[float]) -> None:
        """Count captions that reward models were asked about, with their normalised rewards."""
        self.by_skill["looks"] += np.bincount(skills, minlength=len(self.skills))
        self.by_skill["value"] += np.bincount(skills, values, len(self.skills))

    def began(self, skill: int) -> None:
        """Count an activation that begins."""
        self.by_skill["activations"][skill] += 1

    def ended(self, switch: Switch, start: Any, end: Any) -> None:
        """Count an activation that ended; `start` and `end` are the states around it."""
        sums, skill = self.by_skill, self._number[switch.skill]
        if switch.ended is not None:
            if switch.ended not in self.reasons:
                self.reasons[switch.ended] = np.zeros(len(self.skills))
            self.reasons[switch.ended][skill] += 1
        sums["ended"][skill] += 1
        sums["ended_steps"][skill] += end.step - start.step
        sums["forced"][skill] += switch.forced
        if switch.refused is not None:
            sums["refused"][self._number[switch.refused]] += 1
        if hasattr(end, "depth"):
            sums["levelled"][skill] += 1
            sums["deeper"][skill] += end.depth > start.depth
            sums["higher"][skill] += end.depth < start.depth

    def episode(self, summary: EpisodeSummary) -> None:
        """Count an episode that ended."""
        self.add("episodes", 1)
        self.add(f"episodes_{summary.ending}", 1)
        for name in ("steps", "turns", "reward", "intrinsic", "extrinsic"):
            self.add(f"episode_{name}", getattr(summary, name))
        for name, value in summary.facts.items():
            self.add(f"episode_{name}", value)

    def add(self, name: str, value: float) -> None:
        """Add to one of the totals."""
        self.totals[name] = self.totals.get(name, 0.0) + value

    def __iadd__(self, other: Counts) -> Counts:
        """Add what other games counted; they must be of the same skills."""
        if other.skills != self.skills:
            raise ValueError(f"counts of the skills {other.skills} cannot be added to those of {self.skills}")
        for name, values in other.by_skill.items():
            self.by_skill[name] += values
        for reason, values in other.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + values
        for name, value in other.totals.items():
            self.add(name, value)
        return self

    def report(self) -> dict[str, float]:
        """Say what the sums mean, under names with slashes; what cannot be said yet (a mean of nothing) is left out.

        Per skill, `skill/<name>/...`: `share` of the steps; `reward_per_1000` steps, shaped; `paid_share` of the steps;
        `value`, the mean normalised reward of captions looked at; `activations`, `ended`, `ended_<reason>`, `refused`
        (chosen but not startable), `forced` (ran as the fallback though not startable); `steps_per_activation`;
        `deeper` and `higher`, shares of the activations that ended below and above where they began.
        """
        told: dict[str, float] = {}
        steps = self.by_skill["steps"]
        for number, skill in enumerate(self.skills):
            told |= {f"skill/{skill}/{name}": value for name, value in self._of_skill(number).items()}
        told["steps"] = float(steps.sum())
        told |= _ratio("turns_per_step", self.by_skill["turns"].sum(), steps.sum())
        told |= _ratio("reward_per_1000", 1000 * self.totals.get("reward", 0.0), steps.sum())
        episodes = self.totals.get("episodes", 0.0)
        told["episodes"] = episodes
        for ending in ("terminated", "truncated", "failed"):
            told[f"episodes_{ending}"] = self.totals.get(f"episodes_{ending}", 0.0)
        for name, value in self.totals.items():
            if name.startswith("episode_"):
                told |= _ratio(name.replace("_", "/", 1), value, episodes)
        told["lookups"] = self.totals.get("lookups", 0.0)
        told |= _ratio("cache_hits", self.totals.get("hits", 0.0), self.totals.get("lookups", 0.0))
        return told

    def _of_skill(self, number: int) -> dict[str, float]:
        mine = {name: float(values[number]) for name, values in self.by_skill.items()}
        ended = mine["ended"]
        told = {name: mine[name] for name in _TOLD}
        told |= _ratio("share", mine["steps"], self.by_skill["steps"].sum())
        told |= _ratio("reward_per_1000", 1000 * mine["reward"], mine["steps"])
        told |= _ratio("paid_share", mine["paid_steps"], mine["steps"])
        told |= _ratio("turns_per_step", mine["turns"], mine["steps"])
        told |= _ratio("value", mine["value"], mine["looks"])
        told |= _ratio("steps_per_activation", mine["ended_steps"], ended)
        for name in ("deeper", "higher"):
            told |= _ratio(name, mine[name], mine["levelled"])
        return told | {f"ended_{reason}": float(counts[number]) for reason, counts in self.reasons.items()}


def _ratio(name: str, part: float, whole: float) -> dict[str, float]:
    return {name: float(part / whole)} if whole else {}
