"""Soft erasure, entry by entry, and diagnosticity, pair by pair."""

import math

import numpy as np
import torch

from reference.attributions import entered, read


def importance(scores, how, rate=0.5):
    """Scores as numbers between 0 and 1."""
    n = len(scores)
    low = min(scores)
    high = max(scores)
    flat = [(s - low) / (high - low) if high > low else 0.5 for s in scores]
    if how == "sigmoid":
        return [1 / (1 + math.exp(-s)) for s in scores]
    if how == "softmax":
        return [math.exp(s) / sum(math.exp(o) for o in scores) for s in scores]
    if how == "rank":
        below = [sum(o < s for o in scores) + (sum(o == s for o in scores) - 1) / 2 for s in scores]
        return [b / (n - 1) if n > 1 else 0.5 for b in below]
    if how == "calibrated":
        odds = [math.log(c / (1 - c)) for c in (min(max(f, 1e-3), 1 - 1e-3) for f in flat)]
        left = -60.0
        right = 60.0
        for _ in range(200):
            shift = (left + right) / 2
            mean = sum(1 / (1 + math.exp(-o - shift)) for o in odds) / n
            left, right = (shift, right) if mean < rate else (left, shift)
        return [1 / (1 + math.exp(-o - shift)) for o in odds]
    return flat


def probability(network, tokens, strengths, seed, kind, k):
    """p(k) of the text with its entering vectors disturbed."""
    x = entered(network, tokens)[0].clone()
    rng = np.random.default_rng(seed)
    shape = tuple(x.shape)
    drawn = (
        rng.random(shape, np.float32) if kind == "keep" else rng.standard_normal(shape, np.float32)
    )
    for t in range(shape[0]):
        for d in range(shape[1]):
            factor = (
                float(drawn[t, d] < strengths[t])
                if kind == "keep"
                else np.float32(1 + strengths[t] * drawn[t, d])
            )
            x[t, d] *= float(factor)
    with torch.no_grad():
        return torch.softmax(read(network, x[None]), 0)[k].item()


def soft_values(full, erased, p):
    """Soft-NC and Soft-NS from the probabilities of the whole, the erased and the
    disturbed text.
    """
    floor = 1 - max(0, full - erased)
    nc = min(1, max(0, full - p) / (1 - floor)) if 1 - floor >= 1e-8 else 0
    low = floor - 1e-4
    return nc, min(1, max(0, (1 - max(0, full - p) - low) / (1 - low)))


def diagnosticity(own, rival, ties="lose", margin=1e-6):
    """Share of pairs won."""
    total = 0.0
    for u, v in zip(own, rival, strict=True):
        if u - v >= margin and (margin or u > v):
            total += 1
        elif abs(u - v) < margin or u == v:
            total += {"lose": 0, "half": 0.5, "win": 1}[ties]
    return total / len(own)
