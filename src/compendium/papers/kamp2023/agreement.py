"""agreement@k of pairs and of groups of methods (Kamp et al. 2023, section 3 and appendix C).

How far do they select the same tokens, for each k, in each sentence, and how much of that is its length?
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import hypergeom

from attreval.core.bootstrap import bootstrap_mean
from attreval.methods import METHODS
from attreval.methods.method import KINDS
from attreval.metrics.agreement import agreement_at_k, agreement_of
from compendium.papers.common.runs import common_methods, load_attributions
from compendium.papers.kamp2023.readings import PEOPLE, SIX, agreement_runs, read_runs, tie_breaker, voters
from compendium.workflow.step import Step

LENGTHS = (10, 15, 20, 25, 30, 35, 40)  # tokens of the texts of Figure 6
LOW = ("integrated_gradients_plain", "gradient_x_input")  # methods whose pairs agree least in the paper


def mean_with_interval(step: Step, values: np.ndarray, run: tuple) -> tuple:
    """Means over instances, lower and upper bounds; instances are drawn alike in every table of a run."""
    settings = step.profile.bootstrap
    return bootstrap_mean(values, settings.draws, settings.confidence, "agreement", *run)


def group_of(a: str, b: str) -> str:
    """What kind of pair two methods are: of one kind (`both gradient`), of two (`gradient and attention`)."""
    if "random" in (a, b):
        return "with random"
    first, second = sorted((METHODS[name].kind for name in (a, b)), key=KINDS.index)
    return f"both {first}" if first == second else f"{first} and {second}"


def agreement_table(step: Step) -> pd.DataFrame:
    """One row a task, model, seed, pair of methods and k: mean agreement@k over instances with its interval."""
    profile, rows = step.profile, []
    spec, runs = profile.agreement, agreement_runs(step)
    show = step.progress("agreeing")
    for done, (task, model, seed) in enumerate(runs):
        records = load_attributions(step.results, profile, task, model, seed)
        ks = range(1, spec.largest_k + 1)
        for a, b in combinations(common_methods(records), 2):
            pair = (a, b) if spec.ties == "expectation" else _in_voting_order(a, b)
            values = np.array(
                [
                    [agreement_at_k([r[m].scores for m in pair], k, tie_breaker(spec, name, k, pair)) for k in ks]
                    for name, r in records.items()
                ]
            )
            mean, low, high = mean_with_interval(step, values, (task, model, seed))
            for i, k in enumerate(ks):
                rows.append((task, model, seed, a, b, group_of(a, b), k, mean[i], low[i], high[i], len(values)))
        show(done + 1, len(runs))
    columns = ["task", "model", "seed", "method_a", "method_b", "group", "k", "agreement", "low", "high", "instances"]
    return pd.DataFrame(rows, columns=columns)


def _in_voting_order(*pair: str) -> list[str]:
    """A pair in the order in which tables of the paper's six methods draw for their ties, so that all draw alike."""
    return sorted(pair, key=lambda name: SIX.index(name) if name in SIX else len(SIX))


def most_methods(table: pd.DataFrame) -> pd.DataFrame:
    """The part of an agreement table on the tasks that most methods explain, for figures of all pairs."""
    pairs = table.groupby("task", sort=False)[["method_a", "method_b"]].nunique().sum(axis=1)
    return table[table.task.isin(pairs.index[pairs == pairs.max()])]


def matrix_at_k(table: pd.DataFrame, k: int) -> dict[str, pd.DataFrame]:
    """By task, methods by methods, mean agreement at one k (or the largest there is); the diagonal is 1."""
    out = {}
    for task, part in table[table.k == min(k, table.k.max())].groupby("task", sort=False):
        names = list(dict.fromkeys([*part.method_a, *part.method_b]))
        matrix = pd.DataFrame(np.eye(len(names)), index=names, columns=names)
        for (a, b), value in part.groupby(["method_a", "method_b"]).agreement.mean().items():
            matrix.loc[a, b] = matrix.loc[b, a] = value
        out[task] = matrix.rename(index=lambda m: METHODS[m].title, columns=lambda m: METHODS[m].title)
    return out


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
        for length in LENGTHS if names else ():
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
