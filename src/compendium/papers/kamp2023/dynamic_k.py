"""Dynamic k (Kamp et al. 2023, section 4, Figure 3 and Table 1), and what small choices move.

Does a k of each profile's own bring methods, and people, closer together than one k for all? Ties, the sign of scores
and the rule of dynamic k are tried as the paper and its released code have them.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from attreval.methods import METHODS
from attreval.metrics.dynamic_k import PEAK_RULES
from compendium.papers.kamp2023.agreement import mean_with_interval
from compendium.papers.kamp2023.readings import (
    PEOPLE,
    UNSIGNED,
    agreement_runs,
    marked,
    read_runs,
    shared_readings,
    voter_title,
    voters,
    voters_and_people,
)

COMPARED = 10  # the largest fixed k that dynamic k is compared with, where the profile fixes no larger one
IMPROVED = 5  # and the largest of the paper's Table 1


def dynamic_against_fixed(step) -> pd.DataFrame:
    """One row a run, pair of voters (methods, people) and fixed k: agreement at dynamic k, at that k, the difference.

    difference: dynamic minus fixed, over the instances where dynamic agreement is defined; undefined counts the others,
    where neither voter has a peak. Instances that nobody marked do not count for people.
    """
    spec, rows = step.profile.agreement, []
    runs = agreement_runs(step)
    show = step.progress("comparing with dynamic k")
    ks = range(1, max(COMPARED, spec.fixed_k) + 1)
    for done, (run, readings) in enumerate(read_runs(step), 1):
        for a, b in combinations(voters_and_people(readings), 2):
            used = shared_readings(readings, a, b)
            dynamic = np.array([r.agreement_at_peaks((a, b), spec) for r in used])
            fixed = np.array([[r.agreement_at_k((a, b), k, spec) for k in ks] for r in used])
            mean, low, high = mean_with_interval(step, np.column_stack([dynamic, dynamic[:, None] - fixed]), run)
            undefined = int(np.isnan(dynamic).sum())
            for k in ks:
                known = (*run, a, b, k, mean[0], low[0], high[0], fixed[:, k - 1].mean(), mean[k], low[k], high[k])
                rows.append((*known, len(used), undefined))
        show(done, len(runs))
    columns = ["task", "model", "seed", "a", "b", "k", "dynamic", "low", "high", "fixed"]
    columns += ["difference", "difference_low", "difference_high", "instances", "undefined"]
    return pd.DataFrame(rows, columns=columns)


def improvement_table(step, compared: pd.DataFrame) -> pd.DataFrame:
    """One row a run, method and fixed k: what dynamic k improves over the method's pairs (Kamp et al. 2023, Table 1).

    The released code ends before its last step; `agreement.improvement` names what is done with a method's pairs.
    """
    pairs = compared[(compared.b != PEOPLE) & (compared.k <= IMPROVED)]
    add = {
        "positive": lambda differences: differences.clip(lower=0).sum(),
        "signed": lambda differences: differences.sum(),
        "mean": lambda differences: differences.mean(),
    }[step.profile.agreement.improvement]
    rows = []
    for run, part in pairs.groupby(["task", "model", "seed"], sort=False):
        for method in dict.fromkeys([*part.a, *part.b]):
            for k, inside in part[(part.a == method) | (part.b == method)].groupby("k"):
                rows.append((*run, method, k, add(inside.difference), inside.difference.min(), inside.difference.max()))
    return pd.DataFrame(rows, columns=["task", "model", "seed", "method", "k", "improvement", "least", "most"])


def dynamic_k_table(step) -> pd.DataFrame:
    """One row a run and voter: mean and spread of dynamic k, and the share of instances without any peak."""
    spec, rows = step.profile.agreement, []
    for run, readings in read_runs(step):
        for voter in voters_and_people(readings):
            used = shared_readings(readings, voter)
            counts = np.array([r.peaks(voter, spec).sum() for r in used])
            mean, low, high = mean_with_interval(step, counts, run)
            found = (float(mean), float(low), float(high), counts.std(), (counts == 0).mean(), len(used))
            rows.append((*run, voter, *found))
    columns = ["task", "model", "seed", "voter", "k", "low", "high", "sd", "without", "instances"]
    return pd.DataFrame(rows, columns=columns)


def dynamic_matrices(compared: pd.DataFrame, k: int) -> dict[str, pd.DataFrame]:
    """By task, voters by voters: agreement at dynamic k below the diagonal, its difference from a fixed k above."""
    out = {}
    for task, part in compared[compared.k == min(k, compared.k.max())].groupby("task", sort=False):
        names = list(dict.fromkeys([*part.a, *part.b]))
        matrix = pd.DataFrame(np.nan, index=names, columns=names)
        for (a, b), pair in part.groupby(["a", "b"], sort=False):
            matrix.loc[b, a], matrix.loc[a, b] = pair.dynamic.mean(), pair.difference.mean()
        out[task] = matrix.rename(index=voter_title, columns=voter_title)
    return out


def tie_table(step) -> pd.DataFrame:
    """One row a run and pair of voters at the fixed k: by expectation, and by random tie-breaks as the released code.

    draws_sd: of the data set's mean over draws. farthest: the largest distance of a draw from the expectation.
    """
    expected = step.profile.agreement.model_copy(update={"ties": "expectation", "people": "top_k"})
    rows = []
    for run, readings in read_runs(step):
        for a, b in combinations(voters_and_people(readings), 2):
            used = shared_readings(readings, a, b)
            exact = np.mean([r.agreement_at_k((a, b), expected.fixed_k, expected) for r in used])
            draws = [
                np.mean([r.agreement_at_k((a, b), expected.fixed_k, expected, draw) for r in used])
                for draw in range(expected.tie_draws)
            ]
            rows.append((*run, a, b, exact, np.mean(draws), np.std(draws), np.abs(draws - exact).max(), len(used)))
    columns = ["task", "model", "seed", "a", "b", "expected", "drawn", "draws_sd", "farthest", "instances"]
    return pd.DataFrame(rows, columns=columns)


def sign_table(step) -> pd.DataFrame:
    """One row a run, signed method and sign: agreement with the other methods and with people, signed or by size.

    The others vote as they are. The paper ranks by signed scores everywhere; `unsigned` ranks by their sizes.
    """
    spec, rows = step.profile.agreement, []
    for run, readings in read_runs(step):
        names, with_people = voters(readings), marked(readings)
        for method in names:
            if not METHODS[method].signed:
                continue
            for sign, voter in (("signed", method), ("unsigned", f"{method}{UNSIGNED}")):
                pairs = [(voter, other) for other in names if other != method]
                people_fixed, people_dynamic = np.nan, np.nan
                if with_people:
                    pair = (voter, PEOPLE)
                    people_fixed = np.mean([r.agreement_at_k(pair, spec.fixed_k, spec) for r in with_people])
                    people_dynamic = np.nanmean([r.agreement_at_peaks(pair, spec) for r in with_people])
                fixed = np.mean([r.agreement_at_k(pair, spec.fixed_k, spec) for r in readings for pair in pairs])
                dynamic = np.nanmean([r.agreement_at_peaks(pair, spec) for r in readings for pair in pairs])
                k = np.mean([r.peaks(voter, spec).sum() for r in readings])
                rows.append((*run, method, sign, fixed, dynamic, people_fixed, people_dynamic, k, len(readings)))
    columns = ["task", "model", "seed", "method", "sign", "fixed", "dynamic", "people_fixed", "people_dynamic", "k"]
    return pd.DataFrame(rows, columns=[*columns, "instances"])


def rule_table(step) -> pd.DataFrame:
    """One row a run, rule of dynamic k and voter: mean k, share without a peak, agreement with the others."""
    rows = []
    for run, readings in read_runs(step):
        names = voters(readings)
        for rule in PEAK_RULES:
            spec = step.profile.agreement.model_copy(update={"peaks": rule})
            for voter in names:
                counts = np.array([r.peaks(voter, spec).sum() for r in readings])
                pairs = [(voter, other) for other in names if other != voter]
                agreed = np.array([r.agreement_at_peaks(pair, spec) for r in readings for pair in pairs])
                mean = np.nanmean(agreed) if np.isfinite(agreed).any() else np.nan
                rows.append((*run, rule, voter, counts.mean(), (counts == 0).mean(), mean, len(readings)))
    columns = ["task", "model", "seed", "rule", "voter", "k", "without", "agreement", "instances"]
    return pd.DataFrame(rows, columns=columns)
