"""A small encoder-decoder with random weights, and attention looked at layer by layer, without ledger or hooks."""

import torch
from transformers import BartConfig, BartForSequenceClassification
from transformers.models.bert.modeling_bert import BertSelfAttention

from attreval.models.placing import freeze
from attreval.models.transformer import Transformer
from reference.models import draw_weights, tiny_tokenizer


def tiny_bart(seed: int = 0, labels: tuple[str, ...] = ("no", "maybe", "yes"), max_length: int = 64) -> Transformer:
    """A float32 BART of 2 + 1 layers, width 32 and 2 heads; weights come from NumPy."""
    tokenizer = tiny_tokenizer()
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=32,
        encoder_layers=2,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=max_length,
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
        decoder_start_token_id=tokenizer.sep_token_id,
        forced_eos_token_id=None,
        pad_token_id=tokenizer.pad_token_id,
        id2label=dict(enumerate(labels)),
        label2id={name: k for k, name in enumerate(labels)},
    )
    network = BartForSequenceClassification(config)
    draw_weights(network, seed)
    return Transformer("tiny_bart", freeze(network), tokenizer, labels, max_length)


def scaled_probability(network, tokens, target, layer, factor):
    """The class probability of a BERT whose attention weights in one layer are multiplied by a factor (a tensor)."""
    part = network.bert.encoder.layer[layer].attention.self
    assert isinstance(part, BertSelfAttention)

    def forward(hidden, attention_mask=None, **more):
        shape = (1, -1, part.num_attention_heads, part.attention_head_size)
        q, k, v = (m(hidden).view(shape).transpose(1, 2) for m in (part.query, part.key, part.value))
        weights = torch.softmax(q @ k.transpose(2, 3) / part.attention_head_size**0.5, dim=-1)
        forward.weights = weights.detach()
        return ((weights.detach() * factor) @ v).transpose(1, 2).reshape(1, len(tokens), -1), None

    old, part.forward = part.forward, forward
    try:
        given = {"input_ids": torch.tensor(tokens.ids[None]), "token_type_ids": torch.tensor(tokens.segments[None])}
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
            total = total + share * slope.sum(dim=0).numpy()  # d p / d factor is weight times d p / d weight
    return total
