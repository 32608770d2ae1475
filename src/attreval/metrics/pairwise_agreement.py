"""agreement@k of every pair of voters at several k at once (Kamp et al. 2023, eq. 1-2), ties by expectation.

The same numbers as `agreement.agreement_at_k` on each pair, for the many worlds that a null needs: overlaps come from
matrix products, and a tie of one voter from a hypergeometric distribution that is remembered.
Letters used for shapes: m voters, n tokens, q values of k.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb

import numpy as np

from attreval.metrics.agreement import agreement_at_k, count_tokens


def pairwise_agreement(voters: Sequence[np.ndarray], ks: Sequence[int]) -> np.ndarray:
    """(q, m, m) expected agreement@k of every two voters on one text; 1 on the diagonal.

    ValueError for k below 1, for no token, and for scores that are not numbers.
    """
    n, scores = count_tokens(voters), np.array(voters, dtype=float)
    if n == 0 or min(ks) < 1 or np.isnan(scores).any():
        raise ValueError(f"agreement@k needs tokens, k of at least 1 and numbers; got {n} tokens, k {min(ks)}")
    sizes = np.minimum(ks, n)
    border = -np.sort(-scores, axis=1)[:, sizes - 1].T[..., None]  # (q, m, 1)
    sure, tied = scores > border, scores == border
    left = sizes[:, None] - sure.sum(axis=2)
    closed = left == tied.sum(axis=2)
    sure |= tied & closed[..., None]
    left = np.where(closed, 0, left)
    counts = sure.astype(int)
    both = counts @ counts.swapaxes(1, 2)
    out = sizes[:, None, None] / (2.0 * sizes[:, None, None] - both)
    for at, one in zip(*np.nonzero(left), strict=True):
        inside = counts[at] @ tied[at, one].astype(int)  # of each voter's sure tokens, how many the tie holds
        size, open_ties = int(sizes[at]), int(tied[at, one].sum())
        for other in range(len(voters)):
            if other == one:
                value = 1.0
            elif left[at, other]:
                value = agreement_at_k([voters[one], voters[other]], int(ks[at]))
            else:
                value = _with_one_tie(
                    size, int(both[at, one, other]), open_ties, int(inside[other]), int(left[at, one])
                )
            out[at, one, other] = out[at, other, one] = value
    return out


@lru_cache(maxsize=100_000)
def _with_one_tie(size: int, both: int, tied: int, inside: int, left: int) -> float:
    """Expected agreement where one voter picks `left` of its `tied` tokens, `inside` of which the other selects."""
    ways = {more: comb(inside, more) * comb(tied - inside, left - more) for more in range(min(inside, left) + 1)}
    return sum(way * size / (2 * size - both - more) for more, way in ways.items()) / comb(tied, left)


def pairwise_agreement_of(selections: np.ndarray) -> np.ndarray:
    """(m, m) agreement of every two (m, n) bool selections of any sizes; NaN where neither selects anything."""
    chosen = np.asarray(selections, dtype=int)
    both, sizes = chosen @ chosen.T, chosen.sum(axis=1)
    total = sizes[:, None] + sizes[None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        return total / (2 * (total - both))
