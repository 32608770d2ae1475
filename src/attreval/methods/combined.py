"""Combined spans: the coherence of spans with the faithfulness of single units.

Sun et al. (2024) call for such explanations; this one is ours. The spans are those of the
technique's pairs, but the scores of its single units decide what stays of them and which come
first: at the ends of a span, words that score below the text's mean go, and a pair of spans scores
the mean over the units that stay.
Letters used for shapes: n units.
"""

from itertools import groupby

import numpy as np

from attreval.core.records import Tokens
from attreval.core.units import Units, find_units, unit_scores
from attreval.methods.attention import (
    attention_attribution_spans,
    attention_head,
    attention_head_spans,
)
from attreval.methods.integrated_gradients import integrated_gradients
from attreval.methods.method import Budget, Method, Rng, Scores, join_notes, method
from attreval.methods.shapley import bivariate_shapley_spans, kernel_shap
from attreval.models.questions import Conversation


def trim(span: list[int], scores: np.ndarray) -> list[int]:
    """Neighbouring units without those at the ends below the mean of all; the best always stays."""
    high = [place for place, unit in enumerate(span) if scores[unit] >= scores.mean()]
    if not high:
        return [max(span, key=scores.__getitem__)]
    return span[high[0] : high[-1] + 1]


def combine(tokens: Tokens, units: Units, single: Scores, spans: Scores) -> Scores:
    """Trimmed and rescored pairs of spans, each once.

    Args:
        tokens: The text.
        units: Its n units.
        single: Scores of units or their pieces.
        spans: Scores of pairs of spans.
    """
    features = tokens.content[:, None].tolist() if single.features is None else single.features
    scores = unit_scores(features, single.values, units)
    at = units.of_position()
    found = {}
    for feature in spans.features or ():
        chosen = sorted({at[position] for position in feature})
        kept = []
        for _, part in groupby(chosen, key=units.side.__getitem__):
            kept += trim(list(part), scores)
        pair = tuple(units.covered(kept).tolist())
        found[pair] = float(scores[kept].mean())
    values = np.array(list(found.values()), dtype=float)
    return Scores(values, features=tuple(found), note=join_notes(single.note, spans.note))


def combined(
    name: str, title: str, one: Method, spans: Method, evaluations: str, order: int, place: int
) -> Method:
    """The method that combines a method of units with a method of spans; they share questions.

    Args:
        name, title, evaluations, order: See Method.
        one: Scores single units.
        spans: Scores pairs of spans.
        place: Its row in the list of Sun et al. (2024).
    """

    def cost(length: int, content: int, budget: Budget, layers: int = 1) -> int:
        text = (length, content, budget, layers)
        return one.cost(*text) + spans.cost(*text)

    def converse(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
        """Scores of pairs of spans trimmed to units above the mean: the mean of their units."""
        state = rng.bit_generator.state
        single = yield from one.converse(tokens, target, budget, rng)
        # the same draws, so that the second finds its answers in the ledger
        rng.bit_generator.state = state
        pairs = yield from spans.converse(tokens, target, budget, rng)
        units = find_units(tokens, budget.units.unit)
        return combine(tokens, units, single, pairs)

    made = method(
        title,
        name=name,
        source="ours, after the outlook of Sun et al. 2024",
        kind=one.kind,
        evaluations=evaluations,
        cost=cost,
        order=order,
        level="span",
        signed=one.signed,
        sampled=one.sampled,
        families=spans.families,
        limits=tuple(dict.fromkeys(one.limits + spans.limits)),
        stochastic=True,
        draws=spans.draws,
        in_papers={"sun2024": (place, name.replace("_", " "))},
    )
    return made(converse)


shapley_combined = combined(
    "shapley_combined",
    "Shapley, combined",
    kernel_shap,
    bivariate_shapley_spans,
    evaluations=f"2 {kernel_shap.evaluations}",
    order=52,
    place=4,
)
attention_combined = combined(
    "attention_combined",
    "Attention of the head, combined",
    attention_head,
    attention_head_spans,
    evaluations="4",
    order=53,
    place=8,
)
gradients_combined = combined(
    "gradients_combined",
    "Integrated gradients, combined",
    integrated_gradients,
    attention_attribution_spans,
    evaluations=f"{integrated_gradients.evaluations}, and "
    f"{attention_attribution_spans.evaluations}",
    order=54,
    place=12,
)
