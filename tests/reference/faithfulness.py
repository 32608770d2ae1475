"""Hard erasure, one probability at a time; the baseline erases special tokens as well."""

import math
from fractions import Fraction

import numpy as np

from reference.erasures import logits


def probability(network, tokens, gone, k):
    """p(k) of the text with the positions in `gone` padded."""
    ids = [0 if p in gone else i for p, i in enumerate(tokens.ids)]
    z = np.exp(logits(network, ids, tokens.segments))
    return z[k] / z.sum()


def erase(network, tokens, scores, ratio):
    """comprehensiveness, sufficiency and their normalised forms; ties fall to the lower index."""
    content = [int(p) for p in tokens.content]
    size = max(1, math.ceil(Fraction(str(ratio)) * len(content)))
    chosen = {content[i] for i in sorted(range(len(content)), key=lambda i: (-scores[i], i))[:size]}
    k = int(logits(network, tokens.ids, tokens.segments).argmax())
    full = probability(network, tokens, set(), k)
    none = probability(network, tokens, set(range(len(tokens))), k)
    without = probability(network, tokens, chosen, k)
    only = probability(network, tokens, set(content) - chosen, k)
    zero = 1 - max(0, full - none)
    nc = min(1, max(0, full - without) / (1 - zero)) if 1 - zero >= 1e-8 else 0
    ns = (1 - max(0, full - only) - (zero - 1e-4)) / (1 - (zero - 1e-4))
    return full - without, full - only, nc, min(1, max(0, ns))
