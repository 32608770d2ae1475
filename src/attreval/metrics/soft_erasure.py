"""Soft-NC and Soft-NS: erasure in proportion to the scores (Zhao & Aletras 2023, section 3.2).

Every token's vector loses entries at random: for Soft-NS an entry stays with the token's normalised
score a as its probability, for Soft-NC with 1 - a. The paper does not say how scores become
probabilities. With any rule that lets the mean of a differ between methods, methods are also
compared by how much text they keep at all: min-max scaled scores of a high mean keep more than
others do. `calibrated` and `rank` give every method the same mean, which Huang & Chan (2026, arXiv
2601.03089) propose as well. In their π-Soft-NC and π-Soft-NS the mean probability to stay is π for
every explanation, and the area over π from 0.1 to 0.9 is taken. How scores are brought to that mean
is ours: one number is added to the log-odds of all, so that none is cut off at 0 or 1.
`soft_nc_equal` and `soft_ns_equal` are the two at π = 1/2. The areas take 72 evaluations a method
with four draws, shared by both. Letters used for shapes: L tokens, n content tokens, s draws, K
classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from attreval.core.records import Tokens
from attreval.core.seeds import seed_of
from attreval.metrics.erasure import (
    Erasure,
    ask_ends,
    faithfulness,
    fit_scores,
    normalised_comprehensiveness,
    normalised_sufficiency,
    rank_shares,
)
from attreval.metrics.protocol import Layout, Norm, Protocol, find_layout
from attreval.metrics.scored_text import ScoredText, finite
from attreval.models.outputs import PROBABILITIES
from attreval.models.questions import Conversation, SoftErasure

RATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # of the areas
EDGE = 1e-3  # how close to 0 and 1 a score may come before its log-odds are shifted
SOURCE = "Zhao & Aletras 2023, section 3.2"
BLIND = "min-max: an explanation with few high scores keeps and removes less than random scores do"
soft = partial(faithfulness, higher_is_better=True, disturbs=True, outputs=PROBABILITIES)
_pi = partial(soft, source="Huang & Chan 2026", by_name=True, planted=False)
equal = partial(
    soft, source=f"after {SOURCE}; Huang & Chan 2026, at a rate of one half", joint=True
)


@dataclass(frozen=True)
class SoftProbabilities:
    """(s,) probabilities of the explained class on the texts disturbed for each measure.

    keep_rate, drop_rate: the mean share of a content token's entries (or of its attention) that
    sufficiency keeps and that comprehensiveness removes, before anything is drawn; NaN for a noise,
    which keeps and removes nothing.
    """

    sufficiency: np.ndarray
    comprehensiveness: np.ndarray
    keep_rate: float
    drop_rate: float


@dataclass(frozen=True)
class SoftValues:
    """Soft-NS and Soft-NC of the mean probability over draws, and (s,) of each draw alone."""

    sufficiency: float
    comprehensiveness: float
    each_sufficiency: np.ndarray
    each_comprehensiveness: np.ndarray


def soft_erase(
    tokens: Tokens,
    scores: np.ndarray,
    target: int,
    names: Sequence[object],
    protocol: Protocol = Protocol(),  # noqa: B008 - frozen
    query: int | None = None,
) -> Conversation:
    """The conversation that softly erases one attribution: returns SoftProbabilities.

    Args:
        tokens: the text.
        scores: as for erasure.erase.
        target: the explained class.
        names: what the draws derive from; keeping by a and by 1 - a draw apart, whichever measure
            asks.
        protocol: of erasure.
        query: see protocol.find_layout.
    """
    layout = find_layout(tokens, protocol, query)
    scores = fit_scores(tokens, layout, scores)
    draws = 1 if protocol.soft == "attend" else protocol.draws  # an attention mask draws nothing
    rows = []
    seeds = []
    stays = []
    for sufficing in (True, False):
        norm: str = protocol.norm
        if norm == "released":  # that code takes its Soft-NS by one rule, then runs by another
            norm = "sigmoid" if sufficing else "minmax_released"
        # (L,) in [0, 1]; of tokens without a score by the rule, which is mostly 0
        importance = np.zeros(len(tokens))
        if norm == "minmax_released":
            # the released code gives tokens without a score -1 and then takes the range of the
            # whole row
            importance[:] = -1.0
            importance[layout.scored] = scores
            importance = to_unit_interval(importance, "minmax")
        else:
            importance[layout.scored] = to_unit_interval(scores, norm, protocol.keep_rate)
        kept = sufficing != protocol.inverted
        chance = importance if kept else 1 - importance
        strengths = _disturbance_strengths(tokens, layout, chance, protocol)
        rows += [strengths] * draws
        seeds += [seed_of("soft", *names, "a" if kept else "1-a", draw) for draw in range(draws)]
        dropping = protocol.soft in ("keep", "attend")
        stays.append(float(strengths[layout.erasable].mean()) if dropping else np.nan)
    kind = "noise" if protocol.soft == "variance" else protocol.soft
    logits = yield SoftErasure(tokens.ids, tokens.segments, np.stack(rows), tuple(seeds), kind)
    p = protocol.follow(logits, target)
    return SoftProbabilities(p[:draws], p[draws:], stays[0], 1 - stays[1])


def to_unit_interval(scores: np.ndarray, norm: str, keep_rate: float = 0.5) -> np.ndarray:
    """(n,) numbers in [0, 1] from scores.

    minmax: from the least to the greatest score, 1/2 where all are equal. sigmoid, softmax: of the
    scores. rank: ranks from 0 to 1, equal scores sharing their mean, 1/2 for one token. calibrated:
    minmax, its log-odds shifted so that the mean is keep_rate. ValueError for another name or
    scores that are not finite.
    """
    scores = finite(scores)
    if norm == "minmax":
        width = np.ptp(scores)
        return (scores - scores.min()) / width if width > 0 else np.full(len(scores), 0.5)
    if norm == "sigmoid":
        return np.exp(-np.logaddexp(0, -scores))
    if norm == "softmax":
        return np.exp(scores - np.logaddexp.reduce(scores))
    if norm == "rank":
        return rank_shares(scores)
    if norm == "calibrated":
        from scipy.optimize import brentq
        from scipy.special import expit, logit

        odds = logit(np.clip(to_unit_interval(scores, "minmax"), EDGE, 1 - EDGE))
        reach = 50.0  # both means are at an end of [0, 1] there, whatever the chances
        shift = brentq(lambda by: expit(odds + by).mean() - keep_rate, -reach, reach, xtol=1e-12)
        return expit(odds + shift)
    raise ValueError(
        f"unknown norm {norm!r}; there are: minmax, sigmoid, softmax, rank, calibrated"
    )


def _disturbance_strengths(
    tokens: Tokens, layout: Layout, chance: np.ndarray, protocol: Protocol
) -> np.ndarray:
    """(L,) strengths of the disturbance from the chance to stay; protected tokens have none."""
    free = layout.erasable if protocol.protect else np.ones(len(tokens), bool)
    if protocol.soft == "attend":
        free = free & (np.arange(len(tokens)) > 0)  # the first token is always attended to
    if protocol.soft in ("keep", "attend"):
        return np.where(free, chance, 1.0)
    # what a noise disturbs least is what `keep` keeps most
    scale = protocol.variance * (1 - chance if protocol.soft == "variance" else (1 - chance) ** 2)
    return np.where(free, np.sqrt(scale), 0.0)


def soft_values(erasure: Erasure, found: SoftProbabilities) -> SoftValues:
    """Soft-NS and Soft-NC (eq. 4-5), between the whole and the erased text of hard erasure."""
    ns = partial(normalised_sufficiency, erasure.full, erasure.erased)
    nc = partial(normalised_comprehensiveness, erasure.full, erasure.erased)
    return SoftValues(
        sufficiency=float(ns(found.sufficiency.mean())),
        comprehensiveness=float(nc(found.comprehensiveness.mean())),
        each_sufficiency=ns(found.sufficiency),
        each_comprehensiveness=nc(found.comprehensiveness),
    )


def ask_soft(
    text: ScoredText, method: str, norm: Norm, keep_rate: float | None = None
) -> Conversation:
    """The conversation that softly erases by one method's scores: returns SoftValues.

    What is asked is asked once a text, norm and rate.

    Args:
        text: the text.
        method: whose scores.
        norm: how scores become probabilities.
        keep_rate: the mean that `calibrated` brings them to; None takes the protocol's.
    """
    hard = yield from ask_ends(text, method)
    protocol = replace(text.settings.protocol, norm=norm)
    if keep_rate is not None:
        protocol = replace(protocol, keep_rate=keep_rate)
    names = text.names_of(method)
    talk = soft_erase(
        text.tokens, text.scores[method], hard.target, names, protocol, text.settings.query
    )
    found = yield from text.once(("soft", method, norm, protocol.keep_rate), talk)
    return soft_values(hard, found)


@soft(
    "Soft-NC",
    source=f"{SOURCE}, eq. 5",
    order=37,
    stored="soft_nc",
    also=("soft_comprehensiveness",),
    hard="nc",
    blind=BLIND,
)
def soft_nc(text: ScoredText, method: str) -> Conversation:
    """Normalised comprehensiveness with vectors erased in part, in proportion to the scores."""
    return (yield from ask_soft(text, method, "minmax")).comprehensiveness


@soft(
    "Soft-NS",
    source=f"{SOURCE}, eq. 4",
    order=38,
    stored="soft_ns",
    also=("soft_sufficiency",),
    hard="ns",
    blind=BLIND,
)
def soft_ns(text: ScoredText, method: str) -> Conversation:
    """Normalised sufficiency with vectors kept in part, in proportion to the scores."""
    return (yield from ask_soft(text, method, "minmax")).sufficiency


@equal(
    "Soft-NC, equal means",
    order=39,
    stored="soft_nc_equal",
    also=("soft_comprehensiveness_equal",),
    hard="nc",
)
def soft_nc_equal(text: ScoredText, method: str) -> Conversation:
    """Soft-NC with strengths whose mean is one half for every explanation, so that their order
    alone decides.
    """
    return (yield from ask_soft(text, method, "calibrated")).comprehensiveness


@equal(
    "Soft-NS, equal means",
    order=40,
    stored="soft_ns_equal",
    also=("soft_sufficiency_equal",),
    hard="ns",
)
def soft_ns_equal(text: ScoredText, method: str) -> Conversation:
    """Soft-NS with strengths whose mean is one half for every explanation, so that their order
    alone decides.
    """
    return (yield from ask_soft(text, method, "calibrated")).sufficiency


def _ask_area(text: ScoredText, method: str, measure: str) -> Conversation:
    """The mean of one of SoftValues over RATES, by the trapezoid rule."""
    values = []
    for rate in RATES:
        found = yield from ask_soft(text, method, "calibrated", rate)
        values.append(getattr(found, measure))
    return float(np.trapezoid(values, RATES) / (RATES[-1] - RATES[0]))


@_pi("\N{GREEK SMALL LETTER PI}-Soft-NC", order=97, hard="nc")
def pi_soft_nc(text: ScoredText, method: str) -> Conversation:
    """Soft-NC with strengths of one mean for every explanation, averaged over means from 0.1 to
    0.9.
    """
    return _ask_area(text, method, "comprehensiveness")


@_pi("\N{GREEK SMALL LETTER PI}-Soft-NS", order=98, hard="ns")
def pi_soft_ns(text: ScoredText, method: str) -> Conversation:
    """Soft-NS with strengths of one mean for every explanation, averaged over means from 0.1 to
    0.9.
    """
    return _ask_area(text, method, "sufficiency")
