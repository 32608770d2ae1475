"""METRICS on planted models, in the form in which planted.separation tests them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attreval.core.seeds import generator
from attreval.metrics.agreement import agreement_at_k, agreement_of
from attreval.metrics.diagnosticity import diagnosticity as share_of_wins
from attreval.metrics.dynamic_k import local_maxima, select
from attreval.metrics.erasure import erase
from attreval.metrics.planted.separation import PlantedMetric
from attreval.metrics.planted.worlds import WORDS, Planted
from attreval.metrics.pointing_game import point
from attreval.metrics.protocol import Protocol
from attreval.metrics.registry import METRICS
from attreval.metrics.soft_erasure import soft_erase, soft_values
from attreval.metrics.unified.complexity import entropy
from attreval.metrics.unified.faithfulness import ask_changes
from attreval.metrics.unified.plausibility import interaction_agreement
from attreval.metrics.unified.ranking import rank_features, take_units, units_in

PROTOCOL = Protocol(ratios=(0.1, 0.2, 0.5), draws=2, ties="half")
SIZES = (2, 4, 6)  # units that are masked or kept, for explanations of every type alike
SHOWN = 2  # tokens of an explanation that an agent is shown
ERASURE = ("nc", "ns", "soft_nc", "soft_ns")


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
    softened = yield from soft_erase(text.tokens, scores, hard.target, names, PROTOCOL)
    soft = soft_values(hard, softened)
    area = (hard.normalised_comprehensiveness.mean(), hard.normalised_sufficiency.mean())
    return dict(zip(ERASURE, (*area, soft.comprehensiveness, soft.sufficiency), strict=True))


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
    return share_of_wins([own[m] for m in ERASURE], [rival[m] for m in ERASURE], PROTOCOL)


def unified(kind: str, level: str):
    """Unified comprehensiveness or sufficiency as a metric: the mean share of changed classes over SIZES."""

    def measure(text: Planted, scores: np.ndarray, names):
        rng = generator("ties", *names)
        ranking = rank_features(text.attribution(scores, level), text.units, rng)
        found = yield from ask_changes(text.tokens, text.units, [units_in(take_units(ranking, size)) for size in SIZES])
        return (found.flips_without if kind == "comprehensiveness" else found.flips_only).mean()

    return measure


def interactions(text: Planted, scores: np.ndarray, names) -> float:
    """Average precision of the pairs, from first to last, against the one that decides."""
    ranking = rank_features(text.attribution(scores, "pair"), text.units, generator("ties", *names))
    gold = [tuple((u,) for u in pair) for pair in text.units.pairs()[text.pair_truth > 0].tolist()]
    found = [ranking.features[: k + 1] for k in range(len(ranking))]
    return interaction_agreement(found, gold, "exact")


def complexity(text: Planted, scores: np.ndarray, names) -> float:
    """The entropy of the shares of scores, in nats."""
    return entropy(scores)


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


def _planted(name: str, measure, title: str = "", **facts) -> PlantedMetric:
    """A metric of METRICS on planted models: its title, level and direction are those of the registry."""
    known = METRICS[name]
    facts |= {"level": known.level, "higher_is_better": known.higher_is_better}
    return PlantedMetric(title or known.title, measure, **facts)


PLANTED_METRICS: dict[str, PlantedMetric] = {
    "pointing": _planted("pointing", pointing),
    "agreement": _planted("agreement", agreement, "Agreement with gold (fixed k)"),
    "agreement_dynamic": _planted("agreement_dynamic", agreement_dynamic, "Agreement with gold (dynamic k)"),
    **{name: _planted(name, erasure(name)) for name in ERASURE},
    "diagnosticity": _planted("diagnosticity", diagnosticity),
    "unified_comprehensiveness": _planted("unified_comprehensiveness", unified("comprehensiveness", "token")),
    "unified_sufficiency": _planted("unified_sufficiency", unified("sufficiency", "token")),
    "simulatability": _planted("simulatability", simulatability, together=True),
    "complexity": _planted("complexity", complexity, blind="it looks at the scores alone, and not even at their signs"),
    "pair_comprehensiveness": _planted("pair_comprehensiveness", unified("comprehensiveness", "pair")),
    "pair_sufficiency": _planted("pair_sufficiency", unified("sufficiency", "pair")),
    "pair_interactions": _planted("pair_interactions", interactions),
}
