"""How do the four properties look beside the published tables? Cells as the paper prints them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attreval.study.diagnosis_claims import kind_of, published
from attreval.study.diagnosis_tables import PROPERTIES

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


def show(name: str, value: float, reported: float = np.nan) -> str:
    """A value as text, with the published one in brackets where there is one."""
    digits, own = DIGITS.get(name, 2), value * SCALES.get(name, 1)
    said = MISSING if np.isnan(own) else f"{own:.{digits}f}"
    return said if np.isnan(reported) else f"{said} [{reported:.{digits}f}]"
