"""What the text says of metrics judged on planted truth: numbers by key."""

from __future__ import annotations

import pandas as pd

from attreval.metrics.planted.measures import PLANTED_METRICS
from attreval.workflow.step import Step

NONE = "none"


def lay_out_metrics(step: Step, table: pd.DataFrame) -> pd.DataFrame:
    """The verdict on every metric with names to read, and what the text says of them."""
    failing = table[~table.passes.astype(bool)]
    step.number("judges.metrics", len(table))
    step.number("judges.passing", int(table.passes.sum()))
    step.number("judges.failing", list_metrics(failing))
    for fool in ("adversarial", "leaking"):
        by = table.fooled_by.map(lambda names, fool=fool: fool in names.split(", ")).astype(bool)
        step.number(f"judges.{fool}", int(by.sum()))
        step.number(f"judges.{fool}_not", list_metrics(table[~by]))
        step.number(f"judges.{fool}_names", list_metrics(table[by]))
    words = ["separates" if ok else "fails" for ok in table.passes]
    fooled = table.fooled_by.replace("", "nobody")
    return table.assign(title=[PLANTED_METRICS[m].title for m in table.metric], verdict=words, fooled_by=fooled)


def list_metrics(part: pd.DataFrame) -> str:
    """The metrics of some rows in words, each once."""
    return ", ".join(dict.fromkeys(PLANTED_METRICS[m].title for m in part.metric)) or NONE


def note_constant(step: Step, table: pd.DataFrame) -> pd.DataFrame:
    """One row a metric and world in which scores that are all alike do not get what random scores get, surely."""
    part = table[(table.explainer == "constant") & ((table.gap_low > 0) | (table.gap_high < 0))]
    step.number("judges.constant", list_metrics(part))
    return part[["metric", "world", "gap", "gap_low", "gap_high"]]
