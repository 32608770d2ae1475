"""The last encoder layer for the first token alone, where the class scores are read off that token.

What the last layer makes of other tokens is read by nobody. For the first token it needs one query,
and neither keys nor values of the others: its scores are their states times its query taken back
through the key projection, and its output is the value projection of a weighted mean of their
states. So a layer costs next to nothing, and nothing is approximated (sums are in another order).
Letters used for shapes: B rows, H heads, L tokens, D width, d of a head.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from attreval.models import forward
from attreval.models.placing import evaluating
from attreval.models.transformer_hooks import add_mask

TOLERANCE = 1e-4  # of logits, of the largest where that is more than 1


class _Shape(NamedTuple):
    """Where an architecture keeps its layers, a layer's attention, and in that the projections."""

    layers: str
    attention: str
    query: str
    key: str
    value: str
    out: str | None = None


_BERT = _Shape("encoder.layer", "attention.self", "query", "key", "value")
# by the architecture's name in a configuration: layers that only their own attention mixes tokens
# in
_SHAPES = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "camembert", "electra"), _BERT),
    "mpnet": _Shape("encoder.layer", "attention.attn", "q", "k", "v", "o"),
    "distilbert": _Shape("transformer.layer", "attention", "q_lin", "k_lin", "v_lin", "out_lin"),
}


def agrees(network: nn.Module) -> bool:
    """Whether a network's last layer for the first token alone gives the same logits.

    Tried out on two rows of ids of its vocabulary, as they are and with one of them padded, in
    evaluation mode: whatever a configuration changes, another result or an error tells.
    """
    if network.config.model_type not in _SHAPES:
        return False
    weights = network.get_input_embeddings().weight
    ids = torch.linspace(0, len(weights) - 1, 12, device=weights.device).long().view(2, 6)
    whole = torch.ones_like(ids)
    padded = whole.clone()
    padded[1, 4:] = 0
    try:
        with evaluating(network), torch.no_grad():
            return all(_agrees_on(network, ids, mask) for mask in (whole, padded))
    except (RuntimeError, TypeError, IndexError, AttributeError, ValueError):
        return False  # another release of transformers, say


def _agrees_on(network: nn.Module, ids: Tensor, mask: Tensor) -> bool:
    """Whether both ways to compute the last layer give the same logits."""
    plain = forward.classify(network, mask, ids=ids)
    with last_layer(network):
        short = forward.classify(network, mask, ids=ids)
    size = plain.abs().max().clamp(min=1)
    return bool((plain - short).abs().max() <= TOLERANCE * size)


def _find(network: nn.Module) -> tuple[nn.Module, nn.Module, _Shape]:
    """The last layer, its self-attention, and the names in it."""
    shape = _SHAPES[network.config.model_type]
    layer = network.base_model.get_submodule(shape.layers)[-1]
    return layer, layer.get_submodule(shape.attention), shape


@contextmanager
def last_layer(network: nn.Module) -> Iterator[None]:
    """While it lasts, the last layer of a network gives (B, 1, D), the first token alone.

    Only its attention sees the (B, L, D) states; the layer's own code runs as it is, on those of
    the first token.
    """
    layer, attention, shape = _find(network)
    run = layer.forward
    states: list[Tensor] = []

    def first(hidden: Tensor, *args: Any, **more: Any) -> Any:
        states[:] = [hidden]
        return run(hidden[:, :1], *args, **more)

    layer.forward = first
    attention.forward = _attend_first(attention, shape, states)
    try:
        yield
    finally:
        del layer.forward, attention.forward


def _attend_first(attention: nn.Module, shape: _Shape, states: list[Tensor]) -> Callable:
    """Self-attention that is given the first token, and looks at all of them in `states`."""
    query = getattr(attention, shape.query)
    key = getattr(attention, shape.key)
    value = getattr(attention, shape.value)
    out = getattr(attention, shape.out) if shape.out else nn.Identity()

    def attend(
        first: Tensor,
        attention_mask: Tensor | None = None,
        position_bias: Tensor | None = None,
        **_: Any,
    ) -> tuple[Tensor, None]:
        (hidden,) = states
        size = attention.attention_head_size
        asked = query(first).view(len(first), -1, size)  # (B, H, d)
        back = torch.einsum("bhd,hde->bhe", asked, key.weight.view(-1, size, key.in_features))
        scores = back @ hidden.transpose(1, 2) * size**-0.5  # (B, H, L)
        scores = scores[:, :, None]  # a key's bias moves all alike
        if position_bias is not None:
            scores = scores + position_bias[:, :, :1]
        if attention_mask is not None:
            scores = add_mask(scores, attention_mask[:, :, :1])
        weights = attention.dropout(functional.softmax(scores, dim=-1))
        weights = weights[:, :, 0]  # (B, H, L)
        kernel = value.weight.view(-1, size, value.in_features)
        mean = torch.einsum("bhe,hde->bhd", weights @ hidden, kernel)
        mean = mean + weights.sum(dim=-1, keepdim=True) * value.bias.view(-1, size)
        return out(mean.reshape(len(first), 1, -1)), None

    return attend
