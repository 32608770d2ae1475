"""How do explanations of units, pairs and spans do under faithfulness, human agreement and complexity?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attreval.config import Profile
from attreval.core.project import Results
from attreval.core.records import Attribution
from attreval.core.seeds import generator
from attreval.explain.spans import find_spans
from attreval.explain.techniques import TECHNIQUES
from attreval.metrics.unified.faithfulness import ask_changes, match_budget, random_units
from attreval.metrics.unified.ranking import make_ranking, piece_counts, take_units, units_in
from attreval.papers.common.evidence import borrowed_evidence
from attreval.papers.common.runs import load_typed_attributions
from attreval.papers.common.sample import evaluated_instances
from attreval.papers.common.trained_models import load_model_once
from attreval.papers.sun2024.cases import Case, agreement_rows, complexity_rows, read_case
from attreval.workflow.parallel import map_side_by_side
from attreval.workflow.step import Step, set_threads

TOGETHER = 10  # instances that share batches
RUN = ["task", "model", "seed", "instance"]
CHANGES = ["comprehensiveness", "sufficiency", "drop_without", "drop_only"]


@dataclass(frozen=True)
class Diagnosis:
    """One row an instance, technique, type (and k, or rule): see the columns. counts: pieces and units of each."""

    changes: pd.DataFrame
    agreement: pd.DataFrame
    complexity: pd.DataFrame
    rules: pd.DataFrame


def diagnose(step: Step) -> Diagnosis:
    """Put every run that the diagnosis hears under its properties, ten instances a part."""
    profile = step.profile
    jobs = [
        (step.results, profile, *run, start)
        for run in profile.explained_runs("diagnosis")
        for start in range(0, profile.diagnosis.rows, TOGETHER)
    ]
    parts = map_side_by_side(
        diagnose_some, jobs, profile.workers, step.progress(f"diagnosing, {TOGETHER} instances a part")
    )
    step.note_evaluations((job[2], costs) for job, (_, costs) in zip(jobs, parts, strict=True))
    frames = zip(*(frames for frames, _ in parts), strict=True)
    return Diagnosis(*(pd.concat(some, ignore_index=True) for some in frames))


def diagnose_some(results: Results, profile: Profile, task: str, model: str, seed: int, start: int):
    """The four tables of the instances from `start`, and what they cost."""
    from attreval.models.scorer import Scorer

    set_threads(profile.threads)
    settings, names = profile.diagnosis, (task, model, seed)
    loaded = load_model_once(results, profile, task, model, seed)
    scorer = Scorer(loaded, profile.explaining_of(task).token_budget)
    records, lent = load_typed_attributions(results, profile, *names), borrowed_evidence(task)
    part = evaluated_instances(profile, task)[start : start + TOGETHER]
    cases = [read_case(i, records[i.id], loaded, settings, names, lent) for i in part]
    jobs = [job for case in cases for job in jobs_of(case, settings, records[case.instance.id], names)]
    asked = [(job.case, [units for _, units in job.sets]) for job in jobs]
    found = scorer.converse(
        (job.account, ask_changes(c.tokens, c.units, s)) for job, (c, s) in zip(jobs, asked, strict=True)
    )
    changes, rules = [], []
    for job, answer in zip(jobs, found, strict=True):
        values = zip(answer.flips_without, answer.flips_only, answer.drops_without, answer.drops_only, strict=True)
        rows = changes if job.account == "diagnosis" else rules
        rows += [(*names, job.case.instance.id, *key, *v) for (key, _), v in zip(job.sets, values, strict=True)]
    agreement = [(*names, c.instance.id, *row) for c in cases for row in agreement_rows(c, settings, names)]
    complexity = [(*names, c.instance.id, *row) for c in cases for row in complexity_rows(c, settings)]
    frames = (
        pd.DataFrame(changes, columns=[*RUN, "technique", "type", "k", "units", *CHANGES]),
        pd.DataFrame(agreement, columns=[*RUN, "technique", "type", "people", "token", "interaction"]),
        pd.DataFrame(complexity, columns=[*RUN, "technique", "type", "pieces", "entropy", "random", "uniform"]),
        pd.DataFrame(rules, columns=[*RUN, "technique", "rule", "type", "k", "pieces", "units", *CHANGES]),
    )
    return frames, scorer.costs


@dataclass(frozen=True)
class Job:
    """Sets of units of one case to be masked, each under its key; account: who pays for the evaluations."""

    case: Case
    account: str
    sets: list[tuple[tuple, set[int]]]


def jobs_of(case: Case, settings, records: dict[str, Attribution], names: tuple) -> Iterator[Job]:
    """What is to be asked about an instance: its explanations, random units, spans by other rules."""
    sets, sizes = [], {}
    for technique, rankings in case.rankings.items():
        for k in piece_counts(rankings["span"], settings.thresholds, settings.most_pieces):
            size = len(rankings["span"].units(k))
            sizes.setdefault(k, []).append(size)
            for kind, chosen in match_budget(rankings, k).items():
                sets.append(((technique, kind, k, size), chosen))
    rng = generator("random units", *names, case.instance.id)
    for k, some in sizes.items():
        size = round(float(np.mean(some)))
        for chosen in random_units(len(case.units), size, settings.random_draws, rng):
            sets.append((("random", "random", k, size), chosen))
    if sets:
        yield Job(case, "diagnosis", sets)
    by_rule = list(rule_sets(case, settings, records, names))
    if by_rule:
        yield Job(case, "span rules", by_rule)


def rule_sets(case: Case, settings, records: dict[str, Attribution], names: tuple) -> Iterator[tuple[tuple, set[int]]]:
    """Units of the first pairs of spans made by each rule from the scores of pairs, and as many single units."""
    for technique, rankings in case.rankings.items():
        pairs = records[TECHNIQUES[technique]["pair"]]
        matrix, at = np.zeros((len(case.units), len(case.units))), case.units.of_position()
        for feature, score in zip(pairs.features, pairs.scores, strict=True):
            a, b = sorted({at[p] for p in feature})
            matrix[a, b] = matrix[b, a] = score
        for rule in settings.span_rules:
            rng = generator("span rule", *names, case.instance.id, technique, rule)
            made = settings.units.changed(span_rule=rule)
            spans = find_spans(case.tokens, case.units, matrix, made, rng)
            held = [tuple(sorted({at[p] for p in feature})) for feature in spans.features]
            ranking = make_ranking(held, spans.values, case.units, rng)
            for k in piece_counts(ranking, settings.thresholds, settings.most_pieces):
                size = len(ranking.units(k))
                key = (technique, rule, "span", k, len(ranking), size)
                yield key, ranking.units(k)
                yield (*key[:2], "token", *key[3:]), units_in(take_units(rankings["token"], size))
