"""The page about a reward model: one file, safe whatever the captions hold, and true where nothing happened."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maestro.content import Content
from maestro.evaluation.reward_report import facts, render_reward
from maestro.rewards.files import load_reward

CARD = load_reward(Content.find().skill("merchant").folder / "reward").card


def figures(message: str = "You sold it.") -> dict[str, Any]:
    """Make figures as `rewards.report.look` gives them."""
    row = {"reward": 1.0, "skill": "merchant", "message": message, "caption": f"Messages: {message}"}
    counts, edges = np.histogram(np.linspace(-1.0, 3.0, 50), 40)
    curve = {"predicted": [0.1, 0.9], "observed": [0.0, 1.0], "count": [10, 20]}
    return {
        "captions": 50,
        "paid_share": 0.15,
        "histogram": {"counts": counts.tolist(), "edges": edges.tolist()},
        "rules": {"agreement": 0.99, "decided_pairs": 30, "reliability": curve},
        "top": [row],
        "bottom": [row],
    }


def play(steps: int, message: str = "You sold it.") -> dict[str, Any]:
    """Make what `paid.highest_paid` tells."""
    rows = [{"message": message, "paid": 2.0, "times": 2, "share": 1.0}] if steps else []
    return {
        "policy": "reference", "episodes": 8, "seed": 0, "steps": steps, "paid_steps": 2 * bool(steps),
        "total": 2.0 * bool(steps), "captions": rows,
    }  # fmt: skip


def test_it_is_one_file_with_its_plots():
    page = render_reward(CARD, figures(), play(100), "runs/collect-nethack")
    assert page.count("<svg") == 3
    assert "https://" not in page
    assert "<script" not in page
    assert "100 steps of the skill" in page
    assert f"annotator “{CARD.annotator}”" in page


def test_a_skill_that_never_ran_is_told():
    page = render_reward(CARD, figures(), play(0), "x")
    assert "The skill never ran in 8 episodes." in page
    assert "0 of them paid" not in page


@pytest.mark.parametrize("message", ["<script>alert(1)</script>", "{{ 777 * 777 }}", "\x00\xff&amp;"])
def test_captions_are_shown_and_never_run(message):
    page = render_reward(CARD, figures(message), play(5, message), message)
    assert "<script" not in page
    assert "603729" not in page


def test_what_is_unknown_is_called_so():
    unknown = {**figures(), "rules": None}
    named = dict(facts(CARD, unknown))
    assert "agreement with rules" not in named
    assert "annotator: rules" in named["held-out accuracy"]
    assert "Reliability against the rules" not in render_reward(CARD, unknown, None, "x")
