"""Combined spans: the coherence of spans with the faithfulness of single units, which Sun et al. (2024) call for.

The spans are those of the technique's pairs, but the scores of its single units decide what stays of them and which
come first: at the ends of a span, words that score below the text's mean go, and a pair of spans scores the mean over
the units that stay. This is ours, not the paper's.
Letters used for shapes: n units.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attreval.core.records import Tokens
from attreval.core.units import Units, find_units, unit_scores
from attreval.methods.attention_attribution import attention_attribution_spans, attention_head, attention_head_spans
from attreval.methods.integrated_gradients import integrated_gradients
from attreval.methods.method import Budget, Method, Rng, Scores, method
from attreval.methods.shapley import bivariate_shapley_spans, kernel_shap
from attreval.models.questions import Conversation


def trim(span: list[int], scores: np.ndarray) -> list[int]:
    """Neighbouring units without those at the ends that score below the mean of all; the best one always stays."""
    high = [i for i, u in enumerate(span) if scores[u] >= scores.mean()]
    if not high:
        return [max(span, key=lambda u: scores[u])]
    return span[high[0] : high[-1] + 1]


def combine(tokens: Tokens, units: Units, single: Scores, spans: Scores) -> Scores:
    """Trimmed and rescored pairs of spans, each once. single: scores of units or their pieces; spans: of pairs."""
    pieces = tuple((int(t),) for t in tokens.content)
    scores = unit_scores(pieces if single.features is None else single.features, single.values, units)
    at, found = units.of_position(), {}
    for feature in spans.features or ():
        chosen = sorted({at[p] for p in feature})
        parts = [[u for u in chosen if units.side[u] == side] for side in np.unique(units.side)]
        kept = [u for part in parts if part for u in trim(part, scores)]
        found[tuple(units.covered(kept).tolist())] = float(scores[kept].mean())
    note = "; ".join(filter(None, (single.note, spans.note)))
    return Scores(np.array(list(found.values()), dtype=float), features=tuple(found), note=note)


def combined(title: str, one: Method, spans: Method, **facts: Any) -> Method:
    """The method that combines a method of units with a method of spans, which share their questions."""

    def converse(tokens: Tokens, target: int, budget: Budget, rng: Rng) -> Conversation:
        state = rng.bit_generator.state
        single = yield from one.converse(tokens, target, budget, rng)
        rng.bit_generator.state = state  # the same draws, so that the second finds its answers in the ledger
        pairs = yield from spans.converse(tokens, target, budget, rng)
        return combine(tokens, find_units(tokens, budget.units.unit), single, pairs)

    about: dict[str, Any] = {
        "source": "ours, after the outlook of Sun et al. 2024",
        "level": "span",
        "stochastic": True,
    }
    return method(title, draws=spans.draws, **about, **facts)(converse)


shapley_combined = combined(
    "Shapley, combined",
    kernel_shap,
    bivariate_shapley_spans,
    name="shapley_combined",
    kind="perturbation",
    evaluations=f"2 {kernel_shap.evaluations}",
    order=52,
    sampled=True,
    limits=kernel_shap.limits,
    in_papers={"sun2024": (4, "shapley combined")},
)
attention_combined = combined(
    "Attention of the head, combined",
    attention_head,
    attention_head_spans,
    name="attention_combined",
    kind="attention",
    evaluations="4",
    order=53,
    signed=False,
    families=attention_head.families,
    in_papers={"sun2024": (8, "attention combined")},
)
gradients_combined = combined(
    "Integrated gradients, combined",
    integrated_gradients,
    attention_attribution_spans,
    name="gradients_combined",
    kind="gradient",
    evaluations=f"{integrated_gradients.evaluations}, and {attention_attribution_spans.evaluations}",
    order=54,
    families=attention_attribution_spans.families,
    limits=integrated_gradients.limits + attention_attribution_spans.limits,
    in_papers={"sun2024": (12, "gradients combined")},
)
