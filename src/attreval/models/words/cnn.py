"""The convolutional network (CNN) of Poerner et al. (2018, appendix A).

One layer of filters over windows of words, rectified, with the maximum over the text.
Letters used for shapes: L tokens, B rows, D inputs, H filters, k window.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from attreval.models.words.lrp import GRADIENTS, Rules
from attreval.models.words.quasi_recurrent import convolve, window_sources
from attreval.models.words.recurrent import init_glorot


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
