"""Unified faithfulness, agreement with people and complexity (Sun et al. 2024)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attreval.core.bootstrap import mean_of_known
from attreval.core.records import Attribution, Cost, Instance, Tokens
from attreval.core.seeds import Rng, generator
from attreval.core.units import Units, find_units
from attreval.methods import TECHNIQUES, TYPES
from attreval.methods.spans import find_spans
from attreval.metrics.unified.complexity import random_entropy, unified_entropy
from attreval.metrics.unified.faithfulness import (
    Ranking,
    ask_changes,
    make_ranking,
    match_budget,
    piece_counts,
    random_units,
    rank_features,
    take_units,
    units_in,
)
from attreval.metrics.unified.plausibility import (
    GOLD_LEVELS,
    Gold,
    features_at,
    interaction_agreement,
    read_gold,
    unit_agreement,
    units_at,
)
from attreval.models.classifier import Classifier
from compendium.config import DiagnosisSpec, Profile, Run
from compendium.papers.common.runs import (
    RUN,
    borrowed_evidence,
    evaluated_instances,
    load_typed_attributions,
    with_evidence,
)
from compendium.papers.common.tables import put_together
from compendium.papers.common.trained_models import open_run
from compendium.project import Results
from compendium.workflow.step import Step

Sets = list[tuple[tuple, set[int]]]  # units to be masked, each set with the key of its row
TOGETHER = 10  # instances that share batches
TEXT = [*RUN, "instance"]
# the type of random units that are as many as techniques have on average; of those that are as many
# as one technique has, the type is the technique's name
RANDOM = "random"
# pairs of spans that agents see of a text; of the other types, as many units as these hold
SHOWN_PAIRS = 3
CHANGES = ["comprehensiveness", "sufficiency", "drop_without", "drop_only"]
MASKED = ["units", *CHANGES]


@dataclass(frozen=True)
class Properties:
    """Four tables with one row per instance, technique, type (and k, or span rule).

    changes: faithfulness. agreement: with people. complexity: entropies. rules: faithfulness of
        spans by other rules.
    """

    changes: pd.DataFrame
    agreement: pd.DataFrame
    complexity: pd.DataFrame
    rules: pd.DataFrame


@dataclass(frozen=True)
class RankedInstance:
    """One instance with its units, people's marks, and the rankings by technique and type."""

    instance: Instance
    tokens: Tokens
    units: Units
    gold: list[Gold]
    rankings: dict[str, dict[str, Ranking]]


def measure_properties(step: Step) -> Properties:
    """The properties of every instance, technique and type, in all runs that are evaluated so."""
    profile = step.profile
    jobs = [
        (step.results, profile, run, start)
        for run in profile.explained_runs("diagnosis")
        for start in range(0, profile.diagnosis.rows, TOGETHER)
    ]
    said = f"measuring properties, {TOGETHER} instances a part"
    found = list(map(vars, step.ask_side_by_side(_measure_part, jobs, said)))
    return Properties(
        **{name: put_together([of_part[name] for of_part in found]) for name in found[0]}
    )


def _measure_part(
    results: Results, profile: Profile, run: Run, start: int
) -> tuple[Properties, dict[str, Cost]]:
    """The four tables of the instances from `start`, and what they cost."""
    settings = profile.diagnosis
    scorer = open_run(results, profile, run)
    records = load_typed_attributions(results, profile, *run)
    evidence = borrowed_evidence(run[0])
    part = evaluated_instances(profile, run[0])[start : start + TOGETHER]
    ranked = [rank_instance(i, records[i.id], scorer.model, settings, run, evidence) for i in part]
    jobs = []
    for one in ranked:
        jobs.append(("diagnosis", one, explained_sets(one, settings, run)))
        jobs.append(("span rules", one, sets_by_rule(one, settings, records[one.instance.id], run)))
    jobs = [job for job in jobs if job[-1]]
    answers = scorer.converse(
        (account, ask_changes(one.tokens, one.units, [units for _, units in sets]))
        for account, one, sets in jobs
    )
    rows: dict[str, list[tuple]] = {"diagnosis": [], "span rules": []}
    for (account, one, sets), answer in zip(jobs, answers, strict=True):
        values = zip(
            answer.flips_without,
            answer.flips_only,
            answer.drops_without,
            answer.drops_only,
            strict=True,
        )
        for (key, _), changes in zip(sets, values, strict=True):
            rows[account].append((*run, one.instance.id, *key, *changes))
    agreement = [
        (*run, one.instance.id, *row)
        for one in ranked
        for row in agreement_rows(one, settings, run)
    ]
    complexity = [
        (*run, one.instance.id, *row) for one in ranked for row in complexity_rows(one, settings)
    ]
    kinds = [*TEXT, "technique", "type"]
    found = Properties(
        changes=pd.DataFrame(rows["diagnosis"], columns=[*kinds, "k", *MASKED]),
        agreement=pd.DataFrame(agreement, columns=[*kinds, "people", "token", "interaction"]),
        complexity=pd.DataFrame(
            complexity, columns=[*kinds, "pieces", "entropy", "random", "uniform"]
        ),
        rules=pd.DataFrame(
            rows["span rules"], columns=[*TEXT, "technique", "rule", "type", "k", "pieces", *MASKED]
        ),
    )
    return found, scorer.costs


def rank_instance(
    instance: Instance,
    records: dict[str, Attribution],
    model: Classifier,
    settings: DiagnosisSpec,
    run: Run,
    evidence: dict,
) -> RankedInstance:
    """The rankings of an instance; a technique that found no pair of spans has none.

    evidence: borrowed_evidence.
    """
    tokens = model.tokens(instance)
    units = find_units(tokens, settings.units.unit)
    gold = read_gold(with_evidence(instance, evidence), tokens, units, settings.annotators)
    rankings: dict[str, dict[str, Ranking]] = {}
    for technique in settings.techniques:
        by_type = rank_types(records, units, technique, (*run, instance.id))
        if len(by_type["span"]):
            rankings[technique] = by_type
    return RankedInstance(instance, tokens, units, gold, rankings)


def rank_types(
    records: Mapping[str, Attribution], units: Units, technique: str, names: tuple
) -> dict[str, Ranking]:
    """The ranking of each type of a technique.

    names: what the order of equal scores derives from.
    """
    return {
        kind: rank_features(records[method], units, generator("ties", *names, method))
        for kind, method in TECHNIQUES[technique].items()
    }


def shown_features(rankings: dict[str, Ranking]) -> dict[str, list[tuple]]:
    """What agents are shown of a text, by type: as many units as its first pairs of spans hold."""
    size = len(rankings["span"].units(SHOWN_PAIRS))
    return {
        kind: take_units(ranking, size, rankings["token"]) for kind, ranking in rankings.items()
    }


def explained_sets(ranked: RankedInstance, settings: DiagnosisSpec, run: Run) -> Sets:
    """The units of an instance's explanations, and as many random units."""
    sets: Sets = []
    sizes: dict[int, list[int]] = defaultdict(list)
    for technique, rankings in ranked.rankings.items():
        for k in piece_counts(rankings["span"], settings.thresholds, settings.most_pieces):
            size = len(rankings["span"].units(k))
            sizes[k].append(size)
            sets += [
                ((technique, kind, k, size), chosen)
                for kind, chosen in match_budget(rankings, k).items()
            ]

    def at_random(kind: str, k: int, size: int, rng: Rng) -> Sets:
        drawn = random_units(len(ranked.units), size, settings.random_draws, rng)
        return [(("random", kind, k, size), chosen) for chosen in drawn]

    rng = generator("random units", *run, ranked.instance.id)
    for k, some in sizes.items():  # not as many as each technique, where these differ
        sets += at_random(RANDOM, k, round(np.mean(some)), rng)
    if settings.random_sizes == "each":
        rng = generator("random units of each", *run, ranked.instance.id)
        spans = [key for key, _ in sets if key[1] == "span"]
        for technique, _, k, size in spans:
            sets += at_random(technique, k, size, rng)
    return sets


def sets_by_rule(
    ranked: RankedInstance, settings: DiagnosisSpec, records: dict[str, Attribution], run: Run
) -> Sets:
    """The units of the first pairs of spans by each rule, and as many single units."""
    at = ranked.units.of_position()
    sets = []
    for technique, rankings in ranked.rankings.items():
        pairs = records[TECHNIQUES[technique]["pair"]]
        matrix = np.zeros((len(ranked.units), len(ranked.units)))
        for feature, score in zip(pairs.features, pairs.scores, strict=True):
            a, b = sorted({at[p] for p in feature})
            matrix[a, b] = matrix[b, a] = score
        for rule in settings.span_rules:
            rng = generator("span rule", *run, ranked.instance.id, technique, rule)
            found = find_spans(
                ranked.tokens, ranked.units, matrix, settings.units.changed(span_rule=rule), rng
            )
            features = [tuple(sorted({at[p] for p in one})) for one in found.features or ()]
            ranking = make_ranking(features, found.values, ranked.units, rng)
            for k in piece_counts(ranking, settings.thresholds, settings.most_pieces):
                spans = ranking.units(k)
                about = (k, len(ranking), len(spans))
                sets.append(((technique, rule, "span", *about), spans))
                tokens = units_in(take_units(rankings["token"], len(spans)))
                sets.append(((technique, rule, "token", *about), tokens))
    return sets


def chance_changes(changes: pd.DataFrame) -> pd.DataFrame:
    """What as many random units change: one row per run, instance and technique.

    Means over draws and then over k.

    changes: of Properties. Where the profile asks for it (`random_sizes: each`; exact is True),
    random units are as many as the technique's own explanations mask; otherwise as many as those of
    all techniques on average.
    """
    random = changes[changes.technique == "random"]
    parts = []
    for technique, explained in changes[changes.technique != "random"].groupby(
        "technique", sort=False
    ):
        own = random[random.type == technique]
        exact = len(own) > 0
        chosen = own if exact else random[random.type == RANDOM]
        keys = [*TEXT, "k"]
        reached = explained[keys].drop_duplicates()
        by_k = chosen.merge(reached, on=keys).groupby(keys, sort=False)[[*CHANGES, "units"]].mean()
        means = by_k.groupby(TEXT, sort=False).mean().reset_index()
        parts.append(means.assign(technique=technique, exact=exact))
    return pd.concat(parts, ignore_index=True) if parts else random.iloc[:0].assign(exact=False)


def agreement_rows(ranked: RankedInstance, settings: DiagnosisSpec, run: Run) -> Iterator[tuple]:
    """(technique, type, people, average precision of units, of interactions).

    Also of random explanations.
    """
    people = len(ranked.gold)
    if not people or not ranked.rankings:
        return
    for technique, rankings in ranked.rankings.items():
        for kind in rankings:
            yield (
                technique,
                kind,
                people,
                *_agreement(rankings, kind, ranked.gold, settings.match),
            )
    rng = generator("random pieces", *run, ranked.instance.id)
    draws = [_random_rankings(ranked, rng) for _ in range(settings.random_draws)]
    for kind in ("token", "pair", "span"):
        found = [_agreement(drawn, kind, ranked.gold, settings.match) for drawn in draws]
        yield ("random", kind, people, *np.mean(found, axis=0))


def _agreement(
    rankings: dict[str, Ranking], kind: str, gold: list[Gold], rule: str
) -> tuple[float, float]:
    """Average precision of units and of interactions, mean over people.

    Interactions are for pairs and spans.
    """
    spans = rankings["span"]
    level = GOLD_LEVELS[kind]
    held = units_at(rankings[kind], spans, rankings["token"])
    single = np.array([unit_agreement(held, person.units[level]) for person in gold])
    if kind == "token":
        return float(mean_of_known(single)), np.nan
    found = features_at(rankings[kind], spans)
    joint = np.array(
        [interaction_agreement(found, person.interactions[level], rule) for person in gold]
    )
    return float(mean_of_known(single)), float(mean_of_known(joint))


def _random_rankings(ranked: RankedInstance, rng: Rng) -> dict[str, Ranking]:
    """Random pairs of spans, as many as the techniques have on average and as long as theirs.

    Pairs and units too.
    """
    units = ranked.units
    real = [by_type["span"] for by_type in ranked.rankings.values()]
    count = max(1, round(np.mean([len(spans) for spans in real])))
    sides = [np.flatnonzero(units.side == s) for s in np.unique(units.side)]
    drawn = []
    for _ in range(count):
        feature = []
        for part, side in enumerate(sides):
            length = rng.choice([len(p[part]) for spans in real for p in spans.features])
            start = rng.integers(len(side) - length + 1)
            feature += [*side[start : start + length]]
        drawn.append(tuple(feature))
    pairs = [tuple(pair) for pair in units.pairs()]
    features = {"span": drawn, "pair": pairs, "token": [(u,) for u in range(len(units))]}
    return {
        kind: make_ranking(some, rng.random(len(some)), units, rng)
        for kind, some in features.items()
    }


def complexity_rows(ranked: RankedInstance, settings: DiagnosisSpec) -> Iterator[tuple]:
    """(technique, type, features, entropy, that of random scores, the highest).

    At the number of pairs of spans.
    """
    for technique, rankings in ranked.rankings.items():
        k = len(rankings["span"])
        for kind in TYPES:
            found = unified_entropy(rankings[kind].scores, k)
            of_random = random_entropy(k, settings.random_scores)
            yield technique, kind, k, found, of_random, np.log(k)


def properties_by_instance(properties: Properties, predictions: pd.DataFrame) -> pd.DataFrame:
    """One row per instance, method and measure, named as in METRICS.

    Means over k, draws, and the forms in which agents are shown explanations; `random` are those of
    all types.
    """
    changes = properties.changes
    # not the random units that are as many as those of a single technique
    changes = changes[(changes.technique != "random") | (changes.type == RANDOM)]
    agreement = properties.agreement
    entropy = properties.complexity
    highest = entropy.uniform.where(entropy.uniform > 0)
    own = entropy.assign(simplicity=1 - entropy.entropy / highest)
    of_random = entropy.assign(
        simplicity=1 - entropy.random / highest, technique="random", type="random"
    )
    both = pd.concat([own, of_random], ignore_index=True)
    informed = predictions[predictions.technique.isin(TECHNIQUES)]
    parts = [
        _by_method(
            changes,
            unified_comprehensiveness=changes.comprehensiveness,
            unified_sufficiency_inverted=1 - changes.sufficiency,
        ),
        _by_method(
            agreement, people_units=agreement.token, people_interactions=agreement.interaction
        ),
        _by_method(both, unified_simplicity=both.simplicity),
        _by_method(entropy, complexity=entropy.entropy),
        _by_method(informed, simulatability=informed.correct),
    ]
    return pd.concat(parts, ignore_index=True)


def _by_method(frame: pd.DataFrame, **measures: pd.Series) -> pd.DataFrame:
    """A row an instance, method and measure: its mean over the rows of a frame."""
    kinds = zip(frame.technique, frame.type, strict=True)
    methods = [TECHNIQUES.get(technique, {}).get(kind, "random") for technique, kind in kinds]
    keys = [*TEXT, "method"]
    means = (
        frame.assign(method=methods, **measures).groupby(keys, sort=False)[list(measures)].mean()
    )
    return means.reset_index().melt(keys, var_name="measure").dropna(subset="value")
