"""DeepLIFT of a BERT by the rescale rule in every layer, in NumPy, for one text beside its
reference.

m: (L, D) what a difference of what a layer gives is multiplied by; each rule returns that of what
it was given. A pair holds what the text and what the reference give. Differences that are 0 have no
slope, and do not occur here.
"""

import math

import numpy as np
import torch
from scipy.special import softmax

from reference.layered_relevance import gelu, join, split, values_of


def slope(function, pair):
    """Of an elementwise function between text and reference."""
    return (function(pair[0]) - function(pair[1])) / (pair[0] - pair[1])


def norm_rule(pair, module, m):
    """Layer normalisation: centred, times one over the deviation, times weights; the deviation is
    of the centred.
    """
    gamma = values_of(module)[0]
    eps = module.eps
    centred = [x - x.mean(1, keepdims=True) for x in pair]
    variance = [(x**2).mean(1, keepdims=True) + eps for x in centred]
    total = sum(centred)
    m = m * gamma
    of_inverse = (m * total / 2).sum(1, keepdims=True) * slope(lambda v: v**-0.5, variance)
    m = m * sum(v**-0.5 for v in variance) / 2 + of_inverse * total / total.shape[1]
    return m - m.mean(1, keepdims=True)


def attention_rule(pair, layer, heads, m):
    """Self-attention: products with the mean of the other factor; a weight is exp(s - log of the
    sum).
    """
    maps = [values_of(one) for one in (layer.query, layer.key, layer.value)]
    q, k, v = ([split(x @ w.T + b, heads) for x in pair] for w, b in maps)
    wide = math.sqrt(q[0].shape[-1])
    a = [softmax(one @ two.swapaxes(1, 2) / wide, axis=-1) for one, two in zip(q, k, strict=True)]
    m = split(m, heads)
    of_weights = m @ sum(v).swapaxes(1, 2) / 2
    of_values = sum(a).swapaxes(1, 2) @ m / 2
    c = (a[0] - a[1]) / (np.log(a[0]) - np.log(a[1]))
    s = c * (of_weights - (c * of_weights).sum(-1, keepdims=True) / c.sum(-1, keepdims=True)) / wide
    parts = (s @ sum(k) / 2, s.swapaxes(1, 2) @ sum(q) / 2, of_values)
    return sum(join(part) @ w for part, (w, _) in zip(parts, maps, strict=True))


def layer_rule(pair, layer, heads, m):
    """A layer of BERT."""
    out = layer.attention.output
    up = values_of(layer.intermediate.dense)
    down = values_of(layer.output.dense)
    with torch.no_grad():
        attended = [
            out.dense(layer.attention.self(torch.from_numpy(x)[None])[0][0]).numpy() for x in pair
        ]
        summed = [a + x for a, x in zip(attended, pair, strict=True)]
        middle = [out.LayerNorm(torch.from_numpy(x)).numpy() for x in summed]
    wide = [x @ up[0].T + up[1] for x in middle]
    below = [gelu(x) @ down[0].T + down[1] + y for x, y in zip(wide, middle, strict=True)]
    m = norm_rule(below, layer.output.LayerNorm, m)
    m = m + (m @ down[0] * slope(gelu, wide)) @ up[0]
    m = norm_rule(summed, out.LayerNorm, m)
    return m + attention_rule(pair, layer.attention.self, heads, m @ values_of(out.dense)[0])


def bert(network, words, added, target):
    """(L,) scores of (L, D) word embeddings against zeros; added: (L, D) positions and types."""
    body = network.bert
    entered = [words + added, added]
    norm = body.embeddings.LayerNorm
    with torch.no_grad():
        states = [[norm(torch.from_numpy(x)).numpy() for x in entered]]
        for layer in body.encoder.layer:
            states.append([layer(torch.from_numpy(x)[None])[0].numpy() for x in states[-1]])
    w, b = values_of(body.pooler.dense)
    m = np.zeros_like(words)
    m[0] = (
        values_of(network.classifier)[0][target]
        * slope(np.tanh, [x[0] @ w.T + b for x in states[-1]])
    ) @ w
    for layer, pair in zip(reversed(body.encoder.layer), states[-2::-1], strict=True):
        m = layer_rule(pair, layer, network.config.num_attention_heads, m)
    return (words * norm_rule(entered, norm, m)).sum(1)
