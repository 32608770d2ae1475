"""Which runs tables of agreement are of: all, or of a model's seeds the chosen one (Kamp et al. 2023, section 2).

The choice is read from the table of notebook 05_kamp2023_seeds, so that nothing here needs a model.
"""

from __future__ import annotations

import pandas as pd

from compendium.config import Run


def chosen_seeds(apd: pd.DataFrame) -> dict[tuple[str, str], int]:
    """By task and model, the seed whose explanations differ least from those of the others; apd: as `apd_table`."""
    chosen = apd[apd.chosen]
    return {(row.task, row.model): int(row.seed) for row in chosen.itertuples()}


def agreement_runs(step) -> list[Run]:
    """The runs that tables of agreement are of, as `agreement.runs` says; a model of one seed has nothing to choose.

    FileNotFoundError: notebook 05_kamp2023_seeds, whose table names the chosen runs, has not run.
    """
    runs = step.profile.explained_runs("agreement")
    if step.profile.agreement.runs == "all" or len(runs) == len({run[:2] for run in runs}):
        return runs
    chosen = chosen_seeds(step.results.read_table("apd", "05_kamp2023_seeds"))
    return [run for run in runs if chosen.get(run[:2], run[2]) == run[2]]
