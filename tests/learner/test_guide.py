"""The guide: who plays an episode's beginning, where the learner takes over, and that nothing of it is paid or counted."""

from __future__ import annotations

import numpy as np
import pytest

from maestro.envs import corridor
from maestro.errors import ConfigError, UnknownNameError
from maestro.learner.games import GamesConfig, SkillGames
from maestro.learner.guide import GuideConfig
from maestro.learner.payment import PayConfig

OPENER = GuideConfig(skills=("opener",))
UNPAID = PayConfig(intrinsic_scale=0)


@pytest.fixture
def make(corridor_rewards):
    made = []

    def make(guide, num_games=8, **config):
        pay = PayConfig(rewards=corridor_rewards)
        config = GamesConfig(world="corridor", num_games=num_games, pay=pay, guide=guide, **config)
        made.append(SkillGames(config))
        made[-1].reset()
        return made[-1]

    yield make
    for games in made:
        games.close()


def running(games):
    return {games.skills[number] for number in games.running}


def test_the_learner_takes_over_where_the_seldom_skill_starts(make):
    games = make(OPENER)
    assert running(games) == {"opener"} and all(s.at_door and s.num_keys for s in games.world.states)
    first = [state.step for state in games.world.states]
    assert min(first) > 0
    assert running(make(GuideConfig())) == {"eastwalker"}
    step = games.step(np.full(8, corridor.WAIT))
    assert games.take_counts().report()["skill/opener/steps"] == 8, "the guide's steps count nowhere"
    assert not step.finished and [s.step for s in games.world.states] == [n + 1 for n in first]
    assert games.observation["vector"].any()


def test_every_episode_is_led_and_sums_up_the_learners_part_only(make):
    games = make(OPENER, max_steps=60)
    finished = []
    for _ in range(150):
        begun = [state.step for state in games.world.states]
        for summary in games.step(np.full(8, corridor.WAIT)).finished:
            finished.append(summary)
            assert summary.steps < 60 and summary.steps == summary.turns
            assert games.world.states[summary.game].step > 0 and begun[summary.game] == 59
            assert games.skills[games.running[summary.game]] == "opener"
    assert len(finished) >= 8 and games.metrics()["skill/keyfinder/activations"] == 0


def test_games_that_are_led_do_not_depend_on_their_neighbours(make):
    one, eight = make(OPENER, 1, seed=3), make(OPENER, 8, seed=3)
    for _ in range(130):
        assert one.world.states[0] == eight.world.states[0]
        for games in (one, eight):
            games.step(np.full(len(games.running), corridor.WAIT))


def test_the_guide_gives_up_and_leads_a_share(make):
    games = make(GuideConfig(skills=("opener",), max_steps=2))
    assert [state.step for state in games.world.states] == [2] * 8 and "opener" not in running(games)
    led = [state.step > 0 for state in make(GuideConfig(skills=("opener",), share=0.5), 60).world.states]
    assert 15 < sum(led) < 45


def test_games_that_always_end_under_the_guide_are_told(make):
    with pytest.raises(ConfigError, match="the guide lost every one of 20 games"):
        make(OPENER, max_steps=5)


def test_a_skill_that_is_none_is_refused(make):
    with pytest.raises(UnknownNameError, match=r"games\.guide\.skills.*opener"):
        make(GuideConfig(skills=("openr",)))


def test_nethack_is_led_to_an_altar():
    """Dungeons of docs/results/2026-11-22-altars-and-shops.toml."""
    config = GamesConfig(
        num_games=3,
        training="trade_training",
        dungeons=(40322, 40474, 40478, 40652, 40724, 40882),
        options={"fixed_levels": True},
        guide=GuideConfig(skills=("worshipper",)),
        pay=UNPAID,
    )
    games = SkillGames(config)
    games.reset()
    names = [games.skills[number] for number in games.running]
    assert names.count("worshipper") >= 2
    for name, state in zip(names, games.world.states, strict=True):
        assert state.step > 0
        if name == "worshipper":
            assert "altar" in state.nearby and state.num_items >= 1
    games.close()
