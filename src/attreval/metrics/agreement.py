"""agreement@k: do explanations select the same tokens? (Kamp et al. 2023, section 3), ties by
expectation.

A voter is one vector of token scores; its top k are the k highest scores. Where scores are equal at
the border, every choice among them is equally likely, and the expectation over these choices is
computed in closed form. `pairwise_agreement` gives the same numbers for every pair of voters at
several k at once, for the many worlds that a null needs: overlaps come from matrix products, and a
tie of one voter from a hypergeometric distribution that is remembered.

The average pairwise difference says how far explanations move when only the training seed changes:
Kamp et al. (2023, appendix A) train one model ten times and explain with the one whose attributions
differ least from the others'. Letters used for shapes: m voters, n tokens, q values of k; r runs, i
instances, m methods, n longest text in tokens.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from math import comb
from typing import NamedTuple

import numpy as np

from attreval.core.alignment import divide
from attreval.core.seeds import Rng, generator
from attreval.metrics.dynamic_k import peaks_of
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import ScoredText, finite

_pairs = partial(
    metric, judge="agreement", needs=("scores", "rivals"), higher_is_better=True, joint=True
)


class TopK(NamedTuple):
    """(n,) bool tokens surely selected, (n,) bool tokens tied at the border, and how many of those
    are selected.
    """

    sure: np.ndarray
    tied: np.ndarray
    left: int


def top_k(scores: np.ndarray, k: int) -> TopK:
    """The k highest of (n,) scores; k at or above n selects every token.

    Raises ValueError for k below 1 or scores that are not finite.
    """
    scores = finite(scores)
    if k < 1:
        raise ValueError(f"k must be at least 1; got {k}")
    none = np.zeros(len(scores), bool)
    if k >= len(scores):
        return TopK(~none, none, 0)
    border = np.partition(scores, -k)[-k]
    sure = scores > border
    tied = scores == border
    left = k - int(sure.sum())
    return TopK(sure | tied, none, 0) if left == tied.sum() else TopK(sure, tied, left)


def count_tokens(voters: Sequence[np.ndarray]) -> int:
    """How many tokens the voters score; ValueError where there is no voter, or they do not score
    the same number.
    """
    lengths = [len(v) for v in voters]
    if not lengths:
        raise ValueError("agreement needs at least one voter; got none")
    if len(set(lengths)) > 1:
        raise ValueError(f"voters score the same tokens; got lengths {lengths}")
    return lengths[0]


def agreement_at_k(voters: Sequence[np.ndarray], k: int, rng: Rng | None = None) -> float:
    """Expected agreement@k of m voters on one text, from 1/m (nothing shared) to 1 (Kamp et al.
    2023, eq. 1-2).

    Each voter selects min(k, n) tokens, so agreement is min(k, n) over the size of the union of the
    selections. NaN where there is no token. rng: break ties once, at random, as the released code
    does. Cost: see `inverse_size`.
    """
    n = count_tokens(voters)
    if n == 0:
        return np.nan
    if rng is not None:
        return agreement_of([draw_top_k(v, k, rng) for v in voters])
    chosen = [top_k(v, k) for v in voters]
    sure = np.any([one.sure for one in chosen], axis=0)
    ties = [(one.tied, one.left) for one in chosen if one.left]
    agreement = min(k, n) * inverse_size(ties, sure)
    return float(np.clip(agreement, 1 / len(voters), 1.0))  # rounded, but never beyond what can be


def draw_top_k(scores: np.ndarray, k: int, rng: Rng) -> np.ndarray:
    """(n,) bool, the top k of one voter with ties at the border broken at random, each choice
    equally likely.
    """
    sure, tied, left = top_k(scores, k)
    sure[rng.choice(np.flatnonzero(tied), left, replace=False)] = True
    return sure


def agreement_of(selections: Sequence[np.ndarray]) -> float:
    """Agreement of m selections, (n,) bool each, of any sizes, on one text (Kamp et al. 2023, eq.
    1-2).

    The mean relevance of the tokens that anybody selects; NaN where nobody selects any.
    """
    count_tokens(selections)
    votes = np.asarray(selections, dtype=bool).sum(axis=0)
    anybody = (votes > 0).sum()
    return float(votes.sum() / (len(selections) * anybody)) if anybody else np.nan


def inverse_size(ties: Sequence[tuple[np.ndarray, int]], covered: np.ndarray) -> float:
    """The expected 1 / U, where U tokens are (n,) `covered` or selected by a voter with ties at the
    border.

    ties: of each such voter the (n,) bool tied tokens, and how many of them are selected.

    1 / U is the integral of y^(U - 1) over y from 0 to 1, which Gauss's rule gives exactly. At one
    y, voters toss a coin for each tied token, given how many they select in the end: token after
    token enters arrays over how many each has selected so far. Voters with the same ties count as
    one.

    Cost: n v steps on arrays of n / 2 times the product of all l + 1, where v voters with different
    ties select l tied tokens each. Exponential in v alone: counting is as hard as the permanent of
    a matrix of zeros and ones.
    """
    if not ties:
        return 1 / int(covered.sum())
    sizes: dict[bytes, np.ndarray] = {}  # by tied tokens, the chances of how many are selected
    for tied, left in ties:
        key = tied.tobytes()
        sizes[key] = _select_more(sizes.get(key, np.ones(1)), int(tied.sum()), left)
    groups = np.array([np.frombuffer(key, dtype=bool) for key in sizes])
    expected = [chances @ np.arange(len(chances)) for chances in sizes.values()]
    coins = expected / groups.sum(axis=1)
    largest = int(covered.sum()) + sum(left for _, left in ties)
    y, weights = _gauss_nodes(min(len(covered), largest) // 2 + 1)
    reached = np.zeros((len(y), *map(len, sizes.values())))
    reached.reshape(len(y), -1)[:, 0] = y ** (covered.sum() - 1.0)
    y = y.reshape(-1, *[1] * len(groups))
    for token in np.flatnonzero(groups.any(axis=0)):
        nobody = reached
        for axis in np.flatnonzero(groups[:, token]).tolist():
            nobody = nobody * (1 - coins[axis])
            reached = _toss(reached, axis + 1, coins[axis])
        reached = reached if covered[token] else y * reached + (1 - y) * nobody
    # at y = 1, the last place, stands how likely the coins fall so
    rates = divide(reached[:-1], reached[-1])
    for chances in reversed(sizes.values()):
        rates = rates @ chances
    return float(weights @ rates)


def _select_more(chances: np.ndarray, tied: int, left: int) -> np.ndarray:
    """The distribution of how many tied tokens are selected, after one more voter selects `left` of
    them.
    """
    grown = np.zeros(min(tied, len(chances) - 1 + left) + 1)
    for held, chance in enumerate(chances):
        for new in range(max(0, left - held), min(left, tied - held) + 1):
            ways = comb(tied - held, new) * comb(held, left - new)
            grown[held + new] += chance * (ways / comb(tied, left))
    return grown


def _toss(reached: np.ndarray, axis: int, coin: float) -> np.ndarray:
    """The array after one toss, which says whether the voter of an axis selects one more token."""
    old = np.moveaxis(reached, axis, 0)
    new = old * (1 - coin)
    new[1:] += old[:-1] * coin
    return np.moveaxis(new, 0, axis)


@lru_cache
def _gauss_nodes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes in [0, 1] followed by 1, and the weights of the nodes."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return np.append((1 + nodes) / 2, 1.0), weights / 2


def relevance_at_k(voters: Sequence[np.ndarray], k: int) -> np.ndarray:
    """(n,) expected share of voters with each token among their top k (Kamp et al. 2023, eq. 1).

    For a single voter, the chance of each token to be among its k highest.
    """
    total = np.zeros(count_tokens(voters))
    for scores in voters:
        sure, tied, left = top_k(scores, k)
        total += sure + tied * (left / max(1, tied.sum()))
    return total / len(voters)


def overlap_at_k(a: np.ndarray, b: np.ndarray, k: int) -> float:
    """Expected share of the k highest of one explanation that are among the k highest of the other,
    from 0 to 1.

    Ties are broken at random, apart for each. NaN where there is no token.
    """
    if len(a) != len(b):
        raise ValueError(
            f"two explanations of the same tokens are compared; got {len(a)} and {len(b)} scores"
        )
    if not len(a):
        return np.nan
    return float(relevance_at_k([a], k) @ relevance_at_k([b], k) / min(k, len(a)))


def tie_breaker(text: ScoredText, *voters: str) -> Rng | None:
    """What breaks ties among voters: None, for the expectation, or a draw, as the text's settings
    say.
    """
    if text.settings.ties == "expectation":
        return None
    return generator("ties", 0, text.instance.id, text.settings.k, *sorted(voters))


@_pairs("Agreement (fixed k)", source="Kamp et al. 2023, section 3, eq. 1-2", order=21)
def agreement(text: ScoredText, method: str) -> float:
    """How far methods select the same k tokens: k over the size of the union; ties by
    expectation.
    """

    def compare(a: str, b: str) -> float:
        return agreement_at_k(
            [text.scores[a], text.scores[b]], text.settings.k, tie_breaker(text, a, b)
        )

    return text.over_rivals(method, "agreement of two", compare)


@_pairs("Agreement (dynamic k)", source="Kamp et al. 2023, section 4", order=22)
def agreement_dynamic(text: ScoredText, method: str) -> float:
    """How far the local maxima of methods are the same tokens."""

    def compare(a: str, b: str) -> float:
        return agreement_of([peaks_of(text, a), peaks_of(text, b)])

    return text.over_rivals(method, "dynamic of two", compare)


def pairwise_agreement(voters: Sequence[np.ndarray], ks: Sequence[int]) -> np.ndarray:
    """(q, m, m) expected agreement@k of every two voters on one text; 1 on the diagonal.

    ValueError for k below 1, for no token, and for scores that are not finite.
    """
    n = count_tokens(voters)
    scores = finite(voters)
    if n == 0 or min(ks) < 1:
        raise ValueError(
            f"agreement@k needs tokens and k of at least 1; got {n} tokens, k {min(ks)}"
        )
    sizes = np.minimum(ks, n)
    border = -np.sort(-scores, axis=1)[:, sizes - 1].T[..., None]  # (q, m, 1)
    sure = scores > border
    tied = scores == border
    left = sizes[:, None] - sure.sum(axis=2)
    closed = left == tied.sum(axis=2)
    sure |= tied & closed[..., None]
    left = np.where(closed, 0, left)
    counts = sure.astype(int)
    both = counts @ counts.swapaxes(1, 2)
    out = sizes[:, None, None] / (2.0 * sizes[:, None, None] - both)
    for at, one in np.argwhere(left).tolist():
        tie = tied[at, one].astype(int)
        inside = counts[at] @ tie  # of each voter's sure tokens, how many the tie holds
        for other in range(len(voters)):
            if other == one:
                value = 1.0
            elif left[at, other]:
                value = agreement_at_k([voters[one], voters[other]], int(ks[at]))
            else:
                facts = (sizes[at], both[at, one, other], tie.sum(), inside[other], left[at, one])
                value = _with_one_tie(*map(int, facts))
            out[at, one, other] = out[at, other, one] = value
    return out


@lru_cache(maxsize=100_000)
def _with_one_tie(size: int, both: int, tied: int, inside: int, left: int) -> float:
    """Expected agreement where one voter picks `left` of its `tied` tokens, `inside` of which the
    other selects.
    """
    ways = {
        more: comb(inside, more) * comb(tied - inside, left - more)
        for more in range(min(inside, left) + 1)
    }
    return sum(way * size / (2 * size - both - more) for more, way in ways.items()) / comb(
        tied, left
    )


def pairwise_agreement_of(selections: np.ndarray) -> np.ndarray:
    """(m, m) agreement of every two (m, n) bool selections of any sizes; NaN where neither selects
    anything.
    """
    chosen = np.asarray(selections, dtype=int)
    both = chosen @ chosen.T
    sizes = chosen.sum(axis=1)
    total = sizes[:, None] + sizes
    with np.errstate(invalid="ignore", divide="ignore"):
        return total / (2 * (total - both))


def to_shares(scores: np.ndarray) -> np.ndarray:
    """Scores divided by the sum of their sizes; zeros stay zeros."""
    scores = np.asarray(scores, dtype=float)
    total = np.abs(scores).sum()
    return scores / total if total > 0 else scores


def profile_matrix(profiles: Sequence[np.ndarray], longest: int) -> np.ndarray:
    """(i * m, n) matrix of one run: a normalised profile a row, padded with zeros at the end."""
    matrix = np.zeros((len(profiles), longest))
    for row, scores in zip(matrix, profiles, strict=True):
        row[: len(scores)] = to_shares(scores)
    return matrix


def profile_differences(matrices: Sequence[np.ndarray], itself: bool) -> np.ndarray:
    """(r, i * m) mean absolute difference of each profile of a run from those of the runs, all of
    one shape.

    itself: average over all runs, the run itself (a zero) included, as the released code does; else
        over the others.
    Padding counts as cells, so the size depends on the lengths. ValueError: fewer than two runs, or
    other shapes.
    """
    if len(matrices) < 2:
        raise ValueError(f"a pairwise difference needs at least two runs; got {len(matrices)}")
    if len({m.shape for m in matrices}) > 1:
        raise ValueError(
            "runs explain the same instances by the same methods; got "
            f"{[m.shape for m in matrices]}"
        )
    sums = [sum(np.abs(a - b).mean(axis=1) for b in matrices) for a in matrices]
    return np.array(sums) / (len(matrices) - (not itself))


def average_pairwise_difference(matrices: Sequence[np.ndarray], itself: bool = True) -> np.ndarray:
    """(r,) mean absolute difference of each run's matrix from those of the runs; see
    `profile_differences`.
    """
    return profile_differences(matrices, itself).mean(axis=1)


APD = metric(
    "Average pairwise difference",
    judge="agreement",
    source="Kamp et al. 2023, appendix A",
    about="How far explanations move with the training seed.",
    needs=("scores", "models"),
    range=(0.0, 2.0),
    higher_is_better=False,
    order=27,
    notebook="05_kamp2023_seeds",
)(average_pairwise_difference)
