"""Tables of Zhao & Aletras (2023): data (1), diagnosticity (2, 3 and 6), examples (4), training (5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq

from attreval.core.alignment import to_words
from attreval.methods import METHODS, methods_in
from attreval.metrics import FAITHFULNESS, METRICS
from compendium import corpora
from compendium.papers.common.runs import load_attributions, load_tokens, reported
from compendium.papers.common.sample import to_explain
from compendium.papers.zhao2023.datasets import PUBLISHED_TASKS as PUBLISHED_TASKS
from compendium.papers.zhao2023.datasets import published_dataset
from compendium.papers.zhao2023.diagnosticity import diagnosticity_cells, summary_table
from compendium.papers.zhao2023.erasure import random_scores
from compendium.workflow.step import Step

EXAMPLES = (  # the three of Table 4: data set, method
    ("EvInf", "deeplift"),
    ("SST", "gradient_x_input_absolute"),
    ("AG", "integrated_gradients_zero"),
)


def published_cells() -> pd.DataFrame:
    """Table 6 as published, in our words: dataset, method, and a column a metric."""
    table = reported("zhao_table6_full").rename(columns={METRICS[metric].title: metric for metric in FAITHFULNESS})
    return table.assign(method=table.fa.map(methods_in("zhao2023")))[["dataset", "method", *FAITHFULNESS]]


def table_1(step: Step) -> pd.DataFrame:
    """Data and models: a row a task and model with sizes, mean words, classes, macro F1 over seeds, published F1."""
    theirs = reported("zhao_table1_data").set_index("dataset")
    runs = step.profile.explained_runs("faithfulness")
    rows = []
    for task, model in dict.fromkeys(run[:2] for run in runs):
        reader = step.profile.read_by(task)
        seeds = [seed for t, m, seed in runs if (t, m) == (task, model)]
        scores = pd.concat([step.results.read_table("accuracy", "02_train", reader, model, seed) for seed in seeds])
        name = published_dataset(task)
        row = {
            "task": task,
            "model": model,
            "train_rows": int(scores.train_rows.iloc[0]),
            "test_rows": int(scores.test_rows.iloc[0]),
            "explained": step.profile.rows_explained(task, model),
            "words_mean": _mean_words(task),
            "classes": len(corpora.TASKS[task].labels),
            "f1": float(100 * scores.macro_f1.mean()),
            "f1_sd": float(100 * scores.macro_f1.std(ddof=0)),
            "seeds": len(seeds),
            "dataset": name,
            "published_f1": float(theirs.f1_mean.get(name, np.nan)),
            "published_words": float(theirs.avg_len_words.get(name, np.nan)),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def _mean_words(task: str) -> float:
    """The mean number of words of a task's test texts."""
    words = pq.read_table(corpora.table_path(task), columns=["words"], filters=[("split", "=", "test")])["words"]
    return float(pc.mean(pc.list_value_length(words)).as_py())


def table_2(pairs: pd.DataFrame, step: Step) -> pd.DataFrame:
    """Diagnosticity by method: `diagnosticity.summary_table` with the published value of each cell."""
    names = {ours: theirs for theirs, ours in methods_in("zhao2023").items()} | {"average": "avg", "sd": "sd"}
    return _beside_summary(summary_table(pairs, step, "method"), "method", "zhao_table2_diagnosticity_by_fa", names)


def table_3(pairs: pd.DataFrame, step: Step) -> pd.DataFrame:
    """Diagnosticity by task: `diagnosticity.summary_table` with the published value of each cell."""
    ours = summary_table(pairs, step, "task")
    names = {task: published_dataset(task) for task in ours.task.unique()} | {"average": "avg", "sd": "sd"}
    return _beside_summary(ours, "task", "zhao_table3_diagnosticity_by_dataset", names)


def _beside_summary(summary: pd.DataFrame, by: str, name: str, columns: dict[str, str | None]) -> pd.DataFrame:
    """A summary with the cells of a published table; columns: where each value of `by` stands there, if it does."""
    theirs = reported(name).set_index("metric")
    titles = [METRICS[metric].title for metric in summary.metric]
    places = [columns.get(value) for value in summary[by]]
    values = [
        theirs.loc[title, at] if at in theirs.columns else np.nan for title, at in zip(titles, places, strict=True)
    ]
    return summary.assign(published=np.array(values, dtype=float))


@dataclass(frozen=True)
class Example:
    """One text with the scores of a method and of random, a row each by title, over the words that the model read."""

    words: tuple[str, ...]
    rows: dict[str, np.ndarray]

    @property
    def parts(self) -> tuple:
        """What papers.common.coloured_text shows: words, rows, and which words are evidence: none, nobody knows."""
        return self.words, self.rows, [False] * len(self.words)


def table_4(step: Step, pairs: pd.DataFrame) -> tuple[pd.DataFrame, list[Example]]:
    """Examples: for each one of the paper the text on which NC of the method and of random scores differ least.

    One row an example and side (the method, random scores) with the four metrics; and the texts, to be shown. A tie
    goes to the first text.
    """
    main, rows, shown = pairs[pairs.setting == "main"], [], []
    fits = {name: [t for t in dict.fromkeys(main.task) if published_dataset(t) == name] for name, _ in EXAMPLES}
    chosen = [(fits[name][0], method) for name, method in EXAMPLES if fits[name]]
    chosen = [(t, m) for t, m in chosen if ((main.task == t) & (main.method == m)).any()]
    # a profile without any of the three shows its first task and method
    for number, (task, method) in enumerate(chosen or [(main.task.iloc[0], main.method.iloc[0])], start=1):
        part = main[(main.task == task) & (main.method == method)]
        one = part.iloc[int((part.nc - part.nc_rival).abs().to_numpy().argmin())]
        for side, suffix in ((method, ""), ("random", "_rival")):
            rows.append((number, one.task, one.instance, side, *(one[f"{metric}{suffix}"] for metric in FAITHFULNESS)))
        shown.append(_read_example(step, one))
    return pd.DataFrame(rows, columns=["example", "task", "instance", "method", *FAITHFULNESS]), shown


def _read_example(step: Step, one) -> Example:
    """The words of the chosen text and what the two sides say of them."""
    profile, run = step.profile, (one.task, one.model, int(one.seed))
    instance = next(i for i in to_explain(profile, one.task, one.model) if i.id == one.instance)
    tokens = load_tokens(step.results, profile, *run)[instance.id]
    records = load_attributions(step.results, profile, *run)[one.instance]
    read = np.unique(tokens.word[tokens.word >= 0])
    on_tokens = {m: record.on_tokens(len(tokens)) for m, record in records.items() if m in (one.method, "random")}
    if "random" not in on_tokens:  # it did not explain, and was drawn as rival
        on_tokens["random"] = np.zeros(len(tokens))
        on_tokens["random"][tokens.content] = random_scores(tokens, *run, instance.id)
    scores = {m: to_words(on_tokens[m], tokens, instance)[read] for m in (one.method, "random")}
    words = np.array(instance.word_texts(), dtype=object)[read]
    rows = {METHODS[m].title: values for m, values in scores.items()}
    return Example(tuple(words), rows)


def table_5(step: Step) -> pd.DataFrame:
    """Training: a row a task and model with the weights it starts from and how it is trained, beside the published."""
    theirs = reported("zhao_table5_hyperparameters").set_index("dataset")
    rows = []
    for task, model in dict.fromkeys(run[:2] for run in step.profile.explained_runs("faithfulness")):
        reader, spec = step.profile.read_by(task), step.profile.models[model]
        used, name = step.profile.training_of(reader, model), published_dataset(task)
        rows.append(
            {
                "task": task,
                "model": model,
                "weights": spec.weights or f"{spec.architecture}, from scratch",
                "max_length": spec.max_length,
                "batch": used.batch_rows,
                "learning_rate": used.learning_rate,
                "epochs": used.epochs,
                "dataset": name,
                "published_model": theirs.model.get(name, ""),
                "published_batch": theirs.batch_size.get(name, np.nan),
                "published_rate": theirs.lr_model.get(name, np.nan),
                "published_epochs": theirs.epochs.get(name, np.nan),
            }
        )
    return pd.DataFrame(rows)


def table_6(pairs: pd.DataFrame, step: Step) -> pd.DataFrame:
    """Diagnosticity of every task, method and metric, with the published value of its data set."""
    theirs = published_cells().melt(["dataset", "method"], var_name="metric", value_name="published")
    cells = diagnosticity_cells(pairs, step)
    ours = cells.assign(dataset=cells.task.map(published_dataset))
    return ours.merge(theirs, on=["dataset", "method", "metric"], how="left", validate="many_to_one")


def printed_summary(summary: pd.DataFrame, by: str) -> pd.DataFrame:
    """Tables 2 and 3 as they are printed: a row a value of `by`, a cell `ours (published)`.

    A star: the soft measure differs from its counterpart by the test over texts at a false discovery rate of .01 over
    the table. texts: how many the row rests on; least: how many the smallest of its tasks has.
    """
    printed = _print_cells(summary, [by], ".3f", np.where(summary.q < 0.01, "*", ""))
    counts = summary[[by, "texts", "least"]].drop_duplicates(by)
    return printed.merge(counts, on=by)


def printed_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Table 6 as it is printed: a row a task and method, a cell `ours (published)`, and the number of texts."""
    printed = _print_cells(cells, ["task", "method"], ".2f", np.full(len(cells), ""))
    counts = cells[["task", "method", "instances"]].drop_duplicates(["task", "method"])
    return printed.merge(counts.rename(columns={"instances": "texts"}), on=["task", "method"])


def _print_cells(table: pd.DataFrame, rows: list[str], digits: str, marks: np.ndarray) -> pd.DataFrame:
    """A column a metric with texts `ours and mark (published)`, the rows in their order."""
    text = [
        f"{ours:{digits}}{mark} ({'–' if np.isnan(theirs) else f'{theirs:{digits}}'})"
        for ours, mark, theirs in zip(table.diagnosticity, marks, table.published, strict=True)
    ]
    wide = table.assign(text=text).pivot(index=rows, columns="metric", values="text")[list(FAITHFULNESS)]
    return table[rows].drop_duplicates().merge(wide.reset_index(), on=rows)
