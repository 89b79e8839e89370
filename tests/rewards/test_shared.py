"""Sharing windows between messages changes nothing but the time it takes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro.rewards.batches import Captions, made_ahead
from maestro.rewards.data import PairData
from maestro.rewards.encode import MESSAGE_BYTES, encode_messages
from maestro.rewards.model import LAYERS, PRESETS, MessageEncoder, RewardModel
from maestro.rewards.shared import encode_windows
from maestro.rewards.windows import Windows, rounded_up

WORDS = ("You see here", "an egg.", "a newt corpse.", "You kill it!", "aaaaaaaaaa", " ")


@pytest.fixture(scope="module")
def encoder() -> MessageEncoder:
    torch.manual_seed(0)
    return MessageEncoder(PRESETS["small"])


def shared(encoder: MessageEncoder, codes: np.ndarray, chosen: list[int], dtype=torch.float32):
    return encode_windows(encoder, *Windows(codes, LAYERS).prepare(np.array(chosen)), dtype)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.text(st.characters(max_codepoint=255), max_size=300), min_size=1, max_size=8),
    st.lists(st.lists(st.sampled_from(WORDS), max_size=30), max_size=8),
    st.data(),
)
def test_features_are_those_of_the_network(encoder, odd, usual, data):
    codes = encode_messages([*odd, *(" ".join(words) for words in usual)])
    chosen = data.draw(st.lists(st.integers(0, len(codes) - 1), min_size=1, max_size=20))
    with torch.no_grad():
        expected = encoder(torch.from_numpy(codes))[chosen]
        assert torch.allclose(shared(encoder, codes, chosen), expected, atol=1e-6)


def test_gradients_are_those_of_the_network(encoder):
    codes = encode_messages(
        ["", "You kill the newt!", "You kill the newt!", "a" * 130, "You kill the gnome!"]
    )
    chosen = [0, 1, 1, 3, 4]
    weight = torch.randn(5, PRESETS["small"].message_features, generator=torch.Generator().manual_seed(1))
    found = []
    for features in (shared(encoder, codes, chosen), encoder(torch.from_numpy(codes))[chosen]):
        encoder.zero_grad()
        (features * weight).sum().backward()
        found.append({name: value.grad.clone() for name, value in encoder.named_parameters()})
    for name in found[0]:
        assert torch.allclose(found[0][name], found[1][name], atol=1e-5), name
    assert not found[0]["embedding.weight"][0].any()  # padding is not learnt


def test_a_window_that_stands_often_is_computed_once():
    codes = encode_messages([f"You see here {n} daggers." for n in range(200)])
    plans, which = Windows(codes, LAYERS).prepare(np.arange(200))
    assert len(which) == 200 and len(set(which.tolist())) == 200
    assert len(plans[0].starts) * 20 < 200 * 249  # the plain network convolves 249 columns of each
    for plan, (kernel, _) in zip(plans, LAYERS, strict=True):
        assert len(plan.index) == len(plan.users) == kernel * len(plan.starts)
        assert len(plan.starts) % 128 == 0  # few sizes, see rounded_up


def test_half_the_bits_are_near(encoder):
    codes = encode_messages([" ".join(WORDS), "You kill the newt!"])
    with torch.no_grad():
        exact, rough = (shared(encoder, codes, [0, 1], dtype) for dtype in (torch.float32, torch.bfloat16))
    assert rough.dtype == torch.bfloat16
    assert torch.allclose(rough.float(), exact, atol=0.02) and not torch.equal(rough.float(), exact)


def test_captions_that_the_network_cannot_tell_apart_are_one():
    torch.manual_seed(0)
    model = RewardModel(PRESETS["paper"])  # sees depth only
    codes = encode_messages(["You descend.", "You sold a gem."])
    changes = np.array([[1, 0, 0, 0, 0], [1, 1, -1, 0, 0], [0, 0, 0, 0, 0], [0, 1, 0, 0, 0]], np.int8)
    data = PairData(
        codes, np.array([0, 0, 0, 1]), changes, np.array([[0, 1], [2, 3]]), np.ones(2, np.float32)
    )
    captions = Captions(data, model.config)
    found = captions.rewards([model])
    assert found[0] == found[1] and len(set(found.tolist())) == 3
    with torch.no_grad():
        expected = model(torch.from_numpy(codes[[0, 0, 0, 1]]), torch.from_numpy(changes)).numpy()
    assert np.allclose(found, expected, atol=1e-6)
    assert np.allclose(captions.logits([model], data.pairs), [0.0, expected[3] - expected[2]], atol=1e-6)


def test_layers_that_do_not_end_in_one_column_are_refused():
    with pytest.raises(ValueError, match="5 columns"):
        Windows(np.zeros((1, MESSAGE_BYTES), np.uint8), LAYERS[:-1])


def test_things_are_made_one_ahead_and_in_order():
    made = []
    taken = made_ahead(lambda number: made.append(number) or number * 10, range(5))
    assert next(taken) == 0 and list(taken) == [10, 20, 30, 40]
    assert made == [0, 1, 2, 3, 4]
    assert list(made_ahead(len, [])) == []


def test_what_goes_wrong_while_making_ahead_reaches_who_asked():
    taken = made_ahead(lambda number: 1 // number, [1, 0, 1])
    assert next(taken) == 1
    with pytest.raises(ZeroDivisionError):
        next(taken)


def test_sizes_are_rounded_up_by_repeating_the_first():
    assert rounded_up(np.array([7, 8, 9]), 4).tolist() == [7, 8, 9, 7]
    assert rounded_up(np.arange(8), 4).tolist() == list(range(8))
