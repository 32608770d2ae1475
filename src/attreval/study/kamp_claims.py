"""Which claims of Kamp et al. (2023) hold on our runs? Each as a number of ours, with an interval and a verdict.

A claim is a statistic of means over instances, so that its interval comes from drawing instances. Claims about an order
of means are counted as the share of comparisons that come out as the paper says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from attreval.judge.intervals import bootstrap_statistic
from attreval.study.published import KAMP_METHODS, reported
from attreval.study.reading import PEOPLE, SIX, Reading, read_run, voters
from attreval.study.voting import at_k, at_peaks, peaks_of

SHAP, LIME, GRADIENT, INPUT, PLAIN, PATH = SIX
LOW, STRONG = (PLAIN, INPUT), (SHAP, LIME, GRADIENT)
SMALL, LARGE, SETTLED = 5, 10, 5  # small k, the largest k compared, the k above which the paper sees no improvement
DYNAMIC = 0  # stands for dynamic k where a k is asked for
Means = Mapping[tuple, float]


@dataclass(frozen=True)
class Claim:
    """One claim. reported: what the paper says, in its terms. measure: our number, from means over instances.

    compare: `positive` (the paper says above 0), `share` (it says 1, all comparisons), `negligible` (it says about 0).
    """

    id: str
    where: str
    statement: str
    reported: str
    measure: Callable[[Means], float]
    compare: str


def pair(means: Means, a: str, b: str, k: int) -> float:
    """Mean agreement of two methods."""
    return means["pair", *sorted((a, b), key=SIX.index), k]


def pairs() -> list[tuple[str, str]]:
    """The 15 pairs of the six methods."""
    return list(combinations(SIX, 2))


def share_above(differences: Iterable[float]) -> float:
    """Share of differences above 0; NaN where one is not known."""
    found = np.array(list(differences))
    return float("nan") if np.isnan(found).any() else float((found > 0).mean())


def low_pairs() -> list[tuple[str, str]]:
    """Pairs with plain integrated gradients or Gradient x Input."""
    return [p for p in pairs() if set(p) & set(LOW)]


def highest_pair(means: Means) -> float:
    others = [p for p in pairs() if p != (SHAP, LIME)]
    ks = range(1, SMALL + 1)
    return share_above(pair(means, SHAP, LIME, k) - pair(means, *other, k) for k in ks for other in others)


def three_groups(means: Means) -> float:
    others = [p for p in pairs() if p not in low_pairs()]
    return share_above(pair(means, *other, 4) - pair(means, *low, 4) for low in low_pairs() for other in others)


def rises_with_k(means: Means) -> float:
    return share_above(pair(means, *p, LARGE) - pair(means, *p, 1) for p in pairs() if p != (SHAP, LIME))


def advantage(means: Means, better: tuple[str, ...], k: int) -> float:
    """Mean agreement with people of some methods minus that of the others of the six."""
    return float(
        np.mean([means[PEOPLE, m, k] for m in better]) - np.mean([means[PEOPLE, m, k] for m in SIX if m not in better])
    )


def rises_with_k_for_people(means: Means) -> float:
    return share_above(means[PEOPLE, m, LARGE] - means[PEOPLE, m, 1] for m in SIX)


def gain(method: str, k: int) -> Callable[[Means], float]:
    """By how much dynamic k raises the mean agreement of a method's pairs over a fixed k."""
    mine = [p for p in pairs() if method in p]
    return lambda means: float(np.mean([pair(means, *p, DYNAMIC) - pair(means, *p, k) for p in mine]))


def order_of_k(means: Means) -> float:
    """Spearman's correlation of our six mean dynamic k with the published ones."""
    theirs = reported("kamp_dynamic_k_means")
    theirs = dict(zip(theirs.method.map(KAMP_METHODS), theirs.mean_dynamic_k, strict=True))
    ours = rankdata([means["k", m] for m in SIX])
    return float(np.corrcoef(ours, rankdata([theirs[m] for m in SIX]))[0, 1])


def shrinks(means: Means) -> float:
    """Share of steps from k to k + 1, up to 5, at which the improvement of the two weak methods falls."""
    steps = [(m, k) for m in LOW for k in range(1, SETTLED)]
    return share_above(gain(m, k)(means) - gain(m, k + 1)(means) for m, k in steps)


def settled(means: Means) -> float:
    """The largest improvement of the two weak methods over any k above 5; the paper reports none."""
    return max(gain(m, k)(means) for m in LOW for k in range(SETTLED + 1, LARGE + 1))


CLAIMS = tuple(
    Claim(*parts)
    for parts in (
        ("C1", "Fig. 2a", "Partition SHAP and LIME agree most, k = 1 to 5", "highest of 15", highest_pair, "share"),
        ("C2", "Fig. 2a", "pairs with plain IG or Gradient x Input agree least, k = 4", "all", three_groups, "share"),
        ("C3", "section 3", "agreement of the other pairs rises with k", "all", rises_with_k, "share"),
        ("C4a", "Fig. 2b", "people agree more with perturbation than with gradients, k = 4", "above 0")
        + (lambda means: advantage(means, (SHAP, LIME), 4), "positive"),
        ("C4b", "Fig. 2b", "agreement with people rises with k", "all six", rises_with_k_for_people, "share"),
        ("C5a", "Fig. 3", "dynamic k brings plain IG closer to the others than k = 4", "above 0")
        + (gain(PLAIN, 4), "positive"),
        ("C5b", "Fig. 3", "dynamic k brings Gradient x Input closer to the others than k = 4", "above 0")
        + (gain(INPUT, 4), "positive"),
        ("C6", "abstract", "at dynamic k SHAP, LIME and Gradient lose their advantage with people", "about 0")
        + (lambda means: advantage(means, STRONG, DYNAMIC), "negligible"),
        ("C7", "section 4", "mean dynamic k: the order of the six methods", "SHAP to plain IG", order_of_k, "share"),
        (
            "C8a",
            "Table 1",
            "what dynamic k improves in the two weak methods falls with k",
            "each step",
            shrinks,
            "share",
        ),
        (
            "C8b",
            "section 5",
            "above k = 5 dynamic k improves nothing",
            "none",
            lambda means: -settled(means),
            "positive",
        ),
        ("C9", "Fig. 6", "agreement rises faster with k in short texts than in long ones", "above 0")
        + (lambda means: means["rise", "short"] - means["rise", "long"], "positive"),
    )
)


def measure(readings: list[Reading], spec) -> tuple[list[tuple], np.ndarray]:
    """Names of columns, and (instances, columns) values: every mean that a claim speaks of."""
    ks = (DYNAMIC, *range(1, LARGE + 1))
    lengths = np.array([len(r.pieces) for r in readings])
    short, long = np.quantile(lengths, [1 / 3, 2 / 3])

    def agree(r, names, k):
        return at_peaks(r, names, spec) if k == DYNAMIC else at_k(r, names, k, spec)

    def row(r):
        values = {("pair", a, b, k): agree(r, (a, b), k) for a, b in pairs() for k in ks}
        values |= {(PEOPLE, m, k): agree(r, (m, PEOPLE), k) if r.marked else np.nan for m in SIX for k in ks}
        values |= {("k", m): float(peaks_of(r, m, spec).sum()) for m in SIX}
        rise = (at_k(r, SIX, LARGE, spec) - at_k(r, SIX, 1, spec)) / (LARGE - 1)
        return values | {
            ("rise", "short"): rise if len(r.pieces) <= short else np.nan,
            ("rise", "long"): rise if len(r.pieces) >= long else np.nan,
        }

    rows = [row(r) for r in readings]
    return list(rows[0]), np.array([list(values.values()) for values in rows])


def verdict(claim: Claim, value: float, low: float, high: float) -> str:
    """reproduced, direction only, not reproduced, or not testable here.

    positive: the whole interval above 0, or the value alone. share: all comparisons (0.95, for sampling), or more than
    half of them. negligible: the interval holds 0, or the value is below 0.05 in size, a tenth of the scale's length.
    """
    if np.isnan(value):
        return "not testable here"
    if claim.compare == "negligible":
        return "reproduced" if low <= 0 <= high else "direction only" if abs(value) < 0.05 else "not reproduced"
    full, half = (low > 0, value > 0) if claim.compare == "positive" else (value >= 0.95, value > 0.5)
    return "reproduced" if full else "direction only" if half else "not reproduced"


def claim_table(step) -> pd.DataFrame:
    """One row a claim and run that explains by all six methods: our number, its interval, the verdict."""
    rows, settings = [], step.profile.bootstrap
    for run in step.profile.explained_runs("agreement"):
        readings = read_run(step, run)
        if len(voters(readings)) < len(SIX):
            continue
        names, values = measure(readings, step.profile.agreement)
        for claim in CLAIMS:

            def statistic(means, claim=claim, names=names):
                return claim.measure(dict(zip(names, means, strict=True)))

            found = bootstrap_statistic(values, statistic, settings.draws, settings.level, "agreement", *run)
            known = (claim.id, claim.where, claim.statement, claim.reported, *run)
            rows.append((*known, claim.compare, *found, verdict(claim, *found), len(readings)))
    columns = ["claim", "where", "statement", "reported", "task", "model", "seed", "compare", "value", "low", "high"]
    return pd.DataFrame(rows, columns=[*columns, "verdict", "instances"])


def note_claims(step, table: pd.DataFrame) -> None:
    """Keep each verdict and value, and how many claims came out in which way."""
    for row in table.drop_duplicates(["claim", "task"]).itertuples():
        step.number(f"claims.kamp.{row.claim}.{row.task}", float(row.value), 3)
        step.number(f"claims.kamp.{row.claim}.{row.task}_verdict", row.verdict)
    for task, part in table.groupby("task", sort=False):
        for word in ("reproduced", "direction only", "not reproduced"):
            step.number(f"claims.kamp.{task}.{word.replace(' ', '_')}", int((part.verdict == word).sum()))
        step.number(f"claims.kamp.{task}.testable", int((part.verdict != "not testable here").sum()))
