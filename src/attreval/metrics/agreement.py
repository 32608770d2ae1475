"""agreement@k: do explanations select the same tokens? (Kamp et al. 2023, section 3), ties by expectation.

A voter is one vector of token scores; its top k are the k highest scores. Where scores are equal at the border, every
choice among them is equally likely, and the expectation over these choices is computed in closed form.
Letters used for shapes: m voters, n tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from math import comb

import numpy as np

from attreval.core.seeds import generator
from attreval.metrics.dynamic_k import peaks_of
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import ScoredText

_pairs = partial(metric, judge="agreement", needs=("scores", "rivals"), higher_is_better=True, joint=True)


def top_k(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, int]:
    """(n,) bool tokens surely selected, (n,) bool tokens tied at the border, and how many of those are selected.

    k at or above n selects every token. Raises ValueError for k below 1 or scores that are not numbers.
    """
    scores = np.asarray(scores, dtype=float)
    if k < 1:
        raise ValueError(f"k must be at least 1; got {k}")
    if np.isnan(scores).any():
        raise ValueError(f"scores must be numbers; position {int(np.isnan(scores).argmax())} is NaN")
    if k >= len(scores):
        return np.ones(len(scores), bool), np.zeros(len(scores), bool), 0
    border = np.partition(scores, -k)[-k]
    sure, tied = scores > border, scores == border
    left = k - int(sure.sum())
    if left == tied.sum():
        return sure | tied, np.zeros(len(scores), bool), 0
    return sure, tied, left


def count_tokens(voters: Sequence[np.ndarray]) -> int:
    """How many tokens the voters score; ValueError where there is no voter, or they do not score the same number."""
    lengths = [len(v) for v in voters]
    if not lengths:
        raise ValueError("agreement needs at least one voter; got none")
    if len(set(lengths)) > 1:
        raise ValueError(f"voters score the same tokens; got lengths {lengths}")
    return lengths[0]


def agreement_at_k(voters: Sequence[np.ndarray], k: int, rng: np.random.Generator | None = None) -> float:
    """Expected agreement@k of m voters on one text, from 1/m (nothing shared) to 1 (Kamp et al. 2023, eq. 1-2).

    Each voter selects min(k, n) tokens, so agreement is min(k, n) over the size of the union of the selections.
    NaN where there is no token. rng: break ties once, at random, as the released code does.
    """
    n = count_tokens(voters)
    if n == 0:
        return float("nan")
    if rng is not None:
        return agreement_of([draw_top_k(v, k, rng) for v in voters])
    chosen = [top_k(v, k) for v in voters]
    sure = np.any([s for s, _, _ in chosen], axis=0)
    open_ties = [(tied, left) for _, tied, left in chosen if left]
    sizes = union_sizes(open_ties, sure)
    return float(sum(p * min(k, n) / (size + sure.sum()) for size, p in sizes.items()))


def draw_top_k(scores: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """(n,) bool, the top k of one voter with ties at the border broken at random, each choice equally likely."""
    sure, tied, left = top_k(scores, k)
    sure[rng.choice(np.flatnonzero(tied), left, replace=False)] = True
    return sure


def agreement_of(selections: Sequence[np.ndarray]) -> float:
    """Agreement of m selections, (n,) bool each, of any sizes, on one text (Kamp et al. 2023, eq. 1-2).

    The mean relevance of the tokens that anybody selects; NaN where nobody selects any.
    """
    count_tokens(selections)
    votes = np.sum([np.asarray(chosen, dtype=bool) for chosen in selections], axis=0)
    return float(votes.sum() / (len(selections) * (votes > 0).sum())) if votes.any() else float("nan")


def union_sizes(ties: Sequence[tuple[np.ndarray, int]], covered: np.ndarray) -> dict[int, float]:
    """Probabilities of how many tokens outside `covered` the tied voters select between them.

    Tokens in the same tie groups are exchangeable, so it is enough to follow how many of each such cell are taken.
    """
    if not ties:
        return {0: 1.0}
    groups = np.array([tied for tied, _ in ties])  # (ties, n)
    patterns, member = np.unique(groups, axis=1, return_inverse=True)
    member = np.ravel(member)
    free = [int(((member == c) & ~covered).sum()) for c in range(patterns.shape[1])]
    sunk = [int(((member == c) & covered).sum()) for c in range(patterns.shape[1])]
    states = {tuple([0] * len(free)): 1.0}  # how many free tokens of each cell are taken so far
    for i, (_, left) in enumerate(ties):
        cells = [c for c in range(len(free)) if patterns[i, c]]
        rest = sum(sunk[c] for c in cells)
        total = comb(sum(free[c] for c in cells) + rest, left)
        grown: dict[tuple[int, ...], float] = {}
        for state, p in states.items():
            # of each cell this voter picks `new` untaken and `old` taken tokens; the other picks fall on covered tokens
            options = [[(new, comb(free[c] - state[c], new)) for new in range(free[c] - state[c] + 1)] for c in cells]
            idle = sum(state[c] for c in cells) + rest
            for picks in product(*options):
                fresh = sum(new for new, _ in picks)
                if fresh > left or left - fresh > idle:
                    continue
                ways = comb(idle, left - fresh)
                for _, w in picks:
                    ways *= w
                after = list(state)
                for c, (new, _) in zip(cells, picks, strict=True):
                    after[c] += new
                key = tuple(after)
                grown[key] = grown.get(key, 0.0) + p * ways / total
        states = grown
    sizes: dict[int, float] = {}
    for state, p in states.items():
        sizes[sum(state)] = sizes.get(sum(state), 0.0) + p
    return sizes


def relevance_at_k(voters: Sequence[np.ndarray], k: int) -> np.ndarray:
    """(n,) expected share of voters that select each token among their top k (Kamp et al. 2023, eq. 1).

    Of one voter: the chance of each token to be among its k highest.
    """
    total = np.zeros(count_tokens(voters))
    for scores in voters:
        sure, tied, left = top_k(scores, k)
        total += sure + tied * (left / max(1, tied.sum()))
    return total / len(voters)


def tie_breaker(text: ScoredText, *voters: str) -> np.random.Generator | None:
    """What breaks ties among voters: None, for the expectation, or a draw, as the text's settings say."""
    if text.settings.ties == "expectation":
        return None
    return generator("ties", 0, text.instance.id, text.settings.k, *sorted(voters))


@_pairs("Agreement (fixed k)", source="Kamp et al. 2023, section 3, eq. 1-2", order=21)
def agreement(text: ScoredText, method: str) -> float:
    """How far methods select the same k tokens: k over the size of the union; ties by expectation."""

    def compare(a: str, b: str) -> float:
        return agreement_at_k([text.scores[a], text.scores[b]], text.settings.k, tie_breaker(text, a, b))

    return text.over_rivals(method, "agreement of two", compare)


@_pairs("Agreement (dynamic k)", source="Kamp et al. 2023, section 4", order=22)
def agreement_dynamic(text: ScoredText, method: str) -> float:
    """How far the local maxima of methods are the same tokens."""
    return text.over_rivals(method, "dynamic of two", lambda a, b: agreement_of([peaks_of(text, a), peaks_of(text, b)]))
