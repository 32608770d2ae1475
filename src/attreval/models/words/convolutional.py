"""Layers that read windows of words by convolution, as in Poerner et al. (2018, appendix A): QGRU, QLSTM and CNN.

In quasi-recurrent networks (Bradbury et al. 2017) gates read windows, not the state: all pre-activations come from one
causal convolution, and only the mixing of states walks through the text. In the second direction the paper turns the
text around and then convolves; the released models convolve and then turn (`order`). The CNN is one layer of filters
over windows, rectified, with the maximum over the text.
Letters used for shapes: d directions, L tokens, B rows, D inputs, H units a direction or filters, k window, G blocks of
a kernel.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from attreval.models.words.lrp import GRADIENTS, Rules
from attreval.models.words.recurrent import GATES, Gated, both_ways, init_glorot, last_states, turn

BLOCKS = {"gru": 2, "lstm": 4}  # z g; i f o g
ORDERS = ("turn_first", "convolve_first")


def convolve(x: Tensor, kernel: Tensor, before: int) -> Tensor:
    """(L, B, W) from (L, B, D): each output reads k inputs, `before` of them ahead of its own position.

    kernel: (W, D, k). The text is surrounded by zeros.
    """
    after = kernel.shape[2] - 1 - before
    padded = functional.pad(x.permute(1, 2, 0), (before, after))
    return functional.conv1d(padded, kernel).permute(2, 0, 1)


def window_sources(rules: Rules, x: Tensor, mask: Tensor, size: int, before: int) -> tuple[Tensor | None, Tensor | int]:
    """The channels of the inputs that each window reads, and how many inputs those are; zeros around do not count."""
    ones = x.new_ones(1, 1, size)
    channel = rules.bias_channel(x)
    if channel is None:
        return None, 1
    return convolve(channel, ones, before), x.shape[-1] * convolve(mask.to(x.dtype), ones, before).clamp(min=1)


class Quasi(Gated):
    """A quasi-recurrent layer in one or two directions. order: see the module; it matters with two directions only."""

    family = "quasi"

    def __init__(self, cell: str, inputs: int, hidden: int, directions: int, gate: str, kernel: int, order: str):
        super().__init__()
        if order not in ORDERS:
            raise ValueError(f"order {order!r} is not known; there are: {', '.join(ORDERS)}")
        self.cell, self.hidden, self.directions, self.order = cell, hidden, directions, order
        self.gate, width = GATES[gate], BLOCKS[cell] * hidden
        self.kernel = nn.Parameter(torch.empty(directions, width, inputs, kernel))
        self.bias = nn.Parameter(torch.zeros(directions, width))
        init_glorot(self.kernel, kernel * inputs, kernel * width)
        self.open_forget_gate()

    def read_windows(self, x: Tensor, mask: Tensor, rules: Rules) -> tuple[Tensor, Tensor]:
        """(d, L, B, (G - 1) H) gate openings and (d, L, B, H) activations, in the order in which they are mixed."""
        first, size = self.order == "turn_first", self.kernel.shape[3]
        texts = both_ways(x, mask, self.directions) if first else x.expand(self.directions, *x.shape)
        texts = texts.masked_fill(~mask, 0)
        cut = (BLOCKS[self.cell] - 1) * self.hidden
        gates, activations = [], []
        for text, kernel, bias in zip(texts, self.kernel, self.bias, strict=True):
            a = convolve(rules.linear_input(text), kernel, size - 1) + bias
            gates.append(rules.gate(self.gate, a[..., :cut]))
            sources = window_sources(rules, text, mask, size, size - 1)
            activations.append(rules.activation(torch.tanh, a[..., cut:], bias[cut:], sources))
        if self.directions == 2 and not first:
            gates[1], activations[1] = turn(gates[1], mask), turn(activations[1], mask)
        return torch.stack(gates), torch.stack(activations)

    def run(self, x: Tensor, mask: Tensor, rules: Rules, keep: bool = False) -> tuple[Tensor, list]:
        state = x.new_zeros(self.directions, x.shape[1], self.hidden)
        if len(x) == 0:
            return last_states(state), []
        gates, activations = self.read_windows(x, mask, rules)
        full, steps, shown = mask.all(dim=1).flatten().tolist(), [], None
        lstm = self.cell == "lstm"
        for t, (opened, g) in enumerate(zip(gates.unbind(1), activations.unbind(1), strict=True)):
            i, kept, o = opened.chunk(3, dim=-1) if lstm else (1 - opened, opened, None)
            new = rules.gated_sum((kept, state), (i, g)) if t else rules.gated_sum((i, g))
            shown = o if shown is None or full[t] else torch.where(mask[t], o, shown)
            state = new if full[t] else torch.where(mask[t], new, state)
            if keep:
                steps.append((torch.where(mask[t], kept, 1.0), state, shown))
        return last_states(rules.output_gate(shown, state) if lstm else state), steps


class Convolutional(nn.Module):
    """H filters of width k with the same padding on both sides, rectifier, maximum over time."""

    family = "convolutional"

    def __init__(self, inputs: int, filters: int, kernel: int):
        super().__init__()
        self.width = filters
        self.kernel = nn.Parameter(torch.empty(filters, inputs, kernel))
        self.bias = nn.Parameter(torch.zeros(filters))
        init_glorot(self.kernel, kernel * inputs, kernel * filters)

    def forward(self, x: Tensor, mask: Tensor, rules: Rules = GRADIENTS) -> Tensor:
        """(B, H) largest activations in (L, B, D) embeddings, 0 in an empty text; mask (L, B, 1) False on padding."""
        if len(x) == 0:
            return x.new_zeros(x.shape[1], self.width)
        size = self.kernel.shape[2]
        x = x.masked_fill(~mask, 0)
        a = convolve(rules.linear_input(x), self.kernel, (size - 1) // 2) + self.bias
        g = rules.activation(functional.relu, a, self.bias, window_sources(rules, x, mask, size, (size - 1) // 2))
        # padding stands behind the text, so among equals (all filters silent) the first word is taken
        return g.masked_fill(~mask, 0).max(dim=0).values
