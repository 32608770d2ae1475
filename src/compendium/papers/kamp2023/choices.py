"""Ties, the sign of scores and the rule of dynamic k, as Kamp et al. (2023) and their released code have them.

How far do these small choices move the results?
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from attreval.methods import METHODS
from attreval.metrics.dynamic_k import PEAK_RULES
from compendium.papers.kamp2023.readings import (
    PEOPLE,
    UNSIGNED,
    marked,
    read_runs,
    shared_readings,
    voters,
    voters_and_people,
)


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
