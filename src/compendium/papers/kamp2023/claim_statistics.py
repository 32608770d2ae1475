"""The numbers behind the claims of Kamp et al. (2023): of one text, and each claim's statistic of
their means.

What each statistic is in words stands in paper/claims.yml, as `measure`. Claims about an order are
counted as the share of comparisons that come out as the paper says. Letters used for shapes: p
numbers a text, b the sample and its draws, or null worlds, c several numbers.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from attreval.metrics.agreement import pairwise_agreement, pairwise_agreement_of
from attreval.metrics.phrases import chosen_chunks, find_chunks
from compendium.config import AgreementSpec
from compendium.papers.common.contrasts import best_of, least_of
from compendium.papers.kamp2023.agreement import LOW
from compendium.papers.kamp2023.readings import DYNAMIC, PEOPLE, SIX, Reading
from compendium.papers.kamp2023.tables import by_our_names

Pair = tuple[str, str]
SHAP, LIME, GRADIENT, INPUT, PLAIN, PATH = SIX
STRONG = (SHAP, LIME, GRADIENT)
WEAK = (INPUT, PLAIN, PATH)
SMALL = range(1, 6)  # what the paper calls small k
LARGE = 10  # the largest k compared
SETTLED = 5  # the k above which the paper sees no improvement
PAIRS = list(combinations(SIX, 2))
BEST_PAIR = (SHAP, LIME)
LOW_PAIRS = [pair for pair in PAIRS if set(pair) & set(LOW)]
HIGH_PAIRS = [pair for pair in PAIRS if pair not in LOW_PAIRS]
SPANS = ("spans",)  # mean agreement of all pairs on the chunks of a text that hold what they select
SHORT_RISE = ("rise", "short")
LONG_RISE = ("rise", "long")
KS = (DYNAMIC, *range(1, LARGE + 1))
NAMES = [("pair", *pair, k) for pair in PAIRS for k in KS]
NAMES += [(PEOPLE, method, k) for method in SIX for k in KS]
NAMES += [*(("k", method) for method in SIX), SHORT_RISE, LONG_RISE, SPANS]
AT = {name: at for at, name in enumerate(NAMES)}  # the column of each number


class Means(NamedTuple):
    """(b, p) means, found by the NAMES of the numbers. k: the fixed k that dynamic k is set
    against.
    """

    values: np.ndarray
    k: int = 4

    def of(self, *name) -> np.ndarray:
        """(b,) means of one number."""
        return self.values[:, AT[name]]

    def several(self, names: Iterable[tuple]) -> np.ndarray:
        """(c, b) means of several numbers."""
        return np.array([self.of(*name) for name in names])

    def pairs(self, k: int, pairs: Iterable[Pair] = PAIRS) -> np.ndarray:
        """(c, b) agreement of pairs of methods."""
        return self.several(("pair", *pair, k) for pair in pairs)

    def people(self, k: int, methods: Iterable[str] = SIX) -> np.ndarray:
        """(c, b) agreement of methods with people."""
        return self.several((PEOPLE, method, k) for method in methods)

    def partners(self, k: int, methods: Iterable[str]) -> np.ndarray:
        """(c, b) agreement of all the pairs that each of the methods is in."""
        return self.pairs(k, [pair for method in methods for pair in PAIRS if method in pair])

    def gain(self, method: str, k: int) -> np.ndarray:
        """(b,) by how much dynamic k raises the mean agreement of a method's pairs over a
        fixed k.
        """
        return (self.partners(DYNAMIC, [method]) - self.partners(k, [method])).mean(axis=0)


class Statement(NamedTuple):
    """What a claim is decided by: a statistic of the means; of those to choose by and those to read
    where `chosen`.

    named: whether it says something of methods by their names; what no name decides, or that one
    method is like others, exchanged names leave as it is. of_people: whether it rests on the texts
    that people marked.
    """

    statistic: Callable[..., np.ndarray]
    chosen: bool = False
    named: bool = True
    of_people: bool = False

    def number(self, fit: np.ndarray, read: np.ndarray, k: int) -> np.ndarray:
        """(b,) the statistic of (b, p) means."""
        shown = Means(read, k)
        return self.statistic(Means(fit, k), shown) if self.chosen else self.statistic(shown)


STATEMENTS: dict[str, Statement] = {}  # by claim


def _decides(claim: str, **more: bool) -> Callable[[Callable], Callable]:
    """Decorate the statistic that decides a claim. more: of its Statement."""

    def add(statistic: Callable) -> Callable:
        STATEMENTS[claim] = Statement(statistic, **more)
        return statistic

    return add


def values_of(reading: Reading, spec: AgreementSpec, lengths: tuple[float, float]) -> np.ndarray:
    """(p,) every number of one text that a claim speaks of; NaN for people where nobody marked it.

    lengths: the tokens up to which a text is short, and from which it is long.
    """
    voters = [*SIX, PEOPLE] if reading.marked else list(SIX)
    peaks = np.array([reading.peaks(voter, spec) for voter in voters])
    found = _agreement_of_pairs(reading, spec, voters, peaks)
    of_methods = peaks[: len(SIX)]
    found |= {("k", method): chosen.sum() for method, chosen in zip(SIX, of_methods, strict=True)}
    rise = reading.agreement_at_k(SIX, LARGE, spec) - reading.agreement_at_k(SIX, 1, spec)
    short, long = lengths
    if len(reading.tokens) <= short:
        found[SHORT_RISE] = rise / (LARGE - 1)
    if len(reading.tokens) >= long:
        found[LONG_RISE] = rise / (LARGE - 1)
    by_spans = pairwise_agreement_of(chosen_chunks(of_methods, find_chunks(reading.tokens)))
    found[SPANS] = by_spans[np.triu_indices(len(SIX), 1)].mean()
    return np.array([found.get(name, np.nan) for name in NAMES])


def _agreement_of_pairs(
    reading: Reading, spec: AgreementSpec, voters: list[str], peaks: np.ndarray
) -> dict:
    """By name, the agreement of each pair of voters at each of KS. peaks: (voters, n), what dynamic
    k selects.
    """
    known = None  # one call for all pairs, where ties and people are as in the paper
    if spec.ties == "expectation" and spec.people == "top_k":
        fixed = pairwise_agreement([reading.of(voter) for voter in voters], KS[1:])
        known = np.concatenate([pairwise_agreement_of(peaks)[None], fixed])
    found = {}
    for (i, a), (j, b) in combinations(enumerate(voters), 2):
        name = (PEOPLE, a) if b == PEOPLE else ("pair", a, b)
        for at, k in enumerate(KS):
            value = reading.agreement_at_k((a, b), k, spec) if known is None else known[at, i, j]
            found[*name, k] = value
    return found


def share_above(differences: np.ndarray) -> np.ndarray:
    """(b,) share of (c, b) differences above 0; NaN where one is not known."""
    return np.where(np.isnan(differences).any(axis=0), np.nan, (differences > 0).mean(axis=0))


@_decides("shap-lime-agree-most")
def best_pair(means: Means) -> np.ndarray:
    """Share of comparisons with the other pairs, at each small k, that Partition SHAP and
    LIME win.
    """
    others = [pair for pair in PAIRS if pair != BEST_PAIR]
    leads = [means.pairs(k, [BEST_PAIR]) - means.pairs(k, others) for k in SMALL]
    return share_above(np.concatenate(leads))


@_decides("three-groups")
def three_groups(means: Means) -> np.ndarray:
    """Share of comparisons with the pairs of LOW methods that the others win."""
    leads = means.pairs(means.k, HIGH_PAIRS) - means.pairs(means.k, LOW_PAIRS)[:, None]
    return share_above(np.concatenate(leads))


@_decides("agreement-rises-with-k", chosen=True, named=False)
def rises_with_k(fit: Means, read: Means) -> np.ndarray:
    """Share of the pairs below the median at k = 1, chosen on other texts, that agree more at the
    largest k.
    """
    first = fit.pairs(1)
    rises = read.pairs(LARGE) > read.pairs(1)
    low = first < np.median(first, axis=0)
    found = (low & rises).sum(axis=0) / np.maximum(low.sum(axis=0), 1)
    return np.where(low.any(axis=0), found, np.nan)  # where all pairs agree alike, none is low


@_decides("perturbation-nearer-to-people", chosen=True, of_people=True)
def highest_lines(fit: Means, read: Means) -> np.ndarray:
    """The lower of Partition SHAP and LIME less the highest of the other methods."""
    lower = least_of(fit.people(fit.k, BEST_PAIR).T, read.people(read.k, BEST_PAIR).T)
    others = (GRADIENT, *WEAK)
    return lower - best_of(fit.people(fit.k, others).T, read.people(read.k, others).T)


@_decides("gradient-competitive-with-people", of_people=True)
def gradient_lead(means: Means) -> np.ndarray:
    """Share of the other methods that the gradient lies above."""
    others = [method for method in SIX if method != GRADIENT]
    return share_above(means.people(means.k, [GRADIENT]) - means.people(means.k, others))


@_decides("people-agreement-rises-with-k", named=False, of_people=True)
def people_rise(means: Means) -> np.ndarray:
    """Share of methods that agree more with people at the largest k than at 1."""
    return share_above(means.people(LARGE) - means.people(1))


_decides("dynamic-k-helps-plain-ig")(lambda means: means.gain(PLAIN, means.k))
_decides("dynamic-k-helps-gradient-x-input")(lambda means: means.gain(INPUT, means.k))


def vanishes(
    agreement: Callable[[Means, int, Sequence[str]], np.ndarray],
) -> Callable[[Means], np.ndarray]:
    """The lead of STRONG over WEAK methods at the fixed k, less twice its size at dynamic k."""

    def lead(means: Means, k: int) -> np.ndarray:
        return agreement(means, k, STRONG).mean(axis=0) - agreement(means, k, WEAK).mean(axis=0)

    return lambda means: lead(means, means.k) - 2 * np.abs(lead(means, DYNAMIC))


_decides("advantage-vanishes", of_people=True)(vanishes(Means.people))
_decides("advantage-among-methods-vanishes")(vanishes(Means.partners))


@_decides("dynamic-k-order")
def rank_correlation_of_k(means: Means) -> np.ndarray:
    """Spearman's correlation of our six mean dynamic k with the published ones."""
    ours = rankdata(means.several(("k", method) for method in SIX), axis=0)
    theirs = rankdata(published_k()[list(SIX)])
    ours = ours - ours.mean(axis=0)
    theirs = theirs - theirs.mean()
    with np.errstate(invalid="ignore"):
        return theirs @ ours / (np.linalg.norm(theirs) * np.linalg.norm(ours, axis=0))


_decides("dynamic-k-shap")(lambda means: means.of("k", SHAP))
_decides("dynamic-k-plain-ig")(lambda means: means.of("k", PLAIN))


def trend(gains: np.ndarray) -> np.ndarray:
    """(...) rise per k, by least squares, of (SETTLED, ...) gains over k = 1 to SETTLED."""
    ks = np.arange(SETTLED) - (SETTLED - 1) / 2
    return np.tensordot(ks, gains, axes=1) / (ks**2).sum()


@_decides("improvement-shrinks", named=False)
def falling_gain(means: Means) -> np.ndarray:
    """The trend over small k of what dynamic k adds to the methods that agree least."""
    gains = [
        np.mean([means.gain(method, k) for method in LOW], axis=0) for k in range(1, SETTLED + 1)
    ]
    return trend(np.array(gains))


@_decides("no-improvement-above-five", chosen=True, named=False)
def best_gain(fit: Means, read: Means) -> np.ndarray:
    """The largest gain of these methods over any k above SETTLED."""

    def gains(means: Means) -> np.ndarray:
        return np.array(
            [means.gain(method, k) for method in LOW for k in range(SETTLED + 1, LARGE + 1)]
        ).T

    return best_of(gains(fit), gains(read))


@_decides("spans-smooth-differences", named=False)
def spans_lead(means: Means) -> np.ndarray:
    """Mean agreement of all pairs on chunks less that on tokens, at dynamic k."""
    return means.of(*SPANS) - means.pairs(DYNAMIC).mean(axis=0)


_decides("length-bias", named=False)(lambda means: means.of(*SHORT_RISE) - means.of(*LONG_RISE))


@cache
def _renamed() -> np.ndarray:
    """(720, p) the column of each number after the six methods' names are exchanged."""
    either_way = AT | {("pair", b, a, k): AT["pair", a, b, k] for a, b in PAIRS for k in KS}
    columns = []
    for order in permutations(SIX):
        new = dict(zip(SIX, order, strict=True))
        columns.append([either_way[tuple(new.get(part, part) for part in name)] for name in NAMES])
    return np.array(columns)


def with_exchanged_names(values: np.ndarray, worlds: int, rng: np.random.Generator) -> np.ndarray:
    """(j, n, p) of (n, p) numbers with the six methods' names exchanged at random in each text."""
    orders = _renamed()
    chosen = rng.integers(0, len(orders), size=(worlds, len(values)))
    texts = np.arange(len(values))
    return values[texts[None, :, None], orders[chosen]]


def published_k() -> pd.Series:
    """By method of ours, the mean dynamic k that the released code notes."""
    return by_our_names("kamp_dynamic_k_means").set_index("method").mean_dynamic_k


def published_values() -> dict[str, float]:
    """By claim that the paper's own figures in print decide: its number made from them."""
    mean_gains = (
        by_our_names("kamp_table1")
        .groupby("k")
        .improvement_over_fixed_k.mean()
        .loc[1:SETTLED]
        .to_numpy()
    )
    known = published_k()
    values = np.full((1, len(NAMES)), np.nan)
    values[0, [AT["k", method] for method in SIX]] = known[list(SIX)]
    return {
        "improvement-shrinks": float(trend(mean_gains)),
        "dynamic-k-order": float(rank_correlation_of_k(Means(values))[0]),
        "dynamic-k-shap": float(known[SHAP]),
        "dynamic-k-plain-ig": float(known[PLAIN]),
    }
