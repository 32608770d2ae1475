"""Scores against marked tokens, by going through every order of tied tokens, and forms of scores,
pair by pair.
"""

from itertools import pairwise, permutations

import numpy as np


def orders(scores):
    """Every order by falling score."""
    n = len(scores)
    return [
        o for o in permutations(range(n)) if all(scores[a] >= scores[b] for a, b in pairwise(o))
    ]


def f1(order, marked, k):
    """F1 of the first k tokens."""
    hits = sum(marked[i] for i in order[:k])
    return 2 * hits / (len(order[:k]) + sum(marked))


def precision_recall_area(order, marked):
    """Area under precision over recall by trapezoids, from precision 1 at recall 0."""
    points = [(0.0, 1.0)]
    hits = 0
    for size, token in enumerate(order, 1):
        hits += marked[token]
        points.append((hits / sum(marked), hits / size))
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))


def runs(chosen):
    """Sets of neighbouring chosen tokens."""
    out = []
    for place in sorted(chosen):
        if out and place - 1 in out[-1]:
            out[-1].add(place)
        else:
            out.append({place})
    return out


def iou_f1(order, marked, k):
    """F1 of runs that share at least half of what both hold."""
    found = runs(set(order[:k]))
    given = runs({i for i, m in enumerate(marked) if m})
    precision = np.mean([max(len(a & b) / len(a | b) for b in given) >= 0.5 for a in found])
    recall = np.mean([max(len(a & b) / len(a | b) for a in found) >= 0.5 for b in given])
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def mass(scores, marked):
    """Positive scores on marked tokens over all, token by token."""
    positive = [max(0.0, s) for s in scores]
    positive = positive if sum(positive) else [1.0] * len(scores)
    return sum(p for p, m in zip(positive, marked, strict=True) if m) / sum(positive)


def gini(scores):
    """Half the mean absolute difference of sizes over their mean."""
    sizes = [abs(s) for s in scores]
    gaps = [abs(a - b) for a in sizes for b in sizes]
    return sum(gaps) / len(gaps) / 2 / (sum(sizes) / len(sizes)) if sum(sizes) else 0.0


def ranks(scores):
    """Ranks, equal scores sharing their mean."""
    return [sum(o < s for o in scores) + (sum(o == s for o in scores) + 1) / 2 for s in scores]


def spearman(a, b):
    """Correlation of ranks; 0 where those of one are all equal."""
    a = np.array(ranks(a))
    b = np.array(ranks(b))
    a = a - a.mean()
    b = b - b.mean()
    return float(a @ b / np.sqrt((a @ a) * (b @ b))) if (a @ a) * (b @ b) > 0 else 0.0


def expected_ranks(profiles, kinds, here):
    """For each token of text `here` the mean share of rank of its kind in all other texts, 1/2
    where there is none.
    """
    shares = [[(r - 1) / (len(s) - 1) if len(s) > 1 else 0.5 for r in ranks(s)] for s in profiles]
    out = []
    for kind in kinds[here]:
        seen = [
            v
            for t in range(len(kinds))
            if t != here
            for v, k in zip(shares[t], kinds[t], strict=True)
            if k == kind
        ]
        out.append(sum(seen) / len(seen) if seen else 0.5)
    return out
