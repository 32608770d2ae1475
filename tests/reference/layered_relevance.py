"""LRP of a BERT and of a GPT-2, layer by layer, by the formulas of its rules, in NumPy, for one
text without padding.

R: relevance of what a layer gives; each rule returns that of what it was given. Shapes: (L, D),
    attention (H, L, L).
"""

import math

import numpy as np
import torch
from scipy.special import erf, softmax


def values_of(module):
    """(weight, bias) as NumPy."""
    return module.weight.detach().numpy(), module.bias.detach().numpy()


def linear_rule(x, w, b, r):
    """Each input has the share x_i w_ji / z_j of every output; b keeps its own."""
    return x * ((r / (x @ w.T + b)) @ w)


def norm_rule(x, gamma, beta, eps, r):
    """Layer normalisation is a linear layer, once the deviation is a number."""
    n = x.shape[1]
    out = np.empty_like(x)
    for t, row in enumerate(x):
        w = gamma[:, None] / math.sqrt(row.var() + eps) * (np.eye(n) - 1 / n)
        out[t] = linear_rule(row[None], w, beta, r[None, t])[0]
    return out


def sum_rule(a, b, r):
    """Two summands."""
    return a / (a + b) * r, b / (a + b) * r


def product_rule(a, b, r, parts):
    """(..., L, D) a @ b; each factor's share of every summand a_ik b_kj, a half of it or all."""
    shares = np.einsum("...ik,...kj,...ij->...ikj", a, b, r / (a @ b))
    return parts[0] * shares.sum(-1), parts[1] * shares.sum(-3)


def softmax_rule(s, r):
    """The Taylor rule of AttnLRP: S_ij (R_ij - A_ij sum_k R_ik)."""
    return s * (r - softmax(s, axis=-1) * r.sum(-1, keepdims=True))


def gelu(x):
    return x * (1 + erf(x / math.sqrt(2))) / 2


def gelu_new(x):
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def attention_rule(q, k, v, r, rule, causal=False):
    """Relevance of (H, L, d) queries, keys and values from that of what it gives; the softmax may
    be constant.
    """
    s = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])
    s = np.where(np.tri(s.shape[-1]) == 0, -1e30, s) if causal else s
    a = softmax(s, axis=-1)
    if rule == "constant":
        return 0 * q, 0 * k, product_rule(a, v, r, (0, 1))[1]
    ra, rv = product_rule(a, v, r, (0.5, 0.5))
    rq, rk = product_rule(q, k.swapaxes(1, 2), softmax_rule(s, ra), (0.5, 0.5))
    return rq, rk.swapaxes(1, 2), rv


def split(x, heads):
    return x.reshape(len(x), heads, -1).swapaxes(0, 1)


def join(x):
    return x.swapaxes(0, 1).reshape(x.shape[1], -1)


def block_rule(x, weights, heads, r, rule, causal=False):
    """Self-attention: three linear maps of x, attention, an output map. weights: of query, key,
    value, output.
    """
    maps = [x @ w.T + b for w, b in weights[:3]]
    q, k, v = (split(y, heads) for y in maps)
    s = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])
    a = softmax(np.where(np.tri(len(x)) == 0, -1e30, s) if causal else s, axis=-1)
    r = linear_rule(join(a @ v), *weights[3], r)
    parts = attention_rule(q, k, v, split(r, heads), rule, causal)
    return sum(linear_rule(x, *w, join(p)) for w, p in zip(weights, parts, strict=False))


def bert(network, embeddings, words, target, rule):
    """(L,) relevance of (L, D) word embeddings, of (L, D) `embeddings` before their
    normalisation.
    """
    body = network.bert
    heads = network.config.num_attention_heads
    with torch.no_grad():
        x = [body.embeddings.LayerNorm(embeddings)]
        for layer in body.encoder.layer:
            x.append(layer(x[-1][None])[0])
    hidden = [one.numpy() for one in x]
    first = hidden[-1][:1]
    pooled = first @ values_of(body.pooler.dense)[0].T + values_of(body.pooler.dense)[1]
    w, b = values_of(network.classifier)
    z = np.tanh(pooled) @ w.T + b
    r = linear_rule(np.tanh(pooled), w, b, np.eye(len(b))[[target]] * z)
    r = np.concatenate(
        [
            linear_rule(first, *values_of(body.pooler.dense), r),
            np.zeros((len(hidden[-1]) - 1, w.shape[1])),
        ]
    )
    for layer, given in zip(reversed(body.encoder.layer), hidden[-2::-1], strict=True):
        r = bert_layer(layer, given, heads, r, rule)
    norm = body.embeddings.LayerNorm
    r = (
        r
        if isinstance(norm, torch.nn.Identity)
        else norm_rule(embeddings.numpy(), *values_of(norm), norm.eps, r)
    )
    return (words / embeddings.numpy() * r).sum(1)


def bert_layer(layer, x, heads, r, rule):
    """(L, D) relevance of what a layer of BERT is given."""
    own = layer.attention.self
    out = layer.attention.output
    up = values_of(layer.intermediate.dense)
    down = values_of(layer.output.dense)
    with torch.no_grad():
        attended = out.dense(own(torch.from_numpy(x)[None])[0][0]).numpy()
        middle = out.LayerNorm(torch.from_numpy(attended + x)).numpy()
    wide = middle @ up[0].T + up[1]
    below = gelu(wide) @ down[0].T + down[1]
    r = norm_rule(below + middle, *values_of(layer.output.LayerNorm), layer.output.LayerNorm.eps, r)
    r_down, r_middle = sum_rule(below, middle, r)
    r = r_middle + linear_rule(middle, *up, linear_rule(gelu(wide), *down, r_down))
    r = norm_rule(attended + x, *values_of(out.LayerNorm), out.LayerNorm.eps, r)
    r_attended, r_x = sum_rule(attended, x, r)
    weights = [values_of(m) for m in (own.query, own.key, own.value, out.dense)]
    return r_x + block_rule(x, weights, heads, r_attended, rule)


def gpt2(network, embeddings, words, target, rule):
    """(L,) relevance of (L, D) word embeddings, of (L, D) `embeddings` with positions."""
    body = network.transformer
    hidden = [embeddings]
    with torch.no_grad():
        for layer in body.h:
            out = layer(hidden[-1][None])
            hidden.append(out[0] if out.ndim == 3 else out)
        last = body.ln_f(hidden[-1]).numpy()
    w = network.score.weight.detach().numpy()
    r = np.zeros_like(last)
    r[-1:] = linear_rule(last[-1:], w, 0, np.eye(len(w))[[target]] * (last[-1:] @ w.T))
    r = norm_rule(hidden[-1].numpy(), *values_of(body.ln_f), body.ln_f.eps, r)
    for layer, given in zip(reversed(body.h), hidden[-2::-1], strict=True):
        r = gpt2_layer(layer, given.numpy(), network.config.n_head, r, rule)
    return (words / embeddings.numpy() * r).sum(1)


def gpt2_layer(layer, x, heads, r, rule):
    """(L, D) relevance of what a layer of GPT-2 is given; its linear layers keep their weights
    transposed.
    """
    up, down, out, qkv = (
        (values_of(m)[0].T, values_of(m)[1])
        for m in (layer.mlp.c_fc, layer.mlp.c_proj, layer.attn.c_proj, layer.attn.c_attn)
    )
    with torch.no_grad():
        normed = layer.ln_1(torch.from_numpy(x)).numpy()
        attended = layer.attn(torch.from_numpy(normed)[None])[0][0].numpy()
        again = layer.ln_2(torch.from_numpy(attended + x)).numpy()
    wide = again @ up[0].T + up[1]
    below = gelu_new(wide) @ down[0].T + down[1]
    r_below, r = sum_rule(below, attended + x, r)
    r_again = linear_rule(again, *up, linear_rule(gelu_new(wide), *down, r_below))
    r = r + norm_rule(attended + x, *values_of(layer.ln_2), layer.ln_2.eps, r_again)
    r_attended, r_x = sum_rule(attended, x, r)
    weights = [*zip(np.split(qkv[0], 3), np.split(qkv[1], 3), strict=True), out]
    inner = block_rule(normed, weights, heads, r_attended, rule, causal=True)
    return r_x + norm_rule(x, *values_of(layer.ln_1), layer.ln_1.eps, inner)
