"""Metrics judged on planted truth (notebook 09): the verdict on each, and what constant scores get."""

from __future__ import annotations

import pandas as pd

from attreval.metrics.planted.measures import PLANTED_METRICS

MISLEADING = ("adversarial", "leaking")


def verdict_table(verdicts: pd.DataFrame) -> pd.DataFrame:
    """metrics.planted.separation.metric_verdicts with titles, words, and which misleading explainers fool a metric."""
    fooled = {f"fooled_by_{name}": [name in names.split(", ") for names in verdicts.fooled_by] for name in MISLEADING}
    return verdicts.assign(
        title=[PLANTED_METRICS[name].title for name in verdicts.metric],
        verdict=["separates" if passes else "fails" for passes in verdicts.passes],
        fooled_by=verdicts.fooled_by.replace("", "nobody"),
        **fooled,
    )


def constant_table(cells: pd.DataFrame) -> pd.DataFrame:
    """One row a metric and world in which scores that are all alike do not get what random scores get, surely."""
    part = cells[(cells.explainer == "constant") & ((cells.gap_low > 0) | (cells.gap_high < 0))]
    titles = [PLANTED_METRICS[name].title for name in part.metric]
    return part.assign(title=titles)[["metric", "world", "gap", "gap_low", "gap_high", "title"]]
