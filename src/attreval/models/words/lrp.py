"""What flows back through a network: gradients, or relevance? Every word-level architecture speaks in these verbs.

A network is written once. `Plain` computes its verbs and leaves the backward pass alone. `Relevance` computes the same
numbers, but its backward pass carries relevance (Poerner et al. 2018, sections 3.3 and A; Arras et al. 2017): a sum
`a' = sum_i a_i w_i + b` gives each input `R(a') * a_i w_i / (a' + eps sgn(a'))`, a nonlinearity hands its relevance on,
and a gate is a weight that takes none. For DeepLIFT every activation but the gates is its difference to a reference
text of zero embeddings, which runs along as further rows of the batch.
Tensors have the batch as their last dimension but one. Letters: d directions, L tokens, B rows, H units.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attreval.models.questions import Rule

Term = tuple[Tensor, Tensor]  # weight, activation
Source = tuple[Tensor | None, Tensor | int]  # what `trickle` gave, number of inputs it stands for


class Plain:
    """The verbs as they are computed; gradients flow as usual."""

    def begin(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Embeddings (L, B, D) and mask (L, B, 1) with which the network starts."""
        return x, mask

    def read(self, a: Tensor) -> Tensor:
        """An activation about to enter a linear map."""
        return a

    def weigh(self, weight: Tensor, a: Tensor) -> Tensor:
        """A gated activation about to enter a linear map."""
        return weight * a

    def gate(self, function: Callable, a: Tensor) -> Tensor:
        """The opening of a gate."""
        return function(a)

    def bend(self, function: Callable, pre: Tensor, bias: Tensor, *sources: Source) -> Tensor:
        """The nonlinearity after a linear map. bias: its bias. sources: what entered the map."""
        return function(pre)

    def add(self, *terms: Term) -> Tensor:
        """The gated sum of activations."""
        out = terms[0][0] * terms[0][1]
        for weight, a in terms[1:]:
            out = torch.addcmul(out, weight, a)
        return out

    def expose(self, gate: Tensor, cell: Tensor) -> Tensor:
        """What the output gate shows of a cell."""
        return gate * torch.tanh(cell)

    def trickle(self, a: Tensor) -> Tensor | None:
        """The channel by which an activation takes its part of a bias; None where biases keep theirs."""
        return None

    def end(self, scores: Tensor) -> Tensor:
        """(B, K) class scores."""
        return scores


PLAIN = Plain()


class Reroute(torch.autograd.Function):
    """`value` forwards; backwards, what arrives goes to `source`, times `factor`."""

    @staticmethod
    def forward(ctx, value: Tensor, source: Tensor, factor: Tensor) -> Tensor:
        ctx.save_for_backward(factor)
        return value.view_as(value)

    @staticmethod
    def backward(ctx, arriving: Tensor) -> tuple[None, Tensor, None]:
        (factor,) = ctx.saved_tensors
        return None, arriving * factor, None


class Relevance:
    """The same verbs; the backward pass carries relevance by a rule.

    Between `bend` and the activations that were read, relevance travels divided by the stabilised sum, so that the
    linear maps in between need no care: the ordinary backward pass through them is the rule.
    """

    def __init__(self, rule: Rule):
        self.rule = rule

    def begin(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """DeepLIFT doubles the batch: the second half is the reference."""
        if not self.rule.reference:
            return x, mask
        return torch.cat([x, torch.zeros_like(x)], dim=-2), torch.cat([mask, mask], dim=-2)

    def delta(self, a: Tensor) -> Tensor:
        """The activation that is explained, the same in both halves of a doubled batch."""
        a = a.detach()
        if not self.rule.reference:
            return a
        real, reference = a.chunk(2, dim=-2)
        return torch.cat([real - reference] * 2, dim=-2)

    def nudge(self, total: Tensor) -> Tensor:
        """epsilon with the sign of a total, positive at 0."""
        epsilon = total.new_tensor(self.rule.epsilon)
        return torch.where(total < 0, -epsilon, epsilon)

    def read(self, a: Tensor) -> Tensor:
        """R(a) = a times what the linear maps send back."""
        return Reroute.apply(a, a, self.delta(a))

    def weigh(self, weight: Tensor, a: Tensor) -> Tensor:
        """Likewise for a gated activation; the gate gets nothing."""
        return Reroute.apply(weight * a, a, weight * self.delta(a))

    def gate(self, function: Callable, a: Tensor) -> Tensor:
        """A weight, no activation."""
        return function(a.detach())

    def bend(self, function: Callable, pre: Tensor, bias: Tensor, *sources: Source) -> Tensor:
        """R(pre) = R(function(pre)), divided by the stabilised sum on its way to what entered it."""
        total = self.delta(pre)
        nudge = self.nudge(total)
        if self.rule.redistribute:
            share = (bias + nudge) / sum(count for _, count in sources)
            pre = pre + share * sum(channel for channel, _ in sources if channel is not None)
        return Reroute.apply(function(pre.detach()), pre, 1 / (total + nudge))

    def add(self, *terms: Term) -> Tensor:
        """R(a) = R(sum) * weight * a / stabilised sum, for each term."""
        values = [(weight * a).detach() for weight, a in terms]
        total = self.delta(sum(values))
        nudge = self.nudge(total)
        share = nudge / len(terms) if self.rule.redistribute else 0
        factors = [(weight * self.delta(a) + share) / (total + nudge) for weight, a in terms]
        return sum(Reroute.apply(v, a, f) for v, (_, a), f in zip(values, terms, factors, strict=True))

    def expose(self, gate: Tensor, cell: Tensor) -> Tensor:
        """R(cell) = R(h) * gate * tanh(cell) / stabilised h; under DeepLIFT, tanh of the difference of cells."""
        shown = gate * torch.tanh(cell.detach())
        total = self.delta(shown)
        nudge = self.nudge(total)
        share = nudge if self.rule.redistribute else 0
        return Reroute.apply(shown, cell, (gate * torch.tanh(self.delta(cell)) + share) / (total + nudge))

    def trickle(self, a: Tensor) -> Tensor | None:
        """Zero, whose relevance goes to every unit of the activation alike."""
        return (a - a.detach()).sum(dim=-1, keepdim=True) if self.rule.redistribute else None

    def end(self, scores: Tensor) -> Tensor:
        """A class starts with its score (under DeepLIFT, the difference of scores) as its relevance."""
        scores = Reroute.apply(scores, scores, self.delta(scores))
        return scores.chunk(2)[0] if self.rule.reference else scores
