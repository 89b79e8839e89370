"""What a policy's play would be paid by a reward model."""

from __future__ import annotations

import math

import numpy as np
import pytest

from maestro.content import Content
from maestro.evaluation import paid as paid_module
from maestro.evaluation.paid import _Step, _sums, highest_paid
from maestro.learner.payment import Look, Payment
from maestro.preferences.transitions import FACTS
from maestro.rewards.encode import encode_changes
from maestro.rewards.files import load_reward
from maestro.specs import RewardSettings


def paid(skill: str, steps: int) -> dict:
    content = Content.find()
    reward = load_reward(content.skill(skill).folder / "reward")
    figures, rows = highest_paid(
        reward,
        content.skill(skill).spec.reward,
        world="nethack",
        roots=content.roots,
        policy="reference",
        episodes=1,
        seed=0,
        episode_steps=steps,
    )
    assert rows.num_rows > 0
    return figures


def test_payments_add_up():
    figures = paid("discoverer", 300)
    assert figures["steps"] > 0
    assert figures["paid_steps"] <= figures["steps"]
    shown = sum(row["paid"] for row in figures["captions"])
    assert shown <= figures["total"] + 1e-9
    assert shown == pytest.approx(figures["total"]) or len(figures["captions"]) == 12


def test_what_any_skill_has_shown_is_seen_before_and_only_the_skills_own_steps_are_paid():
    steps = [
        _Step(0, "gold", mine=False, changes=b""),
        _Step(0, "gold", mine=True, changes=b"12345"),
        _Step(0, "", mine=True, changes=b"12345"),
        _Step(0, "kill", mine=True, changes=b"12345"),
        _Step(1, "kill", mine=False, changes=b""),
        _Step(1, "gold", mine=True, changes=b"12345"),
    ]
    total, times = _sums(steps, [2.0, 9.0, 4.0, 3.0], 0.0, RewardSettings(count_exponent=1.0))
    assert total == {"gold": 2.0 / 2 + 3.0, "kill": 4.0}
    assert times == {"gold": 2, "kill": 1}


def test_play_is_paid_as_training_pays(monkeypatch):
    """Keep what was seen and give it to `Payment`: the sums must be the same."""
    seen: list[tuple[int, str, bool, tuple[int, ...]]] = []
    look = paid_module._Recorder._look

    def keep(self, index, skill, episode, seeds, source):
        row = look(self, index, skill, episode, seeds, source)
        before, after = ([[getattr(row, f"{n}_{w}") for n in FACTS]] for w in ("before", "after"))
        signs = encode_changes(np.array(before), np.array(after))[0]
        seen.append((episode, row.message, skill == "discoverer", tuple(signs.tolist())))
        return row

    monkeypatch.setattr(paid_module._Recorder, "_look", keep)
    figures = paid("discoverer", 1500)
    content = Content.find()
    spec, folder = content.skill("discoverer").spec, content.skill("discoverer").folder
    payment = Payment([load_reward(folder / "reward")], [spec.reward], num_games=4)
    total = 0.0
    for episode, message, mine, signs in seen:
        if message:
            earned = payment.pay([Look(episode, message, signs)], [0] * 4).rewards[episode]
            total += earned if mine else 0.0
    assert 0 < sum(mine for *_, mine, _ in seen) < len(seen), "another skill should run as well"
    assert figures["total"] == pytest.approx(total, rel=1e-4)


def test_without_a_threshold_what_is_below_zero_costs():
    steps = [_Step(0, "ouch", mine=True, changes=b"12345")]
    total, times = _sums(steps, [-2.0], -math.inf, RewardSettings())
    assert total == {"ouch": -2.0} and times["ouch"] == 1


def test_a_skill_that_never_ran_is_paid_nothing():
    figures = paid("merchant", 20)
    assert figures["steps"] == figures["paid_steps"] == 0
    assert figures["total"] == 0.0 and figures["captions"] == []
