"""Do two metrics put the explanation methods in the same order? (tau-b, Kendall 1945)

Beside it what chance gives (methods with exchanged names), what an equal pair gives (a metric
against itself on other texts), and what it rests on: the mean that each metric gives each method,
and where random scores stand among them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import pandas as pd

from attreval.core.bootstrap import percentile_interval
from attreval.core.seeds import generator
from attreval.methods import METHODS
from attreval.metrics import rank_correlation
from attreval.metrics.rank_correlation import Correlation, Drawn
from compendium.papers.common.tables import put_together, spell, table_of
from compendium.papers.common.verdicts import adjust, discovery_rate
from compendium.papers.joint import over_runs
from compendium.papers.joint.over_runs import SURE, UNSURE, VERDICTS
from compendium.papers.joint.values import (
    COLUMNS,
    JOINT,
    JUDGES,
    keep_scores,
    score_instances,
    token_jobs,
)
from compendium.workflow.step import Step

RUN = ["task", "model", "granularity"]
# explanations of tokens, or several types at equal numbers of tokens -> the name that the
# bootstrap's draws derive from
GRANULARITIES = {"tokens": "tokens", "unified": "pieces"}
POOLED = "all runs"
EXCHANGES = 1999  # of methods' names
SPLITS = 100  # of texts into halves
# random is near the bottom where at most so many of the other methods come below it
BOTTOM_SHARE = 0.25

JointRun = tuple[str, str, str]  # task, model and granularity


@dataclass(frozen=True)
class JointScores:
    """values: one row an instance, method and metric. runs: the metrics' drawn means."""

    values: pd.DataFrame
    runs: dict[JointRun, Drawn]


def score_all(step: Step) -> JointScores:
    """Score every explanation by every metric."""
    scored = step.ask_side_by_side(score_instances, token_jobs(step), "scoring")
    values = keep_scores(step, put_together([pd.DataFrame(columns=COLUMNS), *scored]))
    return JointScores(values, draw_runs(values, step.profile.bootstrap.draws))


def draw_runs(values: pd.DataFrame, draws: int) -> dict[JointRun, Drawn]:
    """The metrics' means of every run, and of drawn texts, alike for the models of a task."""
    out = {}
    for (task, model, granularity), part in values.groupby(RUN, sort=False):
        arrays, methods = _as_arrays(part)
        names = (task, GRANULARITIES[granularity])
        out[task, model, granularity] = rank_correlation.draw_judges(arrays, methods, draws, *names)
    return out


def _as_arrays(part: pd.DataFrame) -> tuple[dict[str, np.ndarray], list[str]]:
    """Metric -> (seeds, instances, methods) of one run's values, NaN for none; the methods."""
    known = part[part.value.notna()]
    methods = [name for name in METHODS if name in set(known.method)]
    levels = [sorted(set(known.seed)), known.instance.unique(), methods]
    every = pd.MultiIndex.from_product(levels)
    out = {}
    for metric in (name for name in JOINT if name in set(known.metric)):
        rows = known[known.metric == metric].set_index(["seed", "instance", "method"]).value
        out[metric] = rows.reindex(every).to_numpy().reshape(*map(len, levels))
    return out, methods


@table_of("task model granularity method metric better mean low high n")
def mean_values(scores: JointScores, confidence: float) -> Iterator[tuple]:
    """One row a run, method and metric: mean and interval.

    n: texts times seeds; better: what the metric itself prefers.
    """
    for run, drawn in scores.runs.items():
        for metric, means in drawn.means.items():
            better = JOINT[metric].turned or "higher"
            low, high = percentile_interval(drawn.drawn[metric], confidence)
            for at, method in enumerate(drawn.methods):
                if n := drawn.counts[metric][at]:
                    yield *run, method, metric, better, means[at], low[at], high[at], n


def counts_table(values: pd.DataFrame) -> pd.DataFrame:
    """One row: how many runs, texts and methods (but random scores) have a value."""
    known = values[values.value.notna()]
    found = {
        "runs": len(known.drop_duplicates(RUN)),
        "texts": len(known.drop_duplicates(["task", "instance"])),
        "methods": known.method[known.method != "random"].nunique(),
    }
    return pd.DataFrame([found])


def correlation_table(scores: JointScores, confidence: float) -> pd.DataFrame:
    """tau-b over methods: one row a pair of metrics and run, and one for all runs.

    Random scores are left out. methods: over how many; runs: how many are pooled. q: bootstrap p
    that tau has the other sign, at the false discovery rate of all single runs, or of all pooled
    values, of a granularity. verdict: see `over_runs.verdict`; what does not stay
    below the rate cannot be told. p_names: how often exchanged names of methods, the same in all
    runs, give as much; beyond_names: whether that is below the rate, too.
    """
    table = _correlate_pairs(scores, confidence).astype({"methods": "Int64"})
    family = table.groupby([table.granularity, table.task == POOLED])
    table.insert(len(table.columns) - 1, "q", family.p.transform(adjust))
    rate = discovery_rate(confidence)
    unsure = table.verdict.isin(SURE) & (table.q > rate)
    beyond_names = family.p_names.transform(adjust) <= rate
    return table.assign(verdict=table.verdict.mask(unsure, UNSURE), beyond_names=beyond_names)


@table_of("task model granularity metric_a metric_b tau low high methods runs p p_names verdict")
def _correlate_pairs(scores: JointScores, confidence: float) -> Iterator[tuple]:
    """The rows of single runs and of all runs, before they are adjusted to each other."""
    names = sorted({method for drawn in scores.runs.values() for method in drawn.methods})
    orders = np.tile(np.arange(len(names)), (1 + EXCHANGES, 1))
    orders[1:] = generator("exchanged names").permuted(orders[1:], axis=1)
    for (a, b), granularity in product(combinations(JOINT, 2), GRANULARITIES):
        single = []
        for run, drawn in scores.runs.items():
            if run[2] == granularity and {a, b} <= {*drawn.means}:
                found = rank_correlation.correlate_means(drawn, a, b, names=run)
                single.append(_Correlated(run, [drawn], found, found.over, 1))
        pooled = []
        if single:
            every = [drawn for one in single for drawn in one.read]
            found = over_runs.pool([one.found for one in single])
            of_all = (POOLED, POOLED, granularity)
            pooled = [_Correlated(of_all, every, found, None, found.over)]
        for one in [*single, *pooled]:
            draws = one.found.drawn
            low, high = map(float, percentile_interval(draws, confidence))
            seen, *exchanged = over_runs.exchange_methods(one.read, a, b, names, orders)
            p_names = over_runs.p_of_names(seen, np.array(exchanged))
            tau = (one.found.tau, low, high)
            told = (_p_of_sign(draws), p_names, over_runs.verdict(low, high))
            yield *one.run, a, b, *tau, one.methods, one.runs, *told


class _Correlated(NamedTuple):
    """The correlation of two metrics in a run, or in all: over how many methods, of how many runs.

    read: the drawn means that it rests on. methods: None where runs with other methods are pooled.
    """

    run: JointRun
    read: list[Drawn]
    found: Correlation
    methods: int | None
    runs: int


def _p_of_sign(drawn: np.ndarray) -> float:
    """Two-sided bootstrap p that a number has the other sign; NaN where nothing was drawn."""
    known = drawn[~np.isnan(drawn)]
    if not len(known):
        return np.nan
    fewer = min((known <= 0).sum(), (known >= 0).sum())
    return min(1.0, 2 * (fewer + 1) / (len(known) + 1))


def reliability_table(scores: JointScores) -> pd.DataFrame:
    """One row a granularity and metric: its tau-b with itself on other texts.

    Random scores are left out. Mean over random halvings and `runs`. Two metrics may agree more
    than that: they are asked about the same texts.
    """
    by = ["granularity", "metric", "title"]
    found = _correlate_halves(scores).dropna().groupby(by).tau
    table = found.agg(tau="mean", lowest="min", highest="max", runs="size").reset_index()
    order = table.metric.map(list(JOINT).index)
    at = np.lexsort((order, table.granularity != "tokens"))
    return table.iloc[at].reset_index(drop=True)


@table_of("granularity metric title tau")
def _correlate_halves(scores: JointScores) -> Iterator[tuple]:
    """One row a run and metric."""
    for run, part in scores.values.groupby(RUN, sort=False):
        arrays, _ = _as_arrays(part[part.method != "random"])
        for metric, values in arrays.items():
            rng = generator("halves", *run, metric)
            tau = over_runs.against_itself(values, SPLITS, rng)
            yield run[2], metric, JOINT[metric].title, tau


def pooled_table(table: pd.DataFrame) -> pd.DataFrame:
    """The pooled rank correlations that were measured. between: of two judges' metrics."""
    part = table[(table.task == POOLED) & (table.verdict != "not measured")]
    titles = {name: metric.title for name, metric in JOINT.items()}
    title_a = part.metric_a.map(titles)
    title_b = part.metric_b.map(titles)
    between = part.metric_a.map(JUDGES) != part.metric_b.map(JUDGES)
    pair = title_a + " and " + title_b
    found = part.assign(title_a=title_a, title_b=title_b, pair=pair, between=between)
    kept = "granularity title_a title_b pair tau low high runs verdict beyond_names between"
    return found[spell(kept)]


@table_of("granularity within between agree contradict open highest_pair highest")
def judges_table(pooled: pd.DataFrame) -> Iterator[tuple]:
    """One row a granularity: pairs of one judge's metrics and of two judges', and what these do."""
    for granularity in GRANULARITIES:
        part = pooled[pooled.granularity == granularity]
        apart = part[part.between].sort_values("tau", ascending=False, kind="stable")
        counts = [(apart.verdict == word).sum() for word in VERDICTS]
        highest = next(apart[["pair", "tau"]].itertuples(index=False), ("", np.nan))
        yield granularity, len(part) - len(apart), len(apart), *counts, *highest


@table_of("granularity verdict count pairs")
def pairs_by_verdict(pooled: pd.DataFrame) -> Iterator[tuple]:
    """One row a granularity and verdict: which pairs of metrics, the strongest first."""
    for granularity, word in product(GRANULARITIES, VERDICTS):
        said = pooled[(pooled.granularity == granularity) & (pooled.verdict == word)]
        yield granularity, word, len(said), _list_pairs(said)


@table_of("granularity told beyond chance")
def chance_table(pooled: pd.DataFrame) -> Iterator[tuple]:
    """One row a granularity: the pairs that texts tell from zero.

    beyond: how many exceed what exchanged names give; chance: the others.
    """
    for granularity in GRANULARITIES:
        told = pooled[(pooled.granularity == granularity) & pooled.verdict.isin(SURE)]
        by_chance = _list_pairs(told[~told.beyond_names])
        yield granularity, len(told), told.beyond_names.sum(), by_chance


def _list_pairs(pooled: pd.DataFrame) -> str:
    """Pairs of metrics with their rank correlation, the strongest first."""
    strongest = pooled.reindex(pooled.tau.abs().sort_values(ascending=False, kind="stable").index)
    return "; ".join(f"{row.pair} ({row.tau:.2f})" for row in strongest.itertuples())


def random_baseline_table(scores: JointScores, confidence: float) -> pd.DataFrame:
    """One row a run and metric: where random scores stand among the methods.

    below: methods with a lower mean; surely_below: those that stay below random at the false
    discovery rate of all methods, metrics and runs. at_bottom: whether at most BOTTOM_SHARE of the
    methods are below.
    """
    table = _compare_with_random(scores)
    surely = adjust(table.p) <= discovery_rate(confidence)
    by = table.assign(surely=surely).groupby([*RUN, "metric"], sort=False)
    found = by.agg(
        random=("random", "first"),
        methods=("below", "size"),
        below=("below", "sum"),
        surely_below=("surely", "sum"),
    )
    at_bottom = found.below <= BOTTOM_SHARE * found.methods
    return found.assign(at_bottom=at_bottom).reset_index()


@table_of("task model granularity metric random below p")
def _compare_with_random(scores: JointScores) -> Iterator[tuple]:
    """One row a run, metric and other method: whether it is below random scores, and p of that."""
    for run, drawn in scores.runs.items():
        if "random" not in drawn.methods:
            continue
        at = drawn.methods.index("random")
        for metric, means in drawn.means.items():
            if np.isnan(means[at]):
                continue
            draws = drawn.drawn[metric]
            for other in np.flatnonzero(~np.isnan(means)):
                if other != at:
                    below = means[other] < means[at]
                    p = _p_of_sign(draws[:, other] - draws[:, at]) if below else 1.0
                    yield *run, metric, means[at], below, p


def random_baseline_by_metric(table: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: in how many runs random scores are near the bottom, and sums.

    mostly_at_bottom: in at least half of them.
    """
    by_metric = table.groupby("metric", sort=False)
    sums = by_metric[["at_bottom", "methods", "below", "surely_below"]].sum()
    sums["runs"] = by_metric.size()
    found = sums.reindex([metric for metric in JOINT if metric in sums.index]).reset_index()
    titles = [JOINT[metric].title for metric in found.metric]
    return found.assign(title=titles, mostly_at_bottom=found.at_bottom >= found.runs / 2)
