"""Limits of erasure, by trying every order of the tokens."""

from itertools import permutations

from reference.erasures import logits
from reference.faithfulness import probability


def limits(network, tokens, sizes):
    """[least, greatest] area of comprehensiveness and of sufficiency."""
    content = [int(p) for p in tokens.content]
    k = int(logits(network, tokens.ids, tokens.segments).argmax())
    full = probability(network, tokens, set(), k)
    areas = ([], [])
    p = {}
    for order in permutations(content):
        sums = [0.0, 0.0]
        for size in sizes:
            for at, gone in enumerate((frozenset(order[:size]), frozenset(order[size:]))):
                p[gone] = p[gone] if gone in p else probability(network, tokens, gone, k)
                sums[at] += (full - p[gone]) / len(sizes)
        areas[0].append(sums[0])
        areas[1].append(sums[1])
    return [[min(some), max(some)] for some in areas]
