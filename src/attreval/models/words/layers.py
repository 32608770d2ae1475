"""The layers of word-level classifiers, in the equations of Poerner et al. (2018, appendix A).

The GRU's update gate keeps the old state, and its reset gate acts before the recurrent product,
which is why torch.nn.GRU does not serve. Both directions run in one loop. In quasi-recurrent
networks (Bradbury et al. 2017), QGRU and QLSTM, gates read windows, not the state: all
pre-activations come from one causal convolution, and only the mixing of states walks through the
text. In the second direction the paper turns the text around and then convolves; the released
models convolve and then turn (`order`). The CNN is one layer of filters over windows, rectified,
with the maximum over the text.
Letters used for shapes: d directions, L tokens, B rows, D inputs, H units a direction or filters, k
window, G blocks of a kernel.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from attreval.models.words.lrp import GRADIENTS, RelevanceRules, Rules
from attreval.models.words.relevance_walk import RelevanceWalk

BLOCKS = {"gru": 3, "lstm": 4}  # z r g; i f o g
QUASI_BLOCKS = {"gru": 2, "lstm": 4}  # z g; i f o g


def hard_sigmoid(a: Tensor) -> Tensor:
    """clip(0.2 a + 0.5, 0, 1), the gate of the released models of Poerner et al. (2018)."""
    return (0.2 * a + 0.5).clamp(0, 1)


GATES = {"logistic": torch.sigmoid, "hard_sigmoid": hard_sigmoid}


class Trace(NamedTuple):
    """What a gated layer did; on padding, all is kept and nothing changes.

    Attributes:
        kept: (d, L, B, H) how much it kept of its state; of a single step (d, B, H).
        state: The state after each step, alike.
        shown: (d, B, H) the last output gate, None where there is none.
    """

    kept: Tensor
    state: Tensor
    shown: Tensor | None


def turn(x: Tensor, mask: Tensor) -> Tensor:
    """(L, B, ...) with each row turned around within its own length; twice gives x back.

    Args:
        x: (L, B, ...).
        mask: (L, B, 1) bool, False on padding.
    """
    steps = torch.arange(len(mask), device=mask.device)[:, None, None].expand(mask.shape)
    places = torch.where(mask, mask.sum(dim=0) - 1 - steps, steps)
    return x.gather(0, places.expand(x.shape))


def both_ways(x: Tensor, mask: Tensor, directions: int) -> Tensor:
    """(d, L, B, D): the text, and for a second direction the text turned around."""
    return torch.stack([x, turn(x, mask)]) if directions == 2 else x[None]


def last_states(h: Tensor) -> Tensor:
    """(B, d H) from (d, B, H)."""
    return h.transpose(0, 1).flatten(1)


def init_glorot(kernel: Tensor, fan_in: int, fan_out: int) -> None:
    """Fill with the uniform distribution of Glorot and Bengio (2010)."""
    limit = (6 / (fan_in + fan_out)) ** 0.5
    nn.init.uniform_(kernel, -limit, limit)


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
        _, steps = self.run(x, mask, GRADIENTS, keep=True)
        kept = torch.stack([step.kept for step in steps], 1)
        state = torch.stack([step.state for step in steps], 1)
        return Trace(kept, state, steps[-1].shown)

    def run(
        self, x: Tensor, mask: Tensor, rules: Rules, keep: bool = False
    ) -> tuple[Tensor, list[Trace]]:
        """Last states, and with `keep` what each step did."""
        raise NotImplementedError


class Recurrent(Gated):
    """A GRU or LSTM layer in one or two directions.

    Args:
        cell: `gru` or `lstm`.
        inputs, hidden, directions: D, H, d.
        gate: A key of GATES.
        dropout: Share of the state that training hides from the recurrent products, one mask a text
            (Gal & Ghahramani 2016).
    """

    family = "recurrent"

    def __init__(
        self, cell: str, inputs: int, hidden: int, directions: int, gate: str, dropout: float
    ):
        super().__init__()
        self.cell = cell
        self.hidden = hidden
        self.directions = directions
        self.dropout = dropout
        self.gate = GATES[gate]
        width = BLOCKS[cell] * hidden
        self.input_kernel = nn.Parameter(torch.empty(directions, inputs, width))
        self.recurrent_kernel = nn.Parameter(torch.empty(directions, hidden, width))
        self.bias = nn.Parameter(torch.zeros(directions, width))
        init_glorot(self.input_kernel, inputs, width)
        with torch.no_grad():
            for block in self.recurrent_kernel.unflatten(2, (-1, hidden)).unbind(2):
                for square in block:
                    nn.init.orthogonal_(square)
        self.open_forget_gate()

    def read_inputs(self, x: Tensor) -> tuple[Tensor, ...]:
        """For each token, (d, B, G H) that (d, L, B, D) embeddings add to pre-activations."""
        added = torch.baddbmm(self.bias[:, None], x.flatten(1, 2), self.input_kernel)
        return added.unflatten(1, x.shape[1:3]).unbind(1)

    def run(
        self, x: Tensor, mask: Tensor, rules: Rules, keep: bool = False
    ) -> tuple[Tensor, list[Trace]]:
        x = both_ways(x, mask, self.directions)
        start = x.new_zeros(len(x), x.shape[2], self.hidden)
        if x.shape[1] == 0:
            return last_states(start), []
        if isinstance(rules, RelevanceRules):
            return last_states(RelevanceWalk.apply(x, self, mask, rules)), []
        hide = None
        if self.training and self.dropout:
            hide = functional.dropout(torch.ones_like(start), self.dropout)
        steps = []
        shown = None
        walked = self.walk(self.read_inputs(x), start, mask, hide)
        for here, (h, c, kept, gate) in zip(mask, walked, strict=True):
            if keep:
                shown = gate if shown is None or gate is None else torch.where(here, gate, shown)
                kept = torch.where(here, kept, 1.0)
                steps.append(Trace(kept, h if self.cell == "gru" else c, shown))
        return last_states(h), steps

    def walk(
        self, inputs: Iterable[Tensor], h: Tensor, mask: Tensor, hide: Tensor | None = None
    ) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor | None]]:
        """What `step` gives for each token; on padding, state and cell stay as they are.

        Args:
            inputs: What each token adds to the pre-activations.
            h: State and cell to begin with.
            mask: (L, B, 1) bool.
            hide: See `step`.
        """
        c = h
        full = mask.all(dim=1).flatten().tolist()
        for a, whole, here in zip(inputs, full, mask, strict=True):
            new_h, new_c, kept, gate = self.step(a, h, c, hide)
            h = new_h if whole else torch.where(here, new_h, h)
            c = new_c if whole else torch.where(here, new_c, c)
            yield h, c, kept, gate

    def step(self, a: Tensor, h: Tensor, c: Tensor, hide: Tensor | None = None) -> tuple:
        """State and cell after a token, what was kept of them, and the output gate.

        Args:
            a: (d, B, G H), from its inputs.
            h, c: State and cell before.
            hide: A factor of the state where it enters the recurrent products.
        """
        seen = h if hide is None else h * hide
        gates = slice(-self.hidden)  # of the blocks: the last one is g
        last = slice(-self.hidden, None)
        if self.cell == "gru":
            # z and r from the state, g from the reset state, and the mix of old state and g
            opened = torch.baddbmm(a[..., gates], seen, self.recurrent_kernel[..., gates])
            z, r = self.gate(opened).chunk(2, dim=-1)
            g = torch.baddbmm(a[..., last], r * seen, self.recurrent_kernel[..., last])
            return torch.addcmul(z * h, 1 - z, torch.tanh(g)), c, z, None
        # i, f, o and g from the state, the cell, and what o shows of it
        a = torch.baddbmm(a, seen, self.recurrent_kernel)
        i, f, o = self.gate(a[..., gates]).chunk(3, dim=-1)
        c = torch.addcmul(f * c, i, torch.tanh(a[..., last]))
        return o * torch.tanh(c), c, f, o


def convolve(x: Tensor, kernel: Tensor, before: int) -> Tensor:
    """(L, B, W) from (L, B, D), which is surrounded by zeros.

    Args:
        x: (L, B, D).
        kernel: (W, D, k).
        before: How many of the k inputs that an output reads lie ahead of its own position.
    """
    after = kernel.shape[2] - 1 - before
    padded = functional.pad(x.permute(1, 2, 0), (before, after))
    return functional.conv1d(padded, kernel).permute(2, 0, 1)


class Quasi(Gated):
    """A quasi-recurrent layer in one or two directions.

    Args:
        cell: `gru` or `lstm`.
        inputs, hidden, directions: D, H, d.
        gate: A key of GATES.
        kernel: k.
        order: See the module; it matters with two directions only.
    """

    family = "quasi"

    def __init__(
        self,
        cell: str,
        inputs: int,
        hidden: int,
        directions: int,
        gate: str,
        kernel: int,
        order: str,
    ):
        super().__init__()
        self.cell = cell
        self.hidden = hidden
        self.directions = directions
        self.order = order
        self.gate = GATES[gate]
        width = QUASI_BLOCKS[cell] * hidden
        self.kernel = nn.Parameter(torch.empty(directions, width, inputs, kernel))
        self.bias = nn.Parameter(torch.zeros(directions, width))
        init_glorot(self.kernel, kernel * inputs, kernel * width)
        self.open_forget_gate()

    def read_windows(self, x: Tensor, mask: Tensor, rules: Rules) -> tuple[Tensor, Tensor]:
        """(d, L, B, (G - 1) H) gate openings and (d, L, B, H) activations, in mixing order."""
        first = self.order == "turn_first"
        size = self.kernel.shape[3]
        cut = -self.hidden
        texts = (
            both_ways(x, mask, self.directions) if first else x.expand(self.directions, *x.shape)
        )
        texts = texts.masked_fill(~mask, 0)
        gates = []
        activations = []
        for text, kernel, bias in zip(texts, self.kernel, self.bias, strict=True):
            a = convolve(rules.linear_input(text), kernel, size - 1) + bias
            gates.append(rules.gate(self.gate, a[..., :cut]))
            activations.append(rules.activation(torch.tanh, a[..., cut:]))
        if self.directions == 2 and not first:
            gates[1] = turn(gates[1], mask)
            activations[1] = turn(activations[1], mask)
        return torch.stack(gates), torch.stack(activations)

    def run(
        self, x: Tensor, mask: Tensor, rules: Rules, keep: bool = False
    ) -> tuple[Tensor, list[Trace]]:
        state = x.new_zeros(self.directions, x.shape[1], self.hidden)
        if len(x) == 0:
            return last_states(state), []
        gates, activations = self.read_windows(x, mask, rules)
        steps = []
        shown = None
        lstm = self.cell == "lstm"
        full = mask.all(dim=1).flatten().tolist()
        walked = zip(gates.unbind(1), activations.unbind(1), strict=True)
        for t, (opened, g) in enumerate(walked):
            i, kept, o = opened.chunk(3, dim=-1) if lstm else (1 - opened, opened, None)
            new = rules.gated_sum((kept, state), (i, g)) if t else rules.gated_sum((i, g))
            shown = o if shown is None or full[t] else torch.where(mask[t], o, shown)
            state = new if full[t] else torch.where(mask[t], new, state)
            if keep:
                kept = torch.where(mask[t], kept, 1.0)
                steps.append(Trace(kept, state, shown))
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
        """(B, H) largest activations in (L, B, D) embeddings, 0 in an empty text."""
        if len(x) == 0:
            return x.new_zeros(x.shape[1], self.width)
        before = (self.kernel.shape[2] - 1) // 2
        x = x.masked_fill(~mask, 0)
        a = convolve(rules.linear_input(x), self.kernel, before) + self.bias
        g = rules.activation(functional.relu, a)
        # padding stands behind the text, so among equals (all filters silent) the first word is
        # taken
        return g.masked_fill(~mask, 0).max(dim=0).values
