"""What a profile may say about the joint study of all judges, and about judging them; unknown keys are errors."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

STRICT = ConfigDict(extra="forbid", frozen=True)  # as specs.Section, which this module must not import
Count = Annotated[int, Field(ge=1)]


class BudgetsSpec(BaseModel):
    """How much must sampled methods spend? tasks: for each task the methods that are asked, of its first model.

    rows: instances; sizes: what a method may spend each time, sizes_of: otherwise for a task; seeds: of the draws.
    stable: the mean overlap of the top tokens from which on an answer counts as standing still.
    """

    model_config = STRICT

    tasks: dict[str, list[str]] = {}
    rows: Count = 5
    sizes: list[Annotated[int, Field(ge=2)]] = [32, 64, 128, 256, 512]
    sizes_of: dict[str, list[Annotated[int, Field(ge=2)]]] = {}
    seeds: int = Field(2, ge=2)
    stable: float = Field(0.9, gt=0, le=1)


class JointSpec(BaseModel):
    """Every method before every judge. tasks: for each task on how many of its first instances judges are heard.

    Where tasks is empty, `rows` of every task that is explained. asked: for a task on how many of these the model is
    asked what no earlier notebook has asked it; on all where it is not named.
    """

    model_config = STRICT

    tasks: dict[str, Count] = {}
    rows: Count = 100
    asked: dict[str, Count] = {}
    budgets: BudgetsSpec = BudgetsSpec()

    def check(self, tasks) -> None:
        """Raise ValueError where the study names a task or a method that there is not."""
        from attreval.explain import METHODS

        for name in (*self.tasks, *self.asked, *self.budgets.tasks, *self.budgets.sizes_of):
            if name not in tasks:
                raise ValueError(f"joint: no task {name!r} in this profile; there are: {', '.join(tasks)}")
        for name in (method for methods in self.budgets.tasks.values() for method in methods):
            if name not in METHODS or not METHODS[name].limits:
                limited = ", ".join(m.name for m in METHODS.values() if m.limits)
                raise ValueError(f"joint.budgets: {name!r} has no budget to vary; these have: {limited}")

    def rows_of(self, task: str, explained: int) -> int:
        """How many of the explained instances of a task go before all judges; 0 for none."""
        return min(explained, self.tasks.get(task, 0) if self.tasks else self.rows)

    def asked_of(self, task: str, explained: int) -> int:
        """On how many of them the model is asked."""
        rows = self.rows_of(task, explained)
        return min(rows, self.asked.get(task, rows))


class MetaSpec(BaseModel):
    """Judging the judges: instances of each planted model, and draws of the explainers that are random."""

    model_config = STRICT

    instances: int = Field(60, ge=4)
    draws: Count = 4
