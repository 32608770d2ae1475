"""Hooks into a transformer: its attention weights, and the vectors that enter its encoder.

Every attention layer passes through one of two functions of torch, whatever the architecture. `AttentionWeights` stands
between: it hands out the weights of the encoder's layers, multiplies them, and lets gradients reach them.
Letters used for shapes: B rows, H heads, L tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode


class AttentionWeights(TorchFunctionMode):
    """While it is on, attention weights of self-attention layers, in the order in which they run, pass through here.

    layers: how many belong to the encoder; a decoder's come after them and are left alone.
    wanted: layers whose weights are kept in `seen` as (B, H, L, L) tensors that gradients reach.
    factors: layer -> (B, 1, 1, 1) numbers that its weights are multiplied by. bias: (B, 1, 1, L), added to the scores.
    """

    def __init__(
        self,
        layers: int,
        wanted: Sequence[int] = (),
        factors: dict[int, Tensor] | None = None,
        bias: Tensor | None = None,
    ):
        super().__init__()
        self.layers, self.wanted, self.factors, self.bias = layers, set(wanted), factors or {}, bias
        self.at, self.seen = 0, {}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is functional.scaled_dot_product_attention and self.at < self.layers:
            return self.attend(*args, **kwargs)
        if function is functional.softmax and args[0].ndim == 4 and self.at < self.layers:
            scores = args[0] if self.bias is None else args[0] + self.bias.to(args[0].dtype)
            return self.take(function(scores, *args[1:], **kwargs))
        return function(*args, **kwargs)

    def attend(self, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        """Attention written out: the fused function does not say what its weights are."""
        if is_causal or enable_gqa or dropout_p:
            raise ValueError("attention weights are read from encoders in evaluation mode only")
        scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attn_mask, torch.finfo(scores.dtype).min)
        elif attn_mask is not None:
            scores = scores + attn_mask
        if self.bias is not None:
            scores = scores + self.bias.to(scores.dtype)
        return self.take(functional.softmax(scores, dim=-1)) @ value

    def take(self, weights: Tensor) -> Tensor:
        """The weights of the next layer, as the model is to use them."""
        layer, self.at = self.at, self.at + 1
        if layer in self.factors:
            weights = weights * self.factors[layer]
        if layer in self.wanted:
            if torch.is_grad_enabled() and not weights.requires_grad:
                weights.requires_grad_(True)  # a leaf: nothing below it keeps a graph
            self.seen[layer] = weights
        return weights


@contextmanager
def _changed_output(module: torch.nn.Module, change):
    """While it lasts, what a module gives is changed on its way out; the hook never stays behind."""
    handle = module.register_forward_hook(lambda _, given, out: change(out))
    try:
        yield
    finally:
        handle.remove()


def changed_entry(network, change):
    """While it lasts, the vectors that enter the network are changed. Where `change` is None nothing is.

    They are word, position and type embeddings together, normalised where the architecture does so. ValueError where
    it does not say which module gives them.
    """
    if change is None:
        return nullcontext()
    base = network.base_model
    entry = getattr(base, "embeddings", None) or getattr(base, "drop", None)  # GPT-2 adds up in its forward pass
    if entry is None:
        raise ValueError(f"{type(network).__name__} has no module `embeddings` whose output enters its first layer")
    return _changed_output(entry, change)
