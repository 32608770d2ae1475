"""One instance under diagnosis: its rankings, what people marked in it, and what can be told without the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from attreval.core.records import Attribution, Instance, Tokens
from attreval.core.seeds import generator
from attreval.core.units import Units, find_units
from attreval.explain.techniques import TECHNIQUES, TYPES
from attreval.metrics.unified.complexity import random_entropy, unified_entropy
from attreval.metrics.unified.gold import GOLD_LEVELS, Gold, read_gold
from attreval.metrics.unified.plausibility import features_at, interaction_agreement, unit_agreement, units_at
from attreval.metrics.unified.ranking import Ranking, make_ranking, rank_features
from attreval.papers.common.evidence import with_evidence


@dataclass(frozen=True)
class Case:
    """One instance with its units, what people marked, and the rankings of each technique and type."""

    instance: Instance
    tokens: Tokens
    units: Units
    gold: list[Gold]
    rankings: dict[str, dict[str, Ranking]]


def read_case(instance: Instance, records: dict[str, Attribution], model, settings, names: tuple, lent: dict) -> Case:
    """An instance ready to be judged; techniques that found no pair of spans have no rankings."""
    tokens = model.tokens(instance)
    units = find_units(tokens, settings.units.unit)
    gold = read_gold(with_evidence(instance, lent), tokens, units, settings.annotators)
    rankings = {}
    for technique in settings.techniques:
        by_type = {
            kind: rank_features(records[method], units, generator("ties", *names, instance.id, method))
            for kind, method in TECHNIQUES[technique].items()
        }
        if len(by_type["span"]):
            rankings[technique] = by_type
    return Case(instance, tokens, units, gold, rankings)


def agreement_rows(case: Case, settings, names: tuple) -> Iterator[tuple]:
    """(technique, type, people, average precision of units, of interactions), and the same of random explanations."""
    if not case.gold:
        return
    people = len(case.gold)
    for technique, rankings in case.rankings.items():
        for kind, ranking in rankings.items():
            yield (technique, kind, people, *score_agreement(ranking, rankings, kind, case.gold, settings.match))
    if case.rankings:
        rng = generator("random pieces", *names, case.instance.id)
        draws = [random_rankings(case, rng) for _ in range(settings.random_draws)]
        for kind in ("token", "pair", "span"):
            found = [score_agreement(drawn[kind], drawn, kind, case.gold, settings.match) for drawn in draws]
            yield ("random", kind, people, *np.mean(found, axis=0).tolist())


def score_agreement(ranking: Ranking, rankings: dict, kind: str, gold: list[Gold], rule: str) -> tuple[float, float]:
    """Average precision of units and of interactions, mean over people; interactions are for pairs and spans."""
    spans, level = rankings["span"], GOLD_LEVELS[kind]
    held = units_at(ranking, spans, rankings["token"])
    single = nan_mean([unit_agreement(held, g.units[level]) for g in gold])
    if kind == "token":
        return single, float("nan")
    found = features_at(ranking, spans)
    return single, nan_mean([interaction_agreement(found, g.interactions[level], rule) for g in gold])


def nan_mean(values: list[float]) -> float:
    """The mean of what is a number; NaN where nothing is."""
    known = [v for v in values if not np.isnan(v)]
    return float(np.mean(known)) if known else float("nan")


def random_rankings(case: Case, rng: np.random.Generator) -> dict[str, Ranking]:
    """Random pairs of spans, as many as the techniques have on average and as long as theirs; pairs and units too."""
    real = [r["span"] for r in case.rankings.values()]
    count = max(1, round(float(np.mean([len(r) for r in real]))))
    sides = [np.flatnonzero(case.units.side == s) for s in np.unique(case.units.side)]
    held = []
    for _ in range(count):
        piece = []
        for part, side in enumerate(sides):
            length = int(rng.choice([len(p[part]) for r in real for p in r.features]))
            start = int(rng.integers(len(side) - length + 1))
            piece += side[start : start + length].tolist()
        held.append(tuple(piece))
    pairs = [tuple(pair) for pair in case.units.pairs().tolist()]
    single = [(u,) for u in range(len(case.units))]
    made = {"span": held, "pair": pairs, "token": single}
    return {kind: make_ranking(some, rng.random(len(some)), case.units, rng) for kind, some in made.items()}


def complexity_rows(case: Case, settings) -> Iterator[tuple]:
    """(technique, type, pieces, entropy, that of random scores, the highest), at the number of pairs of spans."""
    for technique, rankings in case.rankings.items():
        k = len(rankings["span"])
        for kind in TYPES:
            found = unified_entropy(rankings[kind].scores, k)
            yield technique, kind, k, found, random_entropy(k, settings.random_scores), float(np.log(k))
