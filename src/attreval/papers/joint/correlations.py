"""What do the judges' words add up to? Means, rank correlations, the floor, and the price of each method."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from attreval.core.bootstrap import percentile_interval
from attreval.explain import METHODS
from attreval.metrics.pareto import pareto_front
from attreval.metrics.rank_correlation import Drawn, correlate, draw_judges, pool, verdict
from attreval.metrics.registry import METRICS
from attreval.papers.joint import budgets
from attreval.papers.joint import values as joint
from attreval.papers.joint.values import COLUMNS, JOINT, joint_runs
from attreval.papers.sun2024.instances import read_agents
from attreval.workflow.parallel import map_side_by_side
from attreval.workflow.step import Step

RUN = ["task", "model", "level"]
POOLED = "all runs"
FLOOR_SHARE = 0.25  # random is near the bottom where at most so many of the other methods come below it


@dataclass(frozen=True)
class Hearing:
    """values: one row an instance, method and judge. runs: (task, model, level) -> what its judges say on average.

    asked: one row a method, budget, seed and instance of the study of budgets, and (n,) scores of each row.
    """

    values: pd.DataFrame
    runs: dict[tuple[str, str, str], Drawn]
    asked: pd.DataFrame
    scores: list[np.ndarray]


WORK = {"hear": joint.hear_some, "spend": budgets.spend}


def do(kind: str, *job):
    """One job of either kind: both are handed to the same processes."""
    return WORK[kind](*job)


def hear(step: Step) -> Hearing:
    """Put every explanation before every judge, and let sampled methods spend more and more.

    level is `tokens`, or `pieces` where types of explanations are compared.
    """
    profile = step.profile
    # what takes longest first: no process is left alone with it at the end
    jobs = [*(("spend", *job) for job in budgets.jobs_of(step)), *(("hear", *job) for job in joint.jobs_of(step))]
    found = map_side_by_side(do, jobs, profile.workers, step.progress("judging")) if jobs else []
    heard = [(job, answer) for job, answer in zip(jobs, found, strict=True) if job[0] == "hear"]
    spent = [answer for job, answer in zip(jobs, found, strict=True) if job[0] == "spend"]
    step.note_evaluations((job[3], costs) for job, (_, costs) in heard)
    frames = [frame.assign(level="tokens") for _, (frame, _) in heard] + [read_pieces(step)]
    values = pd.concat([frame for frame in frames if len(frame)] or frames[-1:], ignore_index=True)
    runs = {
        # models of one task read the same texts, so the same texts are drawn for them
        run: draw_judges(*stack(part), profile.bootstrap.draws, run[0], run[2])
        for run, part in values.groupby(RUN, sort=False)
    }
    rows = [row for some, _ in spent for row in some]
    scores = [one for _, some in spent for one in some]
    return Hearing(values, runs, pd.DataFrame(rows, columns=budgets.ASKED), scores)


def read_pieces(step: Step) -> pd.DataFrame:
    """What notebooks 07 say of every text, for the runs under diagnosis; empty where a profile has none."""
    runs = step.profile.explained_runs("diagnosis")
    if not runs:
        return pd.DataFrame(columns=[*COLUMNS, "level"])
    parts = [step.results.read_table("each", "07_sun2024")]
    for run in runs:
        if step.results.table("predictions", "07_sun2024_agents", *run).exists():
            parts.append(read_agents(step.results.read_table("predictions", "07_sun2024_agents", *run)))
    return pd.concat([part for part in parts if len(part)], ignore_index=True).assign(level="pieces")


def stack(part: pd.DataFrame) -> tuple[dict[str, np.ndarray], list[str]]:
    """Judge -> (seeds, instances, methods) of one run's values, NaN where there is none, and the methods."""
    known = part[part.value.notna()]
    methods = [name for name in METHODS if name in set(known.method)]
    axes = [sorted(set(known.seed)), list(dict.fromkeys(known.instance)), methods]
    places = [pd.Series(range(len(axis)), index=axis) for axis in axes]
    out = {}
    for judge in (name for name in JOINT if name in set(known.judge)):
        rows = known[known.judge == judge]
        out[judge] = np.full([len(axis) for axis in axes], np.nan)
        at = tuple(
            place[rows[name]].to_numpy() for place, name in zip(places, ("seed", "instance", "method"), strict=True)
        )
        out[judge][at] = rows.value
    return out, methods


def summary_table(hearing: Hearing, confidence: float) -> pd.DataFrame:
    """One row a run, method and judge: mean, interval, n (texts times seeds), what the judge itself finds better."""
    rows = []
    for run, found in hearing.runs.items():
        for judge in found.means:
            low, high = percentile_interval(found.drawn[judge], confidence)
            rows += [
                (
                    *run,
                    method,
                    judge,
                    METRICS[judge].turned or "higher",
                    found.means[judge][i],
                    low[i],
                    high[i],
                    found.counts[judge][i],
                )
                for i, method in enumerate(found.methods)
                if found.counts[judge][i]
            ]
    return pd.DataFrame(rows, columns=[*RUN, "method", "judge", "better", "mean", "low", "high", "n"])


def correlation_table(hearing: Hearing, confidence: float) -> pd.DataFrame:
    """One row a pair of judges and run, and one for all runs of a level: tau-b over methods, random left out.

    methods: over how many; runs: how many are pooled. verdict: see metrics.rank_correlation.verdict.
    """
    rows = []
    for a, b in combinations(JOINT, 2):
        for kind in ("tokens", "pieces"):
            found = []
            for run, heard in hearing.runs.items():
                if run[2] == kind and a in heard.means and b in heard.means:
                    tau, drawn, methods = correlate(heard, a, b)
                    found.append((tau, drawn, methods))
                    low, high = (float(x) for x in percentile_interval(drawn, confidence))
                    rows.append((*run, a, b, tau, low, high, methods, 1, verdict(low, high)))
            if found:
                tau, drawn, runs = pool(found)
                low, high = (float(x) for x in percentile_interval(drawn, confidence))
                rows.append((POOLED, POOLED, kind, a, b, tau, low, high, None, runs, verdict(low, high)))
    columns = [*RUN, "judge_a", "judge_b", "tau", "low", "high", "methods", "runs", "verdict"]
    return pd.DataFrame(rows, columns=columns).astype({"methods": "Int64"})


def floor_table(hearing: Hearing, confidence: float) -> pd.DataFrame:
    """One row a run and judge: where random scores stand among the methods.

    below: methods with a lower mean; surely_below: those whose difference to random has an interval wholly below 0.
    at_bottom: whether at most FLOOR_SHARE of the methods are below.
    """
    rows = []
    for run, found in hearing.runs.items():
        if "random" not in found.methods:
            continue
        at = found.methods.index("random")
        for judge, means in found.means.items():
            heard = ~np.isnan(means) & (np.arange(len(means)) != at)
            if np.isnan(means[at]) or not heard.any():
                continue
            _, high = percentile_interval(found.drawn[judge] - found.drawn[judge][:, at : at + 1], confidence)
            below = int((means[heard] < means[at]).sum())
            sure = int((high[heard] < 0).sum())
            rows.append((*run, judge, means[at], int(heard.sum()), below, sure, below <= FLOOR_SHARE * heard.sum()))
    return pd.DataFrame(rows, columns=[*RUN, "judge", "random", "methods", "below", "surely_below", "at_bottom"])


def read_costs(step: Step) -> pd.DataFrame:
    """Evaluations asked for and computed an instance, by (task, model, level, method), over seeds and shards."""
    found = []
    for task, model, seed in joint_runs(step.profile):
        for shard in range(step.profile.explaining_of(task).shards):
            cost = step.results.read_table("cost", "03_explain", task, model, seed, shard)
            found.append(cost.assign(task=task, model=model, level="tokens"))
    for task, model, seed in step.profile.explained_runs("diagnosis"):
        for part in range(step.profile.diagnosis.parts):
            cost = step.results.read_table("cost", "07_sun2024_explanations", task, model, seed, part)
            found.append(cost.assign(task=task, model=model, level="pieces"))
    every = pd.concat(found, ignore_index=True)
    every = every[every.method != "prediction"]
    for name in ("requested", "unique"):
        every[name] *= every.instances
    sums = every.groupby([*RUN, "method"], sort=False)[["requested", "unique", "instances"]].sum()
    return sums[["requested", "unique"]].div(sums.instances, axis=0)


def bargain_table(hearing: Hearing, costs: pd.DataFrame) -> pd.DataFrame:
    """One row a run, judge and method: its quality, what it costs, and whether no other is as good for less.

    undominated: by evaluations asked for; undominated_unique: by those computed, which depend on who asked first.
    share: of the drawn samples in which it is undominated.
    """
    rows = []
    for run, found in hearing.runs.items():
        priced = [(i, m) for i, m in enumerate(found.methods) if (*run, m) in costs.index or m == "random"]
        keep = [i for i, _ in priced]
        paid = [
            costs.loc[(*run, m)] if (*run, m) in costs.index else {"requested": 0.0, "unique": 0.0} for _, m in priced
        ]
        asked, unique = (np.array([p[name] for p in paid], dtype=float) for name in ("requested", "unique"))
        for judge, means in found.means.items():
            best, best_unique = pareto_front(asked, means[keep]), pareto_front(unique, means[keep])
            share = pareto_front(asked, found.drawn[judge][:, keep]).mean(axis=0)
            rows += [
                (*run, judge, m, means[i], asked[n], unique[n], best[n], best_unique[n], share[n])
                for n, (i, m) in enumerate(priced)
                if not np.isnan(means[i])
            ]
    columns = ["judge", "method", "quality", "requested", "unique", "undominated", "undominated_unique", "share"]
    return pd.DataFrame(rows, columns=[*RUN, *columns])


def name_bargains(table: pd.DataFrame) -> pd.DataFrame:
    """One row a judge: the undominated methods, random left out, with the number of runs in which each is."""
    rows = []
    for judge, part in table.groupby("judge", sort=False):
        of = part[part.method != "random"]
        counts = of[of.undominated].method.value_counts(sort=False)
        ordered = counts.sort_values(ascending=False, kind="stable")
        runs = part.drop_duplicates(RUN)
        named = ", ".join(f"{METHODS[m].title} ({n})" for m, n in ordered.items())
        rows.append((judge, METRICS[judge].title, len(runs), named))
    order = {judge: i for i, judge in enumerate(JOINT)}
    frame = pd.DataFrame(rows, columns=["judge", "title", "runs", "undominated"])
    return frame.sort_values("judge", key=lambda names: names.map(order), kind="stable").reset_index(drop=True)
