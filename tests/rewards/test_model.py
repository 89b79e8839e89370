"""The reward network computes what a plain one would, and reads only what it may."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from maestro.rewards.encode import CHANGES, MESSAGE_BYTES, encode_messages
from maestro.rewards.model import PRESETS, MessageEncoder, RewardModel


def plainly(encoder: MessageEncoder, messages: torch.Tensor) -> torch.Tensor:
    """Run the same layers over all 256 columns."""
    x = encoder.embedding(messages.long()).transpose(1, 2)
    for layer in encoder.wide:
        x = F.max_pool1d(F.relu(layer(x)), 3)
    for layer in encoder.narrow:
        x = F.relu(layer(x))
    return F.relu(encoder.out(F.max_pool1d(x, 3).flatten(1)))


def gradients(encoder: MessageEncoder) -> list[torch.Tensor]:
    return [p.grad.clone() for p in encoder.parameters() if p.grad is not None]


@pytest.fixture(scope="module")
def model() -> RewardModel:
    torch.manual_seed(0)
    return RewardModel(PRESETS["small"]).eval()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(st.characters(max_codepoint=255), max_size=300), min_size=1, max_size=12))
def test_leaving_out_the_padding_is_exact(model, messages):
    codes = torch.from_numpy(encode_messages(messages))
    with torch.no_grad():
        assert torch.allclose(model.message(codes), plainly(model.message, codes), atol=1e-6)


def test_gradients_are_those_of_the_plain_network():
    torch.manual_seed(1)
    encoder = MessageEncoder(PRESETS["small"])
    codes = torch.from_numpy(encode_messages(["", "You kill the newt!", "x" * 130]))
    plainly(encoder, codes).sum().backward()
    wanted = gradients(encoder)
    encoder.zero_grad()
    encoder(codes).sum().backward()
    for found, expected in zip(gradients(encoder), wanted, strict=True):
        assert torch.allclose(found, expected, atol=1e-4)


def test_the_order_of_messages_does_not_matter(model):
    messages = ["a" * random.Random(n).randint(0, MESSAGE_BYTES) for n in range(40)]
    codes, changes = torch.from_numpy(encode_messages(messages)), torch.zeros(40, len(CHANGES))
    order = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.allclose(model(codes, changes)[order], model(codes[order], changes[order]), atol=1e-6)


def test_captions_that_share_a_message_share_its_row(model):
    codes = torch.from_numpy(encode_messages(["You sold a gem.", "You die..."]))
    changes = torch.tensor([[0, 1, 0, 0, 0], [0, 0, -1, 0, 0], [1, 0, 0, 0, 0]])
    which = torch.tensor([0, 1, 0])
    with torch.no_grad():
        assert torch.allclose(model(codes, changes, which), model(codes[which], changes))


def test_the_papers_preset_sees_depth_only():
    torch.manual_seed(0)
    paper = RewardModel(PRESETS["paper"])
    code = torch.from_numpy(encode_messages(["You descend the stairs."]))
    with torch.no_grad():
        still = paper(code, torch.tensor([[0, 0, 0, 0, 0]]))
        richer = paper(code, torch.tensor([[0, 1, 1, 1, 1]]))
        deeper = paper(code, torch.tensor([[1, 0, 0, 0, 0]]))
    assert torch.equal(still, richer)
    assert not torch.equal(still, deeper)


def test_every_byte_and_any_character_is_read():
    codes = encode_messages([chr(n) for n in range(256)] + ["\u4e2d", "\0\0a"])
    assert codes[1:256, 0].tolist() == list(range(1, 256))
    assert codes[256, 0] == ord("?")
    assert codes[257, :3].tolist() == [32, 32, ord("a")]
