"""A GRU over sequences, with its gradient by hand.

Left to autograd, every step in time adds its own gradient to the recurrent weights, and keeps and reads again a dozen
arrays. Here the products of all steps are one, and what is kept is what the gradient needs.

Shape letters: T time, B sequences, C size of the state, N rows: the steps of all sequences, time by time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

_sigmoid_backward = torch.ops.aten.sigmoid_backward
_tanh_backward = torch.ops.aten.tanh_backward


def gru_steps(
    projected: Tensor,
    state: Tensor,
    weight: Tensor,
    bias: Tensor,
    sizes: Sequence[int],
    keep: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Take the steps of sequences that begin together and end one after another.

    Args:
        projected: (N, 3 C), the inputs times the input weights; reset, update, new, as torch orders them.
        state: float32 (B, C), before the first step.
        weight: recurrent weights, (3 C, C).
        bias: (3 C,).
        sizes: how many sequences take each step, T numbers that never grow, the first of them B.
        keep: float32 (N, 1), what the state is multiplied by before each step; None: by one.

    Returns:
        Outputs, float32 (N, C), and the states at the sequences' ends, float32 (B, C). Products are in bfloat16 under
        autocast; the state stays in float32.
    """
    narrow = torch.is_autocast_enabled(projected.device.type)
    return _Steps.apply(projected, state, weight, bias, sizes, keep, narrow)  # type: ignore[return-value]


class _Steps(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        state: Tensor,
        weight: Tensor,
        bias: Tensor,
        sizes: Sequence[int],
        keep: Tensor | None,
        narrow: bool,
    ) -> tuple[Tensor, Tensor]:
        rows, size = projected.shape[0], state.shape[1]
        dtype = torch.bfloat16 if narrow else weight.dtype
        weight, bias = weight.to(dtype), bias.to(dtype)
        gates = state.new_empty(rows, 2 * size)
        new, recurrent_new, before, outputs = (state.new_empty(rows, size) for _ in range(4))
        hidden = state.clone()
        for at, end in _spans(sizes):
            here = slice(at, end)
            running, previous = hidden[: end - at], before[here]
            previous.copy_(running if keep is None else running * keep[here])
            recurrent = F.linear(previous.to(dtype), weight, bias)
            torch.add(projected[here, : 2 * size], recurrent[:, : 2 * size], out=gates[here]).sigmoid_()
            reset, update = gates[here].chunk(2, dim=1)
            recurrent_new[here] = recurrent[:, 2 * size :]
            torch.addcmul(
                projected[here, 2 * size :].to(state.dtype), reset, recurrent_new[here], out=new[here]
            ).tanh_()
            torch.lerp(new[here], previous, update, out=outputs[here])
            running.copy_(outputs[here])
        ctx.save_for_backward(gates, new, recurrent_new, before, weight, keep)
        ctx.sizes, ctx.types = sizes, (projected.dtype, dtype)
        return outputs, hidden

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_outputs: Tensor, d_last: Tensor) -> tuple[Tensor | None, ...]:
        gates, new, recurrent_new, before, weight, keep = ctx.saved_tensors
        projected_type, dtype = ctx.types
        rows, size = new.shape
        d_projected = new.new_empty(rows, 3 * size, dtype=projected_type)
        d_recurrent = new.new_empty(rows, 3 * size, dtype=dtype)
        d_hidden = d_last.clone()
        for at, end in reversed(list(_spans(ctx.sizes))):
            here = slice(at, end)
            reset, update = gates[here].chunk(2, dim=1)
            running = d_hidden[: end - at]
            d_h = running + d_outputs[here]
            d_new = _tanh_backward(torch.addcmul(d_h, d_h, update, value=-1), new[here])
            d_update = _sigmoid_backward(d_h * (before[here] - new[here]), update)
            d_reset = _sigmoid_backward(d_new * recurrent_new[here], reset)
            torch.cat([d_reset, d_update, d_new], dim=1, out=d_projected[here])
            torch.cat([d_reset, d_update, d_new * reset], dim=1, out=d_recurrent[here])
            torch.addcmul(d_recurrent[here] @ weight, d_h, update, out=running)
            if keep is not None:
                running *= keep[here]
        d_weight = (d_recurrent.T @ before.to(dtype)).float()
        return d_projected, d_hidden, d_weight, _column_sums(d_recurrent), None, None, None


def _column_sums(x: Tensor) -> Tensor:
    """Add up the rows of x (N, C), in one product: for bfloat16 several times as fast as `sum`. Never less than float32."""
    return (x.new_ones(1, x.shape[0]) @ x)[0].to(torch.promote_types(x.dtype, torch.float32))


def _spans(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Say where the rows of each step begin and end."""
    spans, at = [], 0
    for size in sizes:
        spans.append((at, at + size))
        at += size
    return spans
