"""Play, and see what a reward model would have paid for: where a policy is paid for nothing of worth, it shows here."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from maestro.evaluation.collect import GAMES, CollectSetup, Player, Share
from maestro.preferences.transitions import FACTS, SCHEMA, Transition
from maestro.rewards.encode import CHANGES, encode_changes
from maestro.rewards.files import SkillReward
from maestro.rewards.report import rewards_of
from maestro.rewards.shape import CaptionCounter, shaped_reward
from maestro.specs import RewardSettings


class _Step(NamedTuple):
    episode: int
    message: str
    mine: bool
    """Whether the skill that is looked at chose the action: only then its model pays."""
    changes: bytes
    """Five signs, int8; empty where the step is not mine."""


class _Recorder(Player):
    """A player that keeps every step, repetitions included, and marks those of one skill."""

    def record(self, skill: str) -> list[_Step]:
        self._skill, self._steps = skill, []
        return self._steps

    def _look(self, index: int, skill: str, episode: int, seeds: tuple[int, int], source: str) -> Transition:
        row = super()._look(index, skill, episode, seeds, source)
        mine, changes = skill == self._skill, b""
        if mine:
            before, after = (
                np.array([[getattr(row, f"{name}_{when}") for name in FACTS]]) for when in ("before", "after")
            )
            changes = encode_changes(before, after).tobytes()
        self._steps.append(_Step(episode, row.message, mine, changes))
        return row


def highest_paid(
    reward: SkillReward,
    settings: RewardSettings,
    *,
    world: str,
    roots: tuple[Path, ...],
    policy: str,
    episodes: int,
    seed: int,
    episode_steps: int = 2_500,
    num_shown: int = 12,
    horizon: int = 100,
) -> tuple[dict[str, Any], pa.Table]:
    """Play `episodes` (rounded up to whole chunks) under the training policy and add up what the skill earns.

    It is paid as `learner.payment.Payment` pays: a message counts as seen before whichever skill ran when it was shown.
    Empty messages earn nothing and are not counted. Returns plain data (steps, total, and the messages
    with the largest sums) and the transitions seen, as a dataset has them.
    """
    setup = CollectSetup(world, (Share(policy, 1.0),), seed, roots, horizon, episode_steps)
    player = _Recorder(setup, policy)
    steps = player.record(reward.card.skill)
    played, rows = 0, []
    while played < episodes:
        rows += player.play(range(played, played + GAMES)).rows
        played += GAMES
    steps.sort(key=lambda step: step.episode)  # games run side by side; each one's own order stays
    mine = [step for step in steps if step.mine]
    signs = np.frombuffer(b"".join(step.changes for step in mine), np.int8).reshape(-1, len(CHANGES))
    values = rewards_of(reward, [step.message for step in mine], signs)
    total, times = _sums(steps, values.tolist(), reward.threshold, settings)
    gains = sum(paid for paid in total.values() if paid > 0)
    figures = {
        "policy": policy,
        "episodes": played,
        "seed": seed,
        "steps": len(mine),
        "paid_steps": sum(times.values()),
        "total": float(sum(total.values())),
        "captions": [
            {
                "message": message,
                "paid": float(paid),
                "times": times[message],
                "share": max(paid, 0.0) / gains if gains else 0.0,
            }
            for message, paid in sorted(total.items(), key=lambda item: -item[1])[:num_shown]
        ],
    }
    columns = zip(*rows, strict=True)
    return figures, pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], SCHEMA
    )


def _sums(
    steps: list[_Step], values: list[float], threshold: float, settings: RewardSettings
) -> tuple[dict[str, float], Counter[str]]:
    """Add up by message what is paid, and how often; `steps` episode by episode, `values` those of the steps that are mine."""
    total: dict[str, float] = {}
    times: Counter[str] = Counter()
    counter, episode = CaptionCounter(settings.count_memory), -1
    own = iter(values)
    for step in steps:
        if step.episode != episode:
            counter.clear()
            episode = step.episode
        value = next(own) if step.mine else None
        count = counter.count(step.message) if step.message else 0
        if value is None or not count:
            continue
        paid = shaped_reward(value, threshold, count, settings.count_exponent)
        if paid:
            total[step.message] = total.get(step.message, 0.0) + paid
            times[step.message] += 1
    return total, times
