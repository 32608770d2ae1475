"""The numbers behind the claims of Kamp et al. (2023), each a statistic of means over texts.

Claims about an order are counted as the share of comparisons that come out as the paper says. Letters used for shapes:
b the sample and its draws, or null worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import rankdata

from compendium.papers.common.published import reported
from compendium.papers.common.resampling import best_of, least_of
from compendium.papers.kamp2023.agreement import LOW
from compendium.papers.kamp2023.readings import PEOPLE, SIX
from compendium.papers.kamp2023.tables import KAMP_METHODS

SHAP, LIME, GRADIENT, INPUT, PLAIN, PATH = SIX
STRONG = (SHAP, LIME, GRADIENT)
SMALL = 5  # the largest of small k
LARGE = 10  # the largest k compared
SETTLED = 5  # the k above which the paper sees no improvement
PAIRS = tuple(combinations(SIX, 2))
LOW_PAIRS = tuple(pair for pair in PAIRS if set(pair) & set(LOW))
DYNAMIC = 0  # stands for dynamic k where a k is asked for
CHANCE = "chance"  # agreement of scores in a random order with people
SPANS = "spans"  # mean agreement of all pairs on the chunks of a text that hold what they select


@dataclass(frozen=True)
class Means:
    """(b, p) means by name: ("pair", a, b, k), (PEOPLE, method, k), ("k", method), ("rise", length), (CHANCE, k),
    (SPANS, k)."""

    names: dict[tuple, int]
    values: np.ndarray

    def __getitem__(self, name: tuple) -> np.ndarray:
        return self.values[:, self.names[name]]


def share_above(differences: Iterable[np.ndarray]) -> np.ndarray:
    """(b,) share of differences above 0; NaN where one is not known."""
    found = np.array(list(differences))
    return np.where(np.isnan(found).any(axis=0), np.nan, (found > 0).mean(axis=0))


def highest_pair(means: Means) -> np.ndarray:
    """Share of pairs and small k at which Partition SHAP and LIME agree more than the pair."""
    others = [p for p in PAIRS if p != (SHAP, LIME)]
    ks = range(1, SMALL + 1)
    return share_above(means["pair", SHAP, LIME, k] - means["pair", *other, k] for k in ks for other in others)


def three_groups(k: int) -> Callable[[Means], np.ndarray]:
    """Share of comparisons in which a pair without the two weak methods agrees more than one with them."""
    others = [p for p in PAIRS if p not in LOW_PAIRS]
    return lambda means: share_above(
        means["pair", *other, k] - means["pair", *low, k] for low in LOW_PAIRS for other in others
    )


def rises_with_k(means: Means) -> np.ndarray:
    """Share of pairs, but for Partition SHAP and LIME, that agree more at the largest k than at 1."""
    return share_above(means["pair", *p, LARGE] - means["pair", *p, 1] for p in PAIRS if p != (SHAP, LIME))


def rises_with_k_for_people(means: Means) -> np.ndarray:
    """Share of methods that agree more with people at the largest k than at 1."""
    return share_above(means[PEOPLE, m, LARGE] - means[PEOPLE, m, 1] for m in SIX)


def _with_people(methods: Iterable[str], k: int) -> Callable[[Means], np.ndarray]:
    return lambda means: np.mean([means[PEOPLE, m, k] for m in methods], axis=0)


def highest_lines(k: int) -> Callable[[Means, Means], np.ndarray]:
    """Lead of the weaker perturbation method over the strongest other in agreeing with people; chosen apart."""

    def lead(fit: Means, read: Means) -> np.ndarray:
        weaker, strongest = (
            tuple(np.stack([means[PEOPLE, m, k] for m in methods], axis=1) for means in (fit, read))
            for methods in ((SHAP, LIME), (GRADIENT, INPUT, PLAIN, PATH))
        )
        return least_of(*weaker) - best_of(*strongest)

    return lead


def _with_methods(methods: Iterable[str], k: int) -> Callable[[Means], np.ndarray]:
    pairs = [[p for p in PAIRS if m in p] for m in methods]
    return lambda means: np.mean([means["pair", *p, k] for mine in pairs for p in mine], axis=0)


def advantage(of: Callable, better: tuple[str, ...], worse: tuple[str, ...], k: int) -> Callable[[Means], np.ndarray]:
    """Mean agreement of some methods less that of others; of: with whom."""
    return lambda means: of(better, k)(means) - of(worse, k)(means)


def vanishes(of: Callable, k: int) -> Callable[[Means], np.ndarray]:
    """The advantage of the strong methods at k, less twice the size of what is left of it at dynamic k."""
    weak = tuple(m for m in SIX if m not in STRONG)
    fixed, dynamic = (advantage(of, STRONG, weak, at) for at in (k, DYNAMIC))
    return lambda means: fixed(means) - 2 * np.abs(dynamic(means))


def share_of_lead(k: int) -> Callable[[Means], np.ndarray]:
    """Vanilla Gradient's lead over chance in agreeing with people, as a share of the perturbation methods' lead."""

    def share(means: Means) -> np.ndarray:
        chance = means[CHANCE, k]
        with np.errstate(divide="ignore", invalid="ignore"):
            return (_with_people((GRADIENT,), k)(means) - chance) / (_with_people((SHAP, LIME), k)(means) - chance)

    return share


def gain(method: str, k: int) -> Callable[[Means], np.ndarray]:
    """By how much dynamic k raises the mean agreement of a method's pairs over a fixed k."""
    mine = [p for p in PAIRS if method in p]
    return lambda means: np.mean([means["pair", *p, DYNAMIC] - means["pair", *p, k] for p in mine], axis=0)


def rank_correlation_of_k(means: Means) -> np.ndarray:
    """Spearman's correlation of our six mean dynamic k with the published ones."""
    theirs = reported("kamp_dynamic_k_means")
    theirs = dict(zip(theirs.method.map(KAMP_METHODS), theirs.mean_dynamic_k, strict=True))
    ours = rankdata([means["k", m] for m in SIX], axis=0)
    theirs = rankdata([theirs[m] for m in SIX])
    ours, theirs = ours - ours.mean(axis=0), theirs - theirs.mean()
    with np.errstate(invalid="ignore"):
        return theirs @ ours / (np.linalg.norm(theirs) * np.linalg.norm(ours, axis=0))


def gain_falls_with_k(means: Means) -> np.ndarray:
    """Share of steps from k to k + 1, up to 5, at which the improvement of the two weak methods falls."""
    steps = [(m, k) for m in LOW for k in range(1, SETTLED)]
    return share_above(gain(m, k)(means) - gain(m, k + 1)(means) for m, k in steps)


def gain_above_five(fit: Means, read: Means) -> np.ndarray:
    """The largest improvement of the two weak methods over any k above 5, chosen on other texts."""
    ways = [gain(m, k) for m in LOW for k in range(SETTLED + 1, LARGE + 1)]
    return best_of(*(np.stack([way(means) for way in ways], axis=1) for means in (fit, read)))


def gain_of_spans(means: Means) -> np.ndarray:
    """Mean agreement of all pairs at dynamic k on chunks of the text, less that on tokens."""
    return means[SPANS, DYNAMIC] - np.mean([means["pair", *p, DYNAMIC] for p in PAIRS], axis=0)


def statistics(k: int) -> dict[str, Callable[[Means], np.ndarray]]:
    """By claim, its number; k: the fixed k that dynamic k is set against."""
    return {
        "shap-lime-agree-most": highest_pair,
        "three-groups": three_groups(k),
        "agreement-rises-with-k": rises_with_k,
        "perturbation-nearer-to-people": highest_lines(k),
        "gradient-competitive-with-people": share_of_lead(k),
        "people-agreement-rises-with-k": rises_with_k_for_people,
        "dynamic-k-helps-plain-ig": gain(PLAIN, k),
        "dynamic-k-helps-gradient-x-input": gain(INPUT, k),
        "advantage-vanishes": vanishes(_with_people, k),
        "advantage-among-methods-vanishes": vanishes(_with_methods, k),
        "dynamic-k-order": rank_correlation_of_k,
        "dynamic-k-shap": lambda means: means["k", SHAP],
        "dynamic-k-plain-ig": lambda means: means["k", PLAIN],
        "improvement-shrinks": gain_falls_with_k,
        "no-improvement-above-five": gain_above_five,
        "spans-smooth-differences": gain_of_spans,
        "length-bias": lambda means: means["rise", "short"] - means["rise", "long"],
    }


CHOSEN = ("no-improvement-above-five", "perturbation-nearer-to-people")  # those that choose, and take the means twice
OF_NO_METHOD = (  # what no name decides, or that one method is like others: exchanged names leave it as it is
    "gradient-competitive-with-people",
    "agreement-rises-with-k",
    "people-agreement-rises-with-k",
    "improvement-shrinks",
    "no-improvement-above-five",
    "spans-smooth-differences",
    "length-bias",
)
