"""The test over texts, sign pattern by sign pattern."""

from itertools import product

import numpy as np


def sign_flips(differences):
    """Two-sided p of a mean over groups of means over texts: the share of all sign patterns at
    least as extreme.
    """
    sizes = [len(values) for values in differences]
    found = abs(np.mean([np.mean(values) for values in differences]))
    more = total = 0
    for signs in product((-1, 1), repeat=sum(sizes)):
        rest = list(signs)
        means = []
        for values in differences:
            means.append(np.mean([rest.pop(0) * value for value in values]))
        total += 1
        more += abs(np.mean(means)) >= found - 1e-12
    return more / total
