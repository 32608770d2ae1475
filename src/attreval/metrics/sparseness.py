"""Sparseness: the Gini index of the sizes of scores (Chalasani et al. 2020). It asks the model nothing.

Letters used for shapes: n content tokens.
"""

from __future__ import annotations

import numpy as np

from attreval.metrics.erasure import finite
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import ScoredText


@metric(
    "Sparseness (Gini)",
    judge="",
    source="Chalasani et al. 2020, section 4",
    needs=("scores",),
    higher_is_better=True,
    order=102,
    by_name=True,
    planted=False,
    blind="it looks at the sizes of scores alone",
)
def sparseness(text: ScoredText, method: str) -> float:
    """How unequal the sizes of scores are: 0 where all are equal, (n - 1) / n where one token has all.

    All scores being 0 they are equal. Random scores are never so equal as constant ones: it judges form, not truth.
    """
    sizes = np.sort(np.abs(finite(text.scores[method])))
    n, total = len(sizes), sizes.sum()
    return float((2 * np.arange(1, n + 1) - n - 1) @ (sizes / total) / n) if total > 0 else 0.0
