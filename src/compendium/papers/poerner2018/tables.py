"""Table 2 of Poerner et al. (2018): each method's share of hits, ours beside the published.

Published values stand in paper/reported/ with how sure we are of having read each: H, M and L,
which are no targets.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from attreval.methods import METHODS, methods_in
from compendium.config.sections import FAMILY
from compendium.papers.common.runs import reported
from compendium.papers.common.tables import spell
from compendium.workflow.step import Step

AGREEMENT = (
    "agreement_parsed",
    "agreement_ud",
    "agreement_linzen",
    "agreement_whole",
    "agreement_ud_whole",
    "agreement_linzen_whole",
)
TASKS_OF = {
    "yelp hybrid": ("hybrid_yelp", "hybrid_imdb"),
    "20newsgroups hybrid": ("hybrid_newsgroups", "hybrid_bbc"),
    "20newsgroups manual": ("manual_newsgroups",),
    "morphosyntactic agreement": AGREEMENT,
}
NAMES = methods_in("poerner2018")  # the paper's row: our method
SPREAD = 0.05  # "underlined: within 5 points of top explanation method" (Table 2)
BASELINES = ("random", "last")
CELL = spell("row method column experiment architecture metric condition")
KEY = ["task", "architecture", "metric", "condition", "own"]  # own: our name of the method
COLUMNS = [*CELL, *spell("task ours low high instances published confidence reason best near")]
# of the blocks, whether a profile has them or not
ARCHITECTURES = ("GRU", "QGRU", "LSTM", "QLSTM", "CNN", "MINILM")


@dataclass(frozen=True)
class Block:
    """What the text speaks of: the first of these tasks that a profile has, in one game.

    condition: the kind of prediction.
    """

    tasks: tuple[str, ...]
    metric: str = "hybrid"
    condition: str = "all"

    def task(self, table: pd.DataFrame) -> tuple[str | None, pd.DataFrame]:
        """The block's task (None where the table has none) and its rows.

        table: columns task, metric, condition.
        """
        part = table[(table.metric == self.metric) & (table.condition == self.condition)]
        task = next((task for task in self.tasks if task in set(part.task)), None)
        return task, part[part.task == task]


BLOCKS = {
    "topics": Block(("hybrid_newsgroups", "hybrid_bbc")),
    "sentiment": Block(("hybrid_yelp", "hybrid_imdb")),
    "manual": Block(("manual_newsgroups",), "manual"),
    "subject": Block(AGREEMENT, "hit_target", "correct"),
    "number": Block(AGREEMENT, "hit_feat", "correct"),
    "number_wrong": Block(AGREEMENT, "hit_feat", "wrong"),
}


def published_table_2() -> pd.DataFrame:
    """One row per published cell, with how surely it was read."""
    values = reported("poerner_table2").melt("method", var_name="column", value_name="published")
    sure = reported("poerner_table2_confidence").melt(
        "method", var_name="column", value_name="confidence"
    )
    about = reported("poerner_table2_columns").rename(columns={"task_method": "architecture"})
    # `hit_feat, f(X)!=y(X)`: hit_feat where predictions are wrong
    asked = about.experiment.str.contains("agreement")
    right = np.where(about.metric.str.contains("!="), "wrong", "correct")
    metrics = about.metric.str.split(",").str[0].where(asked, about.experiment.str.split().str[-1])
    about = about.assign(metric=metrics, condition=np.where(asked, right, "all"))
    joined = values.merge(sure, on=["method", "column"]).merge(about, on="column")
    joined = joined.assign(
        confidence=joined.confidence.replace("-", ""), row=pd.factorize(joined.method)[0]
    )
    return joined[[*CELL, "published", "confidence"]]


def table_2(summary: pd.DataFrame) -> pd.DataFrame:
    """One row per cell of Table 2 and task of ours.

    Architectures that the paper does not have come last.

    summary: of `hits.pointing_accuracy`. best, near: whether ours is the highest of its column, or
    within five points of it; baselines do not compete.
    """
    cells = published_table_2()
    cells = pd.concat([cells, _new_architectures(cells, summary)], ignore_index=True)
    there = set(summary.task)
    tasks = {
        name: [task for task in tasks if task in there] or [""] for name, tasks in TASKS_OF.items()
    }
    cells = cells.assign(task=cells.experiment.map(tasks), own=cells.method.replace(NAMES)).explode(
        "task"
    )
    ours = summary.rename(columns={"method": "own", "accuracy": "ours"})[
        [*KEY, "ours", "low", "high", "instances"]
    ]
    table = cells.merge(ours, on=KEY, how="left", validate="many_to_one", indicator="found")
    reasons = [
        "" if row.found == "both" else _why_missing(row, summary) for _, row in table.iterrows()
    ]
    table = table.assign(reason=reasons).reindex(columns=COLUMNS)
    compete = table.ours.notna() & ~table.method.isin(BASELINES)
    group = [table[name] for name in ("task", "architecture", "experiment", "metric", "condition")]
    top = table.ours.where(compete).groupby(group).transform("max")
    return table.assign(
        best=compete & (table.ours == top), near=compete & (table.ours >= top - SPREAD)
    )


def _new_architectures(cells: pd.DataFrame, summary: pd.DataFrame) -> pd.DataFrame:
    """Cells of the same rows for architectures that the paper did not test in an experiment."""
    parts = [cells.iloc[:0]]
    for kind in cells.drop_duplicates(["experiment", "metric", "condition"]).itertuples():
        same = cells[(cells.experiment == kind.experiment) & (cells.metric == kind.metric)]
        first = same[(same.condition == kind.condition) & (same.column == kind.column)]
        tested = summary[
            summary.task.isin(TASKS_OF[kind.experiment]) & (summary.metric == kind.metric)
        ]
        for architecture in tested.architecture.unique():
            if architecture not in set(same.architecture):
                blank = {"column": "", "published": np.nan, "confidence": ""}
                parts.append(first.assign(architecture=architecture, **blank))
    return pd.concat(parts, ignore_index=True)


def _why_missing(cell: pd.Series, summary: pd.DataFrame) -> str:
    """Why a cell of Table 2 has no value of ours.

    cell: a row with its task and our name of its method.
    """
    if cell.method == "last" and cell.metric in ("hybrid", "manual"):
        return "not applicable: only agreement has a word right before what is predicted"
    if cell.method == "decomp" and cell.architecture == "CNN":
        return "not applicable: a convolution with max pooling has no cell to decompose"
    family = FAMILY.get(cell.architecture.lower(), "transformer")
    known = METHODS.get(cell.own)
    if known and family not in known.families:
        return f"not applicable: it has no rule for {family} models"
    if not cell.task:
        return "not run: no task of this experiment in this profile"
    same = summary[(summary.task == cell.task) & (summary.metric == cell.metric)]
    conditions = same.condition[same.architecture == cell.architecture]
    if conditions.empty:
        return "not run: this architecture is not in this profile for this task"
    if cell.condition not in set(conditions):
        return f"no instance: the model made no {cell.condition} prediction"
    return "not run: this method is not in this profile"


def write_blocks(step: Step, table: pd.DataFrame) -> None:
    """Write each of BLOCKS as a table to read.

    One without a task in the profile has dashes beside published values.
    """
    for name, block in BLOCKS.items():
        task, _ = block.task(table[table.ours.notna()])
        experiment = next(
            title for title, tasks in TASKS_OF.items() if set(block.tasks) & set(tasks)
        )
        found = block_to_read(table, experiment, task or "", block)
        columns = dict.fromkeys(["method", *ARCHITECTURES, *found])
        step.table(f"table2_{name}", found.reindex(columns=list(columns)))


def block_to_read(table: pd.DataFrame, experiment: str, task: str, block: Block) -> pd.DataFrame:
    """One block of Table 2: a row per method, a column per architecture.

    A cell is ours and in brackets the published.

    The best of a column has an asterisk. A published value whose reading is not sure (L) has a
    question mark. An empty cell is a method that does not apply, or was not run. task: "" for the
    published values alone.
    """
    part = table[(table.experiment == experiment) & (table.task == task)]
    part = part[(part.metric == block.metric) & (part.condition == block.condition)]
    out = pd.DataFrame({"method": part.sort_values("row").method.unique()})
    for architecture, cells in part.groupby("architecture", sort=False):
        by = cells.set_index("method").reindex(out.method)
        if not task or by.ours.notna().any():
            out[architecture] = [_cell_text(cell, "" if task else "–") for _, cell in by.iterrows()]
    titles = {method: METHODS[NAMES[method]].title for method in NAMES if NAMES[method] in METHODS}
    out["method"] = [titles.get(method, method.capitalize()) for method in out.method]
    return out


def _cell_text(cell: pd.Series, gap: str) -> str:
    """`0.83* (0.91)`: ours or the gap, * for the best, and the published value.

    A question mark where that is hard to read.
    """
    unsure = "?" if cell.confidence == "L" else ""
    published = "" if pd.isna(cell.published) else f" ({cell.published:.2f}{unsure})"
    if pd.isna(cell.ours):
        return gap + published if gap and published else ""
    return f"{cell.ours:.2f}{'*' if cell.best else ''}{published}"
