"""agreement@k of more than two methods (Kamp et al. 2023, section 3 and appendix C).

How far do they agree at once, in each sentence, and how much of that is the length of the sentence?
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import hypergeom

from attreval.methods import METHODS
from attreval.metrics.agreement import agreement_of
from compendium.papers.kamp2023.agreement import mean_with_interval
from compendium.papers.kamp2023.readings import PEOPLE, SIX, read_runs, voters

GROUPS = {"all six": SIX} | {kind: [m for m in SIX if METHODS[m].kind == kind] for kind in ("perturbation", "gradient")}


def group_table(step) -> pd.DataFrame:
    """One row a run, group of methods and k: mean agreement of the whole group; k 0 stands for dynamic k."""
    spec, rows = step.profile.agreement, []
    for run, readings in read_runs(step):
        ks = range(1, spec.largest_k + 1)
        for group, among in GROUPS.items():
            names = voters(readings, among)
            if len(names) < 2:
                continue
            values = np.array(
                [[r.agreement_at_peaks(names, spec), *(r.agreement_at_k(names, k, spec) for k in ks)] for r in readings]
            )
            mean, low, high = mean_with_interval(step, values, run)
            rows += [(*run, group, len(names), k, mean[k], low[k], high[k], len(readings)) for k in (0, *ks)]
    columns = ["task", "model", "seed", "group", "voters", "k", "agreement", "low", "high", "instances"]
    return pd.DataFrame(rows, columns=columns)


def sentence_table(step) -> pd.DataFrame:
    """One row a run and instance: tokens, agreement of all six at the fixed and at dynamic k, of people, with them.

    with_people: mean over methods, at the fixed k. people: agreement of each person's own tokens.
    """
    spec, rows = step.profile.agreement, []
    for run, readings in read_runs(step):
        names = voters(readings)
        if not names:
            continue
        for r in readings:
            people, together = np.nan, np.nan
            if r.marked:
                people = agreement_of(list(r.marks > 0))
                together = np.mean([r.agreement_at_k((m, PEOPLE), spec.fixed_k, spec) for m in names])
            found = (r.agreement_at_k(names, spec.fixed_k, spec), r.agreement_at_peaks(names, spec), people, together)
            rows.append((*run, r.instance, len(r.tokens), *found))
    columns = ["task", "model", "seed", "instance", "tokens", "methods", "methods_dynamic", "people", "with_people"]
    return pd.DataFrame(rows, columns=columns)


def length_table(step) -> pd.DataFrame:
    """One row a run, length and k: agreement of all six on texts of so many tokens (Kamp et al. 2023, appendix C).

    chance: what as many random selections would reach in expectation. Lengths that no text has are left out.
    """
    spec, rows = step.profile.agreement, []
    for run, readings in read_runs(step):
        names = voters(readings)
        for length in spec.lengths if names else ():
            inside = [r for r in readings if abs(len(r.tokens) - length) <= spec.length_tolerance]
            if not inside:
                continue
            for k in range(1, spec.largest_k + 1):
                values = [r.agreement_at_k(names, k, spec) for r in inside]
                by_chance = [chance_agreement(len(r.tokens), k, len(names)) for r in inside]
                rows.append((*run, length, k, np.mean(values), np.mean(by_chance), len(inside)))
    return pd.DataFrame(rows, columns=["task", "model", "seed", "length", "k", "agreement", "chance", "instances"])


def chance_agreement(n: int, k: int, m: int) -> float:
    """Expected agreement@k of m independent uniformly random selections of min(k, n) of n tokens.

    The union of the selections grows voter by voter; its size follows a chain of hypergeometric draws.
    """
    k = min(k, n)
    sizes = np.zeros(n + 1)
    sizes[k] = 1.0
    for _ in range(m - 1):
        grown = np.zeros(n + 1)
        for size in np.flatnonzero(sizes):
            new = np.arange(max(0, k - size), min(k, n - size) + 1)
            grown[size + new] += sizes[size] * hypergeom(n, n - size, k).pmf(new)
        sizes = grown
    reached = np.flatnonzero(sizes)
    return float((sizes[reached] * k / reached).sum())
