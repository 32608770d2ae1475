"""Budgets, average precision, entropy and spans the slow way, closer to their definitions."""

import math

import numpy as np


def spend(pieces, scores, size, tie):
    """Units of the first pieces, a unit at a time, the least worth of the last piece left out."""
    worth = {}
    for piece, score in zip(pieces, scores, strict=True):
        for u in piece:
            worth[u] = worth.get(u, 0) + score
    held = set()
    for piece in pieces:
        fresh = [u for u in dict.fromkeys(piece) if u not in held]
        while fresh and len(held) + len(fresh) > size:
            fresh.remove(min(fresh, key=lambda u: (worth[u], -tie[u])))
        held |= set(fresh)
    return held


def average_precision(sets, gold):
    """Sum over thresholds of precision times what recall grows by."""
    recall = 0.0
    total = 0.0
    for found in sets:
        hit = sum(1 for u in found if u in gold)
        total += (hit / len(gold) - recall) * hit / len(found)
        recall = hit / len(gold)
    return total


def entropy(scores):
    """- sum p ln p of the shares of magnitudes."""
    total = sum(abs(s) for s in scores)
    shares = [abs(s) / total if total else 1 / len(scores) for s in scores]
    return -sum(p * math.log(p) for p in shares if p > 0)


def spans(tokens, communities, words):
    """Pairs of spans: for each community the runs of words that lie in it whole, first part by
    second.
    """
    out = []
    for inside in communities:
        runs = {0: [], 1: []}
        for side in runs:
            before = False
            for positions in words[side]:
                whole = all(p in inside for p in positions)
                if whole and before:
                    runs[side][-1] += positions
                elif whole:
                    runs[side].append(list(positions))
                before = whole
        out += [sorted(a + b) for a in runs[0] for b in runs[1]]
    return sorted(out)


def check_pairs(found, units, matrix):
    """Pairs of units score the mean of both directions of an (n, n) matrix."""
    pairs = units.pairs().tolist()
    assert len(found.features) == len(pairs)
    for (a, b), feature, score in zip(pairs, found.features, found.values, strict=True):
        assert set(feature) == {*units.groups[a], *units.groups[b]}
        np.testing.assert_allclose(score, (matrix[a, b] + matrix[b, a]) / 2, atol=1e-9)


def changes(network, tokens, groups, chosen, logits):
    """(flip, drop) when the chosen units are masked, and when all others are."""
    whole = logits(network, tokens.ids, tokens.segments)
    k = int(np.argmax(whole))
    out = []
    for masked in (chosen, set(range(len(groups))) - set(chosen)):
        gone = {p for u in masked for p in groups[u]}
        row = [tokens.mask_id if p in gone else i for p, i in enumerate(tokens.ids)]
        other = logits(network, row, tokens.segments)
        p = [np.exp(z[k]) / np.exp(z).sum() for z in (whole, other)]
        out.append((float(np.argmax(other) != k), p[0] - p[1]))
    return out
