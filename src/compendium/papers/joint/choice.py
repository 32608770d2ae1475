"""Which explanation to choose for a model: one vote a judge, how sure the choice is, its price, what speaks against it.

On a metric a method gets the share of the other methods that it beats there, ties at half (Borda 1784); random scores
are one of the others, and less than a hundredth of a metric's range is a tie. Metrics of one judge share its vote.
Agreement with other methods and simplicity have none: they do not say whether an explanation is right. What is drawn
are texts, the same ones for every metric of a task.
Letters used for shapes: m methods, d draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from attreval.methods import METHODS
from attreval.metrics.rank_correlation import TIED, Drawn
from compendium import corpora
from compendium.papers.common.resampling import mean_of_known
from compendium.papers.common.verdicts import LEAST_TEXTS
from compendium.papers.joint.correlations import JointScores
from compendium.papers.joint.values import JOINT

VOTES = {
    "pointing": ("pointing",),
    "people": ("people",),
    "faithfulness": ("nc", "ns", "soft_nc_equal", "soft_ns_equal"),
}
VOTING = tuple(metric for metrics in VOTES.values() for metric in metrics)
LEAST = 0.01  # difference of two means that anybody should care about; what votes lies between 0 and 1
NEAR = 0.05  # a score that far below the best is as good as the best
OF_MODEL = ["task", "model"]


@dataclass(frozen=True)
class Heard:
    """What the metrics say of a model's methods, on a task and on the texts made from it.

    means: metric -> (m,); drawn: metric -> (d, m) of drawn texts; texts: metric -> how many; costs: (m,) evaluations.
    """

    methods: tuple[str, ...]
    means: dict[str, np.ndarray]
    drawn: dict[str, np.ndarray]
    texts: dict[str, int]
    costs: np.ndarray


def shares_beaten(values: np.ndarray) -> np.ndarray:
    """(..., m) share of the other methods that each beats in (..., m) values, higher is better; ties count half.

    Where a metric has no value for a method, as in a draw without a text that people marked, NaN for all.
    """
    difference = values[..., :, None] - values[..., None, :]
    won = np.where(np.abs(difference) < LEAST, 0.5, difference > 0)
    shares = (won.sum(axis=-1) - 0.5) / max(1, values.shape[-1] - 1)
    return np.where(np.isnan(values).any(axis=-1, keepdims=True), np.nan, shares)


def scores_by_judge(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Judge -> (..., m) mean share of methods beaten over its metrics; judges that heard nothing are left out."""
    heard = {judge: [shares_beaten(values[x]) for x in metrics if x in values] for judge, metrics in VOTES.items()}
    return {judge: mean_of_known(np.array(shares)) for judge, shares in heard.items() if shares}


def total_scores(values: dict[str, np.ndarray]) -> np.ndarray:
    """(..., m) mean over the judges that have a value there; ValueError where no judge with a vote heard anything."""
    by_judge = scores_by_judge(values)
    if not by_judge:
        raise ValueError(f"no metric with a vote was measured; these have one: {', '.join(VOTING)}")
    return mean_of_known(np.array(list(by_judge.values())))


def hear(scores: JointScores, costs: pd.DataFrame) -> dict[tuple[str, str], Heard]:
    """(task, model) -> what was measured on the task and on the texts made from it, of methods that all metrics know.

    costs: see joint.pareto.read_costs.
    """
    groups: dict[tuple[str, str], dict[str, Drawn]] = {}
    for (task, model, granularity), drawn in scores.runs.items():
        if granularity == "tokens":
            groups.setdefault((corpora.TASKS[task].trained_on or task, model), {})[task] = drawn
    out = {}
    for (base, model), tasks in groups.items():
        of_metric = {metric: (task, drawn) for task, drawn in tasks.items() for metric in drawn.means}
        of_metric |= {metric: (base, tasks[base]) for metric in (tasks[base].means if base in tasks else ())}
        voting = [metric for metric in VOTING if metric in of_metric]
        known = [
            {m for m, n in zip(d.methods, d.counts[x], strict=True) if n} for x in voting for d in [of_metric[x][1]]
        ]
        methods = tuple(m for m in METHODS if known and all(m in some for some in known))
        if len(methods) < 2:
            continue
        means, drawn, texts = {}, {}, {}
        for metric, (_, found) in of_metric.items():
            at = [found.methods.index(m) if m in found.methods else -1 for m in methods]
            if -1 not in at:
                means[metric], drawn[metric] = found.means[metric][at], found.drawn[metric][:, at]
                texts[metric] = int(found.counts[metric][at].max())
        paid = [_cost(costs, tasks, model, m) for m in methods]
        out[base, model] = Heard(methods, means, drawn, texts, np.array(paid))
    return out


def _cost(costs: pd.DataFrame, tasks: dict[str, Drawn], model: str, method: str) -> float:
    """Evaluations requested for a text, the mean over the tasks; nothing for random scores that were not asked for."""
    found = [costs.requested.get((task, model, "tokens", method)) for task in tasks]
    found = [cost for cost in found if cost is not None]
    return float(np.mean(found)) if found else 0.0


def choice_table(heard: dict[tuple[str, str], Heard], confidence: float) -> pd.DataFrame:
    """One row a task, model and method, the best first: score, interval, share of draws in which it is the best.

    shortfall: by how much it misses the best in `confidence` of the draws. leading: the best, and what is not surely
    below it. above_random: in `confidence` of the draws. recommended: the highest score, the cheaper of equal ones.
    settled: at least LEAST_TEXTS texts, and a shortfall of at most NEAR. requested: evaluations for a text. One column
    a judge that voted.
    """
    tables = []
    for run, of_model in heard.items():
        real = np.array([m != "random" for m in of_model.methods])
        score, drawn = total_scores(of_model.means), total_scores(of_model.drawn)
        drawn = drawn[~np.isnan(drawn).any(axis=1)]  # of some no judge may have a text
        low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
        best_drawn = np.where(real, drawn, -np.inf).max(axis=1, keepdims=True)
        shortfall = np.quantile(best_drawn - drawn, confidence, axis=0)
        tops = np.where(real, drawn >= best_drawn - TIED, False)
        order = np.lexsort((of_model.costs, -np.where(real, score.round(9), -np.inf)))
        first = order[0]
        not_below = np.quantile(drawn - drawn[:, [first]], confidence, axis=0) >= -TIED
        texts = min(n for metric, n in of_model.texts.items() if metric in VOTING)
        found = {
            "method": of_model.methods,
            "score": score,
            "low": low,
            "high": high,
            "best": (tops / tops.sum(axis=1, keepdims=True)).mean(axis=0),
            "shortfall": shortfall,
            "leading": not_below & real,
            "above_random": _above_random(drawn, of_model.methods, confidence),
            "recommended": np.arange(len(score)) == first,
            "settled": (texts >= LEAST_TEXTS) and bool(shortfall[first] <= NEAR + TIED),
            "texts": texts,
            "requested": of_model.costs,
        }
        table = pd.DataFrame(found | scores_by_judge(of_model.means)).iloc[order]
        tables.append(table.assign(task=run[0], model=run[1]))
    columns = [*OF_MODEL, "method"]
    if not tables:
        return pd.DataFrame(columns=columns)
    every = pd.concat(tables, ignore_index=True)
    return every[[*columns, *(name for name in every if name not in columns)]]


def _above_random(drawn: np.ndarray, methods: tuple[str, ...], confidence: float) -> np.ndarray:
    """(m,) whether each method has a higher score than random ones in `confidence` of the draws; all where none are."""
    if "random" not in methods:
        return np.ones(len(methods), bool)
    return np.quantile(drawn - drawn[:, [methods.index("random")]], 1 - confidence, axis=0) > TIED


def objections_table(heard: dict[tuple[str, str], Heard], choice: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """One row a task, model and metric: what it says of the recommended method, and who is better there.

    mean, low, high: of the recommended method; random: of random scores. rival: the best other method there, with
    rival_mean; rank: of the recommended one among the methods; surely: it is better by LEAST in `confidence` of draws;
    below_random: whether the recommended method is not surely above random scores. votes: whether the metric has one.
    """
    rows, chosen = [], choice[choice.recommended] if len(choice) else choice
    for one in chosen.itertuples():
        of_model = heard[one.task, one.model]
        at = of_model.methods.index(one.method)
        others = np.array([m not in (one.method, "random") for m in of_model.methods])
        zero = of_model.methods.index("random") if "random" in of_model.methods else None
        for metric, means in of_model.means.items():
            drawn = of_model.drawn[metric]
            low, high = np.nanquantile(drawn[:, at], [(1 - confidence) / 2, (1 + confidence) / 2])
            rival = int(np.where(others & ~np.isnan(means), means, -np.inf).argmax()) if others.any() else at
            lead = drawn[:, rival] - drawn[:, at]
            over_chance = np.nan if zero is None else np.nanquantile(drawn[:, at] - drawn[:, zero], 1 - confidence)
            rows.append(
                {
                    "task": one.task,
                    "model": one.model,
                    "method": one.method,
                    "metric": metric,
                    "title": JOINT[metric].title,
                    "votes": metric in VOTING,
                    "mean": means[at],
                    "low": low,
                    "high": high,
                    "random": np.nan if zero is None else means[zero],
                    "rank": 1 + int((means[others] > means[at] + TIED).sum()),
                    "of": 1 + int(others.sum()),
                    "rival": of_model.methods[rival],
                    "rival_mean": means[rival],
                    "surely": bool(np.nanquantile(lead, 1 - confidence) >= LEAST),
                    "below_random": bool(over_chance <= TIED),
                    "texts": of_model.texts[metric],
                }
            )
    return pd.DataFrame(rows)
