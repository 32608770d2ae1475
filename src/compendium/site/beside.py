"""Ours beside the published: every cell of the papers' tables, and how near ours are, by part.

A part is a table of a paper, or a block of one, and where several of our corpora stand for one of
the paper's, a part is of one of them. Cells that the papers print illegibly, and those of models
that have not learned their task, stand in the picture and in no mean.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from attreval.core.tables import read_csv
from compendium.papers.common.scorecard import PAPERS
from compendium.papers.common.style import task_title
from compendium.papers.common.tables import spell, table_of
from compendium.papers.sun2024 import tables as sun2024
from compendium.papers.zhao2023 import tables as zhao2023
from compendium.papers.zhao2023.settings import PUBLISHED_TASKS
from compendium.site.markdown import pipe_table, with_minus
from compendium.site.tables import cell_title

# corpus: of ours, where several stand for one. row, column: a cell's place. low, high: our
# interval, NaN where a table has none. counts: whether means are over it
CELL = spell("part corpus row column ours low high published counts")
BLOCKS = {  # of Table 2 of Poerner et al. (2018), by game
    "hybrid": "",
    "manual": "",
    "hit_target": ", subject",
    "hit_feat": ", a word of its number",
}
LEGIBLE = ("H", "M")
SIMULATABILITY = "simulatability"
TABLES_OF = {  # of Sun et al. (2024), by property
    "token agreement": "Tables 3 to 6, tokens",
    "interaction agreement": "Tables 3 to 6, interactions",
    SIMULATABILITY: "Tables 7 to 10,",
    "complexity": "Tables 11 and 12",
}
FEWEST = 4  # cells that have a rank correlation


def read_cells(tables: Mapping[str, Path]) -> pd.DataFrame:
    """One row a published cell: paper, and CELL; `ours` is NaN where the run has none.

    Args:
        tables: The files of a run by name; a paper whose first table it lacks is left out.
    """
    found = [pd.DataFrame(columns=["paper", *CELL])]
    for paper, (names, cells_of) in SOURCES.items():
        files = [f"{name}.csv" for name in names]
        if files[0] in tables:
            part = cells_of(*(read_csv(tables[name]) for name in files if name in tables))
            known = part[part.published.notna()]
            found.append(known.assign(paper=paper).reindex(columns=[*found[0]]))
    cells = pd.concat(found[1:] or found, ignore_index=True)
    filled = cells.fillna({"counts": True, "corpus": "", "column": ""})
    return filled.astype({"counts": bool})


def _methods(names: pd.Series) -> list[str]:
    return [cell_title("method", name) for name in names]


def _pointing(table: pd.DataFrame) -> pd.DataFrame:
    """Table 2 of Poerner et al. (2018), by experiment and game."""
    wrong = np.where(table.condition == "wrong", ", wrong predictions", "")
    experiment = table.experiment.str.removeprefix("morphosyntactic ")
    several = table.groupby("experiment").task.transform("nunique") > 1
    return table.assign(
        part="Table 2, " + experiment + table.metric.map(BLOCKS) + wrong,
        corpus=table.task.map(task_title).where(several, ""),
        row=_methods(table.method),
        column=table.architecture,
        counts=table.confidence.isin(LEGIBLE),
    )


def _agreement(improvement: pd.DataFrame, dynamic: pd.DataFrame) -> pd.DataFrame:
    """Table 1 of Kamp et al. (2023), and the mean dynamic k of its code; means over runs."""
    gains = improvement[improvement.task == "esnli"].groupby(["method", "k"], sort=False)
    gained = gains[["improvement", "published"]].mean().reset_index()
    gained = gained.rename(columns={"improvement": "ours"})
    gained = gained.assign(part="Table 1", column="k = " + gained.k.astype(str))
    sizes = dynamic[dynamic.task == "esnli"].groupby("voter", sort=False)
    wanted = sizes[["k", "low", "high", "published_k"]].mean().reset_index()
    names = {"k": "ours", "published_k": "published", "voter": "method"}
    wanted = wanted.rename(columns=names).assign(part="Mean dynamic k")
    cells = pd.concat([gained, wanted])
    return cells.assign(row=_methods(cells.method))


def _diagnosticity(learned: pd.DataFrame, *others: pd.DataFrame) -> pd.DataFrame:
    """Table 6 of Zhao and Aletras (2023), by metric; runs may lack that of unlearned models."""
    ours = pd.concat([learned, *others], keys=range(1 + len(others)))
    ours = ours.assign(counts=ours.index.get_level_values(0) == 0)
    ours = ours[ours.task.isin(PUBLISHED_TASKS)].rename(columns={"diagnosticity": "ours"})
    key = ["dataset", "method", "metric"]
    theirs = zhao2023.published_cells().melt(key[:2], var_name="metric", value_name="published")
    cells = theirs.merge(ours.drop(columns="published"), on=key, how="left")
    return cells.assign(
        part=[f"Table 6, {cell_title('metric', name)}" for name in cells.metric],
        row=_methods(cells.method),
        column=cells.dataset,
    )


def _diagnosis(summary: pd.DataFrame, agents: pd.DataFrame) -> pd.DataFrame:
    """Tables 3 to 12 of Sun et al. (2024), by property; means over seeds."""
    kinds = summary[["task", "model", "kind"]].drop_duplicates()
    gains = agents.rename(columns={"gain": "value"}).merge(kinds, on=["task", "model"])
    others = summary[summary.property != SIMULATABILITY].assign(form=sun2024.NO_FORM)
    measured = pd.concat([others, gains.assign(property=SIMULATABILITY)])
    factor = measured.property.map(lambda name: sun2024.PROPERTIES[name].factor)
    key = ["task", "kind", "technique", "type", "property", "form"]
    ours = measured[["value", "low", "high"]].mul(factor, axis=0).rename(columns={"value": "ours"})
    means = ours.groupby([measured[name] for name in key]).mean().reset_index()
    theirs = sun2024.published_cells().rename(columns={"value": "published"})
    cells = theirs.merge(means, on=key, how="left")
    corpus = cells.task.map(sun2024.CORPORA)
    technique = cells.technique.map(sun2024.TECHNIQUE_TITLES)
    form = (" " + cells.form).where(cells.form != sun2024.NO_FORM, "")
    return cells.assign(
        part=cells.property.map(TABLES_OF) + form,
        row=corpus + ", " + cells.kind + ", " + technique,
        column=cells.type.map(sun2024.TYPE_TITLES),
    )


@table_of("paper part corpus cells ours counted distance correlation inside intervals")
def parts_table(cells: pd.DataFrame) -> Iterator[tuple]:
    """One row a part of a paper's tables, and corpus.

    cells: that are published; ours: of these, those that the run has; counted: of these, those that
    means are over. distance: mean absolute difference; correlation: Spearman's, NaN of fewer than
    FEWEST cells; inside: how many published values lie in our interval, of so many intervals.

    cells: of `read_cells`.
    """
    for names, part in cells.groupby(["paper", "part", "corpus"], sort=False):
        here = part[part.ours.notna()]
        counted = here[here.counts]
        gap = (counted.ours - counted.published).abs().mean()
        correlation = np.nan
        if len(counted) >= FEWEST:
            correlation = counted.ours.corr(counted.published, "spearman")
        known = counted[counted.low.notna()]
        inside = known.published.between(known.low, known.high).sum()
        yield *names, len(part), len(here), len(counted), gap, correlation, inside, len(known)


def parts_markdown(parts: pd.DataFrame) -> str:
    """The rows of `parts_table` as a Markdown table."""
    rows = []
    before = ""
    for one in parts.itertuples():
        found = [f"{one.ours} of {one.cells}", "–", "–", "–"]
        if one.counted:
            found[1] = f"{one.distance:.2f} ({one.counted})"
            found[2] = with_minus(f"{one.correlation:.2f}")
        if one.intervals:
            found[3] = f"{one.inside} of {one.intervals}"
        part = f"{one.part} ({one.corpus})" if one.corpus else one.part
        paper = "" if one.paper == before else PAPERS[one.paper]
        before = one.paper
        rows.append([paper, part, *found])
    headers = ["Paper", "Part", "Cells", "Distance", "Rank correlation", "Inside our interval"]
    return pipe_table(headers, rows, ["left", "left", "right", "right", "right", "right"])


# by paper: tables of a run, and what makes cells of them
SOURCES: dict[str, tuple[tuple[str, ...], Callable[..., pd.DataFrame]]] = {
    "poerner2018": (("04_poerner2018_table2",), _pointing),
    "kamp2023": (("05_kamp2023_table1", "05_kamp2023_dynamic_k"), _agreement),
    "zhao2023": (("06_zhao2023_table6", "06_zhao2023_table6_unlearned"), _diagnosticity),
    "sun2024": (("07_sun2024_summary", "07_sun2024_agents"), _diagnosis),
}
