"""Texts explained once more: what the studies of notebook 08_joint_settings share.

A study gives rows for each job: a run (task, model, seed), and which of its texts, or what is
changed. Within a study, random draws are the same for whatever is compared.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from attreval.core.records import Instance
from attreval.methods import METHODS
from attreval.methods.method import Budget
from attreval.methods.run import Explained, explain_instances
from attreval.models.scorer import Scorer
from compendium.config import ExplainSpec, Profile, Run
from compendium.papers.common.trained_models import open_run
from compendium.project import Results
from compendium.workflow.step import Step

TOGETHER = 5  # texts that share batches
Part = tuple[int, int | None, int]  # which texts of a run: a slice
Study = Callable[..., Iterator[tuple]]


@dataclass(frozen=True)
class OpenRun:
    """A run whose texts are explained once more, and the ledger of its model."""

    results: Results
    profile: Profile
    run: Run
    scorer: Scorer

    @property
    def budget(self) -> ExplainSpec:
        """How the profile explains the task."""
        return self.profile.explaining_of(self.run[0])

    @property
    def by_token(self) -> ExplainSpec:
        """The same by single tokens, whatever the units of the profile."""
        return self.budget.changed(units=self.budget.units.changed(unit="subword"))

    def explain(
        self,
        texts: Sequence[Instance],
        methods: Iterable[str],
        budget: Budget,
        names: Sequence[object],
        target: str = "predicted",
    ) -> list[Explained]:
        """The texts explained by those methods that apply to the model; see `methods.run.explain`.

        names: what random draws derive from.
        """
        family = self.scorer.model.family
        applicable = [name for name in methods if family in METHODS[name].families]
        return explain_instances(self.scorer, texts, applicable, budget, names, target)


def measure_variants(
    step: Step, what: str, study: Study, jobs: Iterable[tuple], columns: list[str]
) -> pd.DataFrame:
    """The rows that a study gives for each job, under their task and model.

    what: what the display of progress calls them.
    """
    given = [(study, step.results, step.profile, *job) for job in jobs]
    found = step.side_by_side(_open_and_measure, given, what)
    return pd.DataFrame([row for rows in found for row in rows], columns=columns)


def _open_and_measure(
    study: Study, results: Results, profile: Profile, run: Run, *more: object
) -> list[tuple]:
    """The rows of one job."""
    task, model, _ = run
    opened = OpenRun(results, profile, run, open_run(results, profile, run))
    return [(task, model, *row) for row in study(opened, *more)]


def first_parts(rows: int) -> list[Part]:
    """The first texts of a run, TOGETHER a part."""
    return [(start, min(start + TOGETHER, rows), 1) for start in range(0, rows, TOGETHER)]
