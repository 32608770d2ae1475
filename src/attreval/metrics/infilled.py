"""Erasure by counterfactual words: erased tokens become what a masked language model puts there.

Padding in place of words makes texts that no model was trained on. Kamahi & Yaghoobzadeh (2024) take counterfactuals
from a generator that was trained to change the prediction; here the infiller changes words without an aim, and what it
writes stays in the distribution of texts. A text's `infill` writes it: (tokens, (m, L) bool kept) -> (m, L) ids, see
`models.infilling`. Without one there is no value. DRAWS rows a size and method for each metric.
Letters used for shapes: L tokens, n tokens that may be erased, r ratios, d draws, m texts.
"""

from __future__ import annotations

import numpy as np

from attreval.metrics.erasure import rationale_sizes
from attreval.metrics.scored_text import ScoredText
from attreval.metrics.walk import layout_of, named, order_of
from attreval.models.questions import Conversation, Evaluate, softmax

DRAWS = 4  # infilled texts of each size
SOURCE = "after Kamahi & Yaghoobzadeh 2024; DeYoung et al. 2020"
_infilled = {"source": SOURCE, "needs": ("scores", "model", "infill"), "range": (-1.0, 1.0)}


def ask_infilled(text: ScoredText, method: str, without: bool) -> Conversation:
    """The conversation that gives the mean fall of the probability over the protocol's sizes of the rationale.

    without: the rationale is written anew, else all but it. The explained class is the one predicted on the whole text.
    """
    if text.infill is None:
        return float("nan")
    layout, order = layout_of(text), order_of(text, method)
    sizes = np.repeat(rationale_sizes(len(order), text.settings.protocol.ratios), DRAWS)
    chosen = np.argsort(order)[None] < sizes[:, None]  # (r * d, n)
    kept = np.ones((len(chosen), len(text.tokens)), dtype=bool)
    kept[:, layout.erasable] = ~chosen if without else chosen
    rows = np.concatenate([text.tokens.ids[None], text.infill(text.tokens, kept)])
    logits = yield from text.once(("infilled", method, without), ask_rows(rows, text.tokens.segments))
    p = softmax(text.settings.protocol.sharpness * logits)[:, logits[0].argmax()]
    return p[0] - p[1:].mean()


def ask_rows(rows: np.ndarray, segments: np.ndarray) -> Conversation:
    """The conversation that asks for the logits of rows of ids."""
    return (yield Evaluate(rows, segments))


@named("Comprehensiveness (infilled)", name="infilled_comprehensiveness", higher_is_better=True, order=103, **_infilled)
def rewritten(text: ScoredText, method: str) -> Conversation:
    """How far the class's probability falls when the top tokens are written anew, mean over sizes of the rationale."""
    return (yield from ask_infilled(text, method, without=True))


@named("Sufficiency (infilled)", name="infilled_sufficiency", higher_is_better=False, order=104, **_infilled)
def surrounded(text: ScoredText, method: str) -> Conversation:
    """How far it falls when all but the top tokens are written anew, mean over sizes of the rationale."""
    return (yield from ask_infilled(text, method, without=False))
