"""The metrics of this package in the form in which metrics.planted.separation puts them to the test; for each, higher is better."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attreval.core.seeds import generator
from attreval.metrics.agreement import agreement_at_k, agreement_of
from attreval.metrics.diagnosticity import wins
from attreval.metrics.dynamic_k import local_maxima, select
from attreval.metrics.erasure import erase
from attreval.metrics.planted.separation import Metric
from attreval.metrics.planted.worlds import WORDS, Planted
from attreval.metrics.pointing_game import point
from attreval.metrics.protocol import Protocol
from attreval.metrics.soft_erasure import soften, value_softly
from attreval.metrics.unified.complexity import entropy
from attreval.metrics.unified.faithfulness import ask_changes
from attreval.metrics.unified.plausibility import interaction_agreement
from attreval.metrics.unified.ranking import held_by, rank_pieces, spend

PROTOCOL = Protocol(ratios=(0.1, 0.2, 0.5), draws=2, ties="half")
SIZES = (2, 4, 6)  # units that are masked or kept, for explanations of every type alike
SHOWN = 2  # tokens of an explanation that an agent is shown
MEASURES = ("nc", "ns", "soft_nc", "soft_ns")


def pointing(text: Planted, scores: np.ndarray, names) -> float:
    """Whether the highest token is evidence, ties in expectation."""
    return point(scores, text.evidence)


def agreement(text: Planted, scores: np.ndarray, names) -> float:
    """agreement@k with the tokens that are evidence, k their number; ties in expectation."""
    return agreement_at_k([scores, text.truth], max(1, int(text.evidence.sum())))


def agreement_dynamic(text: Planted, scores: np.ndarray, names) -> float:
    """Agreement of the profile's peaks with the tokens that are evidence."""
    peaks = select(local_maxima(scores), len(scores))
    return agreement_of([peaks, text.evidence])


def measure_erasure(text: Planted, scores: np.ndarray, names):
    """The conversation that gives NC, NS, Soft-NC and Soft-NS of one explanation, by name."""
    hard = yield from erase(text.tokens, scores, None, generator("ties", *names), PROTOCOL)
    softened = yield from soften(text.tokens, scores, hard.target, names, PROTOCOL)
    soft = value_softly(hard, softened)
    area = (hard.normalised_comprehensiveness.mean(), hard.normalised_sufficiency.mean())
    return dict(zip(MEASURES, (*area, soft.comprehensiveness, soft.sufficiency), strict=True))


def erasure(name: str):
    """One of the four measures of erasure as a metric."""

    def measure(text: Planted, scores: np.ndarray, names):
        found = yield from measure_erasure(text, scores, names)
        return found[name]

    return measure


def diagnosticity(text: Planted, scores: np.ndarray, names):
    """The share of the four measures of erasure in which the explanation beats random scores, a tie counting half."""
    own = yield from measure_erasure(text, scores, names)
    drawn = generator("rival", text.id).standard_normal(len(scores))
    rival = yield from measure_erasure(text, drawn, ("rival", text.id))
    return float(wins([own[m] for m in MEASURES], [rival[m] for m in MEASURES], PROTOCOL).mean())


def unified(kind: str, level: str):
    """Unified comprehensiveness or sufficiency: 1 less the latter, so that higher is better for both."""

    def measure(text: Planted, scores: np.ndarray, names):
        rng = generator("ties", *names)
        ranking = rank_pieces(text.attribution(scores, level), text.units, rng)
        found = yield from ask_changes(text.tokens, text.units, [held_by(spend(ranking, size)) for size in SIZES])
        return found.flips_without.mean() if kind == "comprehensiveness" else 1 - found.flips_only.mean()

    return measure


def interactions(text: Planted, scores: np.ndarray, names) -> float:
    """Average precision of the pairs, from first to last, against the one that decides."""
    ranking = rank_pieces(text.attribution(scores, "pair"), text.units, generator("ties", *names))
    gold = [tuple((u,) for u in pair) for pair in text.units.pairs()[text.pair_truth > 0].tolist()]
    found = [ranking.pieces[: k + 1] for k in range(len(ranking))]
    return interaction_agreement(found, gold, "exact")


def simplicity(text: Planted, scores: np.ndarray, names) -> float:
    """1 less the entropy of the shares of scores, as a share of the highest possible."""
    return 1 - entropy(scores) / np.log(len(scores))


def simulatability(texts: Sequence[Planted], scores: Sequence[np.ndarray], names) -> np.ndarray:
    """The probability that an agent gives to the class that the model predicts, on texts that it was not trained on.

    The agent is a logistic regression on the words of the first tokens of an explanation and on whether these are the
    first and the last token of the text; it is trained on one half of the texts and tested on the other, both ways.
    """
    from sklearn.linear_model import LogisticRegression

    shown = np.stack([show_agent(t, s, (*names, t.id)) for t, s in zip(texts, scores, strict=True)])
    classes, half = np.array([t.target for t in texts]), np.arange(len(texts)) // 2 % 2
    out = np.zeros(len(texts))
    for tested in (0, 1):
        train, test = half != tested, half == tested
        agent = LogisticRegression(C=10.0, max_iter=500).fit(shown[train], classes[train])
        given = agent.predict_proba(shown[test])
        out[test] = given[np.arange(test.sum()), np.searchsorted(agent.classes_, classes[test])]
    return out


def show_agent(text: Planted, scores: np.ndarray, names) -> np.ndarray:
    """(WORDS + 2,) what an agent sees: the words of the SHOWN highest tokens, and whether they are at the ends."""
    tie = generator("ties", *names).permutation(len(scores))
    top = np.lexsort((tie, -scores))[:SHOWN]
    seen = np.zeros(WORDS + 2)
    seen[text.tokens.ids[text.tokens.content[top]]] = 1
    seen[WORDS:] = [(top == 0).any(), (top == len(scores) - 1).any()]
    return seen


METRICS: dict[str, Metric] = {
    "pointing": Metric("Pointing", pointing),
    "agreement": Metric("Agreement with gold (fixed k)", agreement),
    "agreement_dynamic": Metric("Agreement with gold (dynamic k)", agreement_dynamic),
    "nc": Metric("NC", erasure("nc")),
    "ns": Metric("NS", erasure("ns")),
    "soft_nc": Metric("Soft-NC", erasure("soft_nc")),
    "soft_ns": Metric("Soft-NS", erasure("soft_ns")),
    "diagnosticity": Metric("Diagnosticity", diagnosticity),
    "unified_comprehensiveness": Metric("Comprehensiveness (unified)", unified("comprehensiveness", "token")),
    "unified_sufficiency": Metric("Sufficiency (unified)", unified("sufficiency", "token")),
    "simulatability": Metric("Simulatability", simulatability, together=True),
    "complexity": Metric("Simplicity", simplicity, blind="it looks at the scores alone, and not even at their signs"),
    "pair_comprehensiveness": Metric("Comprehensiveness (pairs)", unified("comprehensiveness", "pair"), "pair"),
    "pair_sufficiency": Metric("Sufficiency (pairs)", unified("sufficiency", "pair"), "pair"),
    "pair_interactions": Metric("Agreement with gold (pairs)", interactions, "pair"),
}
