"""LRP (Bach et al. 2015) and DeepLIFT (Shrikumar et al. 2017) as a backward pass.

Every word-level network is written once, in the operations of this module. `GradientRules` computes
them and leaves the backward pass alone. `RelevanceRules` computes the same numbers, but its
backward pass carries relevance (Poerner et al. 2018, sections 3.2, 3.3 and A; Arras et al. 2017): a
sum `a' = sum_i a_i w_i + b` gives each input `R(a') * a_i w_i / (a' + eps sgn(a'))`, an activation
function hands its relevance on, and a gate is a weight that takes none. For DeepLIFT every
activation but the gates is its difference to a reference text of zero embeddings, which runs along
as further rows of the batch. A GRU or LSTM, whose steps are too many for a graph of them, takes the
same factors in one walk (relevance_walk). Tensors have the batch as their last dimension but one.
Letters: d directions, L tokens, B rows, H units.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attreval.models.questions import PropagationRule

Term = tuple[Tensor, Tensor]  # weight, activation


class GradientRules:
    """The operations as they are computed; gradients flow as usual."""

    def inputs(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Embeddings (L, B, D) and mask (L, B, 1) with which the network starts."""
        return x, mask

    def linear_input(self, a: Tensor) -> Tensor:
        """An activation about to enter a linear map."""
        return a

    def gate(self, function: Callable, a: Tensor) -> Tensor:
        """How far a gate is open."""
        return function(a)

    def activation(self, function: Callable, pre: Tensor) -> Tensor:
        """The activation function after a linear map, whose values are `pre`."""
        return function(pre)

    def gated_sum(self, *terms: Term) -> Tensor:
        """The gated sum of activations."""
        out = terms[0][0] * terms[0][1]
        for weight, a in terms[1:]:
            out = torch.addcmul(out, weight, a)
        return out

    def output_gate(self, gate: Tensor, cell: Tensor) -> Tensor:
        """What the output gate lets through of a cell."""
        return gate * torch.tanh(cell)

    def outputs(self, scores: Tensor) -> Tensor:
        """(B, K) class scores."""
        return scores


GRADIENTS = GradientRules()


class Reroute(torch.autograd.Function):
    """`value` forwards; backwards, what arrives goes to `source`, times `factor`."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, source: Tensor, factor: Tensor) -> Tensor:
        ctx.save_for_backward(factor)
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, arriving: Tensor) -> tuple[None, Tensor, None]:
        (factor,) = ctx.saved_tensors
        return None, arriving * factor, None


class RelevanceRules:
    """The same operations; the backward pass carries relevance by a rule.

    Between an activation function and what entered the linear map before it, relevance travels
    divided by the stabilised sum, so that the linear map needs no care: the ordinary backward pass
    through it is the rule.
    """

    def __init__(self, rule: PropagationRule):
        self.rule = rule

    def inputs(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """DeepLIFT doubles the batch: the second half is the reference."""
        if not self.rule.reference:
            return x, mask
        both = torch.cat([x, torch.zeros_like(x)], dim=-2)
        return both, torch.cat([mask, mask], dim=-2)

    def explained(self, a: Tensor) -> Tensor:
        """The activation that is explained, the same in both halves of a doubled batch."""
        a = a.detach()
        if not self.rule.reference:
            return a
        real, reference = a.chunk(2, dim=-2)
        return torch.cat([real - reference] * 2, dim=-2)

    def stabiliser(self, total: Tensor) -> Tensor:
        """epsilon with the sign of a total, positive at 0."""
        epsilon = total.new_tensor(self.rule.epsilon)
        return torch.where(total < 0, -epsilon, epsilon)

    def linear_input(self, a: Tensor) -> Tensor:
        """R(a) = a times what the linear maps send back."""
        return Reroute.apply(a, a, self.explained(a))

    def gate(self, function: Callable, a: Tensor) -> Tensor:
        """A weight, no activation."""
        return function(a.detach())

    def activation_factor(self, pre: Tensor) -> Tensor:
        """The factor of relevance on its way through a map."""
        total = self.explained(pre)
        return 1 / (total + self.stabiliser(total))

    def activation(self, function: Callable, pre: Tensor) -> Tensor:
        """R(pre) = R(function(pre)), divided by the stabilised sum on its way back."""
        return Reroute.apply(function(pre.detach()), pre, self.activation_factor(pre))

    def sum_factors(self, *terms: Term) -> list[Tensor]:
        """The share of a gated sum's relevance that each activation in it takes."""
        total = self.explained(sum(weight * a for weight, a in terms))
        total = total + self.stabiliser(total)
        return [weight * self.explained(a) / total for weight, a in terms]

    def gated_sum(self, *terms: Term) -> Tensor:
        """R(a) = R(sum) * weight * a / stabilised sum, for each term."""
        parts = []
        for (weight, a), factor in zip(terms, self.sum_factors(*terms), strict=True):
            value = weight * a
            parts.append(Reroute.apply(value.detach(), a, factor))
        return sum(parts)

    def output_factor(self, gate: Tensor, cell: Tensor) -> Tensor:
        """What a cell takes of the relevance of what its output gate shows."""
        total = self.explained(gate * torch.tanh(cell))
        return gate * torch.tanh(self.explained(cell)) / (total + self.stabiliser(total))

    def output_gate(self, gate: Tensor, cell: Tensor) -> Tensor:
        """R(cell) = R(h) * gate * tanh(cell) / stabilised h; in DeepLIFT of differences."""
        return Reroute.apply(gate * torch.tanh(cell.detach()), cell, self.output_factor(gate, cell))

    def outputs(self, scores: Tensor) -> Tensor:
        """A class starts with its score (in DeepLIFT the difference of scores) as its relevance."""
        scores = Reroute.apply(scores, scores, self.explained(scores))
        return scores.chunk(2)[0] if self.rule.reference else scores


Rules = GradientRules | RelevanceRules
