"""Rank correlation, its bootstrap, prices and overlaps: one pair, one draw, one tie-break after
another.
"""

from itertools import combinations

import numpy as np


def tau_b(a, b):
    """Kendall's tau-b of two lists, from its definition; NaN where a list orders nothing."""
    same = opposite = only_a = only_b = 0
    for i, j in combinations(range(len(a)), 2):
        x = a[i] - a[j]
        y = b[i] - b[j]
        same += x * y > 0
        opposite += x * y < 0
        only_a += x == 0 and y != 0
        only_b += y == 0 and x != 0
    rest = same + opposite
    room = (rest + only_a) * (rest + only_b)
    return (same - opposite) / room**0.5 if room else float("nan")


def resampled_mean(values, of_seed, of_instance):
    """(m,) mean of (S, N, m) values where each seed and each instance is taken so many times, NaN
    left out.
    """
    taken = [
        values[s, n]
        for s, times_s in enumerate(of_seed)
        for n, times_n in enumerate(of_instance)
        for _ in range(int(times_s * times_n))
    ]
    columns = [[row[m] for row in taken if row[m] == row[m]] for m in range(values.shape[2])]
    return np.array([sum(column) / len(column) if column else np.nan for column in columns])


def exchanged_tau(runs, sent):
    """The mean tau-b of the runs (a dict by method of each of two judges), the second's methods
    sent elsewhere.
    """

    def follow(method, names):
        return sent[method] if sent[method] in names else follow(sent[method], names)

    found = []
    for first, second in runs:
        names = [
            m for m in first if first[m] == first[m] and second[m] == second[m] and m != "random"
        ]
        tau = tau_b([first[m] for m in names], [second[follow(m, names)] for m in names])
        found += [tau] if len(names) >= 4 and tau == tau else []
    return sum(found) / len(found) if found else float("nan")


def halved(array, halves, heads):
    """Mean tau-b within a model and across two, of (n, 2, m) values, between two halves of texts,
    over cuts.

    heads: (n,) whether the two models are exchanged in a text.
    """
    worlds = [(b, a) if head else (a, b) for (a, b), head in zip(array, heads, strict=True)]
    within = []
    across = []
    for one, other in halves:
        (a, b), (c, d) = (
            [
                sum(w * text[i] for w, text in zip(part, worlds, strict=True)).round(9)
                for i in (0, 1)
            ]
            for part in (one, other)
        )
        within += [tau_b(a, c), tau_b(b, d)]
        across += [tau_b(a, d), tau_b(b, c)]
    return tuple(
        np.mean(known) if (known := [t for t in taus if t == t]) else np.nan
        for taus in (within, across)
    )


def undominated(cost, quality):
    """(m,) bool: nobody is as good for less or better for as little."""
    out = []
    for c, q in zip(cost, quality, strict=True):
        others = [(d, r) for d, r in zip(cost, quality, strict=True) if r == r]
        out.append(q == q and not any(d <= c and r >= q and (d < c or r > q) for d, r in others))
    return out


def overlap_at_k(a, b, k):
    """The mean overlap over every way to break the ties of both at the border."""

    def choices(scores):
        best = max(
            sum(scores[i] for i in c) for c in combinations(range(len(scores)), min(k, len(scores)))
        )
        every = combinations(range(len(scores)), min(k, len(scores)))
        return [set(c) for c in every if sum(scores[i] for i in c) == best]

    return np.mean([len(x & y) / min(k, len(a)) for x in choices(a) for y in choices(b)])
