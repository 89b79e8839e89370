"""The policy that ships: it fits the world, its features and the skills as they are, and plays."""

import pytest

from maestro.content import Content
from maestro.envs import make_features, make_world
from maestro.evaluation.games import Setup
from maestro.evaluation.play import play_here
from maestro.learner.policy_file import find_policy, load_policy, weights_name


@pytest.fixture(scope="module")
def folder():
    return find_policy(Content.find(), "nethack")


def test_it_fits_world_features_and_skills_and_says_what_it_is(folder):
    world = make_world("nethack", 1, inventory_shown=False)
    loaded = load_policy(
        folder,
        world=world,
        features=make_features(world, "compass"),
        skills=list(Content.find().skills("nethack").values()),
    )
    world.close()
    assert loaded.notes == ()  # no skill has changed since
    assert (folder / weights_name(loaded.card)).stat().st_size < 16e6
    assert "imitation" in loaded.card.method and "reinforcement learning" in loaded.card.method
    assert loaded.card.steps > 10_000_000 and loaded.card.evaluation


def test_it_plays(folder):
    content = Content.find()
    setup = Setup(target="gnomish", policy="trained", seed=0, num_games=1, roots=content.roots)
    (outcome,) = play_here(setup, [0])
    assert outcome.record.ended.by in ("success", "died", "truncated")
    assert outcome.record.success["true"] in (0.0, 1.0)


@pytest.mark.slow
def test_it_reaches_the_mines_more_often_than_the_published_agent(folder):
    """46 % are published; it was at 70 to 80 % over 50 games, so 16 games below 40 % mean that something broke."""
    setup = Setup(target="gnomish", policy="trained", seed=1, num_games=16, roots=Content.find().roots)
    found = [outcome.record.success["true"] for outcome in play_here(setup, range(16))]
    assert sum(found) / len(found) >= 0.4
