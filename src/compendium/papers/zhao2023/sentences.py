"""One sentence a section of notebook 06."""

import pandas as pd

from attreval.metrics import FAITHFULNESS, METRICS
from compendium.papers.common.method_style import name_method
from compendium.papers.common.sentences import (
    highest,
    list_rows,
    lowest,
    of_first_task,
    of_row,
    sentence,
)
from compendium.papers.common.style import task_title
from compendium.papers.zhao2023.settings import main_rows

MEASURES = {metric: METRICS[metric].title for metric in FAITHFULNESS}


@sentence
def say_area(area: pd.DataFrame) -> str:
    """The most comprehensive method of the first task, beside random scores."""
    part = of_first_task(area[area.measure == "comprehensiveness"])
    methods = part[part.method != "random"]
    best = highest(methods, "mean")
    random = part[part.method == "random"]
    floor = f", random scores {of_row(random.iloc[0], 'mean')}" if len(random) else ""
    surely = (methods.low > (random.high.iloc[0] if len(random) else 0)).sum()
    return (
        f"On {task_title(best.task)} {name_method(best.method)} is the most comprehensive method, "
        f"{of_row(best, 'mean')}{floor}; {surely} of {len(methods)} methods are surely above "
        "random scores."
    )


@sentence
def say_follows(area: pd.DataFrame) -> str:
    """What both kinds of erasure do to the probability, mean over tasks and methods."""
    means = area.groupby(["measure", area.method == "random"])["mean"].mean().unstack()
    asked = means.reindex(["comprehensiveness", "sufficiency"], columns=[False, True])
    (gone, by_chance), (kept, of_random) = asked.to_numpy()
    return (
        "Without the tokens that a method scores highest the probability of the class falls by "
        f"{gone:.2f} on average (tokens chosen at random: {by_chance:.2f}), and with these alone "
        f"by {kept:.2f} ({of_random:.2f})."
    )


@sentence
def say_data(table: pd.DataFrame) -> str:
    known = table[table.published_f1.notna()]
    apart = known.f1 - known.published_f1
    return (
        f"Our macro F1 differs from the published one by {apart.mean():+.1f} points on average, "
        f"from {apart.min():+.1f} ({task_title(known.task[apart.idxmin()])}) to {apart.max():+.1f} "
        f"({task_title(known.task[apart.idxmax()])})."
    )


@sentence
def say_sizes(curves: pd.DataFrame) -> str:
    """Up to where a larger rationale raises the hard measures of the first task."""
    part = of_first_task(curves[curves.method != "random"])
    shown = []
    for measure, title in (
        ("normalised_comprehensiveness", "NC"),
        ("normalised_sufficiency", "NS"),
    ):
        rows = part[part.measure == measure]
        if rows.empty:
            continue
        means = rows.groupby("ratio")["mean"].mean()
        best = highest(rows, "mean")
        shown.append(
            f"{title} goes from {means.iloc[0]:.2f} with {100 * means.index[0]:.0f} % of the "
            f"tokens to {means.iloc[-1]:.2f} with {100 * (means.index[-1]):.0f} %, mean over "
            f"methods, and is highest for {name_method(best.method)} ({of_row(best, 'mean')})"
        )
    return (
        f"On {task_title(part.task.iloc[0])} {' and '.join(shown)}."
        if shown
        else "No method is erased by."
    )


@sentence
def say_diagnosticity(by_method: pd.DataFrame, cells: pd.DataFrame) -> str:
    """The mean diagnosticity of each measure (Table 2), and the highest cell (Table 6)."""
    row = highest(cells, "diagnosticity")
    surely = (cells.low > 0.5).groupby(cells.metric).agg(["sum", "size"])
    averages = by_method[by_method.method == "average"].set_index("metric").diagnosticity
    if averages.empty:
        return ""
    shown = ", ".join(
        f"{MEASURES[name]} {averages[name]:.2f} (surely above one half in {sure} of {count} cells)"
        for name, (sure, count) in surely.reindex(
            [name for name in MEASURES if name in averages]
        ).iterrows()
    )
    return (
        f"Mean diagnosticity is {shown}; the highest cell is {MEASURES[row.metric]} of "
        f"{name_method(row.method)} on {task_title(row.task)}, {of_row(row, 'diagnosticity')}."
    )


@sentence
def say_remains(remains: pd.DataFrame) -> str:
    """By how much soft lies above or below hard erasure, as published and under the last rule."""
    shown = []
    for measure, rows in remains.groupby("measure", sort=False):
        ends = [rows.iloc[0], rows.loc[rows.difference.abs().idxmin()]]
        said = [
            f"{of_row(row, 'difference', sign='+')} under “{row.title.lower()}”" for row in ends
        ]
        shown.append(
            f"{measure} differs from its hard counterpart by {said[0]} and, at the closest, by "
            f"{said[1]}"
        )
    return f"{'; '.join(shown)}."


@sentence
def say_ratios(ratios: pd.DataFrame) -> str:
    """Where hard measures are most diagnostic, beside the soft ones, on the first task."""
    part = of_first_task(ratios)
    hard = part[part.ratio.notna()]
    soft = part[part.ratio.isna()]
    best = highest(hard, "diagnosticity")
    level = highest(soft, "diagnosticity")
    return (
        f"On {task_title(best.task)} {MEASURES[best.metric]} is most diagnostic with "
        f"{100 * best.ratio:.0f} % of the tokens, {of_row(best, 'diagnosticity')}; the better of "
        f"the soft metrics, {MEASURES[level.metric]}, reaches {of_row(level, 'diagnosticity')}."
    )


@sentence
def say_draws(draws: pd.DataFrame) -> str:
    sds = draws[["soft_nc_sd", "soft_ns_sd"]]
    if not sds.max().max():
        return "Of each text 1 random mask was drawn: how far masks move a value is not told."
    return (
        f"From one random mask to the next, a text's Soft-NC moves by {sds.soft_nc_sd.mean():.2f} "
        f"and its Soft-NS by {sds.soft_ns_sd.mean():.2f} (standard deviations, "
        f"{sds.min().min():.2f} to {sds.max().max():.2f} depending on task and method)."
    )


@sentence
def say_scale(keep: pd.DataFrame) -> str:
    """How much of a text the main protocol keeps, and how often who keeps more wins."""
    part = main_rows(keep)
    least = lowest(part, "keep_rate")
    most = highest(part, "keep_rate")
    weights = part.pairs / part.pairs.sum()
    follows = (part.follows_ns * weights).sum()
    return (
        f"Min-max strengths keep from {100 * least.keep_rate:.0f} % ({name_method(least.method)}) "
        f"to {100 * most.keep_rate:.0f} % ({name_method(most.method)}) of a text; the side that "
        f"keeps more wins {100 * follows:.0f} % of the decided pairs of Soft-NS "
        f"({100 * part.follows_ns.min():.0f} % to {100 * part.follows_ns.max():.0f} %, depending "
        "on the method)."
    )


@sentence
def say_changes(largest: pd.DataFrame, changes: pd.DataFrame) -> str:
    rows = largest[["metric", "setting"]].merge(changes, on="setting")
    shown = list_rows("{row.measure} by {row:+moved low high} (“{row.title}”)", _of_metric(rows))
    return f"The largest moves: {shown}."


@sentence
def say_drivers(largest: pd.DataFrame, drivers: pd.DataFrame) -> str:
    rows = largest[["metric", "change"]].merge(drivers, on="change")
    return list_rows(
        "“{row.title}” lowers {row.measure} most, by {row:+moved low high} to {row.value:.2f} "
        "(published {row.published:.2f})",
        _of_metric(rows),
    )


def _of_metric(rows: pd.DataFrame) -> pd.DataFrame:
    """Each row with the cells of its own metric: of `nc`, those of `nc`, `nc_change`, ..."""
    found = []
    for row in rows.to_dict("records"):
        metric = row["metric"]
        cells = {"title": row["title"], "measure": MEASURES[metric], "value": row[metric]}
        cells |= {end: row.get(f"{metric}_{end}") for end in ("low", "high", "published")}
        found.append(cells | {"moved": row[f"{metric}_change"]})
    return pd.DataFrame(found)


@sentence
def say_settings(settings: pd.DataFrame) -> str:
    said = (
        "Of {row.pairs:,.0f} pairs on {row.instances:.0f} texts, {row.nc_ties:percent} tie on NC, "
        "{row.soft_nc_ties:percent} on Soft-NC, {row.ns_ties:percent} on NS and "
        "{row.soft_ns_ties:percent} on Soft-NS; "
        "erasing everything changes nothing in {row.no_effect:percent} of the texts."
    )
    return list_rows(said, main_rows(settings))


@sentence
def say_erasure_examples(table: pd.DataFrame) -> str:
    wide = (
        table.assign(random=table.method == "random")
        .groupby(["example", "random"])
        .first(numeric_only=True)
    )
    if wide.index.get_level_values("random").nunique() < 2:
        return "No text has both a method's scores and random ones."
    apart = {
        name: (wide.xs(False, level=1)[name] - wide.xs(True, level=1)[name]).abs()
        for name in MEASURES
    }
    shown = ", ".join(
        f"{MEASURES[name]} {value.min():.2f} to {value.max():.2f}" for name, value in apart.items()
    )
    return f"In the texts shown, the method and random scores differ by {shown}."
