"""Where each method stands before each metric: the share of the other methods that it beats, by family of models.

The same share as in evaluation.choice (ties half, random scores one of the others), of token explanations, mean over
the runs of a family. What is drawn are texts. Methods that nothing tells apart stand at one half.
Letters used for shapes: d draws.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from attreval.core.bootstrap import percentile_interval
from attreval.evaluation.choice import shares_beaten
from attreval.methods import METHODS
from compendium.config import ModelSpec
from compendium.papers.joint.correlations import JointScores
from compendium.papers.joint.values import JOINT

ATTENTIVE = ("transformer", "encoder_decoder")  # architectures
TRANSFORMERS, WORDS = "transformers", "recurrent and convolutional networks"  # families
MEAN = "mean"  # over the metrics that a method was put before
COLUMNS = ["family", "method", "metric", "place", "low", "high", "runs", "rank", "of", "verdict"]


def places_table(scores: JointScores, models: Mapping, confidence: float) -> pd.DataFrame:
    """One row a family, method and metric, and one for the mean over metrics (COLUMNS); the best mean first.

    models: name -> config.ModelSpec. place: in [0, 1], one half where methods are alike; runs: how many are behind it;
    rank: among so many methods (`of`), the best 1. verdict: `above` or `below` one half where the interval says so.
    """
    cells = _cells(scores, models)
    rows = []
    for family in dict.fromkeys(family for family, _, _ in cells):
        own = {key[1:]: value for key, value in cells.items() if key[0] == family}
        methods = [m for m in METHODS if any(m == method for method, _ in own)]
        for method in methods:
            found = {metric: own[method, metric] for metric in JOINT if (method, metric) in own}
            means = {metric: _mean_of_runs(runs) for metric, runs in found.items()}
            places, draws = zip(*means.values(), strict=True)
            runs = {MEAN: max(map(len, found.values()))} | {metric: len(runs) for metric, runs in found.items()}
            for metric, (place, drawn) in ({MEAN: (np.mean(places), np.mean(draws, axis=0))} | means).items():
                low, high = (float(bound) for bound in percentile_interval(drawn, confidence))
                rows.append((family, method, metric, float(place), low, high, runs[metric]))
    table = pd.DataFrame(rows, columns=COLUMNS[:7])
    groups = table.groupby(["family", "metric"], sort=False).place
    table["rank"] = groups.rank(ascending=False, method="min").astype("Int64")
    table["of"] = groups.transform("size").astype("Int64")
    table["verdict"] = np.select([table.low > 0.5, table.high < 0.5], ["above", "below"], "cannot be told")
    order = table[table.metric == MEAN].sort_values(["family", "place"], ascending=[False, False], kind="stable")
    at = {(r.family, r.method): i for i, r in enumerate(order.itertuples())}
    return table.iloc[np.argsort([at[key] for key in zip(table.family, table.method, strict=True)], kind="stable")]


def family_of(model: ModelSpec) -> str:
    """The family of models that one belongs to: TRANSFORMERS or WORDS."""
    return TRANSFORMERS if model.architecture in ATTENTIVE else WORDS


def _mean_of_runs(runs: list[tuple[float, np.ndarray]]) -> tuple[float, np.ndarray]:
    """Mean place over runs, and (d,) of drawn texts."""
    return float(np.mean([place for place, _ in runs])), np.mean([drawn for _, drawn in runs], axis=0)


def _cells(scores: JointScores, models: Mapping) -> dict[tuple[str, str, str], list[tuple[float, np.ndarray]]]:
    """(family, method, metric) -> (place, (d,) of drawn texts) of each run; metrics that two methods have at least."""
    cells: dict[tuple[str, str, str], list[tuple[float, np.ndarray]]] = {}
    for (_, model, granularity), found in scores.runs.items():
        if granularity != "tokens":
            continue
        family = family_of(models[model])
        for metric, means in found.means.items():
            known = np.flatnonzero(found.counts[metric] > 0)
            if len(known) < 2:
                continue
            place, drawn = shares_beaten(means[known]), shares_beaten(found.drawn[metric][:, known])
            for i, at in enumerate(known):
                cells.setdefault((family, found.methods[at], metric), []).append((float(place[i]), drawn[:, i]))
    return cells
