"""A text with one explanation, and what metrics say of it."""

import numpy as np

from attreval.metrics import METRICS
from attreval.metrics.scored_text import ScoredText
from reference.models import instance


def scored(model, text, scores, **fields):
    """A text, or a pair of texts, with one explanation, `m`."""
    one = instance(*[text] if isinstance(text, str) else text)
    return ScoredText(one, model.tokens(one), {"m": np.array(scores, float)}, **fields)


def ask(scorer, names, text):
    """Name -> what the metric says of the explanation."""
    return dict(
        zip(
            names,
            scorer.converse((name, METRICS[name].ask(text, "m")) for name in names),
            strict=True,
        )
    )
