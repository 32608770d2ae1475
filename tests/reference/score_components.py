"""Slow twin of the components of single scores: products of two scores, pair by pair."""

from itertools import product

import numpy as np


def mean_products(scores, models):
    """(methods, model, seed, text, rest) of (u, m, n) scores whose means over methods are 0 for
    each u and n.
    """
    found = {name: [] for name in ("apart", "model", "network", "text", "itself")}
    networks, m, texts = scores.shape
    for a, b, t, s in product(range(networks), range(networks), range(texts), range(texts)):
        value = scores[a, :, t] @ scores[b, :, s] / (m - 1)
        if t != s:
            found["network" if a == b else "model" if models[a] == models[b] else "apart"].append(
                value
            )
        elif a == b or models[a] != models[b]:
            found["itself" if a == b else "text"].append(value)
    apart, model, network, text, itself = (np.mean(found[name]) for name in found)
    return apart, model - apart, network - model, text - apart, itself - network - (text - apart)
