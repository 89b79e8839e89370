"""The GRU's own gradient: that of its definition, of torch's layer, and under bfloat16 near both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from maestro.learner.gru import gru_steps
from maestro.learner.recurrent import Core
from maestro.rewards.threads import one_thread

SIZE = 4


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    with one_thread():
        yield


def numbers(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=dtype).requires_grad_()


def core(num_inputs: int, size: int = SIZE) -> Core:
    made = Core("gru", num_inputs, size)
    for at, weight in enumerate(made.layer.parameters()):
        weight.data = numbers(*weight.shape, seed=at, dtype=torch.float32).detach() * 0.5
    return made


@pytest.mark.parametrize("with_keep", [False, True])
def test_the_gradient_is_that_of_what_is_computed(with_keep: bool) -> None:
    sizes = [5, 5, 3, 1]
    rows = sum(sizes)
    keep = (torch.rand(rows, 1, dtype=torch.float64) < 0.7).double() if with_keep else None
    projected, state = numbers(rows, 3 * SIZE), numbers(5, SIZE, seed=1)
    weight, bias = numbers(3 * SIZE, SIZE, seed=2), numbers(3 * SIZE, seed=3)

    def steps(projected: Tensor, state: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        return gru_steps(projected, state, weight, bias, sizes, keep)

    assert torch.autograd.gradcheck(steps, (projected, state, weight, bias))


def gradients(parameters: Sequence[Tensor], y: Tensor | PackedSequence, last: Tensor) -> list[Tensor]:
    outputs = y.data
    loss = (outputs * torch.linspace(-1, 1, outputs.numel()).view_as(outputs)).sum() + last.square().sum()
    return list(torch.autograd.grad(loss, parameters))


def test_sequences_of_different_lengths_have_the_gradient_of_torchs_layer() -> None:
    made = core(6)
    sequences = [numbers(length, 6, seed=length, dtype=torch.float32) for length in (2, 7, 1, 4)]
    state = numbers(4, SIZE, dtype=torch.float32)
    parameters = [*made.layer.parameters(), *sequences, state]
    mine = gradients(parameters, *made.packed(pack_sequence(sequences, enforce_sorted=False), state))
    theirs = gradients(
        parameters, *made._packed_by_torch(pack_sequence(sequences, enforce_sorted=False), state)
    )
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_what_came_before_an_episode_gets_no_gradient() -> None:
    made = core(6)
    x, state = numbers(5, 3, 6, dtype=torch.float32), numbers(3, SIZE, dtype=torch.float32)
    fresh = torch.zeros(5, 3, dtype=torch.bool)
    fresh[3, 1] = True
    outputs, _ = made.unroll(x, state, fresh)
    d_x, d_state = torch.autograd.grad(outputs[4].sum(), [x, state])
    assert not d_x[:3, 1].any()
    assert not d_state[1].any()
    assert d_x[3:, 1].any()
    assert d_state[0].any()


def test_bfloat16_products_give_nearly_the_same_gradient() -> None:
    made = core(32, 32)
    x, state = numbers(20, 6, 32, dtype=torch.float32), torch.zeros(6, 32)
    fresh = torch.zeros(20, 6, dtype=torch.bool)
    weights = list(made.layer.parameters())
    exact = gradients(weights, *made.unroll(x, state, fresh))
    with torch.autocast("cpu", torch.bfloat16):
        outputs, last = made.unroll(x, state, fresh)
    assert outputs.dtype == last.dtype == torch.float32
    for rough, one in zip(gradients(weights, outputs, last), exact, strict=True):
        assert rough.dtype == torch.float32
        assert torch.nn.functional.cosine_similarity(rough.flatten(), one.flatten(), dim=0) > 0.99
