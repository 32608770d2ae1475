"""The claims of Kamp et al. (2023) on our runs, each as a statistic of means over instances.

So its interval comes from drawing instances. Claims about an order are counted as the share of comparisons that come
out as the paper says. What the paper claims, and what counts as reproducing it, stands in paper/claims.yml.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from attreval import corpora
from attreval.config import Run
from attreval.core.bootstrap import bootstrap_statistic
from attreval.papers.common.claims import read_claims, score
from attreval.papers.common.published import reported
from attreval.papers.kamp2023.agreement import LOW
from attreval.papers.kamp2023.readings import PEOPLE, SIX, Reading, read_runs, voters
from attreval.papers.kamp2023.tables import KAMP_METHODS

SHAP, LIME, GRADIENT, INPUT, PLAIN, PATH = SIX
STRONG = (SHAP, LIME, GRADIENT)
SMALL = 5  # the largest of small k
LARGE = 10  # the largest k compared
SETTLED = 5  # the k above which the paper sees no improvement
PAIRS = tuple(combinations(SIX, 2))
LOW_PAIRS = tuple(pair for pair in PAIRS if set(pair) & set(LOW))
DYNAMIC = 0  # stands for dynamic k where a k is asked for
PREFERRED = ("esnli", "snli")  # the paper's texts, with people and without
Means = Mapping[tuple, float]


def share_above(differences: Iterable[float]) -> float:
    """Share of differences above 0; NaN where one is not known."""
    found = np.array(list(differences))
    return float("nan") if np.isnan(found).any() else float((found > 0).mean())


def highest_pair(means: Means) -> float:
    """Share of pairs and small k at which Partition SHAP and LIME agree more than the pair."""
    others = [p for p in PAIRS if p != (SHAP, LIME)]
    ks = range(1, SMALL + 1)
    return share_above(means["pair", SHAP, LIME, k] - means["pair", *other, k] for k in ks for other in others)


def three_groups(means: Means) -> float:
    """Share of comparisons at k = 4 in which a pair without the two weak methods agrees more than one with them."""
    others = [p for p in PAIRS if p not in LOW_PAIRS]
    return share_above(means["pair", *other, 4] - means["pair", *low, 4] for low in LOW_PAIRS for other in others)


def rises_with_k(means: Means) -> float:
    """Share of pairs, but for Partition SHAP and LIME, that agree more at the largest k than at 1."""
    return share_above(means["pair", *p, LARGE] - means["pair", *p, 1] for p in PAIRS if p != (SHAP, LIME))


def rises_with_k_for_people(means: Means) -> float:
    """Share of methods that agree more with people at the largest k than at 1."""
    return share_above(means[PEOPLE, m, LARGE] - means[PEOPLE, m, 1] for m in SIX)


def advantage(better: tuple[str, ...], worse: tuple[str, ...], k: int) -> Callable[[Means], float]:
    """Mean agreement with people of some methods less that of others."""
    return lambda means: float(
        np.mean([means[PEOPLE, m, k] for m in better]) - np.mean([means[PEOPLE, m, k] for m in worse])
    )


def gain(method: str, k: int) -> Callable[[Means], float]:
    """By how much dynamic k raises the mean agreement of a method's pairs over a fixed k."""
    mine = [p for p in PAIRS if method in p]
    return lambda means: float(np.mean([means["pair", *p, DYNAMIC] - means["pair", *p, k] for p in mine]))


def rank_correlation_of_k(means: Means) -> float:
    """Spearman's correlation of our six mean dynamic k with the published ones."""
    theirs = reported("kamp_dynamic_k_means")
    theirs = dict(zip(theirs.method.map(KAMP_METHODS), theirs.mean_dynamic_k, strict=True))
    ours = rankdata([means["k", m] for m in SIX])
    return float(np.corrcoef(ours, rankdata([theirs[m] for m in SIX]))[0, 1])


def gain_falls_with_k(means: Means) -> float:
    """Share of steps from k to k + 1, up to 5, at which the improvement of the two weak methods falls."""
    steps = [(m, k) for m in LOW for k in range(1, SETTLED)]
    return share_above(gain(m, k)(means) - gain(m, k + 1)(means) for m, k in steps)


def gain_above_five(means: Means) -> float:
    """The largest improvement of the two weak methods over any k above 5; the paper reports none."""
    return max(gain(m, k)(means) for m in LOW for k in range(SETTLED + 1, LARGE + 1))


STATISTICS: dict[str, Callable[[Means], float]] = {
    "shap-lime-agree-most": highest_pair,
    "three-groups": three_groups,
    "agreement-rises-with-k": rises_with_k,
    "perturbation-nearer-to-people": advantage((SHAP, LIME), (GRADIENT, INPUT, PLAIN, PATH), 4),
    "gradient-competitive-with-people": advantage((GRADIENT,), (SHAP, LIME), 4),
    "people-agreement-rises-with-k": rises_with_k_for_people,
    "dynamic-k-helps-plain-ig": gain(PLAIN, 4),
    "dynamic-k-helps-gradient-x-input": gain(INPUT, 4),
    "advantage-vanishes": advantage(STRONG, (INPUT, PLAIN, PATH), DYNAMIC),
    "dynamic-k-order": rank_correlation_of_k,
    "dynamic-k-shap": lambda means: means["k", SHAP],
    "dynamic-k-plain-ig": lambda means: means["k", PLAIN],
    "improvement-shrinks": gain_falls_with_k,
    "no-improvement-above-five": gain_above_five,
    "length-bias": lambda means: means["rise", "short"] - means["rise", "long"],
}


def values_by_instance(readings: list[Reading], spec) -> tuple[list[tuple], np.ndarray]:
    """Names of columns, and (instances, columns) values: every mean that a claim speaks of."""
    ks = (DYNAMIC, *range(1, LARGE + 1))
    lengths = np.array([len(r.tokens) for r in readings])
    short, long = np.quantile(lengths, [1 / 3, 2 / 3])

    def agree(r, names, k):
        return r.agreement_at_peaks(names, spec) if k == DYNAMIC else r.agreement_at_k(names, k, spec)

    def row(r):
        values = {("pair", a, b, k): agree(r, (a, b), k) for a, b in PAIRS for k in ks}
        values |= {(PEOPLE, m, k): agree(r, (m, PEOPLE), k) if r.marked else np.nan for m in SIX for k in ks}
        values |= {("k", m): float(r.peaks(m, spec).sum()) for m in SIX}
        rise = (r.agreement_at_k(SIX, LARGE, spec) - r.agreement_at_k(SIX, 1, spec)) / (LARGE - 1)
        return values | {
            ("rise", "short"): rise if len(r.tokens) <= short else np.nan,
            ("rise", "long"): rise if len(r.tokens) >= long else np.nan,
        }

    rows = [row(r) for r in readings]
    return list(rows[0]), np.array([list(values.values()) for values in rows])


def statistics_by_run(step) -> dict[Run, dict[str, dict]]:
    """By run that explains by all six methods, and claim: our value with its interval, and what it rests on."""
    out, settings = {}, step.profile.bootstrap
    for run, readings in read_runs(step):
        if len(voters(readings)) < len(SIX):
            continue
        names, values = values_by_instance(readings, step.profile.agreement)
        basis = f"{corpora.TASKS[run[0]].short}, {run[1]}, seed {run[2]}: {len(readings)} texts"
        out[run] = {}
        for claim, statistic in STATISTICS.items():
            found = bootstrap_statistic(
                values,
                lambda means, f=statistic, names=names: f(dict(zip(names, means, strict=True))),
                *(settings.draws, settings.confidence, "agreement", *run),
            )
            out[run][claim] = dict(zip(("value", "low", "high"), found, strict=True)) | {"basis": basis}
    return out


def claims_table(measured: dict[Run, dict[str, dict]]) -> pd.DataFrame:
    """One row a claim of Kamp et al. 2023 with our value, its interval and a verdict.

    A claim is decided on the first run that can test it: on the paper's texts where the profile has them.
    """
    order = sorted(measured, key=lambda run: (*(run[0] != task for task in PREFERRED), list(measured).index(run)))
    found = {}
    for claim in STATISTICS:
        tests = [measured[run][claim] for run in order if np.isfinite(measured[run][claim]["value"])]
        if tests:
            found[claim] = tests[0]
    return score(read_claims("kamp2023"), found)


def claims_by_run(measured: dict[Run, dict[str, dict]]) -> pd.DataFrame:
    """One row a claim and run, with the verdict that this run alone would give."""
    parts = []
    for (task, model, seed), found in measured.items():
        table = score(read_claims("kamp2023"), found)
        parts.append(table[["claim", "value", "low", "high", "verdict"]].assign(task=task, model=model, seed=seed))
    columns = ["claim", "task", "model", "seed", "value", "low", "high", "verdict"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)
