"""agreement@k of pairs of methods (Kamp et al. 2023, section 3): how far do two select the same tokens, for each k?"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from attreval.core.bootstrap import bootstrap_mean
from attreval.methods import METHODS
from attreval.methods.method import KINDS
from attreval.metrics.agreement import agreement_at_k
from compendium.papers.common.runs import common_methods, load_attributions
from compendium.papers.kamp2023.chosen_runs import agreement_runs
from compendium.papers.kamp2023.readings import SIX, tie_breaker
from compendium.workflow.step import Step

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
