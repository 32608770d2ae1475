"""The numbers behind the claims of Kamp et al. (2023): of one text, and each claim's statistic of their means.

What each statistic is in words stands in paper/claims.yml, as `measure`. Claims about an order are counted as the share
of comparisons that come out as the paper says. Letters used for shapes: p numbers a text, b the sample and its draws,
or null worlds.
"""

from collections.abc import Callable, Iterable
from functools import cache
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from attreval.metrics.agreement import pairwise_agreement, pairwise_agreement_of
from attreval.metrics.phrases import chosen_chunks, find_chunks
from compendium.config import AgreementSpec
from compendium.papers.common.contrasts import best_of, least_of
from compendium.papers.kamp2023.agreement import LOW
from compendium.papers.kamp2023.readings import DYNAMIC, PEOPLE, SIX, Reading
from compendium.papers.kamp2023.tables import by_our_names

SHAP, LIME, GRADIENT, INPUT, PLAIN, PATH = SIX
STRONG, WEAK = (SHAP, LIME, GRADIENT), (INPUT, PLAIN, PATH)
SMALL = 5  # the largest of small k
LARGE = 10  # the largest k compared
SETTLED = 5  # the k above which the paper sees no improvement
PAIRS = tuple(combinations(SIX, 2))
LOW_PAIRS = tuple(pair for pair in PAIRS if set(pair) & set(LOW))
SPANS = "spans"  # mean agreement of all pairs on the chunks of a text that hold what they select
KS = (DYNAMIC, *range(1, LARGE + 1))
NAMES = [("pair", a, b, k) for a, b in PAIRS for k in KS] + [(PEOPLE, m, k) for m in SIX for k in KS]
NAMES += [("k", m) for m in SIX] + [("rise", "short"), ("rise", "long"), (SPANS, DYNAMIC)]
AT = {name: at for at, name in enumerate(NAMES)}


class Means(NamedTuple):
    """(b, p) means, found by the NAMES of the numbers."""

    values: np.ndarray

    def of(self, *name) -> np.ndarray:
        """(b,) means of one number."""
        return self.values[:, AT[name]]

    def mean(self, names: Iterable[tuple]) -> np.ndarray:
        """(b,) the mean of several."""
        return np.mean([self.of(*name) for name in names], axis=0)

    def gain(self, method: str, k: int) -> np.ndarray:
        """(b,) by how much dynamic k raises the mean agreement of a method's pairs over a fixed k."""
        mine = [p for p in PAIRS if method in p]
        return np.mean([self.of("pair", *p, DYNAMIC) - self.of("pair", *p, k) for p in mine], axis=0)


class Statement(NamedTuple):
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
    peaks = np.array([reading.peaks(name, spec) for name in names])
    if spec.ties == "expectation" and spec.people == "top_k":
        fixed = pairwise_agreement([reading.of(name) for name in names], KS[1:])
        table = np.concatenate([pairwise_agreement_of(peaks)[None], fixed])
    else:
        table = np.full((len(KS), len(names), len(names)), np.nan)
        for (a, one), (b, other) in combinations(enumerate(names), 2):
            table[:, a, b] = [reading.agreement_at_k((one, other), k, spec) for k in KS]
    peaks = peaks[: len(SIX)]
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


def rises_with_k(fit: Means, read: Means) -> np.ndarray:
    """Share of the pairs below the median at k = 1, chosen on other texts, that agree more at the largest k."""
    first = np.array([fit.of("pair", *p, 1) for p in PAIRS])
    rises = np.array([read.of("pair", *p, LARGE) > read.of("pair", *p, 1) for p in PAIRS])
    low = first < np.median(first, axis=0)
    found = (low & rises).sum(axis=0) / np.maximum(low.sum(axis=0), 1)
    return np.where(low.any(axis=0), found, np.nan)  # where all pairs agree alike, none is low


def rank_correlation_of_k(means: Means) -> np.ndarray:
    """Spearman's correlation of our six mean dynamic k with the published ones."""
    ours = rankdata([means.of("k", m) for m in SIX], axis=0)
    theirs = rankdata(by_our_names("kamp_dynamic_k_means").set_index("method").mean_dynamic_k[list(SIX)])
    ours, theirs = ours - ours.mean(axis=0), theirs - theirs.mean()
    with np.errstate(invalid="ignore"):
        return theirs @ ours / (np.linalg.norm(theirs) * np.linalg.norm(ours, axis=0))


def trend(gains: np.ndarray) -> np.ndarray:
    """(...) rise per k, by least squares, of (SETTLED, ...) gains over k = 1 to SETTLED."""
    ks = np.arange(SETTLED) - (SETTLED - 1) / 2
    return np.tensordot(ks, gains, axes=1) / (ks**2).sum()


def statements(k: int) -> dict[str, Statement]:
    """By claim, what decides it; k: the fixed k that dynamic k is set against."""

    def best_pair(means: Means) -> np.ndarray:
        others, ks = [p for p in PAIRS if p != (SHAP, LIME)], range(1, SMALL + 1)
        return share_above(means.of("pair", SHAP, LIME, at) - means.of("pair", *p, at) for at in ks for p in others)

    def three_groups(means: Means) -> np.ndarray:
        high = [p for p in PAIRS if p not in LOW_PAIRS]
        return share_above(means.of("pair", *p, k) - means.of("pair", *low, k) for low in LOW_PAIRS for p in high)

    def highest_lines(fit: Means, read: Means) -> np.ndarray:
        weaker, strongest = (
            [np.stack([means.of(PEOPLE, m, k) for m in methods], axis=1) for means in (fit, read)]
            for methods in ((SHAP, LIME), (GRADIENT, *WEAK))
        )
        return least_of(*weaker) - best_of(*strongest)

    def vanishes(names_of: Callable[[str, int], list[tuple]]) -> Callable[[Means], np.ndarray]:
        def lead(means: Means, at: int) -> np.ndarray:
            strong, weak = (means.mean(n for m in methods for n in names_of(m, at)) for methods in (STRONG, WEAK))
            return strong - weak

        return lambda means: lead(means, k) - 2 * np.abs(lead(means, DYNAMIC))

    def best_gain(fit: Means, read: Means) -> np.ndarray:
        ways = [(m, at) for m in LOW for at in range(SETTLED + 1, LARGE + 1)]
        return best_of(*(np.stack([means.gain(*way) for way in ways], axis=1) for means in (fit, read)))

    def falling_gain(means: Means) -> np.ndarray:
        return trend(np.array([np.mean([means.gain(m, at) for m in LOW], axis=0) for at in range(1, SETTLED + 1)]))

    of_gradient = [m for m in SIX if m != GRADIENT]
    return {
        "shap-lime-agree-most": Statement(best_pair),
        "three-groups": Statement(three_groups),
        "agreement-rises-with-k": Statement(rises_with_k, chosen=True, named=False),
        "perturbation-nearer-to-people": Statement(highest_lines, chosen=True, of_people=True),
        "gradient-competitive-with-people": Statement(
            lambda x: share_above(x.of(PEOPLE, GRADIENT, k) - x.of(PEOPLE, m, k) for m in of_gradient), of_people=True
        ),
        "people-agreement-rises-with-k": Statement(
            lambda x: share_above(x.of(PEOPLE, m, LARGE) - x.of(PEOPLE, m, 1) for m in SIX), named=False, of_people=True
        ),
        "dynamic-k-helps-plain-ig": Statement(lambda x: x.gain(PLAIN, k)),
        "dynamic-k-helps-gradient-x-input": Statement(lambda x: x.gain(INPUT, k)),
        "advantage-vanishes": Statement(vanishes(lambda m, at: [(PEOPLE, m, at)]), of_people=True),
        "advantage-among-methods-vanishes": Statement(
            vanishes(lambda m, at: [("pair", *p, at) for p in PAIRS if m in p])
        ),
        "dynamic-k-order": Statement(rank_correlation_of_k),
        "dynamic-k-shap": Statement(lambda x: x.of("k", SHAP)),
        "dynamic-k-plain-ig": Statement(lambda x: x.of("k", PLAIN)),
        "improvement-shrinks": Statement(falling_gain, named=False),
        "no-improvement-above-five": Statement(best_gain, chosen=True, named=False),
        "spans-smooth-differences": Statement(
            lambda x: x.of(SPANS, DYNAMIC) - x.mean(("pair", *p, DYNAMIC) for p in PAIRS), named=False
        ),
        "length-bias": Statement(lambda x: x.of("rise", "short") - x.of("rise", "long"), named=False),
    }


@cache
def _renamed() -> np.ndarray:
    """(720, p) where each number is found after the six methods' names are exchanged."""
    either_way = AT | {("pair", b, a, k): AT["pair", a, b, k] for a, b in PAIRS for k in KS}
    orders = [dict(zip(SIX, order, strict=True)) for order in permutations(SIX)]
    return np.array([[either_way[tuple(new.get(part, part) for part in name)] for name in NAMES] for new in orders])


def with_exchanged_names(values: np.ndarray, worlds: int, rng: np.random.Generator) -> np.ndarray:
    """(j, n, p) of (n, p) numbers with the six methods' names exchanged at random in each text."""
    orders = _renamed()
    chosen = rng.integers(0, len(orders), size=(worlds, len(values)))
    return values[np.arange(len(values))[None, :, None], orders[chosen]]


def published_values() -> dict[str, float]:
    """By claim that the paper's own figures in print decide: its number made from them."""
    mean_gains = by_our_names("kamp_table1").groupby("k").improvement_over_fixed_k.mean().loc[1:SETTLED].to_numpy()
    k = by_our_names("kamp_dynamic_k_means").set_index("method").mean_dynamic_k
    values = np.array([[k[name[1]] if name[0] == "k" else np.nan for name in NAMES]])
    return {
        "improvement-shrinks": float(trend(mean_gains)),
        "dynamic-k-order": float(rank_correlation_of_k(Means(values))[0]),
        "dynamic-k-shap": float(k["partition_shap"]),
        "dynamic-k-plain-ig": float(k["integrated_gradients_plain"]),
    }
