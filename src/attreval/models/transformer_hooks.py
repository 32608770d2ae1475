"""Hooks into a transformer: its attention weights, and the vectors that enter its encoder.

Every attention layer passes through one of two functions of torch, whatever the architecture.
`AttentionWeights` stands between: it hands out the weights of the encoder's layers, multiplies
them, and lets gradients reach them.
Letters used for shapes: B rows, H heads, L tokens.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode


def add_mask(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Attention scores with an attention mask, of booleans or of numbers to be added."""
    if mask is None:
        return scores
    if mask.dtype == torch.bool:
        return scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores + mask.to(scores.dtype)


class AttentionWeights(TorchFunctionMode):
    """While it is on, attention weights of self-attention layers pass through here, in order.

    Args:
        layers: How many belong to the encoder; a decoder's come after them and are left alone.
        wanted: Layers whose weights are kept in `seen` as (B, H, L, L) tensors that gradients
            reach.
        factors: Layer -> (B, 1, 1, 1 or L) numbers that its weights are multiplied by; those of
            column j, that is as if the value of token j were multiplied.
        bias: (B, 1, 1, L), added to the scores.
    """

    def __init__(
        self,
        layers: int,
        wanted: Sequence[int] = (),
        factors: dict[int, Tensor] | None = None,
        bias: Tensor | None = None,
    ):
        super().__init__()
        self.layers = layers
        self.wanted = set(wanted)
        self.factors = factors or {}
        self.bias = bias
        self.at = 0
        self.seen: dict[int, Tensor] = {}

    def __torch_function__(
        self, function: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if self.at == self.layers:
            return function(*args, **kwargs)
        if function is functional.scaled_dot_product_attention:
            return self.attend(*args, **kwargs)
        if function is functional.softmax and args[0].ndim == 4:
            scores = add_mask(args[0], self.bias)
            return self.take(function(scores, *args[1:], **kwargs))
        return function(*args, **kwargs)

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """Attention written out: the fused function does not say what its weights are."""
        if is_causal or enable_gqa or dropout_p:
            raise ValueError("attention weights are read from encoders in evaluation mode only")
        scores = (
            query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
        )
        scores = add_mask(add_mask(scores, attn_mask), self.bias)
        return self.take(functional.softmax(scores, dim=-1)) @ value

    def take(self, weights: Tensor) -> Tensor:
        """The weights of the next layer, as the model is to use them."""
        layer = self.at
        self.at += 1
        if layer in self.factors:
            weights = weights * self.factors[layer]
        if layer in self.wanted:
            if torch.is_grad_enabled() and not weights.requires_grad:
                weights.requires_grad_(True)  # a leaf: nothing below it keeps a graph
            self.seen[layer] = weights
        return weights


class LayerCall(NamedTuple):
    """One encoder layer, as it was called for one text. state: (1, L, D) what it gave."""

    module: nn.Module
    args: tuple
    kwargs: dict
    state: Tensor


def run_layers(
    model: Any, ids: Tensor, mask: Tensor, segments: Tensor, precision: str = "float32"
) -> list[LayerCall]:
    """The calls of the encoder layers for one text, in order, of those that could be told.

    A layer is the outermost module that takes and gives states and attends once, whatever its name;
    layers that share their weights are called as often as they are used.

    Args:
        model: A Transformer.
        ids, mask, segments: (1, L).
        precision: `float64`, `float32` or `bfloat16`.
    """
    watch = AttentionWeights(model.layers)
    started: dict[nn.Module, int] = {}
    found: dict[int, LayerCall] = {}

    def enter(module: nn.Module, args: tuple, kwargs: dict) -> None:
        started[module] = watch.at

    def leave(module: nn.Module, args: tuple, kwargs: dict, out: Any) -> None:
        layer = started[module]
        state = out[0] if type(out) is tuple and out else out
        passed = (*args[:1], kwargs.get("hidden_states", state), state)
        states = all(isinstance(x, Tensor) and x.ndim == 3 for x in passed)
        if watch.at == layer + 1 and states and state.shape[:2] == ids.shape:
            found[layer] = LayerCall(module, args, kwargs, state)

    with ExitStack() as stack:
        for module in model.at(precision).modules():
            if list(module.children()):
                stack.callback(module.register_forward_pre_hook(enter, with_kwargs=True).remove)
                stack.callback(module.register_forward_hook(leave, with_kwargs=True).remove)
        with watch:
            model.logits(ids, mask, segments, precision, whole=True)
    return [found[layer] for layer in sorted(found)]


def run_without(call: LayerCall, zeroed: Tensor) -> Tensor:
    """(R, L, D) states behind a layer in which the value of one token per row is zero.

    Args:
        call: The layer, and what it was given.
        zeroed: (R,) tokens, -1 for none.
    """

    def widen(given: Any) -> Any:
        if type(given) in (tuple, list):
            return type(given)(map(widen, given))
        if isinstance(given, Tensor) and given.is_floating_point() and len(given) == 1:
            return given.expand(len(zeroed), *given.shape[1:])
        return given  # it broadcasts

    kept = torch.arange(call.state.shape[1], device=zeroed.device) != zeroed[:, None]
    factors = {0: kept[:, None, None].to(call.state.dtype)}
    named = {name: widen(given) for name, given in call.kwargs.items()}
    with AttentionWeights(1, factors=factors):
        out = call.module(*widen(call.args), **named)
    return out[0] if type(out) is tuple else out


@contextmanager
def changed_entry(network: nn.Module, change: Callable[[Tensor], Tensor] | None) -> Iterator[None]:
    """While it lasts, change the vectors that enter the network; None changes nothing.

    They are word, position and type embeddings together, normalised where the architecture does so.

    Raises:
        ValueError: The architecture does not say which module gives them.
    """
    if change is None:
        yield
        return
    base = network.base_model
    # GPT-2 adds up in its forward pass
    entry = getattr(base, "embeddings", None) or getattr(base, "drop", None)
    if entry is None:
        raise ValueError(
            f"{type(network).__name__} has no module `embeddings` whose output enters its first "
            "layer"
        )
    handle = entry.register_forward_hook(lambda _, given, out: change(out))
    try:
        yield
    finally:
        handle.remove()


@torch.no_grad()
def zeroed_distances(
    model: Any,
    ids: Tensor,
    mask: Tensor,
    segments: Tensor,
    zeroed: Tensor,
    precision: str = "float32",
) -> Tensor:
    """Distances between states, and the same with the values of a token zero in a layer.

    Args:
        model: A Transformer.
        ids, mask, segments: (1, L), one text.
        zeroed: (R,) tokens.
        precision: `float64`, `float32` or `bfloat16`.

    Returns:
        (R, S, L) 1 less the cosine; each of the S layers is run again alone.
    """
    found = []
    for call in run_layers(model, ids, mask, segments, precision):
        changed = run_without(call, zeroed)
        found.append(1 - torch.cosine_similarity(call.state.double(), changed.double(), dim=-1))
    return torch.stack(found, dim=1).clamp(min=0)
