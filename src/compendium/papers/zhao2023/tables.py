"""Tables of Zhao & Aletras (2023): erasure, data, diagnosticity, examples, training."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq
from IPython.display import HTML

from attreval.core.alignment import to_words
from attreval.methods import METHODS, methods_in
from attreval.metrics import FAITHFULNESS, METRICS
from compendium import corpora
from compendium.config import Run
from compendium.papers.common.coloured_text import ColouredText
from compendium.papers.common.runs import (
    RUN,
    PrintedText,
    load_printed,
    read_accuracy,
    reported,
)
from compendium.papers.common.tables import mean_low_high, table_of
from compendium.papers.zhao2023.diagnosticity import diagnosticity_cells, diagnosticity_summary
from compendium.papers.zhao2023.erasure import HARD_MEASURES, erase_printed, random_scores
from compendium.papers.zhao2023.settings import RULES, published_dataset
from compendium.workflow.step import Step

# of Table 4 those that are printed whole: a text, its number and method
EXAMPLES = {
    "zhao2023/SST": (2, "gradient_x_input_absolute"),
    "zhao2023/AG": (3, "integrated_gradients_zero"),
}
NOT_READ = "No model of this profile reads a text that the paper prints."
NONE = "\N{EN DASH}"


def erasure_curves(curves: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a task, model, seed, method, ratio and measure: its mean with its interval."""
    return _means(curves, step, [*RUN, "method", "ratio"])


def area_over_curve(curves: pd.DataFrame, step: Step) -> pd.DataFrame:
    """AOPC (section 3.1): each measure averaged over ratios, then over instances.

    ArithmeticError for a NaN.
    """
    over_ratios = (
        curves.groupby([*RUN, "method", "instance"], sort=False)[HARD_MEASURES].mean().reset_index()
    )
    area = _means(over_ratios, step, [*RUN, "method"])
    if not np.isfinite(area["mean"]).all():
        raise ArithmeticError(
            "a mean of erasure measures is not a number; see the curves of the notebook"
        )
    return area


def _means(values: pd.DataFrame, step: Step, keys: list[str]) -> pd.DataFrame:
    """Means over instances with intervals, one row a combination of keys and a measure."""
    rows = []
    for key, part in values.groupby(keys, sort=False):
        found = mean_low_high(part[HARD_MEASURES], step.profile.bootstrap, "erasure", *key[:3])
        for measure, interval in zip(HARD_MEASURES, found.T, strict=True):
            rows.append((*key, measure, *interval, len(part)))
    return pd.DataFrame(rows, columns=[*keys, "measure", "mean", "low", "high", "instances"])


@table_of("task measure method mean random instances")
def best_methods(area: pd.DataFrame) -> Iterator[tuple]:
    """One row a task and measure: the method that it puts first, beside random scores."""
    for task, part in area.groupby("task", sort=False):
        for measure in HARD_MEASURES[:2]:
            means = part[part.measure == measure].groupby("method", sort=False)["mean"].mean()
            others = METRICS[measure].sign * means.drop("random", errors="ignore")
            if len(others):  # else nothing but random scores explained
                best = others.idxmax()
                yield (
                    task,
                    measure,
                    best,
                    means[best],
                    means.get("random", np.nan),
                    part.instances.max(),
                )


def published_cells() -> pd.DataFrame:
    """Table 6 as published, in our words: dataset, method, and a column a metric."""
    table = reported("zhao_table6_full").rename(
        columns={METRICS[metric].title: metric for metric in FAITHFULNESS}
    )
    return table.assign(method=table.fa.map(methods_in("zhao2023")))[
        ["dataset", "method", *FAITHFULNESS]
    ]


def _trained(
    step: Step, published: pd.DataFrame
) -> Iterator[tuple[str, str, str | None, pd.Series]]:
    """Each task and model, its data set of the paper, and that one's row of a published table."""
    for task, model in dict.fromkeys(
        run[:2] for run in step.profile.explained_runs("faithfulness")
    ):
        name = published_dataset(task)
        yield task, model, name, published.set_index("dataset").reindex([name]).iloc[0]


@table_of(
    "task model train_rows test_rows explained words_mean classes f1 f1_sd seeds dataset "
    "published_f1 published_words"
)
def table_1(step: Step) -> Iterator[dict]:
    """Data and models: a row a task and model, with its F1 beside the published."""
    profile = step.profile
    for task, model, name, theirs in _trained(step, reported("zhao_table1_data")):
        seeds = profile.task_of(task, model).seeds
        scores = [read_accuracy(step, task, model, seed) for seed in seeds]
        f1 = 100 * np.array([one.macro_f1 for one in scores])
        words = pq.read_table(
            corpora.table_path(task), columns=["words"], filters=[("split", "=", "test")]
        )["words"]
        yield {
            "task": task,
            "model": model,
            "train_rows": scores[0].train_rows,
            "test_rows": scores[0].test_rows,
            "explained": profile.rows_explained(task, model),
            "words_mean": pc.mean(pc.list_value_length(words)).as_py(),
            "classes": len(corpora.TASKS[task].labels),
            "f1": f1.mean(),
            "f1_sd": f1.std(),
            "seeds": len(seeds),
            "dataset": name,
            "published_f1": theirs.f1_mean,
            "published_words": theirs.avg_len_words,
        }


def table_2(pairs: pd.DataFrame, step: Step) -> pd.DataFrame:
    """Diagnosticity by method, with the published value of each cell."""
    names = {ours: theirs for theirs, ours in methods_in("zhao2023").items()}
    return _beside_summary(
        diagnosticity_summary(pairs, "method"), "method", "zhao_table2_diagnosticity_by_fa", names
    )


def table_3(pairs: pd.DataFrame, step: Step) -> pd.DataFrame:
    """Diagnosticity by task, with the published value of each cell."""
    ours = diagnosticity_summary(pairs, "task")
    names = {task: published_dataset(task) for task in ours.task.unique()}
    return _beside_summary(ours, "task", "zhao_table3_diagnosticity_by_dataset", names)


def _beside_summary(
    summary: pd.DataFrame, by: str, name: str, columns: Mapping[str, str | None]
) -> pd.DataFrame:
    """A summary with the cells of a published table.

    columns: the column of each value of `by`, if it has one.
    """
    theirs = reported(name).melt("metric", var_name="at").set_index(["metric", "at"]).value
    at = summary[by].map({**columns, "average": "avg", "sd": "sd"})
    titles = [METRICS[metric].title for metric in summary.metric]
    return summary.assign(
        published=theirs.reindex(pd.MultiIndex.from_arrays([titles, at])).to_numpy(float)
    )


def table_4(step: Step) -> tuple[pd.DataFrame, HTML]:
    """Examples: texts that the paper prints, with its method's scores and random ones.

    One row an example and side (the method, random scores) with the four metrics of the class that
    our model predicts, and the published values; and the texts, coloured by both.
    """
    key = ["dataset", "attribution", "metric"]
    theirs = reported("zhao_table4_examples").set_index(key).value
    rows = []
    shown = []
    for name, (number, method) in EXAMPLES.items():
        runs = step.profile.explained_runs("faithfulness")
        run = next((one for one in runs if name in step.profile.tasks[one[0]].printed), None)
        if run is None or method not in (printed := load_printed(step, run, name)).records:
            continue
        values = erase_printed(step, run, printed).set_index("method")
        predicted = corpora.TASKS[run[0]].labels[printed.predicted]
        for side, attribution in ((method, "fa"), ("random", "random")):
            row = {"example": number, "task": run[0], "predicted": predicted, "method": side}
            for metric in FAITHFULNESS:
                at = (name.partition("/")[2], attribution, METRICS[metric].title)
                row |= {metric: values[metric][side], f"published_{metric}": theirs.get(at)}
            rows.append(row)
        shown.append(_in_colour(run, printed, method).html().data)
    published = [f"published_{metric}" for metric in FAITHFULNESS]
    columns = ["example", "task", "predicted", "method", *FAITHFULNESS, *published]
    return pd.DataFrame(rows, columns=columns), HTML("".join(shown) or NOT_READ)


def _in_colour(run: Run, printed: PrintedText, method: str) -> ColouredText:
    """A printed text by the scores of a method and by random ones; nobody knows its evidence."""
    tokens = printed.tokens
    read = np.unique(tokens.word[tokens.word >= 0])
    drawn = np.zeros(len(tokens))  # as erasure draws them, unless `random` has explained
    drawn[tokens.content] = random_scores(tokens, *run, printed.instance.id)
    on_tokens = {name: one.on_tokens(len(tokens)) for name, one in printed.records.items()}
    scores = {
        METHODS[name].title: to_words(on_tokens.get(name, drawn), tokens, printed.instance)[read]
        for name in (method, "random")
    }
    words = np.array(printed.instance.word_texts(), dtype=object)[read]
    return ColouredText(tuple(words), scores, [False] * len(words))


@table_of(
    "task model weights max_length batch learning_rate epochs dataset published_model "
    "published_batch published_rate "
    "published_epochs"
)
def table_5(step: Step) -> Iterator[tuple]:
    """Training: a row a task and model, beside the published."""
    for task, model, name, theirs in _trained(step, reported("zhao_table5_hyperparameters")):
        spec = step.profile.models[model]
        used = step.profile.training_of(step.profile.read_by(task), model)
        weights = spec.weights or f"{spec.architecture}, from scratch"
        ours = (weights, spec.max_length, used.batch_rows, used.learning_rate, used.epochs)
        published = theirs[["model", "batch_size", "lr_model", "epochs"]]
        yield task, model, *ours, name, *published


def table_6(pairs: pd.DataFrame, step: Step) -> pd.DataFrame:
    """Diagnosticity of every task, method and metric, with the published value of its data set."""
    theirs = published_cells().melt(
        ["dataset", "method"], var_name="metric", value_name="published"
    )
    cells = diagnosticity_cells(pairs, step)
    ours = cells.assign(dataset=cells.task.map(published_dataset))
    return ours.merge(
        theirs, on=["dataset", "method", "metric"], how="left", validate="many_to_one"
    )


def printed_table(
    name: Literal["table2", "table3", "table6"],
    learned: pd.DataFrame,
    others: pd.DataFrame,
    step: Step,
) -> pd.DataFrame:
    """A table as printed, and below it that of models that have not learned their task.

    learned: the table of the one; others: pairs of the other.
    """
    make, show = PRINTED[name]
    parts = [show(learned).assign(learned="yes")]
    if len(others):
        parts.append(show(make(others, step)).assign(learned="no"))
    return pd.concat(parts, ignore_index=True)


def printed_summary(summary: pd.DataFrame, by: str) -> pd.DataFrame:
    """Tables 2 and 3 as they are printed: a row a value of `by`, a cell `ours (published)`.

    A star: the soft measure differs from its counterpart by the test over texts at a false
    discovery rate of .01 over the table. texts: how many the row rests on; least: how many the
    smallest of its tasks has.
    """
    marked = summary.assign(mark=np.where(summary.q < 0.01, "*", ""))
    return _print_cells(marked, [by], ".3f", ["texts", "least"])


def printed_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Table 6 as printed: a row a task and method, a cell `ours (published)`."""
    named = cells.rename(columns={"instances": "texts"}).assign(mark="")
    return _print_cells(named, ["task", "method"], ".2f", ["texts"])


Printing = tuple[Callable[[pd.DataFrame, Step], pd.DataFrame], Callable[..., pd.DataFrame]]
# by table: what makes it of pairs, and what prints it
PRINTED: dict[str, Printing] = {
    "table2": (table_2, partial(printed_summary, by="method")),
    "table3": (table_3, partial(printed_summary, by="task")),
    "table6": (table_6, printed_cells),
}


def _print_cells(
    table: pd.DataFrame, rows: list[str], digits: str, counts: list[str]
) -> pd.DataFrame:
    """A column a metric with texts `ours and mark (published)`, and the counts.

    The rows in their order.
    """
    text = [
        f"{ours:{digits}}{mark} ({NONE if np.isnan(theirs) else f'{theirs:{digits}}'})"
        for ours, mark, theirs in zip(table.diagnosticity, table.mark, table.published, strict=True)
    ]
    wide = table.assign(text=text).pivot(index=rows, columns="metric", values="text")[
        list(FAITHFULNESS)
    ]
    first = table[[*rows, *counts]].drop_duplicates(rows)
    return first[rows].merge(wide.reset_index(), on=rows).merge(first, on=rows)


def printed_rules(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """A table of rules as printed: a row a metric and value of `by`, `ours (chance)` a rule.

    texts: of the published rule; released_texts: of the released code, which may have been measured
        on fewer.
    """
    text = [f"{v:.3f} ({c:.3f})" for v, c in zip(table.diagnosticity, table.chance, strict=True)]
    keys = [*by, "metric"]
    rows = []
    for key, part in table.assign(text=text).groupby(keys, sort=False):
        cells = part.set_index("rule")
        row = dict(zip(keys, key, strict=True)) | {"title": METRICS[key[-1]].title}
        row |= {rule: cells.text.get(rule, NONE) for rule in RULES}
        rows.append(
            row
            | {
                "texts": cells.texts.get("published", 0),
                "released_texts": cells.texts.get("released", 0),
            }
        )
    return pd.DataFrame(rows)
