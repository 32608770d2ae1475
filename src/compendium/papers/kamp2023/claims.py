"""The claims of Kamp et al. (2023) on our runs: each with its interval over texts and what chance gives.

Letters used for shapes: n texts, p numbers a text, j null worlds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from attreval.core.seeds import generator
from compendium.config import AgreementSpec, BootstrapSpec, Profile, Run
from compendium.papers.common.claims import LEAST_NULLS, Claim, Turn, quick_draws, read_claims, score, turned_table
from compendium.papers.common.contrasts import Cell, mean_difference
from compendium.papers.common.runs import RUN, unlearned_table
from compendium.papers.common.style import model_title, task_title
from compendium.papers.common.verdicts import CONTRADICTED, LEAST_TEXTS, Finding
from compendium.papers.kamp2023.claim_statistics import (
    AT,
    published_values,
    statements,
    values_of,
    with_exchanged_names,
)
from compendium.papers.kamp2023.readings import PEOPLE, SIX, Reading, read_runs, voters
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


def findings_of(
    values: np.ndarray, null: np.ndarray, profile: Profile, run: Run, settings: BootstrapSpec, fixed_k: int
) -> Found:
    """By claim: our number with its draws and null worlds. values: (n, p) of the run's texts; null: (j, n, p)."""
    renamed = with_exchanged_names(values, settings.nulls, generator("null", "names", "agreement", *run))
    about = (*run[:2], values, range(len(values)), [0] * len(values))
    marked = int((~np.isnan(values[:, AT[PEOPLE, SIX[0], 1]])).sum())
    basis, out = f"{task_title(run[0])}, {run[1]}, seed {run[-1]}: {len(values)} texts", {}
    for claim, asked in statements(fixed_k).items():
        nulls = (lambda *_: null, (lambda *_: renamed) if asked.named else None)
        cell = Cell(*about, asked.number, asked.chosen, *nulls, drawn_by=("agreement", *run))
        found = mean_difference([cell], settings).finding_for("kamp2023", profile, basis)
        out[claim] = replace(found, texts=marked) if asked.of_people else found
    return out


def statistics_by_run(step: Step) -> dict[Run, Found]:
    """By run that explains by all six methods, and claim: our value, its draws, its nulls, and what it rests on."""
    out, profile, spec, settings = {}, step.profile, step.profile.agreement, step.profile.bootstrap
    for run, readings in read_runs(step):
        if len(voters(readings)) < len(SIX):
            continue
        found = findings_of(*values_and_worlds(readings, spec, settings.nulls), profile, run, settings, spec.fixed_k)
        void = "; ".join(unlearned_table(step, [run]).reason)
        out[run] = {claim: replace(one, reason=void) for claim, one in found.items()}
        if (given := profile.explaining_of(run[0]).shap_evaluations) != SHAP_EVALUATIONS:
            metric = f"Partition SHAP of {given} evaluations, published {SHAP_EVALUATIONS}"
            out[run]["dynamic-k-shap"] = replace(out[run]["dynamic-k-shap"], metric=metric)
    return out


def claims_table(step: Step, measured: Mapping[Run, Found]) -> pd.DataFrame:
    """One row a claim of Kamp et al. 2023 with our value, its interval, its nulls and a verdict.

    A claim is decided on the first run that can test it: on the paper's texts where the profile has them, and on runs
    of enough texts before others.
    """
    order = sorted(measured, key=lambda run: [run[0] != task for task in PREFERRED])
    found = {}
    for claim in dict.fromkeys(claim for of_run in measured.values() for claim in of_run):
        tests = [measured[run][claim] for run in order if np.isfinite(measured[run][claim].value)]
        enough = [finding for finding in tests if finding.texts >= LEAST_TEXTS and not finding.reason]
        if tests:
            found[claim] = (enough or tests)[0]
    return score(read_claims("kamp2023"), found, step.profile.bootstrap.confidence, published_values())


def claims_by_run(step: Step, measured: Mapping[Run, Found]) -> pd.DataFrame:
    """One row a claim and run, with the verdict that this run alone would give."""
    numbers = ["value", "low", "high", "null_scores", "null_names", "null_p", "q", "texts", "verdict"]
    claims, columns, level = read_claims("kamp2023"), ["claim", *RUN, *numbers], step.profile.bootstrap.confidence
    parts = [score(claims, found, level).assign(**dict(zip(RUN, run, strict=True))) for run, found in measured.items()]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def turned_claims(step: Step, measured: Mapping[Run, Found], judged: pd.DataFrame) -> pd.DataFrame:
    """One row a contradicted claim and thing turned (`turned_table`): run, fixed k, rule of peaks, sign of scores."""
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
    own, out = spec.fixed_k, {}
    unsigned = [replace(one, scores={m: np.abs(s) for m, s in one.scores.items()}) for one in readings]
    ways = [(readings, spec.peaks, {f"{k} tokens as the fixed k": k for k in FIXED if own != k <= spec.largest_k})]
    ways += [(readings, rule, {f"dynamic k {title}": own}) for rule, title in PEAKS.items() if rule != spec.peaks]
    ways.append((unsigned, spec.peaks, {"scores without their signs": own}))
    for texts, rule, ks in ways:
        found = values_and_worlds(texts, spec.changed(peaks=rule), LEAST_NULLS)
        out |= {how: findings_of(*found, profile, run, settings, k) for how, k in ks.items()}
    return out
