"""Reward models that were never fitted, for the corridor's skills: what they pay is arbitrary, and that is enough here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import maestro
from maestro.content import Content
from maestro.preferences.goals import find_goal
from maestro.rewards.encode import encode_messages
from maestro.rewards.files import SkillReward, load_reward, save_model
from maestro.rewards.job import preference_sha256
from maestro.rewards.model import ModelConfig, RewardModel


def save_unfitted(
    run: Path,
    skill: str,
    *,
    seed: int,
    threshold: float | None = None,
    card: dict[str, Any] | None = None,
    content: Content | None = None,
) -> SkillReward:
    """Save a random reward model of a skill in a run and load it; its rewards are spread around zero."""
    torch.manual_seed(seed)
    content = content or Content.find()
    sizes = {"embedding": 8, "channels": 8, "message_features": 8, "change_features": 8, "hidden": (8, 8)}
    model = RewardModel(ModelConfig.model_validate(sizes))
    with torch.no_grad():
        codes = torch.from_numpy(encode_messages([f"You see {number} things." for number in range(100)]))
        raw = model(codes, torch.zeros(100, 5))
    goal = find_goal(content, skill)
    described = {
        "skill": skill,
        "skill_sha256": preference_sha256(goal),
        "world": goal.world,
        "caption_version": 1,
        "mean": float(raw.mean()),
        "std": float(raw.std()) or 1.0,  # a network of this size can be dead from birth
        "quantiles": {},
        "threshold_quantile": 0.0,
        "threshold": threshold,
        "held_out": {},
        "annotator": "random",
        "annotation": {},
        "data": {},
        "fit": {},
        "maestro_version": maestro.__version__,
    }
    folder = run / "skills" / skill / "reward"
    save_model(folder, [model], described | (card or {}))
    return load_reward(folder)


@pytest.fixture
def unfitted():
    """Give the function that saves such a model."""
    return save_unfitted


@pytest.fixture(scope="session")
def corridor_rewards(tmp_path_factory) -> Path:
    """Give a run with a reward model for each of the corridor's skills."""
    run = tmp_path_factory.mktemp("rewards")
    for seed, skill in enumerate(Content.find().skills("corridor")):
        save_unfitted(run, skill, seed=seed)
    return run
