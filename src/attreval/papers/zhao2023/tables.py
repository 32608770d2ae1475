"""The remaining tables of Zhao & Aletras (2023): data and models (1), examples (4), hyper-parameters (5).

And, for Tables 2, 3 and 6, what they published.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq

from attreval import corpora
from attreval.core import project
from attreval.core.alignment import to_words
from attreval.explain import METHODS, methods_in
from attreval.metrics.registry import FAITHFULNESS, METRICS
from attreval.papers.common.runs import load_attributions, load_tokens
from attreval.papers.common.sample import to_explain
from attreval.papers.zhao2023.claims import published_dataset
from attreval.workflow.step import Step

OF_PAPER = (  # its three examples: data set, method
    ("EvInf", "deeplift"),
    ("SST", "gradient_x_input_absolute"),
    ("AG", "integrated_gradients_zero"),
)


def published(name: str) -> pd.DataFrame:
    """A table of paper/reported/zhao_<name>.csv."""
    path = project.home() / "paper" / "reported" / f"zhao_{name}.csv"
    return pd.read_csv(path)


def published_cells() -> pd.DataFrame:
    """Table 6 as published, in our words: dataset, method, and a column a metric."""
    table = published("table6_full").rename(columns={METRICS[metric].title: metric for metric in FAITHFULNESS})
    return table.assign(method=table.fa.map(methods_in("zhao2023")))[["dataset", "method", *FAITHFULNESS]]


def beside_published(cells: pd.DataFrame) -> pd.DataFrame:
    """Our cells with the published ones of the same method and data set, or of the one that a task stands in for.

    cells: of `beating_random.diagnosticity_cells`. `same` says whether it is the same data set.
    """
    theirs = published_cells().melt(["dataset", "method"], var_name="metric", value_name="published")
    ours = cells.assign(dataset=cells.task.map(published_dataset))
    return ours.merge(theirs, on=["dataset", "method", "metric"], how="left", validate="many_to_one")


def summary_beside_published(summary: pd.DataFrame, by: str) -> pd.DataFrame:
    """Tables 2 (by method) or 3 (by task) with the published value of each cell."""
    if by == "method":
        theirs = published("table2_diagnosticity_by_fa").set_index("metric")
        names = {ours: theirs for theirs, ours in methods_in("zhao2023").items()} | {"average": "avg", "sd": "sd"}
        names = {ours: column for ours, column in names.items() if column in theirs}
    else:
        theirs = published("table3_diagnosticity_by_dataset").set_index("metric")
        names = {task: published_dataset(task) for task in summary[by].unique()} | {"average": "avg", "sd": "sd"}
    keys = zip(summary.metric.map(lambda name: METRICS[name].title), summary[by].map(names), strict=True)
    values = [theirs.loc[metric, name] if isinstance(name, str) else np.nan for metric, name in keys]
    return summary.assign(published=np.array(values, dtype=float))


def data_table(step: Step) -> pd.DataFrame:
    """Table 1: a row a task and model with sizes, mean words, classes and macro F1 over seeds, and the published F1."""
    theirs = published("table1_data").set_index("dataset")
    runs = step.profile.explained_runs("faithfulness")
    rows = []
    for task, model in dict.fromkeys(run[:2] for run in runs):
        reader = step.profile.read_by(task)
        seeds = [seed for t, m, seed in runs if (t, m) == (task, model)]
        paths = [step.results.tables / f"02_train-{reader}-{model}-s{seed}_accuracy.csv" for seed in seeds]
        if missing := [path for path in paths if not path.exists()]:
            raise FileNotFoundError(f"no table {missing[0]}: run notebook 02, or `attreval run`")
        scores = pd.concat([pd.read_csv(path) for path in paths])
        name = published_dataset(task)
        row = {
            "task": task,
            "model": model,
            "train_rows": int(scores.train_rows.iloc[0]),
            "test_rows": int(scores.test_rows.iloc[0]),
            "explained": step.profile.rows_explained(task, model),
            "words_mean": mean_words(task),
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


def mean_words(task: str) -> float:
    """The mean number of words of a task's test texts."""
    words = pq.read_table(corpora.table_path(task), columns=["words"], filters=[("split", "=", "test")])["words"]
    return float(pc.mean(pc.list_value_length(words)).as_py())


def training_table(step: Step) -> pd.DataFrame:
    """Table 5: a row a task and model with the weights it starts from and how it is trained, beside the published."""
    theirs = published("table5_hyperparameters").set_index("dataset")
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


@dataclass(frozen=True)
class Example:
    """One text with the scores of a method and of random, a row each by title, over the words that the model read."""

    words: tuple[str, ...]
    rows: dict[str, np.ndarray]

    @property
    def parts(self) -> tuple:
        """What papers.common.coloured_text shows: words, rows, and which words are evidence: none, nobody knows."""
        return self.words, self.rows, [False] * len(self.words)


def pick_examples(step: Step, pairs: pd.DataFrame) -> tuple[pd.DataFrame, list[Example]]:
    """Table 4: for each example of the paper the text on which hard erasure tells the method and random scores least.

    One row an example and side (the method, random scores) with the four metrics; and the texts, to be shown. A tie
    goes to the first text.
    """
    main, rows, shown = pairs[pairs.setting == "main"], [], []
    fits = {name: [t for t in dict.fromkeys(main.task) if published_dataset(t) == name] for name, _ in OF_PAPER}
    chosen = [(fits[name][0], method) for name, method in OF_PAPER if fits[name]]
    chosen = [(t, m) for t, m in chosen if ((main.task == t) & (main.method == m)).any()]
    # a profile without any of the three shows its first task and method
    for number, (task, method) in enumerate(chosen or [(main.task.iloc[0], main.method.iloc[0])], start=1):
        part = main[(main.task == task) & (main.method == method)]
        one = part.iloc[int((part.nc - part.nc_rival).abs().to_numpy().argmin())]
        for side, suffix in ((method, ""), ("random", "_rival")):
            rows.append((number, one.task, one.instance, side, *(one[f"{metric}{suffix}"] for metric in FAITHFULNESS)))
        shown.append(read_example(step, one))
    return pd.DataFrame(rows, columns=["example", "task", "instance", "method", *FAITHFULNESS]), shown


def read_example(step: Step, one) -> Example:
    """The words of the chosen text and what the two sides say of them."""
    profile, run = step.profile, (one.task, one.model, int(one.seed))
    instance = next(i for i in to_explain(profile, one.task, one.model) if i.id == one.instance)
    tokens = load_tokens(step.results, profile, *run)[instance.id]
    records = load_attributions(step.results, profile, *run)[one.instance]
    read = np.unique(tokens.word[tokens.word >= 0])
    scores = {m: to_words(records[m].on_tokens(len(tokens)), tokens, instance)[read] for m in (one.method, "random")}
    words = np.array(instance.word_texts(), dtype=object)[read]
    rows = {METHODS[m].title: values for m, values in scores.items()}
    return Example(tuple(words), rows)


def lay_out_summary(summary: pd.DataFrame, by: str) -> pd.DataFrame:
    """Tables 2 and 3 as they are printed: a row a value of `by`, a cell `ours (published)`.

    A star: the soft measure differs from its published_dataset by the rank-sum test at p < .01.
    """
    starred = summary.rank_sum < 0.01
    text = [
        f"{value:.3f}{'*' if star else ''} ({'–' if np.isnan(theirs) else f'{theirs:.3f}'})"
        for value, star, theirs in zip(summary.diagnosticity, starred, summary.published, strict=True)
    ]
    return spread_metrics(summary.assign(text=text), [by])


def lay_out_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Table 6 as it is printed: a row a task and method, a cell `ours (published)`."""
    text = [
        f"{value:.2f} ({'–' if np.isnan(theirs) else f'{theirs:.2f}'})"
        for value, theirs in zip(cells.diagnosticity, cells.published, strict=True)
    ]
    return spread_metrics(cells.assign(text=text), ["task", "method"])


def spread_metrics(table: pd.DataFrame, rows: list[str]) -> pd.DataFrame:
    """A column a metric, filled from `text`, the rows in their order."""
    wide = table.pivot(index=rows, columns="metric", values="text")[list(FAITHFULNESS)]
    order = table[rows].drop_duplicates()
    return order.merge(wide.reset_index(), on=rows)
