"""Payment: the formula, the cache, counting, and reward models that are missing or do not fit."""

from __future__ import annotations

import copy
import math
import random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro.content import Content
from maestro.envs.corridor import State as CorridorState
from maestro.envs.nethack.state import HUNGER, State
from maestro.errors import FitError
from maestro.learner.payment import (
    ChangeReader,
    LevelReader,
    Look,
    PayConfig,
    Payment,
    check_rewards,
    load_payment,
)
from maestro.preferences.transitions import facts_of
from maestro.rewards.encode import encode_changes, encode_messages
from maestro.rewards.files import SkillReward
from maestro.specs import RewardSettings

SAME = (0, 0, 0, 0, 0)


def model_values(reward: SkillReward, captions: list[tuple[str, tuple[int, ...]]]) -> list[float]:
    """Ask the model itself, as torch computes it, in double precision."""
    exact = SkillReward(reward.card, [copy.deepcopy(model).double() for model in reward.models])
    messages, signs = zip(*captions, strict=True)
    return exact(torch.from_numpy(encode_messages(messages)), torch.tensor(signs)).tolist()


def model_value(reward: SkillReward, message: str) -> float:
    return model_values(reward, [(message, SAME)])[0]


def worth(*rewards: SkillReward) -> list[str]:
    """Give messages that these models value above zero."""
    texts = [f"You see {number} things." for number in range(100)]
    columns = [model_values(reward, [(text, SAME) for text in texts]) for reward in rewards]
    return [text for text, *values in zip(texts, *columns, strict=True) if min(values) > 0.05]


def test_a_caption_is_paid_by_its_value_and_count(tmp_path, unfitted):
    reward = unfitted(tmp_path, "opener", seed=1)
    payment = Payment([reward], [RewardSettings(count_exponent=3.0)], num_games=2)
    message = worth(reward)[0]
    value = model_value(reward, message)
    paid = [payment.pay([Look(1, message, SAME)], [0, 0]).rewards.tolist() for _ in range(3)]
    assert paid == [[0, pytest.approx(value / count**3)] for count in (1, 2, 3)]
    payment.begin(0)
    assert payment.pay([Look(1, message, SAME)], [0, 0]).rewards[1] == pytest.approx(value / 64)
    payment.begin(1)
    assert payment.pay([Look(1, message, SAME)], [0, 0]).rewards[1] == pytest.approx(value)


@pytest.mark.parametrize("threshold", [None, -1.0, 0.0, 0.4])
def test_nothing_is_paid_below_the_threshold_and_less_than_nothing_only_without_one(
    tmp_path, unfitted, threshold
):
    reward = unfitted(tmp_path, "opener", seed=2, threshold=threshold)
    payment = Payment([reward], [RewardSettings()], num_games=1)
    messages = [f"You see {number} odd things." for number in range(120)]
    values = model_values(reward, [(message, SAME) for message in messages])
    assert min(values) < 0 < max(values), "the random model should be both ways"
    paid = [float(payment.pay([Look(0, message, SAME)], [0]).rewards[0]) for message in messages]
    least = -math.inf if threshold is None else max(threshold, 0.0)
    assert paid == pytest.approx([value if value >= least else 0.0 for value in values])


def test_each_skill_is_paid_by_its_own_model_but_sights_are_counted_for_all(tmp_path, unfitted):
    rewards = [unfitted(tmp_path, "opener", seed=1), unfitted(tmp_path, "keyfinder", seed=7)]
    payment = Payment(rewards, [RewardSettings(count_exponent=1.0)] * 2, num_games=1)
    message = worth(*rewards)[0]
    first, second = (payment.pay([Look(0, message, SAME)], [payer]).rewards[0] for payer in (0, 1))
    assert first == pytest.approx(model_value(rewards[0], message))
    assert second == pytest.approx(model_value(rewards[1], message) / 2)


@pytest.mark.parametrize(("memory", "count"), [(20, 1), (21, 2), (None, 2)])
def test_the_twenty_first_caption_pushes_the_first_out_of_a_memory_of_twenty(
    tmp_path, unfitted, memory, count
):
    reward = unfitted(tmp_path, "opener", seed=1)
    payment = Payment([reward], [RewardSettings(count_memory=memory)], num_games=1)
    messages = worth(reward)[:21]
    assert len(messages) == 21
    for message in messages:
        payment.pay([Look(0, message, SAME)], [0])
    again = payment.pay([Look(0, messages[0], SAME)], [0]).rewards[0]
    assert again == pytest.approx(model_value(reward, messages[0]) / count**3)


def test_captions_counted_by_level_are_new_on_every_level_and_old_on_coming_back(tmp_path, unfitted):
    reward = unfitted(tmp_path, "opener", seed=1)
    payment = Payment([reward], [RewardSettings(count_exponent=1.0, count_memory=None)], num_games=1)
    message = worth(reward)[0]
    level = LevelReader(nethack_state())
    road = [("Dungeons of Doom", 3), ("Gnomish Mines", 3), ("Gnomish Mines", 4), ("Gnomish Mines", 3)]
    places = [level(nethack_state(dungeon=dungeon, depth=depth)) for dungeon, depth in road]
    paid = [float(payment.pay([Look(0, message, SAME, place)], [0]).rewards[0]) for place in places]
    value = model_value(reward, message)
    assert paid == pytest.approx([value, value, value, value / 2])


def test_a_world_without_levels_counts_captions_together():
    assert LevelReader(CorridorState(0, 0, 0, 12, False, 0, False, ""))(object()) is None


def test_skills_may_have_different_memories(tmp_path, unfitted):
    rewards = [unfitted(tmp_path, "opener", seed=1), unfitted(tmp_path, "keyfinder", seed=1)]
    payment = Payment(rewards, [RewardSettings(count_memory=m, count_exponent=1) for m in (1, None)], 1)
    one, other = worth(rewards[0])[:2]
    for message in (one, other):
        payment.pay([Look(0, message, SAME)], [0])
    value = model_value(rewards[0], one)
    assert payment.pay([Look(0, one, SAME)], [0]).rewards[0] == pytest.approx(value)
    assert payment.pay([Look(0, one, SAME)], [1]).rewards[0] == pytest.approx(value / 3)


def test_the_cache_gives_exactly_what_the_model_gives_and_stays_small(tmp_path, unfitted):
    rewards = [unfitted(tmp_path, skill, seed=seed) for seed, skill in enumerate(("opener", "keyfinder"))]
    payment = Payment(rewards, [RewardSettings()] * 2, num_games=1, max_cached=50)
    dice = random.Random(0)
    keys = [
        (dice.randrange(2), f"{'Hm! ' * dice.randrange(3)}{dice.randrange(60)}", tuple(dice.choices((-1, 0, 1), k=5)))
        for _ in range(1_500)
    ]  # fmt: skip
    told = [model_values(reward, [key[1:] for key in keys]) for reward in rewards]
    for start in range(0, 1_500, 5):
        found = payment.normalised(keys[start : start + 5])
        expected = [told[keys[n][0]][n] for n in range(start, start + 5)]
        assert found == pytest.approx(expected, abs=1e-9)
        assert payment.num_cached <= 100
    assert payment.lookups == 1_500 and 0 < payment.misses <= 1_500
    misses = payment.misses
    again = payment.normalised(keys[-20:])
    assert payment.misses == misses, "the last twenty are remembered"
    assert again == Payment(rewards, [RewardSettings()] * 2, 1).normalised(keys[-20:]), "bit for bit"


@pytest.mark.parametrize(
    "message", ["x", "\x00", "ÿþ\x80", "€ and 漢字", "long " * 200, "\udcff lone surrogate", "x" * 256]
)
def test_any_message_has_a_reward(tmp_path, unfitted, message):
    reward = unfitted(tmp_path, "opener", seed=3)
    payment = Payment([reward], [RewardSettings()], num_games=1)
    assert payment.normalised([(0, message, SAME)]) == pytest.approx([model_value(reward, message)], abs=1e-9)
    assert np.isfinite(payment.pay([Look(0, message, SAME)], [0]).rewards).all()


def nethack_state(**changed) -> State:
    values = dict.fromkeys(State._fields, 0) | {"hunger": "Not hungry", "message": ""} | changed
    return State(**values)  # type: ignore[arg-type]


FACTS = st.fixed_dictionaries(
    {name: st.integers(0, 3) for name in ("depth", "gold", "hp", "max_hp", "experience_level")}
    | {"hunger": st.sampled_from([*HUNGER, "Fasting"])}
)


@settings(max_examples=200)
@given(FACTS, FACTS)
def test_changes_are_read_as_the_reward_models_data_tell_them(before, after):
    was, now = nethack_state(**before), nethack_state(**after)
    told = encode_changes(np.array([facts_of(was)]), np.array([facts_of(now)]))[0]
    assert ChangeReader(was)(was, now) == tuple(told.tolist())


def test_a_world_without_these_facts_shows_no_change():
    was, now = (CorridorState(n, n, n, 12, False, n, False, "") for n in (0, 1))
    assert ChangeReader(was)(was, now) == SAME


def test_a_world_with_one_of_the_facts_shows_its_change():
    class Pit:
        def __init__(self, depth):
            self.depth = depth

    assert ChangeReader(Pit(1))(Pit(1), Pit(3)) == (1, 0, 0, 0, 0)


def test_no_reward_model_is_needed_where_nothing_intrinsic_is_paid():
    config = PayConfig(intrinsic_scale=0.0)
    assert load_payment(Content.find(), "corridor", ["keyfinder"], config, 1) is None


def test_a_missing_reward_model_names_the_command(tmp_path):
    with pytest.raises(
        FitError, match="no reward model of 'opener'.*train-skills --stage rewards --skill opener"
    ):
        load_payment(Content.find(), "corridor", ["opener"], PayConfig(rewards=tmp_path), 1)


def test_a_folder_without_any_reward_model_is_taken_for_mistyped(tmp_path, unfitted):
    run = PayConfig(rewards=tmp_path / "run")
    with pytest.raises(FitError, match="run' is no folder"):
        check_rewards(run, ["opener", "keyfinder"])
    unfitted(tmp_path / "run", "eastwalker", seed=0)
    with pytest.raises(FitError, match="run' has no reward model of any skill.*one of opener, keyfinder"):
        check_rewards(run, ["opener", "keyfinder"])
    unfitted(tmp_path / "run", "opener", seed=0)
    check_rewards(run, ["opener", "keyfinder"])  # keyfinder's may come from the content
    check_rewards(PayConfig(), ["keyfinder"])
    check_rewards(PayConfig(rewards=tmp_path / "nowhere", intrinsic_scale=0), ["keyfinder"])


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"skill": "keyfinder"}, "of the skill 'keyfinder'.*'opener'"),
        ({"world": "nethack"}, "of the world 'nethack'.*'corridor'"),
        ({"skill_sha256": "0" * 64}, "another preference of 'opener'"),
        ({"std": 0.0}, "all captions the same"),
        ({"paid_share": 0.0, "quantiles": {"0.05": 0.0, "0.99": 0.0}}, "all captions the same"),
    ],
)
def test_a_reward_model_that_does_not_fit_is_refused(tmp_path, unfitted, changed, told):
    unfitted(tmp_path, "opener", seed=0, card=changed)
    with pytest.raises(FitError, match=f"{told}.*fit-reward --skill opener"):
        load_payment(Content.find(), "corridor", ["opener"], PayConfig(rewards=tmp_path), 1)


def test_a_reward_model_of_an_older_wording_can_be_used_on_request(tmp_path, unfitted):
    unfitted(tmp_path, "opener", seed=0, card={"skill_sha256": "0" * 64})
    config = PayConfig(rewards=tmp_path, allow_stale=True)
    assert load_payment(Content.find(), "corridor", ["opener"], config, 1) is not None


@pytest.mark.parametrize(
    ("fitted", "told"),
    [
        ({"certainty": 0.6}, "fitted with certainty 0.6, skill.toml says certainty 0.9"),
        ({"quantile": 0.5}, "fitted with quantile 0.5, skill.toml says quantile 0.85"),
        ({"quantile": 0.0}, "fitted with quantile 0, skill.toml says quantile 0.85, certainty 0.9"),
        ({"given": 1.5}, "fitted with threshold 1.5, skill.toml says quantile 0.85, certainty 0.9"),
    ],
)
def test_a_threshold_chosen_by_other_settings_is_refused(tmp_path, unfitted, fitted, told):
    names = {"quantile": 0.85, "certainty": 0.9, "given": None} | fitted
    assert Content.find().skill("opener").spec.reward == RewardSettings(count_memory=20)
    unfitted(tmp_path, "opener", seed=0, card={f"threshold_{name}": value for name, value in names.items()})
    with pytest.raises(FitError, match=f"{told}.*fit-reward --skill opener.*allow_stale"):
        load_payment(Content.find(), "corridor", ["opener"], PayConfig(rewards=tmp_path), 1)
    stale = PayConfig(rewards=tmp_path, allow_stale=True)
    assert load_payment(Content.find(), "corridor", ["opener"], stale, 1) is not None


@pytest.mark.parametrize(
    ("card", "settings", "change"),
    [
        ({}, {"certainty": 0.6}, None),  # a card that knows nothing of certainty
        ({"threshold_certainty": 0.9}, {"quantile": 0.0, "certainty": 0.6}, None),  # certainty has no say
        ({"threshold_given": 1.5}, {"threshold": 1.5, "certainty": 0.6}, None),
        ({"threshold_certainty": 0.9, "threshold": 1.5}, {"threshold": 1.5}, None),
        ({"threshold_certainty": 0.9}, {"threshold": 1.5}, "fitted with quantile 0, skill.toml says threshold 1.5"),
        ({"threshold_given": 1.5}, {"threshold": 2.0}, "fitted with threshold 1.5, skill.toml says threshold 2"),
    ],
)  # fmt: skip
def test_only_settings_that_choose_the_threshold_and_are_known_count(
    tmp_path, unfitted, card, settings, change
):
    card = {"threshold": card.get("threshold_given"), **card}
    reward = unfitted(tmp_path, "opener", seed=0, card=card)
    assert reward.card.threshold_change(RewardSettings(**settings)) == change


def test_settings_come_from_the_skill_unless_said_otherwise():
    spec = RewardSettings(count_memory=20, count_exponent=3.0)
    assert PayConfig().settings(spec) == spec
    changed = PayConfig(count_memory=None, count_exponent=0.5).settings(spec)
    assert (changed.count_memory, changed.count_exponent) == (None, 0.5)


def test_all_shipped_skills_have_a_reward_model_that_fits():
    content = Content.find()
    skills = list(content.skills("nethack"))
    payment = load_payment(content, "nethack", skills, PayConfig(), 1)
    assert payment is not None
    values = payment.normalised([(number, "You descend the stairs.", (1, 0, 0, 0, 0)) for number in range(5)])
    assert max(values) == values[skills.index("descender")] > 1.0
