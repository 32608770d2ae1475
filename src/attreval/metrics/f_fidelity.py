"""F-Fidelity: some tokens of an explanation go at random, never more than a text can lose (Zheng et al. 2025).

Erasing all that an explanation holds makes a text that the model has never seen. So of the s highest-scored tokens only
a random half goes, and at most a tenth of the text (at least one token); likewise of the others. The paper averages
over sizes s, and fine-tunes the model on texts that lost random tokens. That belongs to the model and is not done here:
given a model that was trained so (`models.masking`), this is F-Fidelity; of another model it is random removal with a
bound, without the fine-tuning. The half, the tenth and the sizes are ours. 50 evaluations a method each.
Letters used for shapes: n tokens that may be erased, m texts.
"""

from __future__ import annotations

import numpy as np

from attreval.core.seeds import generator
from attreval.metrics.erasure import rationale_sizes
from attreval.metrics.scored_text import ScoredText
from attreval.metrics.walk import left_once, named, order_of
from attreval.models.questions import Conversation

SIZES = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the explanation, as shares of the text
SHARE, BOUND = 0.5, 0.1  # of what an explanation holds, or does not hold, and of the text: what goes at most
DRAWS = 10  # texts of each size
_fidelity = {"source": "Zheng et al. 2025, section 3", "range": (-1.0, 1.0)}


def draw_lost(order: np.ndarray, inside: bool, rng: np.random.Generator) -> np.ndarray:
    """(m, n) bool sets of tokens to erase, at random among the first of an order, or among all but those.

    A size that leaves none to choose from has no set.
    """
    n, lost = len(order), []
    for size in rationale_sizes(n, SIZES):
        pool = order[:size] if inside else order[size:]
        count = min(len(pool), max(1, int(min(SHARE * len(pool), BOUND * n))))
        for _ in range(DRAWS if len(pool) else 0):
            lost.append(np.isin(np.arange(n), rng.choice(pool, count, replace=False)))
    return np.array(lost, dtype=bool).reshape(-1, n)


def ask_lost(text: ScoredText, method: str, inside: bool) -> Conversation:
    """The conversation that gives the mean fall of the probability; NaN where nothing could go."""
    rng = generator("f_fidelity", inside, *text.names_of(method))
    lost = draw_lost(order_of(text, method), inside, rng)
    if not len(lost):
        return float("nan")
    return (yield from left_once(text, ("lost", method, inside), lost)).drops.mean()


@named("F-Fidelity+", name="f_fidelity_plus", higher_is_better=True, order=95, **_fidelity)
def inside(text: ScoredText, method: str) -> Conversation:
    """How far the class's probability falls when some of the highest-scored tokens go at random."""
    return (yield from ask_lost(text, method, inside=True))


@named("F-Fidelity-", name="f_fidelity_minus", higher_is_better=False, order=96, **_fidelity)
def outside(text: ScoredText, method: str) -> Conversation:
    """How far it falls when some of the other tokens go at random."""
    return (yield from ask_lost(text, method, inside=False))
