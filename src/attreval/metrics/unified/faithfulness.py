"""Unified comprehensiveness and sufficiency (Sun et al. 2024, section 2.2), at equal numbers of
units.

A feature is a unit, a pair of units across the two parts of an input, or a pair of spans.
Explanations of any type are compared by the units that the first of their ranked features hold: as
many as the first k pairs of spans (section 2.1, eq. 5-7). 1 where the predicted class changes when
these units go, or when only they stay, else 0; averaged over numbers of features and then over
instances. Units that go become the mask token. Letters used for shapes: n units, F features, m sets
of units.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from attreval.core.records import Attribution, Tokens
from attreval.core.seeds import Rng
from attreval.core.units import Units, mask_units, unit_scores
from attreval.metrics.erasure import rank_tokens
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import ScoredText
from attreval.models.outputs import CLASSES
from attreval.models.questions import Conversation, Evaluate, softmax

Feature = tuple[tuple[int, ...], tuple[int, ...]]  # units in the first part, units in the second
_unified = partial(
    metric,
    judge="diagnosis",
    source="Sun et al. 2024, section 2.2, eq. 4",
    needs=("scores", "model"),
    outputs=CLASSES,
    notebook="07_sun2024",
)


@dataclass(frozen=True)
class Ranking:
    """Features and their (F,) scores, highest first.

    unit_weights: (n,) sum of the scores of the features that hold a unit. tie: (n,) random order of
    units, which decides where nothing else does.
    """

    features: tuple[Feature, ...]
    scores: np.ndarray
    unit_weights: np.ndarray
    tie: np.ndarray

    def __len__(self) -> int:
        return len(self.features)

    def units(self, k: int) -> set[int]:
        """The units in the first k features (eq. 1)."""
        return units_in(self.features[:k])


def rank_features(attribution: Attribution, units: Units, rng: Rng) -> Ranking:
    """An attribution's features by falling score, equal scores in random order.

    Scores of word pieces are summed to those of their units. ValueError for an input that is not in
    two parts.
    """
    sides = np.unique(units.side)
    if len(sides) > 2:
        raise ValueError(
            f"explanations of pairs need an input of two parts; this one has {len(sides)}"
        )
    at = units.of_position()
    if attribution.level == "token":
        held: list[tuple[int, ...]] = [(u,) for u in range(len(units))]
        scores = unit_scores(attribution.features, attribution.scores, units)
    else:
        held = [tuple(sorted({at[p] for p in feature})) for feature in attribution.features]
        scores = attribution.scores
    return make_ranking(held, scores, units, rng)


def make_ranking(
    held: Sequence[tuple[int, ...]], scores: np.ndarray, units: Units, rng: Rng
) -> Ranking:
    """The ranking of features, given as the units that each holds."""
    scores = np.asarray(scores, dtype=float)
    order = rank_tokens(scores, rng)
    features = tuple(feature_of(units, held[i]) for i in order)
    unit_weights = np.zeros(len(units))
    for feature, score in zip(held, scores, strict=True):
        unit_weights[list(feature)] += score
    return Ranking(features, scores[order], unit_weights, rng.permutation(len(units)))


def feature_of(units: Units, chosen: Sequence[int]) -> Feature:
    """Units as a feature: those of the first part, those of the second."""
    first = units.side.min(initial=0)
    return tuple(u for u in chosen if units.side[u] == first), tuple(
        u for u in chosen if units.side[u] != first
    )


def take_units(ranking: Ranking, size: int, fill: Ranking | None = None) -> list[Feature]:
    """The first features that hold `size` units between them: exactly so many (eq. 6-7).

    Where the last feature holds too many new ones, those of them that weigh least are left out of
    it. Where features run out, units follow in the order of `fill`, a ranking of units. ValueError
    where there are fewer units than asked.
    """
    chosen: set[int] = set()
    out = []
    for feature in (*ranking.features, *(fill.features if fill else ())):
        if len(chosen) == size:
            break
        fresh = sorted(
            units_in([feature]) - chosen, key=lambda u: (-ranking.unit_weights[u], ranking.tie[u])
        )
        left_out = set(fresh[size - len(chosen) :])
        first, second = feature
        kept = (
            tuple(u for u in first if u not in left_out),
            tuple(u for u in second if u not in left_out),
        )
        out.append(kept)
        chosen |= set(fresh) - left_out
    if len(chosen) < size:
        raise ValueError(
            f"the features of an explanation hold {len(chosen)} units; {size} were asked for"
        )
    return out


def features_needed(ranking: Ranking, size: int) -> int:
    """How many of the first features, each whole, it takes to hold `size` units; all where they
    never do.
    """
    return next((k for k in range(len(ranking)) if len(ranking.units(k)) >= size), len(ranking))


def units_in(features: Sequence[Feature]) -> set[int]:
    """The units that features hold."""
    return {u for feature in features for part in feature for u in part}


def piece_counts(spans: Ranking, asked: Sequence[int], most: int) -> list[int]:
    """The numbers of first features to look at: those asked for, else 1, 2, ... to `most`, as far
    as there are any.
    """
    return [k for k in (asked or range(1, most + 1)) if k <= len(spans)]


@dataclass(frozen=True)
class Changes:
    """(m,) each. without: the sets of units masked; only: all but them masked. flips are 0 or 1,
    drops differences of the probability of the class predicted on the whole text.
    """

    flips_without: np.ndarray
    flips_only: np.ndarray
    drops_without: np.ndarray
    drops_only: np.ndarray


def match_budget(rankings: dict[str, Ranking], k: int) -> dict[str, set[int]]:
    """Of each type of explanation its first units, as many as the first k pairs of spans hold (eq.
    5-7).
    """
    size = len(rankings["span"].units(k))
    fill = rankings.get("token")
    return {kind: units_in(take_units(ranking, size, fill)) for kind, ranking in rankings.items()}


def random_units(n: int, size: int, draws: int, rng: Rng) -> list[set[int]]:
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
    drops = p[0] - p[1:]
    return Changes(*np.split(flips, 2), *np.split(drops, 2))


def rank_text(text: ScoredText, method: str) -> Ranking:
    """The features of a method's attribution, ties by its own random draws."""
    assert text.units is not None, "pieces of a text are ranked by its units"
    return rank_features(text.attributions[method], text.units, text.ties_of(method))


def ask_masked(text: ScoredText, method: str) -> Conversation:
    """The conversation that masks a method's first units, and all but them, at the text's sizes:
    returns Changes.
    """
    ranking = rank_text(text, method)
    assert text.units is not None
    taken = [units_in(take_units(ranking, size)) for size in text.sizes]
    return text.once(("masked", method), ask_changes(text.tokens, text.units, taken))


def mean_without(text: ScoredText, method: str) -> Conversation:
    """How often the class changes without the first units."""
    changes = yield from ask_masked(text, method)
    return changes.flips_without.mean()


def mean_only(text: ScoredText, method: str) -> Conversation:
    """How often it changes with the first units alone."""
    changes = yield from ask_masked(text, method)
    return changes.flips_only.mean()


unified_comprehensiveness = _unified(
    "Comprehensiveness (unified)",
    name="unified_comprehensiveness",
    about="How often the predicted class changes when the first pieces are masked, mean over "
    "numbers of pieces.",
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
    "Sufficiency (unified, inverted)",
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
