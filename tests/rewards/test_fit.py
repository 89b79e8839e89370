"""Fitting finds a planted reward, holds captions out honestly, and survives odd data."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from maestro.errors import DatasetError, FitError
from maestro.rewards.data import PairData, split_by_caption
from maestro.rewards.encode import encode_messages
from maestro.rewards.fit import FitConfig, Tensors, caption_rewards, evaluate, fit, pair_logits
from maestro.rewards.quality import accuracy, calibration, quantiles_of, scale_of

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
    logits = pair_logits(result.models, Tensors(result.held_out, torch.device("cpu"))).numpy()
    found, number = accuracy(logits, result.held_out.targets)
    assert number > 80
    assert found > 0.9
    assert [epoch.train_loss for epoch in result.epochs][-1] < 0.8 * result.epochs[0].train_loss


def test_the_same_seed_fits_the_same_model_and_an_ensemble_differs():
    config = FitConfig(epochs=1, ensemble=2, batch_size=1_000, precision="float32")
    first, second = fit(planted(), config), fit(planted(), config)
    rewards = [[caption_rewards([model], planted()) for model in result.models] for result in (first, second)]
    assert np.allclose(rewards[0][0], rewards[1][0], atol=1e-4)  # sums over threads round differently
    assert not np.allclose(rewards[0][0], rewards[0][1], atol=1e-3)
    mean = caption_rewards(first.models, planted())
    assert np.allclose(mean, (rewards[0][0] + rewards[0][1]) / 2, atol=1e-6)


def test_held_out_messages_are_in_no_training_pair():
    data = planted()
    evenly = np.arange(data.num_captions) % len(data.messages)  # so that none of them is common
    data = PairData(data.messages, evenly, data.changes, data.pairs, data.targets)
    training, held_out, mixed = split_by_caption(data, 0.3, seed=2)
    shown = {int(data.message_of[caption]) for caption in training.pairs.ravel()}
    tested = {int(data.message_of[caption]) for caption in held_out.pairs.ravel()}
    assert shown and tested and not shown & tested
    assert len(training.pairs) + len(held_out.pairs) + mixed == len(data.pairs)


def test_of_common_messages_captions_are_held_out():
    rng = np.random.default_rng(0)
    messages = encode_messages(["", *(f"You see {n}." for n in range(400))])
    message_of = np.where(rng.random(1_000) < 0.3, 0, rng.integers(1, 401, 1_000))
    changes = np.zeros((1_000, 5), np.int8)
    pairs = rng.integers(0, 1_000, (4_000, 2))
    data = PairData(messages, message_of, changes, pairs, np.ones(4_000, np.float32))
    training, held_out, _ = split_by_caption(data, 0.2, seed=0)
    fitted, tested = (set(part.pairs.ravel().tolist()) for part in (training, held_out))
    assert not fitted & tested
    assert 0 in message_of[list(fitted)] and 0 in message_of[list(tested)]
    rare = [set(message_of[list(part)].tolist()) - {0} for part in (fitted, tested)]
    assert all(rare) and not rare[0] & rare[1]


@pytest.mark.parametrize("num_pairs", [1, 2, 7, 250, 251, 500])
def test_any_number_of_pairs_can_be_fitted(num_pairs):
    result = fit(planted(num_pairs), FitConfig(epochs=1, batch_size=250))
    rewards = caption_rewards(result.models, planted(num_pairs))
    scale = scale_of(rewards)
    assert np.isfinite(rewards).all()
    assert math.isfinite(scale.mean) and scale.std > 0
    assert math.isfinite(result.epochs[0].train_loss)


def test_ties_alone_can_be_fitted_and_have_no_accuracy():
    data = planted(300)
    ties = PairData(data.messages, data.message_of, data.changes, data.pairs, np.full(300, 0.5, np.float32))
    result = fit(ties, FitConfig(epochs=2, batch_size=64))
    assert all(math.isnan(epoch.held_out_accuracy) for epoch in result.epochs)
    assert result.epochs[-1].train_loss == pytest.approx(math.log(2), abs=0.05)


def test_products_of_half_the_bits_find_the_same_reward():
    found = []
    for precision in ("float32", "bfloat16"):
        result = fit(planted(6_000), FitConfig(epochs=3, batch_size=250, seed=1, precision=precision))
        found.append(caption_rewards(result.models, planted()))
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
    model = fit(data, FitConfig(epochs=1, held_out=0)).models[0]
    rewards = caption_rewards([model], data)[data.pairs]
    share = np.exp(rewards) / np.exp(rewards).sum(axis=1, keepdims=True)
    expected = -(math.log(share[0, 0]) + math.log(share[1, 1]) + 0.5 * np.log(share[2]).sum()) / 3
    loss, _ = evaluate(model, Tensors(data, torch.device("cpu")))
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
