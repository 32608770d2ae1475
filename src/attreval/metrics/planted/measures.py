"""METRICS on planted models, in the form in which planted.separation tests them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from attreval.core.seeds import generator
from attreval.metrics.agreement import agreement_at_k, agreement_of
from attreval.metrics.diagnosticity import diagnosticity as share_of_wins
from attreval.metrics.dynamic_k import local_maxima, select
from attreval.metrics.erasure import erase
from attreval.metrics.normalised_aopc import normalised_areas
from attreval.metrics.planted.separation import PlantedMetric
from attreval.metrics.planted.worlds import Planted, words_of
from attreval.metrics.pointing_game import point
from attreval.metrics.protocol import Protocol
from attreval.metrics.registry import METRICS
from attreval.metrics.soft_erasure import soft_erase, soft_values
from attreval.metrics.unified.complexity import entropy
from attreval.metrics.unified.faithfulness import ask_changes
from attreval.metrics.unified.plausibility import interaction_agreement
from attreval.metrics.unified.ranking import rank_features, take_units, units_in

PROTOCOL = Protocol(ratios=(0.1, 0.2, 0.5), draws=2, ties="half")
EQUAL_MEANS = replace(PROTOCOL, norm="calibrated")
SIZES = (2, 4, 6)  # units that are masked or kept, for explanations of every type alike
USUAL = 13  # units of a text of these; longer texts have more masked and kept
SHOWN = 2  # tokens of an explanation that an agent is shown
ERASURE = ("nc", "ns", "soft_nc", "soft_ns", "soft_nc_equal", "soft_ns_equal")
BLIND = dict.fromkeys(
    ("soft_nc", "soft_ns"), "min-max: an explanation with few high scores keeps and removes less than random scores do"
)
COMPARED = ("nc", "ns", "soft_nc_equal", "soft_ns_equal")  # what diagnosticity counts, as in the joint study


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


def measure_erasure(text: Planted, scores: np.ndarray, names, wanted: Sequence[str]):
    """The conversation that gives these of ERASURE for one explanation, by name.

    Strengths of soft erasure by min-max, as in the main run of notebook 06; those of `_equal` have equal means.
    """
    hard = yield from erase(text.tokens, scores, None, generator("ties", *names), PROTOCOL)
    found = {"nc": hard.normalised_comprehensiveness.mean(), "ns": hard.normalised_sufficiency.mean()}
    for end, protocol in (("", PROTOCOL), ("_equal", EQUAL_MEANS)):
        if {f"soft_nc{end}", f"soft_ns{end}"} & set(wanted):
            soft = soft_values(hard, (yield from soft_erase(text.tokens, scores, hard.target, names, protocol)))
            found |= {f"soft_nc{end}": soft.comprehensiveness, f"soft_ns{end}": soft.sufficiency}
    return {name: found[name] for name in wanted}


def erasure(name: str):
    """One of ERASURE as a metric."""

    def measure(text: Planted, scores: np.ndarray, names):
        found = yield from measure_erasure(text, scores, names, [name])
        return found[name]

    return measure


def placed(kind: str):
    """Comprehensiveness or sufficiency between a text's limits as a metric; the middle where these are the same."""

    def measure(text: Planted, scores: np.ndarray, names):
        areas = yield from normalised_areas(text.tokens, scores, None, generator("ties", *names), PROTOCOL, beam=2)
        return 0.5 if np.isnan(areas[kind]) else areas[kind]

    return measure


def diagnosticity(text: Planted, scores: np.ndarray, names):
    """The share of COMPARED in which the explanation beats random scores, a tie counting half."""
    own = yield from measure_erasure(text, scores, names, COMPARED)
    drawn = generator("rival", text.id).standard_normal(len(scores))
    rival = yield from measure_erasure(text, drawn, ("rival", text.id), COMPARED)
    return share_of_wins([own[m] for m in COMPARED], [rival[m] for m in COMPARED], PROTOCOL)


def unified(kind: str, level: str):
    """Unified comprehensiveness or sufficiency as a metric: the mean share of changed classes over SIZES, of which
    longer texts take multiples."""

    def measure(text: Planted, scores: np.ndarray, names):
        rng = generator("ties", *names)
        ranking = rank_features(text.attribution(scores, level), text.units, rng)
        longer = max(1, round(len(text.truth) / USUAL))
        taken = [units_in(take_units(ranking, longer * size)) for size in SIZES]
        found = yield from ask_changes(text.tokens, text.units, taken)
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
    """(words + 2,) what an agent sees: the words of the SHOWN highest tokens, and whether they are at the ends."""
    tie = generator("ties", *names).permutation(len(scores))
    top = np.lexsort((tie, -scores))[:SHOWN]
    words = words_of(text.world)
    seen = np.zeros(words + 2)
    seen[text.tokens.ids[text.tokens.content[top]]] = 1
    seen[words:] = [(top == 0).any(), (top == len(scores) - 1).any()]
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
    **{name: _planted(name, erasure(name), blind=BLIND.get(name, "")) for name in ERASURE},
    "diagnosticity": _planted("diagnosticity", diagnosticity),
    "unified_comprehensiveness": _planted("unified_comprehensiveness", unified("comprehensiveness", "token")),
    "unified_sufficiency": _planted("unified_sufficiency", unified("sufficiency", "token")),
    "simulatability": _planted("simulatability", simulatability, together=True),
    "complexity": _planted("complexity", complexity, blind="it looks at the scores alone, and not even at their signs"),
    "pair_comprehensiveness": _planted("pair_comprehensiveness", unified("comprehensiveness", "pair")),
    "pair_sufficiency": _planted("pair_sufficiency", unified("sufficiency", "pair")),
    "pair_interactions": _planted("pair_interactions", interactions),
}
# those that ask for hundreds of rows of a text: only where texts are short
LIMITED_METRICS = {
    f"naopc_{kind}": _planted(f"naopc_{kind}", placed(kind)) for kind in ("comprehensiveness", "sufficiency")
}
