"""How do the four properties look beside the published tables? Cells as the paper prints them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attreval.core import project
from attreval.papers.sun2024.claims import kind_of, published
from attreval.papers.sun2024.tables import PROPERTIES

TITLES = {"shapley": "Shapley", "attention": "Attention", "gradients": "IG"}
TYPES = ("token", "pair", "span", "combined")
DIGITS = {"token agreement": 1, "interaction agreement": 1, "simulatability": 1}
SCALES = {"token agreement": 100, "interaction agreement": 100}
CORPORA = {"snli": "SNLI", "fever": "FEVER"}
MISSING = "–"


def lay_out_properties(summary: pd.DataFrame, models: dict, names=tuple(PROPERTIES)) -> pd.DataFrame:
    """One row a property, task, model and technique; a column a type: ours, and in brackets the published value.

    Published is what Sun et al. have for the same corpus, kind of model and technique; agreement is in percent, gains
    in points of F1. What was not measured is a dash. models: name -> config.ModelSpec. names: of the properties wanted.
    """
    theirs = published().query("form != 'text'").set_index(["task", "kind", "technique", "type", "property"]).value
    keys = list(dict.fromkeys(zip(summary.task, summary.model, summary.technique, strict=True)))
    ours = summary.set_index(["task", "model", "technique", "type", "property"])
    rows = []
    for name in names:
        for task, model, technique in keys:
            where = (CORPORA.get(task, task), kind_of(models[model]), technique)
            cells = {}
            for kind in TYPES:
                value = ours.value.get((task, model, technique, kind, name), np.nan)
                cells[kind] = show(name, value, theirs.get((*where, kind, name), np.nan))
            chance = ours.chance.get((task, model, technique, "span", name), np.nan)
            rows.append((name, task, model, TITLES[technique], *cells.values(), show(name, chance)))
    return pd.DataFrame(rows, columns=["property", "task", "model", "technique", *TYPES, "chance"])


def lay_out_models(step, diagnosis, agents: pd.DataFrame) -> pd.DataFrame:
    """One row a task and model: macro F1 on test beside the published one, and how many instances each property has.

    After Tables 1 and 2 of Sun et al. with_spans: instances in which every technique finds a pair of spans.
    """
    reported = pd.read_csv(project.home() / "paper" / "reported" / "sun_base_f1.csv")
    reported = reported.set_index(
        ["dataset", reported.model.map({"BERT": "encoder", "BART": "encoder-decoder"})]
    ).test_f1
    rows = []
    for task, model in dict.fromkeys((task, model) for task, model, _ in step.profile.explained_runs("diagnosis")):
        seeds = step.profile.tasks[task].seeds
        trained = [step.results.read_table("accuracy", "02_train", step.profile.read_by(task), model, s) for s in seeds]
        f1 = 100 * float(np.mean([table.macro_f1.iloc[0] for table in trained]))
        found = {name: part[(part.task == task) & (part.model == model)] for name, part in vars(diagnosis).items()}
        complete = found["complexity"].groupby("instance").technique.nunique()
        told = agents[(agents.task == task) & (agents.model == model)]
        published_f1 = reported.get((CORPORA.get(task, task), kind_of(step.profile.models[model])), np.nan)
        rows.append(
            {
                "task": task,
                "model": model,
                "f1": f"{f1:.1f}" + ("" if np.isnan(published_f1) else f" [{published_f1:.1f}]"),
                "explained": step.profile.diagnosis.rows,
                "with_spans": int((complete == len(step.profile.diagnosis.techniques)).sum()),
                "annotated": int(found["agreement"].dropna(subset=["token"]).instance.nunique()),
                "agents_train": int(told.train.max()) if len(told) else 0,
                "agents_tested": int(told.tested.max()) if len(told) else 0,
            }
        )
    return pd.DataFrame(rows)


def show(name: str, value: float, reported: float = np.nan) -> str:
    """A value as text, with the published one in brackets where there is one."""
    digits, own = DIGITS.get(name, 2), value * SCALES.get(name, 1)
    said = MISSING if np.isnan(own) else f"{own:.{digits}f}"
    return said if np.isnan(reported) else f"{said} [{reported:.{digits}f}]"
