"""What more skills cost: content made here, with 1, 5 and 20 skills, on the same games of NetHack."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from maestro.content import Content
from maestro.learner.games import GamesConfig, SkillGames
from maestro.learner.payment import PayConfig
from maestro.options.load import VALIDATOR_VERSION, state_version
from maestro.options.provenance import sign

POLICY = """import random


class Policy:
    def select_skill(self, state, finished, startable):
        return random.choice(sorted(startable))
"""


def make_content(root: Path, num_skills: int) -> Content:
    """Write skills that may start while the hero lives and end after 50 steps, and a policy that draws among them."""
    for number in range(num_skills):
        folder = root / "skills" / f"skill{number:02d}"
        folder.mkdir(parents=True)
        (folder / "skill.toml").write_text(
            f'name = "skill{number:02d}"\nindex = {number}\ndescription = "Do."\npreference = "Prefer {number}."\n'
        )
        (folder / "initiation.py").write_text(
            f"def can_initiate(state):\n    return state.hp > 0 or state.depth > {number}\n"
        )
        (folder / "termination.py").write_text(
            "def should_terminate(state, start, startable):\n    return state.step >= start.step + 50\n"
        )
    training = root / "meta_policies" / "practice"
    training.mkdir(parents=True)
    (training / "training.toml").write_text(
        'name = "practice"\ninstruction = "Practise."\nfallback = "skill00"\n'
    )
    (training / "policy.py").write_text(POLICY)
    content = Content((root,))
    for folder in [*(skill.folder for skill in content.skills().values()), training]:
        sign(
            folder,
            author="a test",
            state_version=state_version("nethack"),
            validator_version=VALIDATOR_VERSION,
            skills=content.skills(),
        )
    return content


def make_games(root: Path, num_skills: int, save) -> SkillGames:
    content = make_content(root, num_skills)
    for number, skill in enumerate(content.skills("nethack")):
        save(root / "run", skill, seed=number, content=content)
    pay = PayConfig(rewards=root / "run", extrinsic_scale=0.1)
    games = SkillGames(GamesConfig(num_games=16, pay=pay), content=content)
    games.reset()
    return games


def test_content_with_other_skills_is_played_and_paid(tmp_path, unfitted):
    games = make_games(tmp_path, 3, unfitted)
    dice = np.random.default_rng(0)
    for _ in range(130):
        games.step(dice.integers(28, size=16))
    told = games.metrics()
    assert all(told[f"skill/skill{n:02d}/reward_per_1000"] != 0 for n in range(3))
    assert games.observation["option"].shape == (16, 8)
    games.close()


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_an_added_skill_costs_less_than_one_percent(tmp_path, unfitted):
    """Played in turn, step by step, so that other load meets all alike."""
    numbers = (1, 5, 20)
    all_games = [make_games(tmp_path / str(number), number, unfitted) for number in numbers]
    for _ in range(3):  # a median is steady, but not on every machine at every moment
        added = _cost_of_an_added_skill(all_games, numbers)
        if max(added) < 0.01:
            break
    for games in all_games:
        games.close()
    assert max(added) < 0.01, added


def _cost_of_an_added_skill(all_games, numbers) -> list[float]:
    """Return what each skill beyond the first added to a step's time, as a share of it, for each number of skills."""
    dice = np.random.default_rng(0)
    seconds = np.zeros((800, len(numbers)))
    for row in seconds:
        actions = dice.integers(28, size=16)
        for at, games in enumerate(all_games):
            start = time.thread_time()
            games.step(actions)
            row[at] = time.thread_time() - start
    typical = np.median(seconds[100:], axis=0)
    return [(typical[at] / typical[0] - 1) / (numbers[at] - numbers[0]) for at in range(1, len(numbers))]
