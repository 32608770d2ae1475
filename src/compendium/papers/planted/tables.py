"""Which metric may be trusted (notebook 09): metrics on trial where the truth is known."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from attreval.metrics.separation import metric_verdicts
from attreval.trial import WORLDS
from attreval.trial.explainers import EXPLAINERS, METHODS, PLAIN
from attreval.trial.measure import PLANTED_METRICS, TRIED, Trial, try_metrics
from attreval.trial.raised import raised_verdicts
from attreval.trial.run import NULLS
from attreval.trial.verdict import matrix_table, short_list, verdicts_by_metric
from attreval.trial.worlds.planted import PLANTED_WORLDS
from compendium.config import BootstrapSpec
from compendium.config.judges import MetaSpec
from compendium.papers.common.tables import spell, table_of

NEEDED = ["random", "reversed"]  # what a metric must tell from the truth
MISLEADING = ("adversarial", "leaking")  # made to mislead
CROSS = "\N{MULTIPLICATION SIGN}"
METRICS = TRIED | NULLS


def try_all(settings: MetaSpec) -> Trial:
    """Every metric, and nulls, in the worlds of a profile.

    All that need no corpus where it names none.
    """
    known = [name for name, one in WORLDS.items() if settings.corpora or not one.corpus]
    return try_metrics(
        METRICS,
        settings.instances,
        settings.draws,
        worlds=settings.worlds or known,
        explainers=tuple(EXPLAINERS),
        methods=METHODS,
    )


def planted_values(trial: Trial) -> pd.DataFrame:
    """The values of metrics of planted texts in planted worlds.

    For explanations without a method.
    """
    held = trial.values
    in_planted = held.metric.isin(PLANTED_METRICS) & held.world.isin(PLANTED_WORLDS)
    return held[in_planted & held.explainer.isin(PLAIN)]


def trial_matrix(trial: Trial, bootstrap: BootstrapSpec) -> pd.DataFrame:
    """One row a metric and world: see trial.verdict.matrix_table."""
    return _with_titles(matrix_table(trial, bootstrap.draws, bootstrap.confidence))


def trial_verdicts(matrix: pd.DataFrame) -> pd.DataFrame:
    """One row a metric, the most trustworthy first; matrix: of `trial_matrix`."""
    found = verdicts_by_metric(matrix, METRICS)
    found["share"] = found.passed / found.worlds
    return found.sort_values(["share", "score"], ascending=False).reset_index(drop=True)


def trial_short_list(matrix: pd.DataFrame) -> pd.DataFrame:
    """One row a question and metric to use for it; nulls left out. matrix: of `trial_matrix`."""
    return short_list(matrix[~matrix.metric.isin(NULLS)], TRIED)


def planted_verdicts(cells: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: whether it separates or fails, and whom it is fooled by."""
    table = _with_titles(metric_verdicts(cells))
    table["verdict"] = np.where(table.passes, "separates", "fails")
    return table.assign(fooled_by=table.fooled_by.replace("", "nobody"))


@table_of(f"metric title {' '.join(PLANTED_WORLDS)}")
def worlds_table(cells: pd.DataFrame) -> Iterator[dict]:
    """One row a metric, a column a world: how often the oracle comes before random scores.

    In brackets, where that is less often, before its reverse. A cross: not surely more than half of
    the time for both. Empty where the metric was not asked.
    """
    for metric, part in cells[cells.explainer.isin(NEEDED)].groupby("metric", sort=False):
        row = {"metric": metric, "title": TRIED[metric].title} | dict.fromkeys(PLANTED_WORLDS, "")
        for world, some in part.groupby("world", sort=False):
            by = some.set_index("explainer")
            chance, reverse = by.separation[NEEDED]
            shown = f"{chance:.2f}" if reverse >= chance else f"{chance:.2f} ({reverse:.2f})"
            row[world] = shown if (by.low > 0.5).all() else f"{shown} {CROSS}"
        yield row


def fooled_table(verdicts: pd.DataFrame) -> pd.DataFrame:
    """One row a metric and misleading explainer: whether it fools the metric."""
    by = verdicts.fooled_by.str.split(", ")
    fooled = {name: [name in names for names in by] for name in MISLEADING}
    wide = verdicts[["metric", "title"]].assign(**fooled)
    return wide.melt(["metric", "title"], MISLEADING, "explainer", "fooled")


def constant_table(cells: pd.DataFrame) -> pd.DataFrame:
    """One row a metric and world that surely tell constant scores from random ones."""
    constant = cells[cells.explainer == "constant"]
    apart = constant[(constant.gap_low > 0) | (constant.gap_high < 0)]
    return _with_titles(apart)[spell("metric title world gap±")]


def raised_by_metric(table: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: whether it falls for a model that answers to its liking."""
    found = _with_titles(raised_verdicts(table))
    order = {"falls for it": 0, "moves": 1, "resists": 2}
    return found.sort_values(
        "verdict", key=lambda said: said.map(order), kind="stable", ignore_index=True
    )


def _with_titles(table: pd.DataFrame) -> pd.DataFrame:
    """With what figures and sentences call its metrics."""
    return table.assign(title=[METRICS[name].title for name in table.metric])
