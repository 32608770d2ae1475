"""Recurrent networks, GRU and LSTM, in the equations of Poerner et al. (2018, appendix A).

The GRU's update gate keeps the old state, and its reset
gate acts before the recurrent product, which is why torch.nn.GRU does not serve. Both directions run in one loop.
Letters used for shapes: d directions, L tokens, B rows, D inputs, H units a direction, G blocks of a kernel.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attreval.models.words.lrp import GRADIENTS, RelevanceRules, Rules
from attreval.models.words.relevance_walk import RelevanceWalk

BLOCKS = {"gru": 3, "lstm": 4}  # z r g; i f o g


def hard_sigmoid(a: Tensor) -> Tensor:
    """clip(0.2 a + 0.5, 0, 1), the gate of the released models of Poerner et al. (2018)."""
    return (0.2 * a + 0.5).clamp(0, 1)


GATES = {"logistic": torch.sigmoid, "hard_sigmoid": hard_sigmoid}


@dataclass(frozen=True)
class Trace:
    """What a gated layer did, (d, L, B, H) each: how much it kept of its state, and the state after each step.

    shown: (d, B, H) the last output gate, None where there is none. On padding, all is kept and nothing changes.
    """

    kept: Tensor
    state: Tensor
    shown: Tensor | None


def turn(x: Tensor, mask: Tensor) -> Tensor:
    """(L, B, ...) with each row turned around within its own length, by a (L, B, 1) bool mask; twice gives x back."""
    steps = torch.arange(len(mask), device=mask.device)[:, None, None].expand(mask.shape)
    return x.gather(0, torch.where(mask, mask.sum(dim=0) - 1 - steps, steps).expand(x.shape))


def both_ways(x: Tensor, mask: Tensor, directions: int) -> Tensor:
    """(d, L, B, D): the text, and for a second direction the text turned around."""
    return torch.stack([x, turn(x, mask)]) if directions == 2 else x[None]


def last_states(h: Tensor) -> Tensor:
    """(B, d H) from (d, B, H)."""
    return h.transpose(0, 1).flatten(1)


def init_glorot(kernel: Tensor, fan_in: int, fan_out: int) -> None:
    """Fill with the uniform distribution of Glorot and Bengio (2010)."""
    nn.init.uniform_(kernel, -((6 / (fan_in + fan_out)) ** 0.5), (6 / (fan_in + fan_out)) ** 0.5)


class Gated(nn.Module):
    """What recurrent and quasi-recurrent layers, of GRU and LSTM cells, have in common."""

    cell: str
    hidden: int
    directions: int
    bias: nn.Parameter

    def open_forget_gate(self) -> None:
        """Let the forget gate of an LSTM start open."""
        if self.cell == "lstm":
            with torch.no_grad():
                self.bias[:, self.hidden : 2 * self.hidden] = 1

    @property
    def width(self) -> int:
        """Units of the state that the classifier sees."""
        return self.directions * self.hidden

    def forward(self, x: Tensor, mask: Tensor, rules: Rules = GRADIENTS) -> Tensor:
        """(B, d H) last states of (L, B, D) embeddings; mask (L, B, 1) bool is False on padding."""
        return self.run(x, mask, rules)[0]

    def trace(self, x: Tensor, mask: Tensor) -> Trace:
        """What the layer did at each step."""
        kept, state, shown = zip(*self.run(x, mask, GRADIENTS, keep=True)[1], strict=True)
        return Trace(torch.stack(kept, 1), torch.stack(state, 1), shown[-1])

    def run(self, x: Tensor, mask: Tensor, rules: Rules, keep: bool = False) -> tuple[Tensor, list]:
        """Last states, and with `keep` the (kept, state, shown) of each step."""
        raise NotImplementedError


class Recurrent(Gated):
    """A GRU or LSTM layer in one or two directions.

    dropout: share of the state that training hides from the recurrent products, one mask a text (Gal &
    Ghahramani 2016).
    """

    family = "recurrent"

    def __init__(self, cell: str, inputs: int, hidden: int, directions: int, gate: str, dropout: float):
        super().__init__()
        self.cell, self.hidden, self.directions, self.dropout = cell, hidden, directions, dropout
        self.gate, width = GATES[gate], BLOCKS[cell] * hidden
        self.input_kernel = nn.Parameter(torch.empty(directions, inputs, width))
        self.recurrent_kernel = nn.Parameter(torch.empty(directions, hidden, width))
        self.bias = nn.Parameter(torch.zeros(directions, width))
        init_glorot(self.input_kernel, inputs, width)
        with torch.no_grad():
            for block in self.recurrent_kernel.unflatten(2, (-1, hidden)).unbind(2):
                for square in block:
                    nn.init.orthogonal_(square)
        self.open_forget_gate()

    def run(self, x: Tensor, mask: Tensor, rules: Rules, keep: bool = False) -> tuple[Tensor, list]:
        x = both_ways(x, mask, self.directions)
        d, length, rows, _ = x.shape
        h = c = x.new_zeros(d, rows, self.hidden)
        if length == 0:
            return last_states(h), []
        if isinstance(rules, RelevanceRules):
            return last_states(RelevanceWalk.apply(x, self, mask, rules)), []
        a = torch.baddbmm(self.bias[:, None], x.flatten(1, 2), self.input_kernel)
        full, steps, shown = mask.all(dim=1).flatten().tolist(), [], None
        hide = None
        if self.training and self.dropout:
            hide = nn.functional.dropout(torch.ones_like(h), self.dropout)
        for t, a_t in enumerate(a.unflatten(1, (length, rows)).unbind(1)):
            new_h, new_c, kept, gate = self.step(a_t, h, c, hide)
            if not full[t]:
                new_h, new_c = torch.where(mask[t], new_h, h), torch.where(mask[t], new_c, c)
            if keep:
                shown = gate if shown is None or gate is None else torch.where(mask[t], gate, shown)
                steps.append((torch.where(mask[t], kept, 1.0), new_h if self.cell == "gru" else new_c, shown))
            h, c = new_h, new_c
        return last_states(h), steps

    def step(self, a: Tensor, h: Tensor, c: Tensor, hide: Tensor | None = None) -> tuple:
        """State and cell after a token, what was kept of them, and the output gate; a: (d, B, G H) from its inputs.

        hide: a factor of the state where it enters the recurrent products.
        """
        n, seen = self.hidden, h if hide is None else h * hide
        if self.cell == "gru":  # z and r from the state, g from the reset state, and the mix of old state and g
            opened = self.gate(torch.baddbmm(a[..., : 2 * n], seen, self.recurrent_kernel[..., : 2 * n]))
            z, r = opened.chunk(2, dim=-1)
            g = torch.tanh(torch.baddbmm(a[..., 2 * n :], r * seen, self.recurrent_kernel[..., 2 * n :]))
            return torch.addcmul(z * h, 1 - z, g), c, z, None
        # i, f, o and g from the state, the cell, and what o shows of it
        a = torch.baddbmm(a, seen, self.recurrent_kernel)
        i, f, o = self.gate(a[..., : 3 * n]).chunk(3, dim=-1)
        c = torch.addcmul(f * c, i, torch.tanh(a[..., 3 * n :]))
        return o * torch.tanh(c), c, f, o
