"""How much do hits depend on choices in which the text and the code of Poerner et al. (2018) and this study differ?

The choices are ties, affixes, the sampling and the solver of LIMSSE, and the output gate of decomposition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import numpy as np
import pandas as pd

from attreval.core.tables import read_by_instance
from attreval.metrics.pointing_game import BASELINES, Affix, Ties
from compendium.corpora import TASKS
from compendium.papers.pipeline.other_choices import other_choices, tried_run
from compendium.papers.poerner2018.hits import play_run, read_predictions
from compendium.workflow.step import Step

KEYS = ["task", "model", "seed", "instance", "metric", "method"]
COLUMNS = ["choice", "value", "instead_of", "game", "texts", "methods", "change", "largest", "method", "moved", "on"]


def choice_table(step: Step, hits: pd.DataFrame) -> pd.DataFrame:
    """One row per choice, value other than the profile's, and game: how much it changes the share of hits.

    change: mean over methods and models. largest: of one method, over models. moved: share of the explanations whose
    expected hit changes. on: whether all stored scores were looked at, or a few texts explained again. hits: of
    pointing_hits.
    """
    rows = [row for found in (_judged_otherwise(step, hits), _explained_otherwise(step, hits)) for row in found]
    return pd.DataFrame(rows, columns=COLUMNS)


def _judged_otherwise(step: Step, hits: pd.DataFrame) -> Iterator[tuple]:
    """Rows of the choices that need no model: all runs are played again by the other rule."""
    spec, predictions = step.profile.pointing, read_predictions(step)
    runs = step.profile.explained_runs("pointing")
    manual = {task for task in hits[hits.metric == "manual"].task.unique() if TASKS[task].mark_rules}
    for choice, values, asked in (
        ("ties", get_args(Ties), runs),
        ("affix", get_args(Affix), [run for run in runs if run[0] in manual]),
    ):
        for value in values:
            own = getattr(spec, choice)
            if value != own:
                other = spec.changed(**{choice: value})
                rows = [row for run in asked for row in play_run(step, run, predictions, other)]
                yield from _compare(choice, value, own, hits, pd.DataFrame(rows), "all stored scores")


def _explained_otherwise(step: Step, hits: pd.DataFrame) -> Iterator[tuple]:
    """Rows of the choices for which notebook 03 has explained a few texts again."""
    run = tried_run(step.profile)
    if run is None:
        return
    predictions, budget = read_predictions(step), step.profile.explaining_of(run[0])
    for choice in other_choices(budget):
        path = step.results.attributions(*run, choice.part)
        if path.exists():
            records = read_by_instance(path)
            rows = play_run(step, run, predictions, step.profile.pointing, records)
            on = f"{len(records)} texts of {run[1]}, {run[0]}"
            yield from _compare(choice.field, choice.value, getattr(budget, choice.field), hits, pd.DataFrame(rows), on)


def _compare(choice: str, value, own, hits: pd.DataFrame, other: pd.DataFrame, on: str) -> Iterator[tuple]:
    """A row per game: how hits of the same explanations differ between two values of a choice."""
    if not len(other):
        yield (choice, value, own, "manual", 0, 0, np.nan, np.nan, "", np.nan, "no task of this profile is judged so")
        return
    columns = [*KEYS, "hit", "discarded"]
    both = hits[columns].merge(other[columns], on=KEYS, suffixes=("", "_other"))
    both = both[(both.discarded == "") & (both.discarded_other == "") & ~both.method.isin(BASELINES)]
    for game, part in both.groupby("metric", sort=False):
        change = part.hit_other - part.hit
        if choice == "affix" and game != "manual":
            continue
        by_method = change.groupby(part.method).mean()
        most = by_method.abs().idxmax()
        texts = len(part.drop_duplicates(["task", "instance"]))
        moved = float((change.abs() > 1e-12).mean())
        yield (choice, value, own, game, texts, len(by_method), change.mean(), by_method[most], most, moved, on)
