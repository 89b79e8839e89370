"""Counts: sums that add up over groups of games, and what is said of them."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from maestro.learner.metrics import Counts, EpisodeSummary, facts_of_episode
from maestro.options.accounting import Switch


def state(step, depth=1, **more):
    return SimpleNamespace(step=step, depth=depth, **more)


def counted(seed: int) -> Counts:
    """Count some arbitrary steps, skill ends and episodes."""
    dice, counts = np.random.default_rng(seed), Counts(["up", "down"])
    for _ in range(10):
        skills = dice.integers(2, size=3)
        counts.step(skills, dice.integers(3, size=3), skills, dice.random(3), dice.random(3))
        counts.looks(skills.tolist(), dice.normal(size=3).tolist())
    counts.began(0)
    for reason in ("terminated", "max_steps")[: seed + 1]:
        counts.ended(
            Switch(0, 1, "down", reason, "up" if seed else None, False), state(0), state(9, 1 + seed)
        )
    summary = EpisodeSummary(0, 1, 30, 40, 1.5, 3.0, 0.0, "terminated", "", {"depth": 2.0 + seed})
    counts.episode(summary)
    counts.add("lookups", 30)
    counts.add("hits", 10 * seed)
    return counts


def test_what_is_said_follows_from_what_was_counted():
    counts = Counts(["up", "down"])
    acted = np.array([0, 1, 1])
    counts.step(acted, np.array([1, 0, 3]), acted, np.array([0.0, 2.0, 0.0]), np.array([0.0, 0.2, 0.0]))
    counts.step(acted, np.array([1, 1, 1]), acted, np.zeros(3), np.zeros(3))
    counts.looks([1, 1], [2.0, -1.0])
    counts.ended(Switch(0, 1, "down", "max_turns", "up", True), state(2, 1), state(12, 2))
    counts.ended(Switch(12, 9, "down", "episode", None), state(12, 2), state(18, 2))
    told = counts.report()
    assert told["steps"] == 6 and told["turns_per_step"] == pytest.approx(7 / 6)
    assert told["reward_per_1000"] == pytest.approx(1000 * 0.2 / 6)
    down = {name.removeprefix("skill/down/"): value for name, value in told.items() if "/down/" in name}
    assert down == pytest.approx(
        {
            "steps": 4, "activations": 0, "ended": 2, "refused": 0, "forced": 1, "looks": 2, "levelled": 2, "share": 4 / 6,
            "reward_per_1000": 500.0, "paid_share": 0.25, "turns_per_step": 5 / 4, "value": 0.5,
            "steps_per_activation": 8.0, "deeper": 0.5, "higher": 0.0, "ended_max_turns": 1, "ended_episode": 1,
        }
    )  # fmt: skip
    assert told["skill/up/refused"] == 1 and told["skill/up/ended_max_turns"] == 0


def test_nothing_counted_says_nothing_that_cannot_be_said():
    told = Counts(["up"]).report()
    assert told["steps"] == told["episodes"] == told["skill/up/steps"] == 0
    assert not any("share" in name or "episode/" in name or "cache" in name for name in told)


def test_counts_add_up_over_groups_and_survive_pickling():
    one, other = counted(0), counted(1)
    apart = one.report(), other.report()
    total = Counts(["up", "down"])
    for counts in (one, pickle.loads(pickle.dumps(other))):
        total += counts
    told = total.report()
    for name in (
        "steps",
        "episodes",
        "skill/down/ended",
        "skill/up/refused",
        "skill/up/activations",
        "skill/down/steps",
    ):
        assert told[name] == apart[0][name] + apart[1][name], name
    assert told["skill/down/ended_max_steps"] == 1 and told["skill/down/ended_terminated"] == 2
    assert told["episode/depth"] == 2.5 and told["cache_hits"] == pytest.approx(1 / 6)
    assert sum(told[f"skill/{skill}/share"] for skill in ("up", "down")) == pytest.approx(1)
    assert one.report() == apart[0], "what was added is not changed"


def test_counts_of_other_skills_cannot_be_added():
    with pytest.raises(ValueError, match=r"\('down',\) cannot be added to those of \('up',\)"):
        counts = Counts(["up"])
        counts += Counts(["down"])


def test_an_episode_is_judged_by_what_its_world_tells():
    assert facts_of_episode(state(3, depth=2, score=7, max_depth=4, num_kills=1)) == {
        "depth": 2.0,
        "max_depth": 4.0,
        "score": 7.0,
        "num_kills": 1.0,
    }
