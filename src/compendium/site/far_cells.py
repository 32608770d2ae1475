"""Cells of the papers' tables from which ours lie far, and what was tried on them, from the tables of a run.

A share is far where it differs by more than FAR; a count, points or an entropy, by more than that part of what is
published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from attreval.core.tables import read_csv
from compendium.papers.common.scorecard import PAPERS as PAPER_TITLES
from compendium.site.markdown import pipe_table, with_minus
from compendium.site.tables import title_of

FAR = 0.15
Part = tuple[str, pd.DataFrame, str]  # where, cells with columns `ours` and `published`, what was tried on them
FAMILIES = {  # of the rows of Table 2 of Poerner et al. (2018), by how they begin; and the choices that move them
    "grad": ("gradients", ("ties",)),
    "o": ("omission and occlusion", ("windows", "ties")),
    "limsse": ("LIMSSE", ("limsse_sampling", "limsse_solver", "ties")),
    "decomp": ("decomposition", ("decomposition_output_gate", "ties")),
    "": ("LRP, DeepLIFT, baselines", ("ties", "affix")),
}


def far_cells(tables: Mapping[str, Path]) -> pd.DataFrame:
    """One row for each part of a paper's tables with a cell that is far: how many are, by how much, what was tried.

    tables: the files of a run by name; a paper whose tables it lacks is left out. Columns paper, where, cells, far,
    gap (ours less published, mean over those that are far), tried.
    """
    rows = []
    for paper, (ask, *names) in PAPERS.items():
        if all(f"{name}.csv" in tables for name in names):
            for where, part, tried in ask(*(read_csv(tables[f"{name}.csv"]) for name in names)):
                gap = part.ours - part.published
                far = gap.abs() > FAR
                if far.any():
                    rows.append((paper, where, len(part), int(far.sum()), gap[far].mean(), tried))
    return pd.DataFrame(rows, columns=["paper", "where", "cells", "far", "gap", "tried"])


def far_cells_markdown(tables: Mapping[str, Path]) -> str:
    """`far_cells` as a table for people."""
    rows = [
        [
            PAPER_TITLES[row.paper],
            row.where,
            f"{row.far} of {row.cells}",
            with_minus(f"{row.gap:+.2f}"),
            with_minus(row.tried),
        ]
        for row in far_cells(tables).itertuples()
    ]
    headers = ["Paper", "Where", "Far", "Ours less published", "What was tried"]
    return pipe_table(headers, rows, ["left", "left", "left", "right", "left"])


def _pointing(table: pd.DataFrame, choices: pd.DataFrame, models: pd.DataFrame) -> Iterator[Part]:
    """Table 2, the cells that could be read with confidence, by experiment and family of methods."""
    known = table[table.confidence.isin(["H", "M"])].dropna(subset=["ours", "published"])
    family = known.method.map(lambda name: next(start for start in FAMILIES if name.startswith(start)))
    for (experiment, start), part in known.groupby(["experiment", family], sort=False):
        named, own = FAMILIES[start]
        asked = choices[choices.choice.isin(own) & choices.game.isin(part.metric)].dropna(subset="largest")
        most = asked.sort_values("largest", key=abs).drop_duplicates(["choice", "value"], keep="last").sort_index()
        tried = [
            f"{one.choice}: {one.value} in place of {one.instead_of} ({one.largest:+.2f} at most)"
            for one in most.itertuples()
        ]
        behind = models[models.experiment == experiment].ours_less_published.mean()
        tried += [f"our models' accuracy less the published is {behind:+.2f}"] if pd.notna(behind) else []
        yield f"Table 2, {experiment}, {named}", part, "; ".join(tried)


def _agreement(dynamic: pd.DataFrame, rules: pd.DataFrame) -> Iterator[Part]:
    """Mean dynamic k of e-SNLI, in parts of the published one."""
    known = dynamic[(dynamic.task == "esnli") & dynamic.published_k.notna()]
    other = rules[(rules.task == "esnli") & rules.voter.isin(known.voter)].groupby("rule", sort=False).k.mean()
    tried = "; ".join(f"rule {rule} (mean k {k:.1f})" for rule, k in other.items())
    yield "mean dynamic k", known.assign(ours=known.k / known.published_k, published=1.0), tried


def _diagnosticity(table: pd.DataFrame, rules: pd.DataFrame, drivers: pd.DataFrame) -> Iterator[Part]:
    """Table 6, by metric; other rules, and what moves the level of hard metrics most."""
    known = table.dropna(subset="published").rename(columns={"diagnosticity": "ours"})
    keys = ["task", "method", "metric"]
    for metric, part in known.groupby("metric", sort=False):
        far = part[(part.ours - part.published).abs() > FAR]
        tried = []
        for rule, other in rules[rules.metric == metric].groupby("rule", sort=False):
            near = far.merge(other[[*keys, "diagnosticity"]], on=keys)
            count = ((near.diagnosticity - near.published).abs() <= FAR).sum()
            tried += [f"rule {rule} (brings {count} of {len(near)} near)"] if rule != "published" and len(near) else []
        for one in drivers[drivers.metric == metric].itertuples():
            tried += [f"{one.title} (mean {one.diagnosticity:.2f} in place of {one.before:.2f})"]
        yield f"Table 6, {title_of('metric', metric)}", part, "; ".join(tried)


def _diagnosis(complexity: pd.DataFrame, agreement: pd.DataFrame) -> Iterator[Part]:
    """Tables 3 to 6, 11 and 12: entropies in parts of the published ones, agreement with people as it is."""
    for where, table, tried in (
        ("Tables 11 and 12, entropy", complexity, "nothing"),
        ("Tables 3 to 6, agreement with people", agreement, "other people's marks stand in for those of SpanEx"),
    ):
        cells = table[["token", "pair", "span"]].stack().astype(str).str.extract(r"^(\S+) \[(\S+)\]$")
        ours, published = (pd.to_numeric(cells[at], errors="coerce") for at in (0, 1))
        scale = published if table is complexity else 100
        yield where, pd.DataFrame({"ours": ours / scale, "published": published / scale}).dropna(), tried


PAPERS = {
    "poerner2018": (_pointing, "04_poerner2018_table2", "04_poerner2018_choices", "04_poerner2018_models"),
    "kamp2023": (_agreement, "05_kamp2023_dynamic_k", "05_kamp2023_rules"),
    "zhao2023": (_diagnosticity, "06_zhao2023_table6", "06_zhao2023_table6_rules", "06_zhao2023_largest_drivers"),
    "sun2024": (_diagnosis, "07_sun2024_table_complexity", "07_sun2024_table_agreement"),
}
