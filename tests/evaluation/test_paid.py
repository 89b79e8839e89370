"""What a policy's play would be paid by a reward model."""

from __future__ import annotations

import pytest

from maestro.content import Content
from maestro.evaluation.paid import highest_paid
from maestro.rewards.files import load_reward


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


def test_a_skill_that_never_ran_is_paid_nothing():
    figures = paid("merchant", 20)
    assert figures["steps"] == figures["paid_steps"] == 0
    assert figures["total"] == 0.0 and figures["captions"] == []
