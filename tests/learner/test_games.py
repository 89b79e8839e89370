"""The games that teach: who is paid for what, when episodes and skills end, seeds, failures, and figures that add up."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from maestro.content import Content
from maestro.envs import corridor
from maestro.errors import ConfigError, FitError, GeneratedCodeError, UnknownNameError
from maestro.learner import direction
from maestro.learner import games as games_module
from maestro.learner.games import GamesConfig, SkillGames
from maestro.learner.payment import PayConfig
from maestro.rewards.encode import encode_messages
from maestro.rewards.files import SkillReward, load_reward

SKILLS = ("keyfinder", "eastwalker", "opener")


@pytest.fixture
def make(corridor_rewards):
    """Make corridor games, paid by the session's random reward models unless said otherwise."""
    made = []

    def make(num_games=3, group=0, pay=None, **config):
        pay = {"rewards": corridor_rewards, "intrinsic_scale": 0.5} | (pay or {})
        config = GamesConfig(world="corridor", num_games=num_games, pay=PayConfig(**pay), **config)
        made.append(SkillGames(config, group=group))
        made[-1].reset()
        return made[-1]

    yield make
    for games in made:
        games.close()


def towards(games: SkillGames, number: int) -> np.ndarray:
    """Do mostly what the running skills are about, so that all of them run; the same for a game whatever is beside it."""
    habit = {"keyfinder": 0, "eastwalker": 1, "opener": 2}
    return np.array(
        [
            number % 4 if (number + index) % 7 == 0 else habit[games.skills[skill]]
            for index, skill in enumerate(games.running)
        ]
    )


class Bookkeeper:
    """Works out by the letter of the rules what each game must be paid, from its states and from who runs."""

    def __init__(self, games: SkillGames, run, switch_reward: str) -> None:
        self.games, self.switch_reward = games, switch_reward
        self.models = []
        for skill in games.skills:
            reward = load_reward(run / "skills" / skill / "reward")
            self.models.append(
                SkillReward(reward.card, [copy.deepcopy(model).double() for model in reward.models])
            )
        self.seen: list[list[str]] = [[] for _ in range(games.config.num_games)]
        self.values: dict[tuple[int, str], float] = {}

    def step(self, actions):
        """Play a step and return (step, expected rewards, who acted)."""
        games = self.games
        acted = games.running.tolist()
        messages: list[str] = []
        original = games._advance

        def advance(over):
            messages.extend(state.message for state in games.world.states)
            return original(over)

        games._advance = advance
        step = games.step(actions)
        games._advance = original
        expected = []
        for index, message in enumerate(messages):
            over = bool((step.terminated | step.truncated)[index])
            payer = acted[index]
            if self.switch_reward == "next" and not over:
                payer = int(games.running[index])
            expected.append(self.worth(index, payer, message))
            if over:
                self.seen[index] = []
        return step, expected, acted

    def worth(self, index: int, payer: int, message: str) -> float:
        if not message:
            return 0.0
        value = self.values.get((payer, message))
        if value is None:
            signs = torch.zeros(1, 5)  # nothing that the corridor tells is among the changes
            value = float(self.models[payer](torch.from_numpy(encode_messages([message])), signs)[0])
            self.values[payer, message] = value
        self.seen[index].append(message)
        recent: list[str] = []  # the 20 distinct messages seen last, as counts since each came in
        counts: dict[str, int] = {}
        for each in self.seen[index]:
            counts[each] = counts.get(each, 0) + 1
            recent = [other for other in recent if other != each] + [each]
            if len(recent) > 20:
                del counts[recent.pop(0)]
        return value / counts[message] ** 3  # these models have no threshold: what is below zero costs


@pytest.mark.parametrize("switch_reward", ["own", "next"])
def test_every_step_is_paid_by_the_rules(make, corridor_rewards, switch_reward):
    games = make(pay={"switch_reward": switch_reward})
    keeper = Bookkeeper(games, corridor_rewards, switch_reward)
    switched = 0
    for number in range(250):
        step, expected, acted = keeper.step(towards(games, number))
        assert step.reward == pytest.approx(0.5 * np.array(expected), abs=1e-6), number
        switched += sum(a != b for a, b in zip(acted, games.running, strict=True))
    assert switched > 20


def test_the_skill_that_acted_is_paid_for_the_step_that_ends_it(make, corridor_rewards):
    """The two rules must differ somewhere, and only where a skill ended."""
    own, following = make(), make(pay={"switch_reward": "next"})
    differing = 0
    for number in range(250):
        actions = towards(own, number)
        began = list(own._began)
        a, b = own.step(actions), following.step(actions)
        ended = np.array([now is not was for now, was in zip(own._began, began, strict=True)])
        different = a.reward != b.reward
        assert not (different & ~ended).any()
        differing += int(different.sum())
    assert differing > 5


def test_an_empty_message_is_neither_paid_nor_counted(make, monkeypatch):
    real = corridor.CorridorWorld._act

    def silent(self, index, action, slips):
        message = real(self, index, action, slips)
        return "" if action == corridor.EAST else message

    monkeypatch.setattr(corridor.CorridorWorld, "_act", silent)
    games = make(num_games=2)
    for _ in range(30):
        step = games.step(np.array([corridor.EAST, corridor.EAST]))
        assert step.reward.tolist() == [0.0, 0.0]
    assert games._payment is not None and games._payment.lookups == 0
    assert all(len(counter._counts) == 0 for counters in games._payment._counters for counter in counters)


def test_games_with_equal_seeds_are_equal_whatever_is_played_beside_them(make):
    few, many = make(num_games=2), make(num_games=5)
    for number in range(260):
        actions = towards(many, number)
        if number % 3:
            actions[2:] = 3
        a, b = few.step(actions[:2]), many.step(actions)
        for one, other in zip(a[:4], b[:4], strict=True):
            assert np.array_equal(one, other[:2])
        for name, array in few.observation.items():
            assert np.array_equal(array, many.observation[name][:2]), name
        assert a.finished == [summary for summary in b.finished if summary.game < 2]


def test_seeds_groups_games_and_episodes_all_make_a_difference(make):
    def keys(games):
        return [games.world.truth(index).key_position for index in range(8)]

    layouts = [keys(make(num_games=8, seed=seed, group=group)) for seed in (0, 1) for group in (0, 1)]
    assert len({tuple(layout) for layout in layouts}) == 4
    assert keys(make(num_games=8)) == layouts[0]
    games = make(num_games=8)
    games.reset()
    assert keys(games) not in layouts


def test_dungeons_are_the_only_ones_played(make):
    def layouts(games):
        return {games.world.truth(index).key_position for index in range(8)}

    one = make(num_games=8, dungeons=(7,))
    assert len(layouts(one)) == 1
    assert layouts(make(num_games=8, dungeons=(7,), seed=3, group=2)) == layouts(one)
    two = make(num_games=8, dungeons=(7, 8))
    assert layouts(one) < layouts(two) and len(layouts(two)) == 2
    before = [two.world.truth(index).key_position for index in range(8)]
    two.reset()
    after = [two.world.truth(index).key_position for index in range(8)]
    assert before != after and set(after) <= layouts(make(num_games=8, dungeons=(7, 8), seed=5))
    with pytest.raises(ValueError, match="dungeons"):
        GamesConfig(dungeons=(-1,))


def test_option_says_what_runs_what_may_start_and_for_how_long(make):
    games = make(num_games=1)
    option = games.observation["option"]
    assert option.shape == (1, 8) and option.dtype == np.float32
    assert games.specs["option"].shape == (8,)
    assert games.skills == SKILLS and games.num_actions == 4
    start = 0
    began = games._began[0]
    for number in range(120):
        step = games.step(towards(games, number))
        state = games.world.states[0]
        if games._began[0] is not began:
            began, start = games._began[0], state.step
        may = games.executive.startable(0)
        expected = [float(number == games.running[0]) for number in range(3)]
        expected += [float(skill in may) for skill in SKILLS]
        expected += [np.log1p(state.step - start) / 8] * 2
        assert option[0].tolist() == pytest.approx(expected), (number, step)


def test_cutting_returns_at_skill_ends_changes_nothing_but_what_the_learner_is_told(make):
    through, cut = make(), make(option_returns="cut")
    ends = 0
    for number in range(200):
        actions = towards(through, number)
        a, b = through.step(actions), cut.step(actions)
        assert np.array_equal(a.reward, b.reward) and np.array_equal(a.truncated, b.truncated)
        assert a.finished == b.finished and not a.cut.any()
        assert np.array_equal(a.terminated | b.cut, b.terminated)
        assert not (b.cut & (a.terminated | a.truncated)).any()
        assert not (b.terminated & b.truncated).any()
        ends += int(b.cut.sum())
    told, other = through.metrics(), cut.metrics()
    assert told == other
    assert ends == sum(told[f"skill/{skill}/ended"] for skill in SKILLS) - told["episodes"] > 10


def test_metrics_add_up(make):
    games = make(num_games=4)
    more_running = 4
    rewards, finished = 0.0, []
    for _ in range(3):
        rewards, finished = 0.0, []
        for number in range(150):
            step = games.step(towards(games, number))
            rewards += float(step.reward.sum())
            finished += step.finished
        told = games.metrics()
        assert told["steps"] == 600
        assert sum(told[f"skill/{skill}/share"] for skill in SKILLS) == pytest.approx(1)
        begun = sum(told[f"skill/{skill}/activations"] for skill in SKILLS)
        ended = sum(told[f"skill/{skill}/ended"] for skill in SKILLS)
        assert begun - ended == more_running, "four run at any time, and began in the first stretch"
        more_running = 0
        reasons = sum(value for name, value in told.items() if "/ended_" in name)
        assert reasons == ended
        paid = sum(
            told[f"skill/{skill}/reward_per_1000"] * told[f"skill/{skill}/steps"] / 1000 for skill in SKILLS
        )
        assert 0.5 * paid == pytest.approx(rewards, rel=1e-5)
        assert told["reward_per_1000"] == pytest.approx(rewards / 600 * 1000, rel=1e-5)
        assert told["episodes"] == len(finished) == told["episodes_terminated"] + told["episodes_truncated"]
        assert told["episode/steps"] == pytest.approx(np.mean([summary.steps for summary in finished]))
        assert 0.5 < told["cache_hits"] <= 1
        assert told["turns_per_step"] == 1.0
    assert rewards > 0


def test_an_episode_summary_sums_up_what_the_learner_was_given(make):
    games = make(num_games=2, pay={"extrinsic_scale": 2.0})
    sums = np.zeros(2)
    seen = 0
    for number in range(300):
        step = games.step(towards(games, number))
        sums += step.reward
        for summary in step.finished:
            assert summary.reward == pytest.approx(sums[summary.game], rel=1e-4)
            assert summary.reward == pytest.approx(0.5 * summary.intrinsic + 2.0 * summary.extrinsic)
            assert summary.steps <= 100 and summary.turns == summary.steps
            assert summary.extrinsic == (summary.ending == "terminated")
            sums[summary.game] = 0.0
            seen += 1
    assert seen >= 4


def test_extrinsic_reward_is_scaled_and_clipped(make):
    pay = {"intrinsic_scale": 0.0, "extrinsic_scale": 3.0, "reward_scale": 40.0, "reward_clip": 7.0}
    games = make(num_games=2, pay=pay)
    given = {float(r) for number in range(250) for r in games.step(towards(games, number)).reward}
    assert given == {0.0, 21.0}


class Breaking:
    """A policy over skills that breaks in some episodes, as generated code might."""

    def __init__(self, breaks: bool) -> None:
        self.breaks = breaks

    def observe(self, state) -> None:
        if self.breaks and state.step == 5:
            raise ZeroDivisionError("in the policy")

    def select_skill(self, state, finished, startable) -> str:
        return sorted(startable)[0]


def test_code_that_fails_ends_its_own_episode_and_no_other(make, monkeypatch):
    monkeypatch.setattr(direction, "load_policy", lambda *_: lambda seed: Breaking(seed % 3 == 0))
    games = make(num_games=6)
    failed = []
    for _ in range(60):
        step = games.step(np.full(6, corridor.WAIT))
        for summary in step.finished:
            assert step.truncated[summary.game] and not step.terminated[summary.game]
            if summary.ending == "failed":
                assert summary.steps == 5 and "ZeroDivisionError: in the policy" in summary.failure
                failed.append(summary)
    told = games.metrics()
    assert told["episodes_failed"] == len(failed) > 0
    assert told["skill/eastwalker/ended_failed"] == len(failed)
    assert 0 < len({summary.game for summary in failed}) < 6, "games whose seeds do not break play on"


def test_code_that_fails_at_every_start_stops_the_games_and_says_so(make, monkeypatch):
    def broken(seed):
        raise ZeroDivisionError("from the start")

    monkeypatch.setattr(direction, "load_policy", lambda *_: broken)
    with pytest.raises(GeneratedCodeError, match=r"before its first step.*from the start"):
        make(num_games=2)


def test_code_that_fails_at_some_starts_is_counted(make, monkeypatch):
    def sometimes(seed):
        if seed % 2:
            raise ZeroDivisionError("at the start")
        return Breaking(False)

    monkeypatch.setattr(direction, "load_policy", lambda *_: sometimes)
    games = make(num_games=8)
    step = games.step(np.full(8, corridor.WAIT))
    assert step.finished and all(s.ending == "failed" and s.steps == 0 for s in step.finished)
    assert games.metrics()["episodes_failed"] == len(step.finished)


def test_a_skill_alone_is_trained_without_options(make, corridor_rewards):
    games = make(num_games=2, pay={"skill": "keyfinder"}, max_steps=60)
    keeper = Bookkeeper(games, corridor_rewards, "own")
    assert games.skills == ("keyfinder",) and games.observation["option"].shape == (2, 4)
    for _ in range(150):
        step, expected, _ = keeper.step(np.array([0, 1]))
        assert step.reward == pytest.approx(0.5 * np.array(expected), abs=1e-6)
        assert (games.observation["option"][:, :2] == 1).all()
    told = games.metrics()
    assert told["skill/keyfinder/share"] == 1.0 and told["skill/keyfinder/ended_episode"] == told["episodes"]


def test_a_skill_alone_must_be_of_this_world_and_known(make):
    with pytest.raises(ConfigError, match=r"'descender' is of the world 'nethack'"):
        make(pay={"skill": "descender"})
    with pytest.raises(UnknownNameError, match="keyfinder"):
        make(pay={"skill": "keyfindr"})


def test_what_is_missing_is_said_before_any_game_starts(make, monkeypatch):
    monkeypatch.setattr(games_module, "make_world", lambda *_, **__: pytest.fail("a world was made"))
    with pytest.raises(
        FitError, match="no reward model of 'keyfinder'.*maestro train-skills --stage rewards"
    ):
        make(pay={"rewards": None})


def test_unknown_features_are_refused_with_those_there_are(make):
    with pytest.raises(UnknownNameError, match="compass"):
        make(features="compas")


def test_content_may_be_given_by_its_roots(corridor_rewards):
    config = GamesConfig(
        world="corridor", num_games=1, roots=Content.find().roots, pay=PayConfig(rewards=corridor_rewards)
    )
    assert SkillGames(config).skills == SKILLS
    assert GamesConfig.model_validate_json(config.model_dump_json()) == config


def test_nethack_games_are_paid_and_do_not_depend_on_their_neighbours():
    pay = PayConfig(allow_stale=True)  # whether the shipped models are up to date is test_payment's business
    one, three = (SkillGames(GamesConfig(num_games=number, seed=4, pay=pay)) for number in (1, 3))
    for games in (one, three):
        games.reset()
    assert "inv_strs" not in one.world.observation
    dice = np.random.default_rng(0)
    for _ in range(250):
        actions = dice.integers(28, size=3)
        a, b = one.step(actions[:1]), three.step(actions)
        assert a.reward[0] == b.reward[0] and a.finished == [s for s in b.finished if s.game == 0]
        for name, array in one.observation.items():
            assert np.array_equal(array[0], three.observation[name][0]), name
    told = three.metrics()
    assert told["steps"] == 750 and sum(told[f"skill/{s}/share"] for s in three.skills) == pytest.approx(1)
    one.close()
    three.close()
