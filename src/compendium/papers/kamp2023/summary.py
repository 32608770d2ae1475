"""What the text says of agreement in one number each: who has the highest and the lowest, how many, how far apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from compendium.papers.kamp2023.readings import PEOPLE, voter_title

Row = tuple[str, str, str, float]


def summary_table(step, **tables: pd.DataFrame) -> pd.DataFrame:
    """One row a task (`all` for settings) and quantity: its value, and the name of who has it where somebody has.

    tables: agreement, groups, lengths, with_people, dynamic, dynamic_k and predicted_k, as the notebook writes them.
    Means are over the runs of a task; a quantity of which there is nothing has no row.
    """
    spec = step.profile.agreement
    fixed = min(spec.fixed_k, spec.largest_k)
    settings = {"shown_k": fixed, "fixed_k": spec.fixed_k, "tie_draws": spec.tie_draws}
    rows: list[Row] = [("all", quantity, "", value) for quantity, value in settings.items()]
    for task, part in _by_task(tables["agreement"], fixed):
        random = part.group == "with random"
        rows += _extremes(task, "pairs", part[~random].groupby(["method_a", "method_b"], sort=False).agreement.mean())
        rows += _mean(task, "pairs_random", part.agreement[random])
    for task, part in _by_task(tables["groups"], fixed):
        rows += _mean(task, "all_six", part.agreement[part.group == "all six"])
    for task, part in _by_task(tables["lengths"]):
        rises = part.groupby("length").apply(rise_with_k, include_groups=False)
        for word, length in (("short", rises.index.min()), ("long", rises.index.max())):
            rows += [(task, word, "", length), (task, f"{word}_rise", "", rises[length])]
    for task, part in _by_task(tables["with_people"], fixed):
        means = part.groupby("method", sort=False).agreement.mean()
        rows += _extremes(task, "people", means.drop("random", errors="ignore"))
        rows += _mean(task, "people_random", part.agreement[part.method == "random"])
    for task, part in _by_task(tables["dynamic_k"]):
        rows += _extremes(task, "dynamic_k", part[part.voter != PEOPLE].groupby("voter", sort=False).k.mean())
    for task, part in _by_task(tables["dynamic"], spec.fixed_k):
        pairs = part[part.b != PEOPLE].groupby(["a", "b"], sort=False)[["difference", "dynamic", "fixed"]].mean()
        counts = {"pairs": len(pairs), "closer_pairs": (pairs.difference > 0).sum()}
        spreads = {"spread_fixed": np.ptp(pairs.fixed), "spread_dynamic": np.ptp(pairs.dynamic)}
        rows += [(task, quantity, "", value) for quantity, value in (counts | spreads).items()]
    for task, part in _by_task(tables["predicted_k"]):
        errors = part.groupby("rule", sort=False).error.mean().drop("one_for_all")
        rows.append((task, "best_rule", errors.idxmin().replace("_", " "), errors.min()))
    return pd.DataFrame(rows, columns=["task", "quantity", "name", "value"])


def rise_with_k(part: pd.DataFrame) -> float:
    """By how much agreement rises with each k, from k = 1 to the largest; 0 where there is one k only."""
    by_k = part.groupby("k").agreement.mean()
    return float((by_k.iloc[-1] - by_k.iloc[0]) / max(1, len(by_k) - 1))


def _by_task(table: pd.DataFrame, k: int | None = None) -> Iterator[tuple[str, pd.DataFrame]]:
    """The parts of a table by task, at one k."""
    yield from (table if k is None else table[table.k == k]).groupby("task", sort=False)


def _extremes(task: str, what: str, means: pd.Series) -> list[Row]:
    """Highest and lowest of the means of voters, or of pairs of voters."""
    found = (("highest", means.idxmax()), ("lowest", means.idxmin())) if len(means) else ()
    titles = {at: " and ".join(map(voter_title, [at] if isinstance(at, str) else at)) for _, at in found}
    return [(task, f"{what}_{word}", titles[at], means[at]) for word, at in found]


def _mean(task: str, quantity: str, values: pd.Series) -> list[Row]:
    """The mean of what there is."""
    return [(task, quantity, "", values.mean())] if len(values) else []
