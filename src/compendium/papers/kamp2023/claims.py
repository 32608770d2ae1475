"""The claims of Kamp et al. (2023) on our runs: each with its interval over texts and what chance gives.

What the paper claims, and what counts as reproducing it, stands in paper/claims.yml.
Letters used for shapes: n texts, p numbers a text, j null worlds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations

import numpy as np
import pandas as pd

from attreval.core.seeds import generator
from compendium.config import AgreementSpec, BootstrapSpec, Profile, Run
from compendium.papers.common.claims import Claim, read_claims, score
from compendium.papers.common.contrasts import Cell, mean_difference
from compendium.papers.common.runs import reported, unlearned_table
from compendium.papers.common.style import model_title, task_title
from compendium.papers.common.turned import LEAST_NULLS, Turn, quick_draws, turned_table
from compendium.papers.common.verdicts import CONTRADICTED, LEAST_TEXTS, Finding
from compendium.papers.kamp2023.claim_statistics import (
    AT,
    NAMES,
    SETTLED,
    Means,
    rank_correlation_of_k,
    statements,
    trend,
    values_of,
)
from compendium.papers.kamp2023.readings import PEOPLE, SIX, Reading, read_runs, unsigned, voters
from compendium.papers.kamp2023.tables import KAMP_METHODS
from compendium.workflow.step import Step

SHAP_EVALUATIONS = 500  # of the released code; with fewer, phrases of longer texts stay whole, and their tokens tie
PREFERRED = ("esnli", "snli")  # the paper's texts, with people and without
FIXED = (2, 3, 4, 5, 6)  # tokens, beside the 4 of the paper
PEAKS = {"released": "by the rule of the released code", "paper": "by the rule of the paper"}
Found = dict[str, Finding]  # by claim


def in_random_order(reading: Reading, rng: np.random.Generator) -> Reading:
    """The text with each method's scores in a random order: as long, as tied, of the same signs."""
    return replace(reading, scores={m: rng.permutation(s) for m, s in reading.scores.items()})


def values_and_worlds(readings: Sequence[Reading], spec: AgreementSpec, worlds: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, p) numbers of each text, and (j, n, p) those of worlds in which all scores are in a random order."""
    short, long = np.quantile([len(r.tokens) for r in readings], [1 / 3, 2 / 3])
    values = np.array([values_of(r, spec, (short, long)) for r in readings])
    null = np.empty((worlds, *values.shape))
    for at, reading in enumerate(readings):
        rng = generator("null", "scores", "agreement", reading.instance)
        for world in range(worlds):
            null[world, at] = values_of(in_random_order(reading, rng), spec, (short, long))
    return values, null


@cache
def _renamed() -> np.ndarray:
    """(720, p) where each number is found after the six methods' names are exchanged."""
    out = []
    for order in permutations(SIX):
        new = dict(zip(SIX, order, strict=True))
        index = []
        for name in NAMES:
            there = tuple(new.get(part, part) for part in name)
            if there[0] == "pair" and there not in AT:
                there = ("pair", there[2], there[1], there[3])
            index.append(AT[there])
        out.append(index)
    return np.array(out)


def with_exchanged_names(values: np.ndarray, worlds: int, rng: np.random.Generator) -> np.ndarray:
    """(j, n, p) of (n, p) numbers with the six methods' names exchanged at random in each text."""
    orders = _renamed()
    chosen = rng.integers(0, len(orders), size=(worlds, len(values)))
    return values[np.arange(len(values))[None, :, None], orders[chosen]]


def findings_of(
    values: np.ndarray,
    null: np.ndarray,
    spec: AgreementSpec,
    profile: Profile,
    run: Run,
    settings: BootstrapSpec | None = None,
) -> Found:
    """By claim: our number with its draws and null worlds. values: (n, p) of the run's texts; null: (j, n, p)."""
    settings, out = settings or profile.bootstrap, {}
    renamed = with_exchanged_names(values, settings.nulls, generator("null", "names", "agreement", *run))
    people = ~np.isnan(values[:, AT[PEOPLE, SIX[0], 1]])
    about = (*run[:2], values, range(len(values)), [0] * len(values))
    basis = f"{task_title(run[0])}, {run[1]}, seed {run[-1]}: {len(values)} texts"
    for claim, asked in statements(spec.fixed_k).items():
        nulls = (lambda *_: null, (lambda *_: renamed) if asked.named else None)
        cell = Cell(*about, asked.number, asked.chosen, *nulls, drawn_by=("agreement", *run))
        found = mean_difference([cell], settings).finding_for("kamp2023", profile, basis)
        out[claim] = replace(found, texts=int(people.sum())) if asked.of_people else found
    return out


def statistics_by_run(step: Step) -> dict[Run, Found]:
    """By run that explains by all six methods, and claim: our value, its draws, its nulls, and what it rests on."""
    out, profile = {}, step.profile
    for run, readings in read_runs(step):
        if len(voters(readings)) < len(SIX):
            continue
        values, null = values_and_worlds(readings, profile.agreement, profile.bootstrap.nulls)
        void = "; ".join(unlearned_table(step, [run]).reason)
        found = findings_of(values, null, profile.agreement, profile, run)
        out[run] = {claim: replace(one, reason=void) for claim, one in found.items()}
        if (given := profile.explaining_of(run[0]).shap_evaluations) != SHAP_EVALUATIONS:
            metric = f"Partition SHAP of {given} evaluations, published {SHAP_EVALUATIONS}"
            out[run]["dynamic-k-shap"] = replace(out[run]["dynamic-k-shap"], metric=metric)
    return out


def claims_table(measured: Mapping[Run, Found], confidence: float = 0.95) -> pd.DataFrame:
    """One row a claim of Kamp et al. 2023 with our value, its interval, its nulls and a verdict.

    A claim is decided on the first run that can test it: on the paper's texts where the profile has them, and on runs
    of enough texts before others.
    """
    order = sorted(measured, key=lambda run: (*(run[0] != task for task in PREFERRED), list(measured).index(run)))
    found = {}
    for claim in dict.fromkeys(claim for of_run in measured.values() for claim in of_run):
        tests = [measured[run][claim] for run in order if np.isfinite(measured[run][claim].value)]
        enough = [finding for finding in tests if finding.texts >= LEAST_TEXTS and not finding.reason]
        if tests:
            found[claim] = (enough or tests)[0]
    return score(read_claims("kamp2023"), found, confidence, published_values())


def claims_by_run(measured: Mapping[Run, Found], confidence: float = 0.95) -> pd.DataFrame:
    """One row a claim and run, with the verdict that this run alone would give."""
    parts = []
    columns = ["claim", "value", "low", "high", "null_scores", "null_names", "null_p", "q", "texts", "verdict"]
    for (task, model, seed), found in measured.items():
        table = score(read_claims("kamp2023"), found, confidence)
        parts.append(table[columns].assign(task=task, model=model, seed=seed))
    columns = ["claim", "task", "model", "seed", *columns[1:]]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def published_values() -> dict[str, float]:
    """By claim that the paper's own figures in print decide: its number made from them."""
    table = reported("kamp_table1")
    ours = table.assign(method=table.method.map(KAMP_METHODS))
    gains = ours.set_index(["method", "k"]).improvement_over_fixed_k
    k = reported("kamp_dynamic_k_means").set_index("method").mean_dynamic_k.rename(KAMP_METHODS)
    mean_gains = gains.groupby("k").mean().loc[1:SETTLED].to_numpy()
    values = np.array([[k[name[1]] if name[0] == "k" else np.nan for name in NAMES]])
    return {
        "improvement-shrinks": float(trend(mean_gains)),
        "dynamic-k-order": float(rank_correlation_of_k(Means(values))[0]),
        "dynamic-k-shap": float(k["partition_shap"]),
        "dynamic-k-plain-ig": float(k["integrated_gradients_plain"]),
    }


def turned_claims(step: Step, measured: Mapping[Run, Found], judged: pd.DataFrame) -> pd.DataFrame:
    """One row a contradicted claim and thing turned, as `turned_table`: run, fixed k, rule of peaks, sign of scores.

    measured: of `statistics_by_run`; judged: of `claims_table`.
    """
    contradicted = {row.claim: row.basis for row in judged[judged.verdict == CONTRADICTED].itertuples()}
    of_basis = {finding.basis: run for run, found in measured.items() for finding in found.values()}
    wanted = {of_basis[basis] for basis in contradicted.values()}
    otherwise = {run: by_protocol(step, run, readings) for run, readings in read_runs(step) if run in wanted}

    def turn(claim: Claim) -> Iterator[Turn]:
        own = of_basis[contradicted[claim.id]]
        for (task, model, seed), found in measured.items():
            if (task, model, seed) != own:
                yield Turn("corpus", f"{task_title(task)}, {model_title(model)}, seed {seed}", found.get(claim.id))
        for how, found in otherwise[own].items():
            yield Turn("protocol", how, found.get(claim.id))

    return turned_table(read_claims("kamp2023"), judged, turn, step.profile.bootstrap.confidence)


def by_protocol(step: Step, run: Run, readings: Sequence[Reading]) -> dict[str, Found]:
    """The findings of a run at other fixed k, by the other rule of peaks, and on scores without their signs."""
    profile, spec, settings = step.profile, step.profile.agreement, quick_draws(step.profile.bootstrap)
    other_ks = {f"{k} tokens as the fixed k": k for k in FIXED if k != spec.fixed_k and k <= spec.largest_k}
    other_peaks = {f"dynamic k {title}": rule for rule, title in PEAKS.items() if rule != spec.peaks}

    def find(readings: Sequence[Reading], rule: str, ks: Mapping[str, int]) -> dict[str, Found]:
        one = spec.changed(peaks=rule)
        values, null = values_and_worlds(readings, one, LEAST_NULLS)
        return {how: findings_of(values, null, one.changed(fixed_k=k), profile, run, settings) for how, k in ks.items()}

    out = find(readings, spec.peaks, other_ks)
    for how, rule in other_peaks.items():
        out |= find(readings, rule, {how: spec.fixed_k})
    return out | find([unsigned(one) for one in readings], spec.peaks, {"scores without their signs": spec.fixed_k})
