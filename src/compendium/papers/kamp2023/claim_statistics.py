"""The numbers behind the claims of Kamp et al. (2023): of one text, and each claim's statistic of their means.

Claims about an order are counted as the share of comparisons that come out as the paper says. Letters used for shapes:
p numbers a text, b the sample and its draws, or null worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import rankdata

from attreval.metrics.chunks import chosen_chunks, find_chunks
from attreval.metrics.pairwise_agreement import pairwise_agreement, pairwise_agreement_of
from compendium.config import AgreementSpec
from compendium.papers.common.resampling import best_of, least_of
from compendium.papers.common.runs import reported
from compendium.papers.kamp2023.agreement import LOW
from compendium.papers.kamp2023.readings import PEOPLE, SIX, Reading
from compendium.papers.kamp2023.tables import KAMP_METHODS

SHAP, LIME, GRADIENT, INPUT, PLAIN, PATH = SIX
STRONG = (SHAP, LIME, GRADIENT)
SMALL = 5  # the largest of small k
LARGE = 10  # the largest k compared
SETTLED = 5  # the k above which the paper sees no improvement
PAIRS = tuple(combinations(SIX, 2))
LOW_PAIRS = tuple(pair for pair in PAIRS if set(pair) & set(LOW))
DYNAMIC = 0  # stands for dynamic k where a k is asked for
SPANS = "spans"  # mean agreement of all pairs on the chunks of a text that hold what they select
KS = (DYNAMIC, *range(1, LARGE + 1))
NAMES = [("pair", a, b, k) for a, b in PAIRS for k in KS] + [(PEOPLE, m, k) for m in SIX for k in KS]
NAMES += [("k", m) for m in SIX] + [("rise", "short"), ("rise", "long"), (SPANS, DYNAMIC)]
AT = {name: at for at, name in enumerate(NAMES)}


@dataclass(frozen=True)
class Means:
    """(b, p) means, found by the NAMES of the numbers."""

    values: np.ndarray

    def __getitem__(self, name: tuple) -> np.ndarray:
        return self.values[:, AT[name]]


@dataclass(frozen=True)
class Statement:
    """What a claim is decided by: a statistic of the means; of those to choose by and those to read where `chosen`.

    named: whether it says something of methods by their names; what no name decides, or that one method is like
    others, exchanged names leave as it is. of_people: whether it rests on the texts that people marked.
    """

    statistic: Callable[..., np.ndarray]
    chosen: bool = False
    named: bool = True
    of_people: bool = False

    def number(self, fit: np.ndarray, read: np.ndarray) -> np.ndarray:
        """(b,) the statistic of (b, p) means."""
        return self.statistic(Means(fit), Means(read)) if self.chosen else self.statistic(Means(read))


def values_of(reading: Reading, spec: AgreementSpec, lengths: tuple[float, float]) -> np.ndarray:
    """(p,) every number of one text that a claim speaks of; NaN for people where nobody marked it.

    lengths: the tokens up to which a text is short, and from which it is long.
    """
    names = [*SIX, PEOPLE] if reading.marked else list(SIX)
    if spec.ties == "expectation" and spec.people == "top_k":
        fixed = pairwise_agreement([reading.of(name) for name in names], KS[1:])
        dynamic = pairwise_agreement_of(np.array([reading.peaks(name, spec) for name in names]))
        table = np.concatenate([dynamic[None], fixed])
    else:
        table = np.full((len(KS), len(names), len(names)), np.nan)
        for b, a in combinations(range(len(names)), 2):
            pair = (names[b], names[a])
            ways = [reading.agreement_at_peaks(pair, spec), *(reading.agreement_at_k(pair, k, spec) for k in KS[1:])]
            table[:, a, b] = table[:, b, a] = ways
    peaks = np.array([reading.peaks(m, spec) for m in SIX])
    by_spans = pairwise_agreement_of(chosen_chunks(peaks, find_chunks(reading.tokens)))
    rise = (reading.agreement_at_k(SIX, LARGE, spec) - reading.agreement_at_k(SIX, 1, spec)) / (LARGE - 1)
    n, (short, long) = len(reading.tokens), lengths
    parts = (  # in the order of NAMES
        [table[:, SIX.index(a), SIX.index(b)] for a, b in PAIRS],
        table[:, : len(SIX), -1].T if reading.marked else np.full((len(SIX), len(KS)), np.nan),
        peaks.sum(axis=1),
        [rise if n <= short else np.nan, rise if n >= long else np.nan],
        by_spans[np.triu_indices(len(SIX), 1)].mean(),
    )
    return np.concatenate([np.ravel(part) for part in parts])


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


def rises_with_k(fit: Means, read: Means) -> np.ndarray:
    """Share of the pairs below the median at k = 1, chosen on other texts, that agree more at the largest k."""
    first = np.array([fit["pair", *p, 1] for p in PAIRS])
    low, rises = first < np.median(first, axis=0), [read["pair", *p, LARGE] > read["pair", *p, 1] for p in PAIRS]
    found = (low & np.array(rises)).sum(axis=0) / np.maximum(low.sum(axis=0), 1)
    return np.where(low.any(axis=0), found, np.nan)  # where all pairs agree alike, none is low


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


def among_the_highest(k: int) -> Callable[[Means], np.ndarray]:
    """Share of the other five methods that agree less with people than Vanilla Gradient does."""
    others = [m for m in SIX if m != GRADIENT]
    return lambda means: share_above(means[PEOPLE, GRADIENT, k] - means[PEOPLE, m, k] for m in others)


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


def trend(gains: np.ndarray) -> np.ndarray:
    """(...) rise per k, by least squares, of (SETTLED, ...) gains over k = 1 to SETTLED."""
    ks = np.arange(SETTLED) - (SETTLED - 1) / 2
    return np.tensordot(ks, gains, axes=1) / (ks**2).sum()


def gain_trend(means: Means) -> np.ndarray:
    """The trend over k, up to 5, of the mean improvement of the two weak methods."""
    return trend(np.array([np.mean([gain(m, k)(means) for m in LOW], axis=0) for k in range(1, SETTLED + 1)]))


def gain_above_five(fit: Means, read: Means) -> np.ndarray:
    """The largest improvement of the two weak methods over any k above 5, chosen on other texts."""
    ways = [gain(m, k) for m in LOW for k in range(SETTLED + 1, LARGE + 1)]
    return best_of(*(np.stack([way(means) for way in ways], axis=1) for means in (fit, read)))


def gain_of_spans(means: Means) -> np.ndarray:
    """Mean agreement of all pairs at dynamic k on chunks of the text, less that on tokens."""
    return means[SPANS, DYNAMIC] - np.mean([means["pair", *p, DYNAMIC] for p in PAIRS], axis=0)


def statements(k: int) -> dict[str, Statement]:
    """By claim, what decides it; k: the fixed k that dynamic k is set against."""
    return {
        "shap-lime-agree-most": Statement(highest_pair),
        "three-groups": Statement(three_groups(k)),
        "agreement-rises-with-k": Statement(rises_with_k, chosen=True, named=False),
        "perturbation-nearer-to-people": Statement(highest_lines(k), chosen=True, of_people=True),
        "gradient-competitive-with-people": Statement(among_the_highest(k), of_people=True),
        "people-agreement-rises-with-k": Statement(rises_with_k_for_people, named=False, of_people=True),
        "dynamic-k-helps-plain-ig": Statement(gain(PLAIN, k)),
        "dynamic-k-helps-gradient-x-input": Statement(gain(INPUT, k)),
        "advantage-vanishes": Statement(vanishes(_with_people, k), of_people=True),
        "advantage-among-methods-vanishes": Statement(vanishes(_with_methods, k)),
        "dynamic-k-order": Statement(rank_correlation_of_k),
        "dynamic-k-shap": Statement(lambda means: means["k", SHAP]),
        "dynamic-k-plain-ig": Statement(lambda means: means["k", PLAIN]),
        "improvement-shrinks": Statement(gain_trend, named=False),
        "no-improvement-above-five": Statement(gain_above_five, chosen=True, named=False),
        "spans-smooth-differences": Statement(gain_of_spans, named=False),
        "length-bias": Statement(lambda means: means["rise", "short"] - means["rise", "long"], named=False),
    }
