"""One sentence a section of notebook 07_sun2024."""

import pandas as pd

from compendium.papers.common.method_style import name_method
from compendium.papers.common.sentences import highest, list_rows, lowest, of_row, sentence
from compendium.papers.common.style import name_run

TYPES = {"token": "tokens", "pair": "pairs", "span": "spans", "combined": "combined spans"}
IN_PROSE = {
    "shapley": "Shapley values",
    "attention": "attention",
    "gradients": "integrated gradients",
}
HIGHER = {"comprehensiveness", "token agreement", "interaction agreement", "simulatability"}


def _which(row: pd.Series) -> str:
    technique = IN_PROSE.get(row.technique, row.technique)
    return f"{TYPES.get(row.type, row.type)} by {technique} on {name_run(row)}"


@sentence
def say_faithfulness(table: pd.DataFrame) -> str:
    typed = table[table.type.isin(TYPES)]
    shown = []
    for measure, word, best in (
        ("comprehensiveness", "comprehensive", highest),
        ("sufficiency", "sufficient", lowest),
    ):
        rows = typed[typed.measure == measure]
        if len(rows):
            row = best(rows, "mean")
            shown.append(f"most {word} explanations are {_which(row)}, {of_row(row, 'mean')}")
    return f"The {'; the '.join(shown)}." if shown else "Nothing was masked."


@sentence
def say_agreement(table: pd.DataFrame) -> str:
    row = highest(table, "mean")
    return (
        f"Closest to people's marks are {_which(row)}, {row.measure.replace('_', ' ')} "
        f"{of_row(row, 'mean')}."
    )


@sentence
def say_complexity(table: pd.DataFrame) -> str:
    rows = table[(table.measure == "entropy") & table.type.isin(TYPES)]
    row = lowest(rows, "mean")
    run = ["task", "model", "seed", "technique", "type"]
    random = table[(table[run] == row[run]).all(axis=1) & (table.measure == "random")]
    beside = f" (as many random scores: {of_row(random.iloc[0], 'mean')})" if len(random) else ""
    return f"The simplest explanations are {_which(row)}, {of_row(row, 'mean')} nats{beside}."


@sentence
def say_agents(learned: pd.DataFrame, agents: pd.DataFrame) -> str:
    said = f"Agents have learned to predict {learned.learned.sum()} of {len(learned)} models"
    if agents.gain.isna().all():
        return said
    row = highest(agents, "gain")
    gain = (
        f"the largest gain, {of_row(row, 'gain', sign='+')} points of F1, comes from "
        f"{_which(row)} (as {row.form})"
    )
    if learned.learned.any():
        return f"{said}; {gain}"
    return f"{said}; {gain}, but means nothing as long as agents have not learned"


@sentence
def say_leaks(leaks: pd.DataFrame) -> str:
    row = highest(leaks, "positions")
    surely = (leaks.beyond_low > 0).sum()
    return (
        f"The positions of {surely} of {len(leaks)} explanations, without a word, surely predict "
        f"the class better than the lengths of the texts do; best are those of {_which(row)}, F1 "
        f"{of_row(row, 'positions')} (lengths: {row.lengths:.2f})."
    )


@sentence
def say_explained_models(table: pd.DataFrame) -> str:
    said = (
        "{row:run}: F1 {row.f1}, {row.explained} explained texts, {row.annotated} of them marked "
        "by people"
    )
    return f"{list_rows(said, table)} (in brackets the paper's F1)."


@sentence
def say_properties(summary: pd.DataFrame, faithfulness: pd.DataFrame) -> str:
    """Which type is best on each property, and the highest comprehensiveness of spans."""
    shown = []
    for name, rows in summary[summary.type.isin(["token", "pair", "span"])].groupby(
        "property", sort=False
    ):
        wide = rows.pivot_table(
            index=["task", "model", "technique"], columns="type", values="value"
        ).dropna()
        if len(wide):
            best = wide.idxmax(axis=1) if name in HIGHER else wide.idxmin(axis=1)
            kind, count = next(iter(best.value_counts().items()))
            shown.append(
                f"{TYPES[kind]} by {name.replace('_', ' ')} ({count} of {len(wide)} cells)"
            )
    if not shown:
        return "No property has all three types"
    said = f"The best type is most often {', '.join(shown)}"
    spans = faithfulness[
        (faithfulness.type == "span") & (faithfulness.measure == "comprehensiveness")
    ]
    if spans.empty:
        return said
    return (
        f"{said}. The highest comprehensiveness of spans is "
        f"{of_row(highest(spans, 'mean'), 'mean')}"
    )


@sentence
def say_rules(rules: pd.DataFrame) -> str:
    means = rules.groupby("rule").comprehensiveness_beyond_units.agg(["mean", "min", "max"])
    row = highest(means, "mean")
    return (
        f"Compared with as many single tokens, spans by {row.name.replace('_', ' ')} are the most "
        f"comprehensive: {row['mean']:+.2f} on average ({row['min']:+.2f} to {row['max']:+.2f}, "
        "depending on technique and model)."
    )


@sentence
def say_oracle(oracle: pd.DataFrame) -> str:
    last = oracle[oracle.samples == oracle.groupby("estimate").samples.transform("max")]
    wide = last.groupby(["estimate", "exact"], sort=False).spearman.agg(["mean", "min", "max"])
    best = wide["mean"].idxmax()
    shown = [
        f"{name_method(name)} {row['mean']:.2f} ({row['min']:.2f} to {row['max']:.2f}, depending "
        "on the model)"
        for (name, exact), row in wide.iterrows()
        if exact == "interaction"
    ]
    return (
        f"{name_method(best[0])} comes nearest to exact values, with a rank correlation of "
        f"{wide['mean'][best]:.2f} "
        f"with the {best[1]} value; with the interaction alone: {', '.join(shown)}."
    )


@sentence
def say_combined(combined: pd.DataFrame) -> str:
    surely = combined[(combined.low > 0) | (combined.high < 0)]
    surely = surely.assign(against=surely.against.map(TYPES))
    shown = list_rows("{row.property} against {row.against}, by {row:+difference}", surely)
    return f"Combined explanations surely differ in {shown or 'nothing'}."
