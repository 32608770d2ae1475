"""Rank correlation of metrics: do two metrics put the explanation methods in the same order? (tau-b, Kendall 1945)

Beside it what chance gives (methods with exchanged names), what an equal pair gives (a metric against itself on other
texts), and what it rests on: the mean that each metric gives each method, and where random scores stand among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from attreval.core.bootstrap import percentile_interval
from attreval.core.seeds import generator
from attreval.methods import METHODS
from attreval.metrics.rank_correlation import (
    VERDICTS,
    Drawn,
    against_itself,
    correlate,
    draw_judges,
    exchange_names,
    p_of_names,
    pool,
    verdict,
)
from compendium.papers.common.verdicts import adjust
from compendium.papers.joint.budgets import BUDGET_COLUMNS, budget_jobs, explain_at_budgets
from compendium.papers.joint.values import JOINT, read_unified_values, score_instances, token_jobs
from compendium.workflow.step import Step

RUN = ["task", "model", "granularity"]
# explanations of tokens, or several types at equal numbers of tokens -> the name that the bootstrap's draws derive from
GRANULARITIES = {"tokens": "tokens", "unified": "pieces"}
POOLED = "all runs"
EXCHANGES = 1999  # of methods' names
SPLITS = 100  # of texts into halves
BOTTOM_SHARE = 0.25  # random is near the bottom where at most so many of the other methods come below it


@dataclass(frozen=True)
class JointScores:
    """values: one row an instance, method and metric. runs: (task, model, granularity) -> the metrics' drawn means.

    budgets: one row a method, budget, seed and instance of the study of budgets; budget_scores: (n,) of each row.
    """

    values: pd.DataFrame
    runs: dict[tuple[str, str, str], Drawn]
    budgets: pd.DataFrame
    budget_scores: list[np.ndarray]


def score_all(step: Step) -> JointScores:
    """Score every explanation by every metric, and explain with growing budgets by the methods that sample."""
    profile = step.profile
    growing, scoring = budget_jobs(step), token_jobs(step)
    # what takes longest first: no process is left alone with it at the end
    jobs = [*((explain_at_budgets, *job) for job in growing), *((score_instances, *job) for job in scoring)]
    found = step.side_by_side(_call, jobs, "scoring")
    explained, scored = found[: len(growing)], found[len(growing) :]
    step.note_evaluations((job[2], costs) for job, (_, costs) in zip(scoring, scored, strict=True))
    frames = [frame.assign(granularity="tokens") for frame, _ in scored]
    frames.append(read_unified_values(step).assign(granularity="unified"))
    values = pd.concat([frame for frame in frames if len(frame)] or frames[-1:], ignore_index=True)
    budgets = pd.DataFrame([row for rows, _ in explained for row in rows], columns=BUDGET_COLUMNS)
    return JointScores(
        values, draw_runs(values, profile.bootstrap.draws), budgets, [s for _, some in explained for s in some]
    )


def draw_runs(values: pd.DataFrame, draws: int) -> dict[tuple[str, str, str], Drawn]:
    """The metrics' means of every run with those of drawn texts; models of a task read the same texts."""
    return {
        (task, model, granularity): draw_judges(*_as_arrays(part), draws, task, GRANULARITIES[granularity])
        for (task, model, granularity), part in values.groupby(RUN, sort=False)
    }


def summary_table(scores: JointScores, confidence: float) -> pd.DataFrame:
    """One row a run, method and metric: mean, interval, n (texts times seeds), what the metric itself finds better."""
    rows = []
    for run, drawn in scores.runs.items():
        for metric, means in drawn.means.items():
            low, high = percentile_interval(drawn.drawn[metric], confidence)
            better, counts = JOINT[metric].turned or "higher", drawn.counts[metric]
            rows += [
                (*run, method, metric, better, means[i], low[i], high[i], counts[i])
                for i, method in enumerate(drawn.methods)
                if counts[i]
            ]
    return pd.DataFrame(rows, columns=[*RUN, "method", "metric", "better", "mean", "low", "high", "n"])


def counts_table(values: pd.DataFrame) -> pd.DataFrame:
    """One row: how many runs, texts and methods (but random scores) have a value."""
    known = values[values.value.notna()]
    methods = known[known.method != "random"].method.nunique()
    counts = (len(known.drop_duplicates(RUN)), len(known.drop_duplicates(["task", "instance"])), methods)
    return pd.DataFrame([counts], columns=["runs", "texts", "methods"])


def correlation_table(scores: JointScores, confidence: float) -> pd.DataFrame:
    """One row a pair of metrics and run, and one for all runs of a granularity: tau-b over methods, random left out.

    methods: over how many; runs: how many are pooled. q: bootstrap p that tau has the other sign, at the false
    discovery rate of all single runs, or of all pooled values, of a granularity. verdict: see
    metrics.rank_correlation.verdict; what does not stay below the rate cannot be told. p_names: how often exchanged
    names of methods, the same in all runs, give as much; beyond_names: whether that is below the rate, too.
    """
    rows, names = [], sorted({method for drawn in scores.runs.values() for method in drawn.methods})
    orders = generator("exchanged names").permuted(np.tile(np.arange(len(names)), (EXCHANGES, 1)), axis=1)
    for a, b in combinations(JOINT, 2):
        for granularity in GRANULARITIES:
            of_runs = {
                run: correlate(drawn, a, b)
                for run, drawn in scores.runs.items()
                if run[2] == granularity and a in drawn.means and b in drawn.means
            }
            found = [((run,), run, tau, drawn, methods, 1) for run, (tau, drawn, methods) in of_runs.items()]
            if of_runs:
                tau, drawn, pooled = pool(list(of_runs.values()))
                found.append((tuple(of_runs), (POOLED, POOLED, granularity), tau, drawn, None, pooled))
            for read, run, tau, drawn, methods, runs in found:
                low, high = (float(bound) for bound in percentile_interval(drawn, confidence))
                by_chance = p_of_names(tau, exchange_names([scores.runs[one] for one in read], a, b, names, orders))
                p = (_p_of_sign(drawn), by_chance)
                rows.append((*run, a, b, tau, low, high, methods, runs, *p, verdict(low, high)))
    columns = [*RUN, "metric_a", "metric_b", "tau", "low", "high", "methods", "runs", "p", "p_names", "verdict"]
    table = pd.DataFrame(rows, columns=columns).astype({"methods": "Int64"})
    family = table.groupby([table.granularity, table.task == POOLED], sort=False)
    q, q_names = (family[name].transform(lambda p: adjust(p.to_numpy())) for name in ("p", "p_names"))
    table.insert(len(columns) - 1, "q", q)
    rate = 1 - confidence + 1e-12
    unsure = table.verdict.isin(VERDICTS[:2]) & (table.q > rate)
    return table.assign(verdict=table.verdict.mask(unsure, VERDICTS[2]), beyond_names=q_names <= rate)


def reliability_table(scores: JointScores) -> pd.DataFrame:
    """One row a granularity and metric: tau-b of the metric with itself on two halves of the texts, random left out.

    The mean over random halvings and over the `runs` that it applies to. Two metrics may agree more than that: they
    are asked about the same texts.
    """
    rows = []
    for (task, model, granularity), part in scores.values.groupby(RUN, sort=False):
        arrays, _ = _as_arrays(part[part.method != "random"])
        for metric, values in arrays.items():
            tau = against_itself(values, SPLITS, generator("halves", task, model, granularity, metric))
            rows.append((granularity, metric, JOINT[metric].title, tau))
    table = pd.DataFrame(rows, columns=["granularity", "metric", "title", "tau"]).dropna()
    by = table.groupby(["granularity", "metric", "title"], sort=False).tau
    found = by.agg(tau="mean", lowest="min", highest="max", runs="size").reset_index()
    order = found.metric.map(list(JOINT).index)
    return found.iloc[np.lexsort((order, found.granularity != "tokens"))].reset_index(drop=True)


def _p_of_sign(drawn: np.ndarray) -> float:
    """Two-sided bootstrap p that a number has the other sign than most of its draws; NaN where nothing was drawn."""
    known = drawn[~np.isnan(drawn)]
    if not len(known):
        return float("nan")
    return min(1.0, 2 * (min((known <= 0).sum(), (known >= 0).sum()) + 1) / (len(known) + 1))


def pooled_table(table: pd.DataFrame) -> pd.DataFrame:
    """The pooled rank correlations that were measured, with titles to read. between: of two judges' metrics."""
    part = table[(table.task == POOLED) & (table.verdict != "not measured")]
    names = {f"title_{end}": [JOINT[name].title for name in part[f"metric_{end}"]] for end in ("a", "b")}
    pairs = [f"{a} and {b}" for a, b in zip(names["title_a"], names["title_b"], strict=True)]
    apart = [JOINT[a].judge != JOINT[b].judge for a, b in zip(part.metric_a, part.metric_b, strict=True)]
    between = pd.Series(apart, part.index, dtype=bool)  # an empty list would be read as names of columns later
    columns = ["granularity", "title_a", "title_b", "pair", "tau", "low", "high", "runs", "verdict", "beyond_names"]
    return part.assign(**names, pair=pairs, between=between)[[*columns, "between"]]


def judges_table(pooled: pd.DataFrame) -> pd.DataFrame:
    """One row a granularity: pairs of one judge's metrics (`within`), of two judges' (`between`), and what these do.

    highest, highest_pair: of two judges'.
    """
    rows = []
    for granularity in GRANULARITIES:
        part = pooled[pooled.granularity == granularity]
        apart = part[part.between].sort_values("tau", ascending=False, kind="stable")
        counts = [int((apart.verdict == word).sum()) for word in VERDICTS[:3]]
        first = (apart.pair.iloc[0], apart.tau.iloc[0]) if len(apart) else ("", float("nan"))
        rows.append((granularity, len(part) - len(apart), len(apart), *counts, *first))
    columns = ["granularity", "within", "between", "agree", "contradict", "open", "highest_pair", "highest"]
    return pd.DataFrame(rows, columns=columns)


def verdict_table(pooled: pd.DataFrame) -> pd.DataFrame:
    """One row a granularity and verdict: how many pairs of metrics, and which, the strongest first."""
    rows = []
    for granularity in GRANULARITIES:
        for word in VERDICTS[:3]:
            part = pooled[(pooled.granularity == granularity) & (pooled.verdict == word)]
            rows.append((granularity, word, len(part), _list_pairs(part)))
    return pd.DataFrame(rows, columns=["granularity", "verdict", "count", "pairs"])


def chance_table(pooled: pd.DataFrame) -> pd.DataFrame:
    """One row a granularity: how many pairs are told from zero by their texts, and of these by exchanged names, too.

    chance: the pairs that are told by their texts alone, the strongest first.
    """
    rows = []
    for granularity in GRANULARITIES:
        told = pooled[(pooled.granularity == granularity) & pooled.verdict.isin(VERDICTS[:2])]
        rows.append((granularity, len(told), int(told.beyond_names.sum()), _list_pairs(told[~told.beyond_names])))
    return pd.DataFrame(rows, columns=["granularity", "told", "beyond", "chance"])


def _list_pairs(pooled: pd.DataFrame) -> str:
    """Pairs of metrics with their rank correlation, the strongest first."""
    strongest = pooled.reindex(pooled.tau.abs().sort_values(ascending=False, kind="stable").index)
    return "; ".join(f"{row.pair} ({row.tau:.2f})" for row in strongest.itertuples())


def random_baseline_table(scores: JointScores, confidence: float) -> pd.DataFrame:
    """One row a run and metric: where random scores stand among the methods.

    below: methods with a lower mean; surely_below: those that stay below random at the false discovery rate of all
    methods, metrics and runs.
    at_bottom: whether at most BOTTOM_SHARE of the methods are below.
    """
    rows, p = [], []
    for run, drawn in scores.runs.items():
        if "random" not in drawn.methods:
            continue
        at = drawn.methods.index("random")
        for metric, means in drawn.means.items():
            others = ~np.isnan(means) & (np.arange(len(means)) != at)
            if np.isnan(means[at]) or not others.any():
                continue
            leads = drawn.drawn[metric] - drawn.drawn[metric][:, at : at + 1]
            p.append([_p_of_sign(leads[:, i]) if means[i] < means[at] else 1.0 for i in np.flatnonzero(others)])
            methods, below = int(others.sum()), int((means[others] < means[at]).sum())
            rows.append((*run, metric, means[at], methods, below, below <= BOTTOM_SHARE * methods))
    table = pd.DataFrame(rows, columns=[*RUN, "metric", "random", "methods", "below", "at_bottom"])
    q = adjust(np.array([one for of_row in p for one in of_row]))
    parts = np.split(q, np.cumsum([len(of_row) for of_row in p])[:-1]) if p else []
    surely = [int((of_row <= 1 - confidence + 1e-12).sum()) for of_row in parts]
    table.insert(len(table.columns) - 1, "surely_below", np.array(surely, dtype=int))
    return table


def random_baseline_by_metric(table: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: in how many runs random scores are near the bottom, and how many methods come below them.

    mostly_at_bottom: whether that is so in at least half of the runs.
    """
    by_metric = table.groupby("metric", sort=False)
    sums = by_metric[["at_bottom", "methods", "below", "surely_below"]].sum().assign(runs=by_metric.size())
    found = sums.reindex([metric for metric in JOINT if metric in sums.index]).reset_index()
    titles = [JOINT[metric].title for metric in found.metric]
    return found.assign(title=titles, mostly_at_bottom=found.at_bottom >= found.runs / 2)


def _call(function, *arguments):
    """Call a function: what explains and what scores is handed to the same processes."""
    return function(*arguments)


def _as_arrays(part: pd.DataFrame) -> tuple[dict[str, np.ndarray], list[str]]:
    """Metric -> (seeds, instances, methods) of one run's values, NaN where there is none, and the methods."""
    known = part[part.value.notna()]
    methods = [name for name in METHODS if name in set(known.method)]
    axes = {"seed": sorted(set(known.seed)), "instance": list(dict.fromkeys(known.instance)), "method": methods}
    out = {}
    for metric in (name for name in JOINT if name in set(known.metric)):
        rows = known[known.metric == metric]
        places = (pd.Index(axis).get_indexer(rows[name]) for name, axis in axes.items())
        out[metric] = np.full([len(axis) for axis in axes.values()], np.nan)
        out[metric][tuple(places)] = rows.value
    return out, methods
