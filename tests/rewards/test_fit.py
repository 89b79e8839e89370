"""Fitting finds a planted reward, holds captions out honestly, and survives odd data."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from maestro.errors import DatasetError, FitError
from maestro.rewards.data import PairData, split_by_caption
from maestro.rewards.encode import encode_messages
from maestro.rewards.fit import Fit, FitConfig, Fitting, evaluate, fit, new_fit
from maestro.rewards.model import PRESETS
from maestro.rewards.quality import Scale, accuracy, calibration, quantiles_of, scale_of, threshold_of
from maestro.rewards.throughput import PlainFitting
from maestro.specs import RewardSettings

WORDS = ("gold", "sell", "stairs", "kill", "newt", "door", "see", "altar")


def planted(num_pairs: int = 3_000, seed: int = 0) -> PairData:
    """Pairs judged by the number of times 'gold' is said, plus one for going down."""
    rng = np.random.default_rng(seed)
    messages = sorted({" ".join(rng.choice(WORDS, rng.integers(1, 5))) for _ in range(400)})
    message_of = rng.integers(0, len(messages), 1_000)
    changes = rng.integers(-1, 2, (1_000, 5)).astype(np.int8)
    worth = np.array([message.count("gold") for message in messages])[message_of] + changes[:, 0]
    pairs = rng.integers(0, 1_000, (num_pairs, 2))
    difference = worth[pairs[:, 1]] - worth[pairs[:, 0]]
    targets = np.where(difference > 0, 1.0, np.where(difference < 0, 0.0, 0.5)).astype(np.float32)
    return PairData(encode_messages(messages), message_of, changes, pairs, targets)


def test_a_planted_reward_is_found():
    result = fit(planted(6_000), FitConfig(epochs=6, batch_size=250, seed=1))
    logits = result.captions.logits(result.models, result.held_out.pairs)
    found, number = accuracy(logits, result.held_out.targets, result.held_out.decided)
    assert number > 80
    assert found > 0.9
    assert [epoch.train_loss for epoch in result.epochs][-1] < 0.8 * result.epochs[0].train_loss


def weights_of(result: Fit) -> list[torch.Tensor]:
    return [value for model in result.models for value in model.state_dict().values()]


def test_the_same_seed_fits_the_same_model_to_the_last_bit_and_an_ensemble_differs():
    config = FitConfig(epochs=1, ensemble=2, batch_size=1_000)
    first, second = fit(planted(), config), fit(planted(), config)
    assert all(torch.equal(*both) for both in zip(weights_of(first), weights_of(second), strict=True))
    one, two = (first.captions.rewards([model]) for model in first.models)
    assert not np.allclose(one, two, atol=1e-3)
    assert np.allclose(first.captions.rewards(first.models), (one + two) / 2, atol=1e-6)


@pytest.mark.parametrize("preset", ["small", "paper"])
def test_steps_are_those_of_encoding_every_caption_of_every_pair(preset):
    data = planted(600)
    config = FitConfig(
        preset=preset, batch_size=200, held_out=0, validation=0, precision="float32", schedule="constant"
    )
    fitting = Fitting(new_fit(data, config), torch.device("cpu"), lambda pairs: None)
    plain = PlainFitting(data, config, torch.device("cpu"))
    plain.model.load_state_dict(fitting.model.state_dict())
    order = torch.randperm(600, generator=torch.Generator().manual_seed(0)).numpy()
    losses = [plain.step(order[start : start + 200]) for start in (0, 200, 400)]
    assert fitting.train_epoch() == pytest.approx(np.mean(losses), abs=1e-6)
    for (name, found), expected in zip(
        fitting.model.named_parameters(), plain.model.parameters(), strict=True
    ):
        # Adam divides by the size of a gradient, so that rounding shows where it is almost nothing; the last bias has none.
        assert name == "head.4.bias" or (found - expected).abs().mean() < 0.02 * config.learning_rate, name


def test_held_out_messages_are_in_no_pair_that_teaches_or_chooses():
    data = planted()
    evenly = np.arange(data.num_captions) % len(data.messages)  # so that none of them is common
    data = PairData(data.messages, evenly, data.changes, data.pairs, data.targets)
    split = split_by_caption(data, 0.3, 0.1, seed=2)
    taught, tested = (set(data.message_of[part.pairs].ravel()) for part in (split.training, split.held_out))
    chosen = data.message_of[split.validation.pairs]
    assert taught and tested and not taught & tested and not set(chosen.ravel()) & tested
    assert len(chosen) > 300 and not np.isin(chosen, list(taught)).all(axis=1).any()
    parts = (split.training, split.validation, split.held_out)
    assert sum(len(part.pairs) for part in parts) + split.num_mixed == len(data.pairs)


def test_of_common_messages_captions_are_held_out():
    rng = np.random.default_rng(0)
    messages = encode_messages(["", *(f"You see {n}." for n in range(400))])
    message_of = np.where(rng.random(1_000) < 0.3, 0, rng.integers(1, 401, 1_000))
    changes = np.zeros((1_000, 5), np.int8)
    pairs = rng.integers(0, 1_000, (4_000, 2))
    data = PairData(messages, message_of, changes, pairs, np.ones(4_000, np.float32))
    split = split_by_caption(data, 0.2, 0.1, seed=0)
    fitted, tested = (set(part.pairs.ravel().tolist()) for part in (split.training, split.held_out))
    assert not fitted & tested and not set(split.validation.pairs.ravel().tolist()) & tested
    assert 0 in message_of[list(fitted)] and 0 in message_of[list(tested)]
    rare = [set(message_of[list(part)].tolist()) - {0} for part in (fitted, tested)]
    assert all(rare) and not rare[0] & rare[1]


def test_what_a_network_cannot_tell_apart_is_one_caption_and_on_one_side():
    data = planted(4_000)
    data = replace(
        data, message_of=np.arange(1_000) % 20
    )  # common ones, whose captions are held out one by one
    result = new_fit(data, FitConfig(preset="paper", held_out=0.3, validation=0.1))
    inputs = [
        {(int(part.message_of[caption]), int(part.changes[caption, 0])) for caption in np.unique(part.pairs)}
        for part in (result.training, result.validation, result.held_out)
    ]
    assert len(inputs[0]) > 20 and len(inputs[2]) > 10 and not inputs[2] & (inputs[0] | inputs[1])
    seen = data.as_seen(("depth",))
    assert seen.num_captions == 60 and not seen.changes[:, 1:].any()
    assert np.array_equal(seen.message_of[seen.pairs], data.message_of[data.pairs])
    assert np.array_equal(seen.changes[seen.pairs][..., 0], data.changes[data.pairs][..., 0])
    assert seen.as_seen(("depth",)).sha256() == seen.sha256()
    assert data.as_seen(PRESETS["small"].changes) is data


def test_a_tie_stays_one_whatever_its_probability():
    data = planted(300)
    hard = replace(data, preferred=data.decided)
    assert hard.sha256() == data.sha256()  # cards and checkpoints of hard labels stay valid
    soft = replace(data, targets=np.full(300, 0.45, np.float32), preferred=data.decided)
    assert soft.sha256() != replace(soft, preferred=None).sha256()
    chosen = np.arange(0, 300, 3)
    assert np.array_equal(soft.subset(chosen).decided, data.decided[chosen])
    nothing = replace(soft, preferred=np.zeros(300, bool))
    assert accuracy(np.ones(300), nothing.targets, nothing.decided)[1] == 0
    assert math.isnan(fit(nothing, FitConfig(epochs=1)).epochs[0].validation_accuracy)
    with pytest.raises(ValueError, match="300 pairs, but 2 verdicts"):
        replace(soft, preferred=np.zeros(2, bool))


@pytest.mark.parametrize("num_pairs", [1, 2, 7, 250, 251, 500])
def test_any_number_of_pairs_can_be_fitted(num_pairs):
    result = fit(planted(num_pairs), FitConfig(epochs=1, batch_size=250))
    rewards = result.captions.rewards(result.models)
    scale = scale_of(rewards)
    assert np.isfinite(rewards).all()
    assert math.isfinite(scale.mean) and scale.std > 0
    assert math.isfinite(result.epochs[0].train_loss)


def test_ties_alone_can_be_fitted_and_have_no_accuracy():
    data = planted(300)
    ties = PairData(data.messages, data.message_of, data.changes, data.pairs, np.full(300, 0.5, np.float32))
    result = fit(ties, FitConfig(epochs=2, batch_size=64))
    assert all(math.isnan(epoch.validation_accuracy) for epoch in result.epochs)
    assert result.epochs[-1].train_loss == pytest.approx(math.log(2), abs=0.05)


def test_products_of_half_the_bits_find_the_same_reward():
    found = []
    for precision in ("float32", "bfloat16"):
        config = FitConfig(epochs=4, batch_size=250, held_out=0, validation=0, precision=precision)
        result = fit(planted(6_000), config)
        found.append(result.captions.rewards(result.models))
    assert np.corrcoef(*found)[0, 1] > 0.97
    assert not np.array_equal(*found)


def test_a_preset_brings_its_settings_and_what_is_said_counts_before_them():
    paper = FitConfig(preset="paper")
    assert (paper.learning_rate, paper.batch_size, paper.epochs, paper.schedule) == (
        1e-5,
        1_000,
        20,
        "constant",
    )
    assert FitConfig(preset="paper", epochs=3).epochs == 3
    assert FitConfig() == FitConfig(preset="small")
    with pytest.raises(FitError, match="cannot be used"):
        fit(planted(10), FitConfig(), device="nonsense")


def test_no_pairs_and_unknown_presets_are_refused():
    with pytest.raises(DatasetError, match="no judged pairs"):
        fit(planted(10).subset(np.zeros(10, bool)), FitConfig())
    with pytest.raises(FitError, match="papr.*small"):
        fit(planted(10), FitConfig(preset="papr"))


def test_a_loss_that_is_no_number_stops_the_fit():
    with pytest.raises(FitError, match="the loss became"):
        fit(planted(2_000), FitConfig(epochs=5, batch_size=100, learning_rate=1e30))


def test_the_loss_is_bradley_terry_with_half_a_win_for_ties():
    data = planted(3)
    data = PairData(
        data.messages, data.message_of, data.changes, data.pairs, np.array([0, 1, 0.5], np.float32)
    )
    result = fit(data, FitConfig(epochs=1, held_out=0, validation=0))
    rewards = result.captions.rewards(result.models, data.pairs)
    share = np.exp(rewards) / np.exp(rewards).sum(axis=1, keepdims=True)
    expected = -(math.log(share[0, 0]) + math.log(share[1, 1]) + 0.5 * np.log(share[2]).sum()) / 3
    loss, _ = evaluate(result.models, result.captions, data)
    assert loss == pytest.approx(expected, abs=1e-5)


def test_calibration_counts_every_pair_once():
    logits = np.array([-3.0, -3.0, 0.0, 3.0])
    found = calibration(logits, np.array([0.0, 1.0, 0.5, 1.0]))
    assert sum(found.count) == 4
    assert found.observed == [0.5, 0.5, 1.0]
    low = 1 / (1 + math.exp(3))
    assert found.brier == pytest.approx((low**2 + (1 - low) ** 2 + 0 + low**2) / 4)
    assert found.expected_error == pytest.approx((2 * abs(low - 0.5) + 0 + low) / 4)


def test_quantiles_are_those_of_the_rewards():
    values = np.arange(101, dtype=float)
    table = quantiles_of(values)
    assert len(table) == 20
    assert table[0.05] == pytest.approx(5)
    assert table[0.95] == pytest.approx(95)


def test_the_threshold_is_the_quantile_but_never_among_captions_of_nothing():
    values = np.linspace(-2, 2, 101)
    half, sure = RewardSettings(quantile=0.75), RewardSettings(quantile=0.75, certainty=0.9)
    assert threshold_of(values, -1.0, Scale(0, 10), half) == pytest.approx(1.0)
    assert threshold_of(values, 1.2, Scale(0, 10), sure) == pytest.approx(1.2 + math.log(9) / 10)
    rare = np.concatenate([np.full(990, -0.1), np.full(10, 9.9)])
    found = threshold_of(rare, -0.1, Scale(0, 1), sure)
    assert found == pytest.approx(math.log(9) - 0.1) and (rare >= found).sum() == 10
    assert threshold_of(values - 5, -9.0, Scale(0, 10), sure) == 0.0
    assert threshold_of(values, 0.0, Scale(0, 1), RewardSettings(threshold=0.3)) == 0.3
    assert threshold_of(values, 0.0, Scale(0, 1), RewardSettings(quantile=0.0)) is None
