"""Unified comprehensiveness and sufficiency (Sun et al. 2024, section 2.2), at equal numbers of units.

1 where the predicted class changes when the units of an explanation go, or when only they stay, else 0; averaged over
numbers of features and then over instances. Units that go become the mask token.
Letters used for shapes: m sets of units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from attreval.core.records import Tokens
from attreval.core.seeds import generator
from attreval.core.units import Units, mask_units
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import ScoredText
from attreval.metrics.unified.ranking import Ranking, rank_features, take_units, units_in
from attreval.models.questions import Conversation, Evaluate, softmax


@dataclass(frozen=True)
class Changes:
    """(m,) each. without: the sets of units masked; only: all but them masked. flips are 0 or 1, drops differences of
    the probability of the class predicted on the whole text."""

    flips_without: np.ndarray
    flips_only: np.ndarray
    drops_without: np.ndarray
    drops_only: np.ndarray


def match_budget(rankings: dict[str, Ranking], k: int) -> dict[str, set[int]]:
    """Of each type of explanation its first units, as many as the first k pairs of spans hold (eq. 5-7)."""
    size = len(rankings["span"].units(k))
    fill = rankings.get("token")
    return {kind: units_in(take_units(ranking, size, fill)) for kind, ranking in rankings.items()}


def random_units(n: int, size: int, draws: int, rng: np.random.Generator) -> list[set[int]]:
    """Random sets of `size` of n units."""
    return [set(rng.permutation(n)[:size].tolist()) for _ in range(draws)]


def ask_changes(tokens: Tokens, units: Units, sets: Sequence[set[int]]) -> Conversation:
    """The conversation that masks sets of units, and all but them: returns Changes."""
    chosen = np.zeros((len(sets), len(units)), dtype=bool)
    for row, inside in zip(chosen, sets, strict=True):
        row[list(inside)] = True
    rows = mask_units(tokens, units, np.concatenate([~chosen, chosen]))
    logits = yield Evaluate(np.concatenate([tokens.ids[None], rows]), tokens.segments)
    whole = int(logits[0].argmax())
    p = softmax(logits)[:, whole]
    flips = (logits[1:].argmax(axis=1) != whole).astype(float)
    m = len(sets)
    return Changes(flips[:m], flips[m:], p[0] - p[1 : m + 1], p[0] - p[m + 1 :])


def rank_text(text: ScoredText, method: str) -> Ranking:
    """The features of a method's attribution, ties by its own random draws."""
    assert text.units is not None, "pieces of a text are ranked by its units"
    return rank_features(text.attributions[method], text.units, generator("ties", *text.names_of(method)))


def ask_masked(text: ScoredText, method: str) -> Conversation:
    """The conversation that masks a method's first units, and all but them, at the text's sizes: returns Changes."""
    ranking = rank_text(text, method)
    assert text.units is not None
    taken = [units_in(take_units(ranking, size)) for size in text.sizes]
    return (yield from text.once(("masked", method), ask_changes(text.tokens, text.units, taken)))


def mean_without(text: ScoredText, method: str) -> Conversation:
    """How often the class changes without the first units."""
    return (yield from ask_masked(text, method)).flips_without.mean()


def mean_only(text: ScoredText, method: str) -> Conversation:
    """How often it changes with the first units alone."""
    return (yield from ask_masked(text, method)).flips_only.mean()


_unified = partial(
    metric,
    judge="diagnosis",
    source="Sun et al. 2024, section 2.2, eq. 4",
    needs=("scores", "model"),
    notebook="07_sun2024",
)

unified_comprehensiveness = _unified(
    "Comprehensiveness (unified)",
    name="unified_comprehensiveness",
    about="How often the predicted class changes when the first pieces are masked, mean over numbers of pieces.",
    higher_is_better=True,
    order=61,
    stored="unified_comprehensiveness",
    joint=True,
)(mean_without)
unified_sufficiency = _unified(
    "Sufficiency (unified)",
    name="unified_sufficiency",
    about="How often the predicted class changes when all but the first pieces are masked.",
    higher_is_better=False,
    order=62,
)(mean_only)
unified_sufficiency_inverted = _unified(
    "Sufficiency (unified)",
    name="unified_sufficiency_inverted",
    about="How often the predicted class stays when all but the first pieces are masked.",
    higher_is_better=True,
    order=63,
    stored="unified_sufficiency_inverted",
    joint=True,
    turned="lower: 1 - share of changed classes",
    planted=False,
)(ask_changes)
pair_comprehensiveness = _unified(
    "Comprehensiveness (pairs)",
    name="pair_comprehensiveness",
    about="Unified comprehensiveness of pairs of tokens.",
    higher_is_better=True,
    order=69,
    level="pair",
)(mean_without)
pair_sufficiency = _unified(
    "Sufficiency (pairs)",
    name="pair_sufficiency",
    about="Unified sufficiency of pairs of tokens.",
    higher_is_better=False,
    order=70,
    level="pair",
)(mean_only)
