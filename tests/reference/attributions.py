"""Attention, DeepLIFT and the released code's gradients, one text at a time, on a BERT written out
by its parts.
"""

import numpy as np
import torch


def entered(network, tokens, words=None, scale=1.0):
    """(1, L, D) what enters the encoder, times a number; words: (L, D) word embeddings in place of
    the looked-up.
    """
    given = (
        {"input_ids": torch.tensor(tokens.ids)[None]}
        if words is None
        else {"inputs_embeds": words[None]}
    )
    return scale * network.bert.embeddings(
        token_type_ids=torch.tensor(tokens.segments)[None], **given
    )


def pooled(network, x):
    """(1, D) what the pooler's tanh is applied to."""
    return network.bert.pooler.dense(network.bert.encoder(x).last_hidden_state[:, 0])


def read(network, x):
    """(K,) logits from what enters the encoder."""
    return network.classifier(torch.tanh(pooled(network, x)))[0]


def attention(network, tokens, target):
    """(L,) attention of the first token in the last layer, mean over heads, and (L,) its gradient,
    likewise.
    """
    network.set_attn_implementation("eager")
    words = network.bert.embeddings.word_embeddings.weight[tokens.ids].detach().requires_grad_(True)
    side = torch.tensor(tokens.segments)[None]
    out = network(inputs_embeds=words[None], token_type_ids=side, output_attentions=True)
    network.set_attn_implementation("sdpa")
    last = out.attentions[-1]
    (gradient,) = torch.autograd.grad(out.logits[0, target], last)
    return last[0, :, 0].mean(0).detach().numpy(), gradient[0, :, 0].mean(0).numpy()


def shared_products(network, tokens, target, scales=(1.0,)):
    """(L,) products of each embedding with its row of the gradient of the embedding matrix, mean
    over scales.
    """
    table = network.bert.embeddings.word_embeddings.weight
    table.requires_grad_(True)
    total = torch.zeros_like(table)
    for scale in scales:
        total += torch.autograd.grad(
            read(network, entered(network, tokens, scale=scale))[target], table
        )[0]
    table.requires_grad_(False)
    return np.array([float(table[i].detach() @ total[i]) / len(scales) for i in tokens.ids])


def deeplift(network, tokens, target, bare=False):
    """(L,) gradient times input, with the pooler's tanh replaced by its slope between the text and
    zero embeddings.
    """
    words = network.bert.embeddings.word_embeddings.weight[tokens.ids].detach()

    def enter(w):
        return w[None] if bare else entered(network, tokens, w)

    with torch.no_grad():
        zero = pooled(network, enter(torch.zeros_like(words)))
    leaf = words.clone().requires_grad_(True)
    real = pooled(network, enter(leaf))
    slope = ((torch.tanh(real) - torch.tanh(zero)) / (real - zero)).detach()
    (gradient,) = torch.autograd.grad(
        (network.classifier.weight[target] * slope * real).sum(), leaf
    )
    return (gradient * words).sum(1).numpy()
