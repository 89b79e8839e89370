"""The policy that ships: it fits the world, its features and the skills as they are, and plays."""

import itertools
import json

import pytest

from maestro.content import Content
from maestro.envs import make_features, make_world
from maestro.evaluation.games import Setup
from maestro.evaluation.play import play_here
from maestro.evaluation.replay import Replay
from maestro.learner.policy_file import find_policy, load_card, load_policy, policy_sha256, weights_name


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
    assert "rest_moves" not in outcome.file.options


def test_it_is_evaluated_with_the_actions_it_was_trained_with(folder, tmp_path):
    """Its card is made to say that it was trained with short rests: the world has them, and so has the replay."""
    told = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    assert told.get("world_options", {}) == {}
    copy = tmp_path / "policy"
    copy.mkdir()
    name = weights_name(load_card(folder))
    (copy / name).write_bytes((folder / name).read_bytes())
    (copy / "card.json").write_text(json.dumps(told | {"world_options": {"rest_moves": 2}}), encoding="utf-8")
    assert policy_sha256(copy) != policy_sha256(folder)
    setup = Setup(target="gnomish", policy=str(copy), seed=0, num_games=1, roots=Content.find().roots)
    (outcome,) = play_here(setup, [0])
    assert outcome.file.options["rest_moves"] == 2
    replay = Replay(outcome.file)
    moments = [(frame.action, frame.state.turn) for frame in replay]
    assert replay.differences == []
    rests = [
        after - before for (_, before), (action, after) in itertools.pairwise(moments) if action == "wait"
    ]
    assert rests and sum(rests) <= 2 * len(rests)


@pytest.mark.slow
def test_it_reaches_the_mines_more_often_than_the_published_agent(folder):
    """46 % are published; it was at 70 to 80 % over 50 games, so 16 games below 40 % mean that something broke."""
    setup = Setup(target="gnomish", policy="trained", seed=1, num_games=16, roots=Content.find().roots)
    found = [outcome.record.success["true"] for outcome in play_here(setup, range(16))]
    assert sum(found) / len(found) >= 0.4
