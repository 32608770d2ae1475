"""The numbers behind the claims of Kamp et al. (2023), and the statistics of their means.

What each statistic is in words stands in paper/claims.yml, as `measure`. Claims about an order are
counted as the share of comparisons that come out as the paper says. Letters used for shapes: n
texts, p numbers a text, b the sample and its draws, or null worlds, c several numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, permutations

import numpy as np
import pandas as pd

from attreval.metrics.agreement import pairwise_agreement, pairwise_agreement_of
from attreval.metrics.phrases import chosen_chunks, find_chunks
from compendium.config import AgreementSpec
from compendium.papers.common.contrasts import Statements, best_of, true_sd
from compendium.papers.kamp2023.agreement import LOW
from compendium.papers.kamp2023.readings import DYNAMIC, PEOPLE, SIX, VotedText
from compendium.papers.kamp2023.tables import by_our_names

SHAP, LIME, GRADIENT, INPUT, PLAIN, PATH = SIX
STRONG = (SHAP, LIME, GRADIENT)
WEAK = (INPUT, PLAIN, PATH)
FIXED = 4  # the paper's k
SMALL = range(1, 6)  # what the paper calls small k
LARGE = 10  # the largest k compared
SETTLED = 5  # the k above which the paper sees no improvement
LEFT = 5  # an advantage of which a fifth is left has not disappeared
PAIRS = list(combinations(SIX, 2))
UPPER = np.triu_indices(len(SIX), 1)  # where PAIRS stand in a matrix of methods
BEST_PAIR = (SHAP, LIME)
OTHER_PAIRS = [pair for pair in PAIRS if pair != BEST_PAIR]
LOW_PAIRS = [pair for pair in PAIRS if set(pair) & set(LOW)]
HIGH_PAIRS = [pair for pair in PAIRS if pair not in LOW_PAIRS]
KS = range(LARGE + 1)  # DYNAMIC and each fixed k
# The numbers of a text: agreement of pairs of methods and of methods with people at each of KS,
# each method's dynamic k, how agreement rises with k in a short and in a long text, and the mean
# agreement of pairs on the chunks that hold what they select
NUMBERS = np.dtype(
    [
        ("pairs", float, (len(PAIRS), len(KS))),
        ("people", float, (len(SIX), len(KS))),
        ("k", float, len(SIX)),
        ("short_rise", float),
        ("long_rise", float),
        ("spans", float),
    ]
)


def named(values: np.ndarray) -> np.ndarray:
    """(...) records of NUMBERS of (..., p) values."""
    return np.ascontiguousarray(values).view(NUMBERS)[..., 0]


@dataclass(frozen=True)
class Means:
    """(b, p) means of NUMBERS, whose fixed k is set against dynamic k as a profile says."""

    values: np.ndarray
    spec: AgreementSpec

    @property
    def k(self) -> int:
        """The fixed k."""
        return self.spec.fixed_k

    def __getitem__(self, name: str) -> np.ndarray:
        """(b, ...) means of one of NUMBERS."""
        return named(self.values)[name]

    def pairs(self, k: int, pairs: Sequence[tuple[str, str]] = PAIRS) -> np.ndarray:
        """(c, b) agreement of pairs of methods."""
        return np.ascontiguousarray(self["pairs"][:, [PAIRS.index(pair) for pair in pairs], k].T)

    def people(self, k: int, methods: Sequence[str] = SIX) -> np.ndarray:
        """(c, b) agreement of methods with people."""
        return np.ascontiguousarray(self["people"][:, [SIX.index(name) for name in methods], k].T)

    def partners(self, k: int, methods: Sequence[str]) -> np.ndarray:
        """(c, b) agreement of all the pairs that each of the methods is in."""
        return self.pairs(k, [pair for method in methods for pair in PAIRS if method in pair])

    def gain(self, method: str, k: int) -> np.ndarray:
        """(b,) what dynamic k improves over `k` in a method's pairs, as in Table 1."""
        gains = self.partners(DYNAMIC, [method]) - self.partners(k, [method])
        if self.spec.improvement == "positive":
            gains = np.where(gains < 0, 0, gains)  # NaN stays
        return gains.sum(axis=0)

    def dynamic_k(self, method: str) -> np.ndarray:
        """(b,) mean dynamic k of a method."""
        return self["k"][:, SIX.index(method)]


STATEMENTS = Statements()
decides = STATEMENTS.decides


def values_of(reading: VotedText, spec: AgreementSpec, lengths: np.ndarray) -> np.ndarray:
    """(p,) the NUMBERS of one text; NaN for people where nobody marked it.

    lengths: the tokens up to which a text is short, and from which it is long.
    """
    voters = [*SIX, PEOPLE] if reading.marked else SIX
    peaks = np.array([reading.peaks(voter, spec) for voter in voters])
    of_methods = peaks[: len(SIX)]
    values = np.full(NUMBERS.itemsize // 8, np.nan)
    found = named(values)
    # (k, voters, voters): one call for all pairs, where ties and people are as in the paper
    if spec.ties == "expectation" and spec.people == "top_k":
        fixed = pairwise_agreement([reading.of(voter) for voter in voters], KS[1:])
        agreed = np.concatenate([pairwise_agreement_of(peaks)[None], fixed])
    else:
        agreed = np.full((len(KS), len(voters), len(voters)), np.nan)
        for (i, a), (j, b) in combinations(enumerate(voters), 2):
            agreed[:, i, j] = [reading.agreement_at_k((a, b), k, spec) for k in KS]
    found["pairs"] = agreed[:, *UPPER].T
    if reading.marked:
        found["people"] = agreed[:, : len(SIX), -1].T
    found["k"] = of_methods.sum(axis=1)
    rise = reading.agreement_at_k(SIX, LARGE, spec) - reading.agreement_at_k(SIX, 1, spec)
    short, long = lengths
    if len(reading.tokens) <= short:
        found["short_rise"] = rise / (LARGE - 1)
    if len(reading.tokens) >= long:
        found["long_rise"] = rise / (LARGE - 1)
    by_spans = pairwise_agreement_of(chosen_chunks(of_methods, find_chunks(reading.tokens)))
    found["spans"] = by_spans[UPPER].mean()
    return values


def share_above(differences: np.ndarray) -> np.ndarray:
    """(b,) share of (c, b) differences above 0; NaN where one is not known."""
    return np.where(np.isnan(differences).any(axis=0), np.nan, (differences > 0).mean(axis=0))


@decides("shap-lime-agree-most")
def best_pair(means: Means) -> np.ndarray:
    """Share of comparisons with other pairs, at small k, that Partition SHAP and LIME win."""
    leads = [means.pairs(k, [BEST_PAIR]) - means.pairs(k, OTHER_PAIRS) for k in SMALL]
    return share_above(np.concatenate(leads))


@decides("three-groups")
def three_groups(means: Means) -> np.ndarray:
    """Share of comparisons with the pairs of LOW methods that the others win."""
    leads = means.pairs(means.k, HIGH_PAIRS) - means.pairs(means.k, LOW_PAIRS)[:, None]
    return share_above(np.concatenate(leads))


@decides("agreement-rises-with-k", "")
def rises_with_k(means: Means) -> np.ndarray:
    """Share of the pairs but Partition SHAP and LIME that agree more at the largest k than at 1."""
    return share_above(means.pairs(LARGE, OTHER_PAIRS) - means.pairs(1, OTHER_PAIRS))


@decides("perturbation-nearer-to-people", of_people=True)
def perturbation_lead(means: Means) -> np.ndarray:
    """The mean of Partition SHAP and LIME less the mean of the other methods."""
    others = (GRADIENT, *WEAK)
    own = means.people(means.k, BEST_PAIR).mean(axis=0)
    return own - means.people(means.k, others).mean(axis=0)


@decides("gradient-competitive-with-people", of_people=True)
def gradient_lead(means: Means) -> np.ndarray:
    """Share of the other methods that the gradient lies above."""
    others = [method for method in SIX if method != GRADIENT]
    return share_above(means.people(means.k, [GRADIENT]) - means.people(means.k, others))


@decides("people-agreement-rises-with-k", "", of_people=True)
def people_rise(means: Means) -> np.ndarray:
    """Share of methods that agree more with people at the largest k than at 1."""
    return share_above(means.people(LARGE) - means.people(1))


decides("dynamic-k-helps-plain-ig")(lambda means: means.gain(PLAIN, means.k))
decides("dynamic-k-helps-gradient-x-input")(lambda means: means.gain(INPUT, means.k))


def vanishes(
    agreement: Callable[[Means, int, Sequence[str]], np.ndarray],
) -> Callable[[Means], np.ndarray]:
    """The lead of STRONG over WEAK methods at the fixed k, less LEFT times that at dynamic k."""

    def lead(means: Means, k: int) -> np.ndarray:
        return agreement(means, k, STRONG).mean(axis=0) - agreement(means, k, WEAK).mean(axis=0)

    return lambda means: lead(means, means.k) - LEFT * np.abs(lead(means, DYNAMIC))


decides("advantage-vanishes", of_people=True)(vanishes(Means.people))
decides("advantage-among-methods-vanishes")(vanishes(Means.partners))


@decides("dynamic-k-varies", chosen=True)
def spread_of_k(fit: Means, read: Means) -> np.ndarray:
    """sd over methods of their mean dynamic k, freed of noise."""
    return true_sd(fit["k"], read["k"])


decides("dynamic-k-shap")(lambda means: means.dynamic_k(SHAP))
decides("dynamic-k-plain-ig")(lambda means: means.dynamic_k(PLAIN))


def trend(gains: np.ndarray) -> np.ndarray:
    """(...) rise per k, by least squares, of (SETTLED, ...) gains over k = 1 to SETTLED."""
    ks = np.arange(SETTLED) - (SETTLED - 1) / 2
    return np.tensordot(ks, gains, axes=1) / (ks**2).sum()


@decides("improvement-shrinks", "")
def falling_gain(means: Means) -> np.ndarray:
    """The trend over small k of what dynamic k adds to the methods that agree least."""
    ks = range(1, SETTLED + 1)
    gains = [np.mean([means.gain(method, k) for method in LOW], axis=0) for k in ks]
    return trend(np.array(gains))


@decides("no-improvement-above-five", "", chosen=True)
def best_gain(fit: Means, read: Means) -> np.ndarray:
    """The largest gain of these methods over any k above SETTLED; alone, rises grow with noise."""

    def gains(means: Means) -> np.ndarray:
        signed = replace(means, spec=means.spec.changed(improvement="signed"))
        ks = range(SETTLED + 1, LARGE + 1)
        return np.array([signed.gain(method, k) for method in LOW for k in ks]).T

    return best_of(gains(fit), gains(read))


@decides("spans-smooth-differences", "")
def spans_lead(means: Means) -> np.ndarray:
    """Mean agreement of all pairs on chunks less that on tokens, at dynamic k."""
    return means["spans"] - means.pairs(DYNAMIC).mean(axis=0)


decides("length-bias", "")(lambda means: means["short_rise"] - means["long_rise"])


@cache
def _renamed() -> np.ndarray:
    """(720, p) where each number stands after the six methods' names are exchanged."""
    own = np.arange(NUMBERS.itemsize // 8, dtype=float)
    pair_at = np.zeros((len(SIX), len(SIX)), int)
    first, second = UPPER
    pair_at[first, second] = pair_at[second, first] = range(len(PAIRS))
    orders = np.array(list(permutations(range(len(SIX)))))
    out = np.repeat(own[None], len(orders), axis=0)
    for order, new in zip(orders, named(out), strict=True):
        new["pairs"] = named(own)["pairs"][pair_at[order[first], order[second]]]
        new["people"] = named(own)["people"][order]
        new["k"] = named(own)["k"][order]
    return out.astype(int)


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
    table = by_our_names("kamp_table1")
    by_method = table.set_index(["method", "k"]).improvement_over_fixed_k
    gains = table.groupby("k").improvement_over_fixed_k.mean()
    known = published_k()
    return {
        "dynamic-k-helps-plain-ig": by_method[PLAIN, FIXED],
        "dynamic-k-helps-gradient-x-input": by_method[INPUT, FIXED],
        "improvement-shrinks": trend(gains.loc[1:SETTLED]),
        "dynamic-k-varies": known[SIX].std(ddof=0),
        "dynamic-k-shap": known[SHAP],
        "dynamic-k-plain-ig": known[PLAIN],
    }
