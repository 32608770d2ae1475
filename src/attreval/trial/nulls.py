"""Metrics that say nothing of an explanation: what a trial must condemn, beside whatever else it tries."""

from __future__ import annotations

from functools import partial

from attreval.core.seeds import generator
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import ScoredText

_null = partial(metric, judge="", source="null", needs=("scores",), higher_is_better=True)


@_null("Null: random number")
def random_number(text: ScoredText, method: str) -> float:
    """A number drawn for a text and an explanation."""
    return float(generator("null", *text.names_of(method)).random())


@_null("Null: always one half")
def one_half(text: ScoredText, method: str) -> float:
    """The same number for every explanation."""
    return 0.5


@_null("Null: largest score", range=(float("-inf"), float("inf")))
def largest_score(text: ScoredText, method: str) -> float:
    """The largest score, whatever word has it."""
    return float(text.scores[method].max())


NULLS = {one.name: one for one in (random_number, one_half, largest_score)}
