"""Gradient methods, one text at a time, without padding, ledger or quadrature of our own."""

import numpy as np
import torch
from scipy.integrate import fixed_quad


def logit(network, embeddings, segments, target):
    """The target logit of one row of (L, D) word embeddings."""
    out = network(inputs_embeds=embeddings[None], token_type_ids=torch.from_numpy(segments)[None])
    return out.logits[0, target]


def gradient(network, embeddings, segments, target):
    """(L, D) gradient of the target logit."""
    leaf = embeddings.detach().clone().requires_grad_(True)
    logit(network, leaf, segments, target).backward()
    return leaf.grad.numpy()


def embed(network, ids):
    """(L, D) word embeddings."""
    return network.bert.embeddings.word_embeddings.weight[torch.from_numpy(ids)].detach()


def gradient_scores(network, tokens, target):
    """L1 norm, L2 norm and product with the input, each (L,)."""
    x = embed(network, tokens.ids)
    g = gradient(network, x, tokens.segments, target)
    return (
        [sum(abs(v) for v in r) for r in g],
        [sum(v * v for v in r) ** 0.5 for r in g],
        [r @ e for r, e in zip(g, x.numpy(), strict=True)],
    )


def integrated(network, tokens, target, steps, start=None):
    """(L,) integrated gradients with and without the input factor, from padding or from one (D,)
    vector.
    """
    end = embed(network, tokens.ids)
    vector = (
        embed(network, np.array([tokens.pad_id]))[0] if start is None else torch.as_tensor(start)
    )
    start = torch.stack([own if s else vector for own, s in zip(end, tokens.special, strict=True)])

    def along(ts):
        return np.stack(
            [gradient(network, start + t * (end - start), tokens.segments, target) for t in ts],
            axis=-1,
        )

    mean, _ = fixed_quad(along, 0, 1, n=steps)
    return (mean * (end - start).numpy()).sum(axis=1), mean.sum(axis=1)
