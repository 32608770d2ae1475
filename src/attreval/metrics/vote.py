"""Agreement as a vote: how far a method ranks tokens as all others do together (Krishna et al. 2022, for pairs).

Each other method gives every token its rank, and the mean of these is the vote (Borda's count). It asks the model
nothing. Letters used for shapes: m other methods, n content tokens.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from attreval.metrics.metric import metric
from attreval.metrics.scored_text import RANDOM, ScoredText
from attreval.metrics.walk import correlate


@metric(
    "Vote of methods",
    judge="agreement",
    source="after Krishna et al. 2022, section 3",
    needs=("scores", "rivals"),
    range=(-1.0, 1.0),
    higher_is_better=True,
    order=101,
    by_name=True,
    planted=False,
)
def vote(text: ScoredText, method: str) -> float:
    """The rank correlation of a method's scores with the mean ranks that the others give, random ones not among them.

    0 where all its scores are equal; NaN where the others, together, put no token before another.
    """
    others = [rankdata(scores) for name, scores in text.scores.items() if name not in (method, RANDOM)]
    return correlate(text.scores[method], np.mean(others, axis=0), ranks=True) if others else float("nan")
