"""LRP of a Llama, layer by layer, by the formulas of its rules, in NumPy, for one text without
padding.

Beside what a GPT-2 has: root mean square norms, positions that turn queries and keys, keys and
values that several heads share, and a gate that multiplies. Shapes: (L, D), heads (H, L, d).
"""

import math

import numpy as np
import torch
from scipy.special import softmax

from reference.layered_relevance import attention_rule, join, linear_rule, split, sum_rule


class Norm(torch.nn.Module):
    """Root mean square norm in the precision that it is given; the library's own computes in
    float32.
    """

    def __init__(self, own):
        super().__init__()
        self.weight = own.weight
        self.eps = own.variance_epsilon

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def turned(length, width, base):
    """(L, d, d) rotation of each position, in halves: entry i is turned with entry i + d / 2."""
    half = width // 2
    out = np.zeros((length, width, width))
    for at in range(length):
        for i in range(half):
            angle = at / base ** (2 * i / width)
            out[at, i, i] = out[at, i + half, i + half] = math.cos(angle)
            out[at, i, i + half], out[at, i + half, i] = -math.sin(angle), math.sin(angle)
    return out


def weight_of(module):
    return module.weight.detach().numpy()


def llama(network, words, target, rule):
    """(L,) relevance of (L, D) word embeddings; norms are `Norm`."""
    body = network.model
    config = network.config
    hidden = [words.numpy()]
    middles = []
    for layer in body.layers:
        x = hidden[-1]
        attended = attention(layer.self_attn, normed(layer.input_layernorm, x), config)[0]
        middles.append(x + attended)
        hidden.append(
            middles[-1] + gated(layer.mlp, normed(layer.post_attention_layernorm, middles[-1]))[-1]
        )
    w = weight_of(network.score)
    last = normed(body.norm, hidden[-1])
    r = np.zeros_like(last)
    r[-1:] = linear_rule(last[-1:], w, 0, np.eye(len(w))[[target]] * (last[-1:] @ w.T))
    for layer, x, middle in reversed(list(zip(body.layers, hidden, middles, strict=False))):
        r = llama_layer(layer, x, middle, config, r, rule)
    return r.sum(1)


def llama_layer(layer, x, middle, config, r, rule):
    """(L, D) relevance of what a layer is given; a norm whose deviation is a number leaves each
    entry its own.
    """
    below = normed(layer.post_attention_layernorm, middle)
    wide, out = gated(layer.mlp, below)
    r_out, r = sum_rule(out, middle, r)
    r_wide = linear_rule(wide, weight_of(layer.mlp.down_proj), 0, r_out)
    halves = [
        linear_rule(below, weight_of(m), 0, r_wide / 2)
        for m in (layer.mlp.gate_proj, layer.mlp.up_proj)
    ]
    r = r + sum(halves)
    above = normed(layer.input_layernorm, x)
    attended, parts = attention(layer.self_attn, above, config)
    r_attended, r_x = sum_rule(attended, x, r)
    return r_x + attention_relevance(layer.self_attn, above, parts, config, r_attended, rule)


def normed(norm, x):
    return weight_of(norm) * x / np.sqrt((x**2).mean(1, keepdims=True) + norm.eps)


def gated(mlp, x):
    """The product of the gate and the other half, and what comes of it."""
    gate = x @ weight_of(mlp.gate_proj).T
    up = x @ weight_of(mlp.up_proj).T
    wide = gate / (1 + np.exp(-gate)) * up
    return wide, wide @ weight_of(mlp.down_proj).T


def attention(own, x, config):
    """What attention gives, and (query and key before turning, turns, all three behind it, joined
    heads).
    """
    heads = config.num_attention_heads
    shared = config.num_key_value_heads
    q, k, v = (
        split(x @ weight_of(m).T, n)
        for m, n in ((own.q_proj, heads), (own.k_proj, shared), (own.v_proj, shared))
    )
    turns = turned(len(x), q.shape[-1], config.rope_parameters["rope_theta"])
    wide = [
        np.einsum("lij,hlj->hli", turns, q),
        *(np.repeat(y, heads // shared, axis=0) for y in (turn(turns, k), v)),
    ]
    s = wide[0] @ wide[1].swapaxes(1, 2) / math.sqrt(q.shape[-1])
    joined = join(softmax(np.where(np.tri(len(x)) == 0, -1e30, s), axis=-1) @ wide[2])
    return joined @ weight_of(own.o_proj).T, (q, k, turns, wide, joined)


def turn(turns, x):
    return np.einsum("lij,hlj->hli", turns, x)


def turn_rule(turns, x, r):
    """A rotation is a linear layer."""
    return x * np.einsum("lij,hli->hlj", turns, r / turn(turns, x))


def attention_relevance(own, x, parts, config, r, rule):
    """(L, D) relevance of what attention is given."""
    q, k, turns, wide, joined = parts
    r = split(linear_rule(joined, weight_of(own.o_proj), 0, r), len(q))
    rq, rk, rv = attention_rule(*wide, r, rule, causal=True)
    rk, rv = (y.reshape(len(k), -1, *y.shape[1:]).sum(1) for y in (rk, rv))
    before = (turn_rule(turns, q, rq), turn_rule(turns, k, rk), rv)
    maps = (own.q_proj, own.k_proj, own.v_proj)
    return sum(linear_rule(x, weight_of(m), 0, join(y)) for m, y in zip(maps, before, strict=True))
