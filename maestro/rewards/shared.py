"""The message network over distinct windows: the same features as `MessageEncoder.forward`, and far less work.

A convolution of kernel K is K products added up. Here every distinct row below is multiplied by the whole kernel once
(one matrix product), and each distinct window adds up the K results it needs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F

from maestro.rewards.model import MessageEncoder
from maestro.rewards.windows import LayerPlan


def encode_windows(
    encoder: MessageEncoder, plans: list[LayerPlan], which: Tensor, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Return the features of the planned messages, `dtype` (D, message_features).

    Args:
        plans, which: what `Windows.prepare` gave for `model.LAYERS`.
        dtype: of the products; sums are taken in float32 and rounded to it.
    """
    weight = encoder.embedding.weight
    x = torch.cat([weight[:1].detach(), weight[1:]])  # padding is not learnt
    for (kernel, bias), plan in zip(encoder.kernels(), plans, strict=True):
        features, below, columns = kernel.shape
        table = x.to(dtype) @ kernel.permute(1, 2, 0).reshape(below, columns * features).to(dtype)
        x = _Sums.apply(table.view(-1, features), plan)
        if plan.pool > 1:
            # Rows of neighbours with their features side by side: for torch, images of one line in channels_last.
            neighbours = x.view(-1, 1, plan.pool, features).permute(0, 3, 1, 2)
            x = F.max_pool2d(neighbours, (1, plan.pool)).permute(0, 2, 3, 1).reshape(-1, features)
        x = F.relu(x + bias.to(dtype))
    return x[which]


class _Sums(Function):
    """Add up rows of a table; the gradient of a row adds up the gradients of the sums that use it, without collisions."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, plan: LayerPlan) -> Tensor:
        ctx.plan = plan
        return F.embedding_bag(plan.index, table, plan.starts, mode="sum")

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        plan = ctx.plan
        return F.embedding_bag(plan.users, gradients[0].contiguous(), plan.user_starts, mode="sum"), None
