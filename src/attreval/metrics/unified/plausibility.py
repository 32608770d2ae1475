"""Unified agreement with human annotation, by average precision (Sun et al. 2024, section 2.3, eq.
8-12).

Every distinct score of a pair of spans is a threshold; the features above it are compared with the
units and with the interactions that people marked. The other types of explanation are cut where
they hold as many units.

Relations of SpanEx come at two levels: `low` ones are pairs of words, `high` ones pairs of spans.
Where there are only highlights (e-SNLI), a person's highlighted words of the two parts are paired
with each other, and so are the runs that they form (section 2.3 and appendix B; the pairing of
highlights is ours).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from operator import eq

import numpy as np

from attreval.core.records import Instance, Tokens
from attreval.core.units import Units, consecutive_runs
from attreval.metrics.metric import metric
from attreval.metrics.scored_text import ScoredText
from attreval.metrics.unified.faithfulness import (
    Feature,
    Ranking,
    feature_of,
    features_needed,
    rank_text,
    take_units,
    units_in,
)

ANNOTATORS = ("union", "majority", "each")
LEVELS = ("low", "high")
GOLD_LEVELS = {"token": "low", "pair": "low", "span": "high", "combined": "high"}
_people = partial(
    metric,
    judge="diagnosis",
    source="Sun et al. 2024, section 2.3, eq. 11",
    higher_is_better=True,
    notebook="07_sun2024",
)
# of the units that two features have in one part
MATCHES: dict[str, Callable[[set[int], set[int]], bool]] = {
    "overlap": lambda a, b: bool(a & b),
    "exact": eq,
    "iou50": lambda a, b: 2 * len(a & b) >= len(a | b) > 0,
    "token_pairs": eq,
}


@dataclass(frozen=True)
class Gold:
    """units: level (low, high) -> units that people marked. interactions: level -> those that they
    gave.
    """

    units: dict[str, set[int]]
    interactions: dict[str, tuple[Feature, ...]]


def read_gold(
    instance: Instance, tokens: Tokens, units: Units, annotators: str = "union"
) -> list[Gold]:
    """What people marked, as one answer (`union`, `majority`: more than half of them), or `each`
    person's.

    Empty where nobody marked anything; ValueError for another way to merge.
    """
    if annotators not in ANNOTATORS:
        raise ValueError(f"annotators are merged by {', '.join(ANNOTATORS)}; got {annotators!r}")
    of_word: dict[int, list[int]] = {}
    for u, group in enumerate(units.groups):
        of_word.setdefault(int(tokens.word[group[0]]), []).append(u)
    people = _read_relations(instance, units, of_word) or _read_highlights(instance, units, of_word)
    if annotators == "each" or len(people) < 2:
        return people
    needed = 1 if annotators == "union" else len(people) // 2 + 1
    shared = Gold({}, {})
    for level in LEVELS:
        shared.units[level] = set(_given_by([person.units[level] for person in people], needed))
        shared.interactions[level] = _given_by(
            [person.interactions[level] for person in people], needed
        )
    return [shared]


def _given_by(answers: list[Iterable], needed: int) -> tuple:
    """What at least `needed` answers, none of which repeats itself, hold, in order of first
    mention.
    """
    counts = Counter(chain.from_iterable(answers))
    return tuple(one for one, count in counts.items() if count >= needed)


def _read_relations(instance: Instance, units: Units, of_word: dict[int, list[int]]) -> list[Gold]:
    """The relations of each annotator. A `Dangler`, a span without counterpart, gives units but no
    interaction.
    """
    people: dict[str, Gold] = {}
    for *ends, name in instance.evidence.interactions:
        level, _, rest = name.partition(" ")
        label, _, annotator = rest.rpartition(" ")
        gold = people.setdefault(
            annotator, Gold({one: set() for one in LEVELS}, dict.fromkeys(LEVELS, ()))
        )
        sides = [
            [u for w in range(a, b) for u in of_word.get(w, ())] for a, b in (ends[:2], ends[2:])
        ]
        if label.startswith("Dangler"):
            gold.units[level].update(_dangling(label, sides, units))
        elif all(sides):
            gold.units[level].update(*sides)
            feature = feature_of(units, sorted(sides[0] + sides[1]))
            gold.interactions[level] = tuple(dict.fromkeys((*gold.interactions[level], feature)))
    return list(people.values())


def _dangling(label: str, sides: list[list[int]], units: Units) -> list[int]:
    """The units of the side that a dangling span stands on: the one named, else the one that is not
    a whole part.
    """
    premise, hypothesis = sides
    for part, side in {"HYPOTHESIS": hypothesis, "PREMISE": premise}.items():
        if part in label.upper():
            return side
    sizes = [(units.side == part).sum() for part in np.unique(units.side)]
    return [u for side, size in zip(sides, sizes, strict=True) if len(side) != size for u in side]


def _read_highlights(instance: Instance, units: Units, of_word: dict[int, list[int]]) -> list[Gold]:
    """The highlights of each annotator, the words of one part paired with those of the other."""
    people = []
    for row in instance.evidence.marks:
        marked = sorted(u for w in np.flatnonzero(row > 0).tolist() for u in of_word.get(w, ()))
        feature = feature_of(units, marked)
        runs = [[tuple(run) for run in consecutive_runs(part)] for part in feature]
        spans = tuple(product(runs[0], runs[1]))
        given = {"low": tuple(unit_pairs([feature])), "high": spans}
        people.append(Gold({level: set(marked) for level in LEVELS}, given))
    return people


def average_precision(steps: Iterable[tuple[float, float]]) -> float:
    """Sum of precision times gain in recall over (precision, recall) steps, recall starting at 0
    (eq. 11).
    """
    total = 0.0
    before = 0.0
    for precision, recall in steps:
        total += precision * (recall - before)
        before = recall
    return total


def threshold_counts(spans: Ranking) -> list[int]:
    """How many pairs of spans score at least as high as each distinct score (eq. 8-9)."""
    return [int((spans.scores >= score).sum()) for score in dict.fromkeys(spans.scores.tolist())]


def units_at(ranking: Ranking, spans: Ranking, fill: Ranking | None = None) -> list[set[int]]:
    """The first units of an explanation at each threshold, exactly as many as the pairs of spans
    hold there.
    """
    return [
        units_in(take_units(ranking, len(spans.units(k)), fill)) for k in threshold_counts(spans)
    ]


def features_at(ranking: Ranking, spans: Ranking) -> list[tuple[Feature, ...]]:
    """The first features of an explanation at each threshold, whole, as many as it takes to hold
    those units.
    """
    if ranking is spans:
        return [spans.features[:k] for k in threshold_counts(spans)]
    return [
        ranking.features[: features_needed(ranking, len(spans.units(k)))]
        for k in threshold_counts(spans)
    ]


def unit_agreement(found: Sequence[set[int]], gold: set[int]) -> float:
    """Average precision of the units at each threshold; NaN where people marked none."""
    if not gold:
        return np.nan
    right = [(len(held & gold), len(held)) for held in found if held]
    return average_precision((hits / size, hits / len(gold)) for hits, size in right)


def matches(rule: str, a: Feature, b: Feature) -> bool:
    """Whether two features match by a rule in both parts; see `interaction_agreement`."""
    return all(MATCHES[rule](set(x), set(y)) for x, y in zip(a, b, strict=True))


def unit_pairs(features: Iterable[Feature]) -> list[Feature]:
    """Every pair of units across the parts of each feature, once."""
    return list(
        dict.fromkeys(((a,), (b,)) for first, second in features for a in first for b in second)
    )


def interaction_agreement(
    found: Sequence[Sequence[Feature]], gold: Sequence[Feature], rule: str
) -> float:
    """Average precision of features at each threshold; one is right where it matches one of those
    that people gave.

    rule: `overlap` in both parts, the `exact` same feature, `iou50` (half of the units in both
        parts), or `token_pairs`: features are taken apart into pairs of units, which must be the
        same. NaN where people gave none.
    """
    if rule not in MATCHES:
        raise ValueError(f"matching rule {rule!r} is not known; there are: {', '.join(MATCHES)}")
    if not gold:
        return np.nan
    if rule == "token_pairs":
        found = [unit_pairs(features) for features in found]
        gold = unit_pairs(gold)
    hits = {
        feature: [matches(rule, feature, given) for given in gold]
        for feature in set(chain.from_iterable(found))
    }
    steps = []
    for features in filter(len, found):
        table = np.array([hits[feature] for feature in features])
        steps.append((table.any(axis=1).mean(), table.any(axis=0).mean()))
    return float(average_precision(steps))


PEOPLE_UNITS = _people(
    "People (units)",
    name="people_units",
    about="How well the explanation ranks the tokens that people marked: average precision.",
    needs=("scores", "marks"),
    order=64,
    stored="people_units",
    joint=True,
    planted=False,
)(unit_agreement)
PEOPLE_INTERACTIONS = _people(
    "People (interactions)",
    name="people_interactions",
    about="How well the explanation ranks the relations that people gave: average precision.",
    needs=("scores", "relations"),
    order=65,
    stored="people_interactions",
    joint=True,
    planted=False,
)(interaction_agreement)


@_people("Agreement with gold (pairs)", needs=("scores", "relations"), order=71, level="pair")
def pair_interactions(text: ScoredText, method: str) -> float:
    """How well the explanation ranks the pairs of tokens that decide together: average
    precision.
    """
    features = rank_text(text, method).features
    found = [features[: k + 1] for k in range(len(features))]
    return interaction_agreement(found, text.relations, "exact")
