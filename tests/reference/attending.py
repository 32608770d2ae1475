"""Attention of a BERT looked at layer by layer, without ledger or hooks."""

import torch
from transformers.models.bert.modeling_bert import BertSelfAttention


def scaled_probability(network, tokens, target, layer, factor):
    """The class probability of a BERT whose attention weights in one layer are multiplied by a
    factor (a tensor).
    """
    part = network.bert.encoder.layer[layer].attention.self
    assert isinstance(part, BertSelfAttention)

    def forward(hidden, attention_mask=None, **more):
        shape = (1, -1, part.num_attention_heads, part.attention_head_size)
        q, k, v = (
            m(hidden).view(shape).transpose(1, 2) for m in (part.query, part.key, part.value)
        )
        weights = torch.softmax(q @ k.transpose(2, 3) / part.attention_head_size**0.5, dim=-1)
        forward.weights = weights.detach()
        return ((weights.detach() * factor) @ v).transpose(1, 2).reshape(1, len(tokens), -1), None

    old = part.forward
    part.forward = forward
    try:
        given = {
            "input_ids": torch.tensor(tokens.ids[None]),
            "token_type_ids": torch.tensor(tokens.segments[None]),
        }
        return torch.softmax(network(**given).logits[0], dim=-1)[target], forward.weights[0]
    finally:
        part.forward = old


def attribution(network, tokens, target, nodes, weights):
    """(L, L) layer-wise attention attribution, a layer and a node at a time, before clipping."""
    total = 0
    for layer in range(len(network.bert.encoder.layer)):
        for node, share in zip(nodes, weights, strict=True):
            _, size = scaled_probability(network, tokens, target, layer, torch.ones(1))
            factor = torch.full_like(size, node, requires_grad=True)
            p, _ = scaled_probability(network, tokens, target, layer, factor)
            (slope,) = torch.autograd.grad(p, factor)
            # d p / d factor is weight times d p / d weight
            total = total + share * slope.sum(dim=0).numpy()
    return total
