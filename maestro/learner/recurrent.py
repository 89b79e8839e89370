"""Memory of a network: a GRU or an LSTM whose loop over time runs in plain products, with episodes that begin in between.

Shape letters: T time, B batch, H size of the input, C size of the core, S numbers of state per game (C, or 2 C for an LSTM).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence

from maestro.learner.gru import gru_steps


class Core(nn.Module):
    """A recurrent layer with torch's weights, which steps, unrolls over time, and takes packed sequences."""

    def __init__(self, kind: str, num_inputs: int, size: int) -> None:
        """Make a core; `kind` is "gru" or "lstm"."""
        super().__init__()
        self.kind = kind
        self.size = size
        self.layer = (nn.GRU if kind == "gru" else nn.LSTM)(num_inputs, size)
        self.state_size = size if kind == "gru" else 2 * size
        for name, weight in self.layer.named_parameters():
            if "bias" in name:
                nn.init.zeros_(weight)
            else:
                for gate in weight.detach().split(size):
                    nn.init.orthogonal_(gate)

    def step(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Take one step: x (B, H), state (B, S); returns output (B, C) and the new state."""
        return self._cell(self._project(x), state)

    def unroll(self, x: Tensor, state: Tensor, fresh: Tensor) -> tuple[Tensor, Tensor]:
        """Take T steps: x (T, B, H), state (B, S), fresh bool (T, B), true where the state is forgotten before the step.

        Returns outputs (T, B, C) and the last state.
        """
        length, batch = fresh.shape
        keep = (~fresh).to(state.dtype).view(-1, 1)
        outputs, state = self._steps(self._project(x.flatten(0, 1)), state, [batch] * length, keep)
        return outputs.view(length, batch, -1), state

    def packed(self, x: PackedSequence, state: Tensor) -> tuple[PackedSequence, Tensor]:
        """Take the steps of sequences of different lengths, as `nn.GRU` does with the same weights; state (B, S)."""
        if x.data.is_cuda:
            return self._packed_by_torch(x, state)
        projected = self._project(x.data)
        if x.sorted_indices is not None:
            state = state.index_select(0, x.sorted_indices)
        data, state = self._steps(projected, state, x.batch_sizes.tolist())
        if x.unsorted_indices is not None:
            state = state.index_select(0, x.unsorted_indices)
        return PackedSequence(data, x.batch_sizes, x.sorted_indices, x.unsorted_indices), state

    def _packed_by_torch(self, x: PackedSequence, state: Tensor) -> tuple[PackedSequence, Tensor]:
        """Let torch do it, which on GPUs is one kernel."""
        if self.kind == "gru":
            y, new = self.layer(x, state.unsqueeze(0).contiguous())
            return y, new[0]
        hidden, cell = state.unsqueeze(0).chunk(2, dim=-1)
        y, (hidden, cell) = self.layer(x, (hidden.contiguous(), cell.contiguous()))
        return y, torch.cat([hidden[0], cell[0]], dim=-1)

    def _steps(
        self, projected: Tensor, state: Tensor, sizes: list[int], keep: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Take the steps of sequences from projected inputs; arguments and results as those of `gru_steps`."""
        if self.kind == "gru":
            _, weight, _, bias = self.layer.all_weights[0]
            return gru_steps(projected, state, weight, bias, sizes, keep)
        kept = [None] * len(sizes) if keep is None else keep.split(sizes)
        outputs, ended, running = [], [], state
        for inputs, size, keeps in zip(projected.split(sizes), sizes, kept, strict=True):
            if size < running.shape[0]:
                ended.append(running[size:])
                running = running[:size]
            y, running = self._cell(inputs, running if keeps is None else running * keeps)
            outputs.append(y)
        return torch.cat(outputs), torch.cat([running, *reversed(ended)]) if ended else running

    def _project(self, x: Tensor) -> Tensor:
        weight, _, bias, _ = self.layer.all_weights[0]
        return F.linear(x, weight, bias)

    def _cell(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Take one step from projected inputs (B, 3 C or 4 C); the state itself stays in float32."""
        inputs, hidden = inputs.float(), state[:, : self.size]
        _, weight, _, bias = self.layer.all_weights[0]
        recurrent = F.linear(hidden, weight, bias).float()
        if self.kind == "gru":
            gates = torch.sigmoid(inputs[:, : 2 * self.size] + recurrent[:, : 2 * self.size])
            reset, update = gates.chunk(2, dim=1)
            new = torch.tanh(inputs[:, 2 * self.size :] + reset * recurrent[:, 2 * self.size :])
            hidden = torch.lerp(new, hidden, update)
            return hidden, hidden
        into, forget, new, out = (inputs + recurrent).chunk(4, dim=1)
        cell = torch.sigmoid(forget) * state[:, self.size :] + torch.sigmoid(into) * torch.tanh(new)
        hidden = torch.sigmoid(out) * torch.tanh(cell)
        return hidden, torch.cat([hidden, cell], dim=1)
