"""The claims of Kamp et al. (2023) on our runs: each with its interval over texts and what chance gives.

What the paper claims, and what counts as reproducing it, stands in paper/claims.yml.
Letters used for shapes: n texts, p numbers a text, j null worlds.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations, permutations

import numpy as np
import pandas as pd

from attreval.core.seeds import generator
from attreval.metrics.chunks import chosen_chunks, find_chunks
from attreval.metrics.pairwise_agreement import pairwise_agreement, pairwise_agreement_of
from compendium import corpora
from compendium.config import AgreementSpec, BootstrapSpec, Run
from compendium.papers.common.claims import read_claims, score
from compendium.papers.common.contrasts import standing
from compendium.papers.common.published import reported
from compendium.papers.common.resampling import draw, evaluate
from compendium.papers.common.verdicts import LEAST_TEXTS, Finding
from compendium.papers.kamp2023.claim_statistics import (
    CHANCE,
    CHOSEN,
    DYNAMIC,
    LARGE,
    OF_NO_METHOD,
    PAIRS,
    SPANS,
    Means,
    rank_correlation_of_k,
    statistics,
)
from compendium.papers.kamp2023.readings import PEOPLE, SIX, Reading, read_runs, voters
from compendium.papers.kamp2023.tables import KAMP_METHODS

SHAP_EVALUATIONS = 500  # of the released code; with fewer, phrases of longer texts stay whole, and their tokens tie
PREFERRED = ("esnli", "snli")  # the paper's texts, with people and without
KS = (DYNAMIC, *range(1, LARGE + 1))
NAMES = [("pair", a, b, k) for a, b in PAIRS for k in KS] + [(PEOPLE, m, k) for m in SIX for k in KS]
NAMES += [("k", m) for m in SIX] + [("rise", "short"), ("rise", "long"), (SPANS, DYNAMIC)]
NAMES += [(CHANCE, k) for k in KS]
AT = {name: at for at, name in enumerate(NAMES)}


def values_of(reading: Reading, spec: AgreementSpec, lengths: tuple[float, float]) -> np.ndarray:
    """(p,) every number of one text that a claim speaks of; NaN for people where nobody marked it, and for chance.

    lengths: the tokens up to which a text is short, and from which it is long.
    """
    names = [*SIX, PEOPLE] if reading.marked else list(SIX)
    if spec.ties == "expectation" and spec.people == "top_k":
        fixed = pairwise_agreement([reading.of(name) for name in names], KS[1:])
        dynamic = pairwise_agreement_of(np.array([reading.peaks(name, spec) for name in names]))
        table = np.concatenate([dynamic[None], fixed])
    else:
        table = np.full((len(KS), len(names), len(names)), np.nan)
        for b, a in combinations(range(len(names)), 2):
            pair = (names[b], names[a])
            ways = [reading.agreement_at_peaks(pair, spec), *(reading.agreement_at_k(pair, k, spec) for k in KS[1:])]
            table[:, a, b] = table[:, b, a] = ways
    out = np.full(len(NAMES), np.nan)
    out[: len(PAIRS) * len(KS)] = np.stack([table[:, SIX.index(a), SIX.index(b)] for a, b in PAIRS]).ravel()
    if reading.marked:
        start = AT[PEOPLE, SIX[0], DYNAMIC]
        out[start : start + len(SIX) * len(KS)] = table[:, : len(SIX), -1].T.ravel()
    peaks = np.array([reading.peaks(m, spec) for m in SIX])
    out[AT["k", SIX[0]] : AT["k", SIX[-1]] + 1] = peaks.sum(axis=1)
    by_spans = pairwise_agreement_of(chosen_chunks(peaks, find_chunks(reading.tokens)))
    out[AT[SPANS, DYNAMIC]] = by_spans[np.triu_indices(len(SIX), 1)].mean()
    rise = (reading.agreement_at_k(SIX, LARGE, spec) - reading.agreement_at_k(SIX, 1, spec)) / (LARGE - 1)
    for name, inside in (("short", len(reading.tokens) <= lengths[0]), ("long", len(reading.tokens) >= lengths[1])):
        out[AT["rise", name]] = rise if inside else np.nan
    return out


def in_random_order(reading: Reading, rng: np.random.Generator) -> Reading:
    """The text with each method's scores in a random order: as long, as tied, of the same signs."""
    return Reading(
        reading.instance, reading.tokens, {m: rng.permutation(s) for m, s in reading.scores.items()}, reading.marks
    )


def values_and_worlds(readings: list[Reading], spec: AgreementSpec, worlds: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, p) numbers of each text, and (j, n, p) those of worlds in which all scores are in a random order."""
    short, long = np.quantile([len(r.tokens) for r in readings], [1 / 3, 2 / 3])
    values = np.array([values_of(r, spec, (short, long)) for r in readings])
    null = np.empty((worlds, *values.shape))
    for at, reading in enumerate(readings):
        rng = generator("null", "scores", "agreement", reading.instance)
        for world in range(worlds):
            null[world, at] = values_of(in_random_order(reading, rng), spec, (short, long))
    by_people = null[:, :, AT[PEOPLE, SIX[0], DYNAMIC] : AT["k", SIX[0]]].reshape(
        worlds, len(values), len(SIX), len(KS)
    )
    chance = by_people.mean(axis=(0, 2))  # (n, k): nobody in particular agrees with people
    values[:, AT[CHANCE, DYNAMIC] :] = null[..., AT[CHANCE, DYNAMIC] :] = chance
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
    values: np.ndarray, null: np.ndarray, spec: AgreementSpec, bootstrap: BootstrapSpec, names: tuple
) -> dict[str, Finding]:
    """By claim: our number with its draws and null worlds. values: (n, p); null: (j, n, p); names: of the run."""
    texts = np.arange(len(values))
    sample = draw(texts, [0], bootstrap.draws, "agreement", *names).sample(texts, np.zeros(len(texts), int))
    renamed = with_exchanged_names(values, bootstrap.nulls, generator("null", "names", "agreement", *names))
    people = ~np.isnan(values[:, AT[PEOPLE, SIX[0], 1]])
    out = {}
    for claim, statistic in statistics(spec.fixed_k).items():
        chosen = claim in CHOSEN

        def number(fit, read, f=statistic, chosen=chosen):
            return f(Means(AT, fit), Means(AT, read)) if chosen else f(Means(AT, read))

        drawn, by_scores, by_names = (evaluate(sample, v, number, chosen) for v in (values, null, renamed))
        by_names = np.zeros(0) if claim in OF_NO_METHOD else by_names
        size = int(people.sum()) if _of_people(claim) else len(values)
        out[claim] = Finding(float(drawn[0]), drawn[1:], by_scores, by_names, texts=size, models=1)
    return out


def _of_people(claim: str) -> bool:
    return "people" in claim or claim == "advantage-vanishes"


def statistics_by_run(step) -> dict[Run, dict[str, Finding]]:
    """By run that explains by all six methods, and claim: our value, its draws, its nulls, and what it rests on."""
    out, profile = {}, step.profile
    for run, readings in read_runs(step):
        if len(voters(readings)) < len(SIX):
            continue
        values, null = values_and_worlds(readings, profile.agreement, profile.bootstrap.nulls)
        about = standing("kamp2023", [run[0]], [run[1]], profile)
        about["basis"] = f"{corpora.TASKS[run[0]].short}, {run[1]}, seed {run[2]}: {len(readings)} texts"
        found = findings_of(values, null, profile.agreement, profile.bootstrap, run)
        out[run] = {claim: Finding(**vars(finding) | about) for claim, finding in found.items()}
        if (given := profile.explaining_of(run[0]).shap_evaluations) != SHAP_EVALUATIONS:
            metric = f"Partition SHAP of {given} evaluations, published {SHAP_EVALUATIONS}"
            out[run]["dynamic-k-shap"] = replace(out[run]["dynamic-k-shap"], metric=metric)
    return out


def claims_table(measured: dict[Run, dict[str, Finding]], confidence: float = 0.95) -> pd.DataFrame:
    """One row a claim of Kamp et al. 2023 with our value, its interval, its nulls and a verdict.

    A claim is decided on the first run that can test it: on the paper's texts where the profile has them, and on runs
    of enough texts before others.
    """
    order = sorted(measured, key=lambda run: (*(run[0] != task for task in PREFERRED), list(measured).index(run)))
    found = {}
    for claim in dict.fromkeys(claim for of_run in measured.values() for claim in of_run):
        tests = [measured[run][claim] for run in order if np.isfinite(measured[run][claim].value)]
        enough = [finding for finding in tests if finding.texts >= LEAST_TEXTS]
        if tests:
            found[claim] = (enough or tests)[0]
    return score(read_claims("kamp2023"), found, confidence, published_values())


def claims_by_run(measured: dict[Run, dict[str, Finding]], confidence: float = 0.95) -> pd.DataFrame:
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
    values, found = np.full((1, len(NAMES)), np.nan), {}
    steps = [gains[m, at] > gains[m, at + 1] for m in set(ours.method) for at in range(1, 5)]
    found["improvement-shrinks"] = float(np.mean(steps))
    values[0, AT["k", SIX[0]] : AT["k", SIX[-1]] + 1] = [k[m] for m in SIX]
    found["dynamic-k-order"] = float(rank_correlation_of_k(Means(AT, values))[0])
    found |= {
        "dynamic-k-shap": float(k["partition_shap"]),
        "dynamic-k-plain-ig": float(k["integrated_gradients_plain"]),
    }
    return found
