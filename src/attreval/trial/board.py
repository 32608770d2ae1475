"""The board: what metrics came to in trials whose worlds anybody can make again.

A submission is a jsonl of FIELDS. Where its metrics are not attreval's, there lies beside it the
Python file of its name, or what the metrics said elsewhere, under its own name in VALUES.
"""

import json
from collections.abc import Sequence
from math import ceil
from pathlib import Path

import pandas as pd

from attreval import __version__
from attreval.core.tables import write_text
from attreval.texts.decoding import lines_of_json, read_text
from attreval.trial.exchange import read_metrics, read_values
from attreval.trial.explainers import EXPLAINERS
from attreval.trial.measure import TRIED, try_metrics
from attreval.trial.run import NULLS, Result, add_values, one_half
from attreval.trial.verdict import matrix_table

FIELDS = ("metric", "world", "auc", "low", "high", "tau", "cost", "texts", "seed", "version")
VALUES = "values"  # a folder beside submissions
NUMBERS = ("auc", "low", "high", "tau", "cost")


def _number(value: float) -> float | None:
    """Four digits; None for NaN, which JSON has not."""
    return None if pd.isna(value) else round(float(value), 4)


def write_submission(path: Path, result: Result) -> None:
    """Write a trial as a submission, nulls left out."""
    table = result.matrix[~result.matrix.metric.isin(NULLS)].rename(columns={"evaluations": "cost"})
    table = table.assign(texts=result.texts, seed=result.trial.seed, version=__version__)
    lines = []
    for row in table[list(FIELDS)].to_dict("records"):
        row |= {name: _number(row[name]) for name in NUMBERS}
        lines.append(json.dumps(row) + "\n")
    write_text(path, "".join(lines))


def read_submission(path: Path) -> pd.DataFrame:
    """A submission, one row a metric and world.

    Raises:
        ValueError: a line without one of FIELDS, or of another seed or number of texts.
    """
    rows = list(lines_of_json(read_text(path), path.name))
    for number, row in enumerate(rows, 1):
        if missing := [name for name in FIELDS if name not in row]:
            raise ValueError(
                f"{path.name}, row {number}: no {' and no '.join(missing)}; it has: "
                f"{', '.join(row)}"
            )
    table = pd.DataFrame(rows, columns=list(FIELDS))
    if table[["seed", "texts"]].drop_duplicates().shape[0] != 1:
        raise ValueError(
            f"{path.name}: all lines of a submission have one seed and one number of texts"
        )
    return table


def differences(path: Path, worlds: Sequence[str], most: int | None = None) -> pd.DataFrame:
    """Where a submission says something else than worlds made again by its seed.

    What metrics said elsewhere is not asked again: it is judged again.

    Args:
        path: the submission; the file of its metrics or values, where they are not attreval's,
            lies beside it.
        worlds: names of those in which metrics are asked again.
        most: metrics that are asked, spread over the submission; all where not given.

    Returns:
        A row a metric, world and number that differs.
    """
    told = read_submission(path)
    own = path.with_suffix(".py")
    values = path.parent / VALUES / path.name
    said = read_values(values, int(told.seed.iloc[0])) if values.exists() else None
    elsewhere = said.metrics if said else {}
    metrics = TRIED | elsewhere | (read_metrics(own) if own.exists() else {})
    if unknown := sorted(set(told.metric) - set(metrics)):
        raise ValueError(
            f"{path.name}: no metric {unknown[0]!r}; it is expected in {own.name}, or "
            f"its values in {VALUES}/{path.name}"
        )
    names = told.metric.unique()
    names = names[:: ceil(len(names) / most)] if most else names
    given = told.metric.isin(elsewhere)
    asked = told[given | (told.world.isin(worlds) & told.metric.isin(names))]
    called = set(asked.metric) - set(elsewhere)
    trial = try_metrics(
        {name: metrics[name] for name in sorted(called)} | {one_half.name: one_half},
        int(told.texts.iloc[0]),
        worlds=asked.world.unique().tolist(),
        explainers=tuple(EXPLAINERS),
        seed=int(told.seed.iloc[0]),
    )
    if said:
        trial = add_values(trial, said)
    found = matrix_table(trial).rename(columns={"evaluations": "cost"})
    key = ["metric", "world"]
    long = asked.melt(key, NUMBERS, "number", "told")
    again = found.melt(key, NUMBERS, "number", "found")
    both = long.merge(again, on=[*key, "number"], how="left")
    differs = [_number(row.told) != _number(row.found) for row in both.itertuples()]
    return both[differs].reset_index(drop=True)
