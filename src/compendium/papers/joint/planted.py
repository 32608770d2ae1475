"""Which metric may be trusted (notebook 09): metrics on trial where the truth is known; tables,
figure, sentences.
"""

from itertools import product

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

from attreval.metrics.separation import metric_verdicts
from attreval.trial import WORLDS as ALL_WORLDS
from attreval.trial.explainers import EXPLAINERS, METHODS, PLAIN
from attreval.trial.measure import PLANTED_METRICS, TRIED, Trial, try_metrics
from attreval.trial.raised import raised_verdicts
from attreval.trial.run import NULLS
from attreval.trial.verdict import matrix_table, short_list, verdicts_by_metric
from attreval.trial.worlds.planted import PLANTED_WORLDS as WORLDS
from compendium.config.judges import MetaSpec
from compendium.config.sections import BootstrapSpec
from compendium.papers.common.sentences import of_row, sentence
from compendium.papers.common.style import bare, use_style

FAIL = "#c62828"  # colours of cells
FOOLED = "#f6d9a8"
FINE = "#d5e6f3"
NEEDED = ("random", "reversed")  # what a metric must tell from the truth
MISLEADING = ("adversarial", "leaking")  # made to mislead
CROSS = "\N{MULTIPLICATION SIGN}"


def try_all(settings: MetaSpec) -> Trial:
    """Every metric, and nulls, in the worlds of a profile: all that need no corpus where it names
    none.
    """
    named = settings.worlds or [
        name for name, one in ALL_WORLDS.items() if settings.corpora or not one.corpus
    ]
    by = {"worlds": named, "explainers": tuple(EXPLAINERS), "methods": METHODS}
    return try_metrics(TRIED | NULLS, settings.instances, settings.draws, **by)


def planted_values(trial: Trial) -> pd.DataFrame:
    """Of a trial the values of metrics of planted texts, in planted worlds, for explanations
    without a method.
    """
    held = trial.values
    return held[
        held.metric.isin(PLANTED_METRICS) & held.world.isin(WORLDS) & held.explainer.isin(PLAIN)
    ]


def matrix(trial: Trial, bootstrap: BootstrapSpec) -> pd.DataFrame:
    """One row a metric and world: see trial.verdict.matrix_table."""
    table = matrix_table(trial, bootstrap.draws, bootstrap.confidence)
    return table.assign(title=_titles(table.metric))


def trial_verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """One row a metric, the most trustworthy first; table: of `matrix`."""
    found = verdicts_by_metric(table, TRIED | NULLS)
    share = found.passed / found.worlds
    return (
        found.assign(share=share)
        .sort_values(["share", "score"], ascending=False)
        .reset_index(drop=True)
    )


def short(table: pd.DataFrame) -> pd.DataFrame:
    """One row a question and metric to use for it; nulls left out. table: of `matrix`."""
    return short_list(table[~table.metric.isin(NULLS)], TRIED)


def verdict_table(cells: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: whether it separates or fails, whom it is fooled by, and the mean
    separations.
    """
    table = metric_verdicts(cells)
    verdict = np.where(table.passes, "separates", "fails")
    return table.assign(
        title=_titles(table.metric),
        verdict=verdict,
        fooled_by=table.fooled_by.replace("", "nobody"),
    )


def worlds_table(cells: pd.DataFrame) -> pd.DataFrame:
    """One row a metric, a column a world: how often it puts the oracle before random scores, as
    text.

    In brackets, where that is less often, before its reverse. A cross: not surely more than half of
    the time for both. Empty where the metric was not asked.
    """
    rows = []
    for metric, part in cells[cells.explainer.isin(NEEDED)].groupby("metric", sort=False):
        row = {"metric": metric, "title": TRIED[metric].title} | dict.fromkeys(WORLDS, "")
        for world, some in part.groupby("world", sort=False):
            by = some.set_index("explainer")
            chance, reverse = by.separation[list(NEEDED)]
            shown = f"{chance:.2f}" if reverse >= chance else f"{chance:.2f} ({reverse:.2f})"
            row[world] = shown if (by.low > 0.5).all() else f"{shown} {CROSS}"
        rows.append(row)
    return pd.DataFrame(rows)


def fooled_table(verdicts: pd.DataFrame) -> pd.DataFrame:
    """One row a metric and misleading explainer: whether the metric is fooled by it. verdicts: of
    `verdict_table`.
    """
    fooled = {
        name: [name in names.split(", ") for names in verdicts.fooled_by] for name in MISLEADING
    }
    return (
        verdicts[["metric", "title"]]
        .assign(**fooled)
        .melt(["metric", "title"], MISLEADING, "explainer", "fooled")
    )


def constant_table(cells: pd.DataFrame) -> pd.DataFrame:
    """One row a metric and world in which scores that are all alike do not get what random scores
    get, surely.
    """
    constant = cells[cells.explainer == "constant"]
    apart = constant[(constant.gap_low > 0) | (constant.gap_high < 0)]
    named = apart.assign(title=_titles(apart.metric))
    return named[["metric", "title", "world", "gap", "gap_low", "gap_high"]]


def raised_by_metric(table: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: whether it falls for a model that answers erased texts to its liking, those
    that do first.
    """
    found = raised_verdicts(table)
    order = (
        found.verdict.map({"falls for it": 0, "moves": 1, "resists": 2})
        .sort_values(kind="stable")
        .index
    )
    return found.assign(title=_titles(found.metric)).loc[order].reset_index(drop=True)


def _titles(metrics: pd.Series) -> list[str]:
    """What figures and tables call planted metrics."""
    return [(TRIED | NULLS)[name].title for name in metrics]


def draw_matrix(table: pd.DataFrame, verdicts: pd.DataFrame):
    """How often each metric puts the truth before random scores, or its reverse where that is less
    often.

    A row a metric, a column a world. Red: not surely, or not surely before its reverse. Sand:
    surely, but a misleading explanation fools it. Empty: the world lacks what it needs. The name of
    a metric that fails in half of them or more is red and ends in a cross. table: of `matrix`;
    verdicts: of `trial_verdicts`, whose order is that of the rows.
    """
    use_style()
    worlds = list(table.world.unique())
    cells = table.set_index(["metric", "world"])
    figure, axes = plt.subplots(figsize=(8.6, 0.27 * len(verdicts) + 1.6))
    for (y, metric), (x, world) in product(enumerate(verdicts.metric), enumerate(worlds)):
        if (metric, world) not in cells.index:
            continue
        cell = cells.loc[metric, world]
        colour = FAIL
        if cell.passes:
            colour = FOOLED if "fooled" in cell.why else FINE
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=1.5))
        least = np.fmin(cell.auc, cell.reversed)
        ink = "white" if colour == FAIL else "black"
        shown = f"{least:.2f}".removeprefix("0")
        axes.text(x + 0.5, y + 0.5, shown, ha="center", va="center", color=ink, fontsize=7)
    axes.set(xlim=(0, len(worlds)), ylim=(len(verdicts), 0))
    names = [world.replace("_", " ") for world in worlds]
    axes.set_xticks(np.arange(len(worlds)) + 0.5, names, rotation=40, ha="left", fontsize=8)
    axes.xaxis.tick_top()
    condemned = verdicts.verdict == "condemned"
    titles = verdicts.title.where(~condemned, verdicts.title + f" {CROSS}")
    axes.set_yticks(np.arange(len(verdicts)) + 0.5, titles, fontsize=8)
    for label in np.array(axes.get_yticklabels())[condemned]:
        label.set(color=FAIL, weight="bold")
    bare(axes)
    figure.tight_layout()
    return axes


@sentence
def say_trial(verdicts: pd.DataFrame) -> str:
    """How many metrics tell the truth in every world, in a part of them, and in none to
    speak of.
    """
    own = verdicts[~verdicts.metric.isin(NULLS)]
    count = own.verdict.value_counts()
    condemned = own.title[own.verdict == "condemned"]
    names = f" ({', '.join(condemned)})" if len(condemned) else ""
    return (
        f"Of {len(own)} metrics {count.get('tells the truth', 0)} surely put the truth first in "
        "every world where they "
        f"can be asked, {count.get('in part', 0)} in more than half of them, and "
        f"{len(condemned)} in fewer{names}."
    )


@sentence
def say_short_list(table: pd.DataFrame) -> str:
    """What to use for each question, and whether a world less changes it."""
    used = table[table.use]
    told = [
        f"{question} {', '.join(part.title)}."
        for question, part in used.groupby("question", sort=False)
    ]
    stable = (used.stays == 1).sum()
    return (
        f"{' '.join(told)} {stable} of these {len(used)} stay on the list whichever world is "
        "left out."
    )


@sentence
def say_separations(cells: pd.DataFrame) -> str:
    """How surely metrics put the truth before random scores, and where they do it least."""
    rows = cells[cells.explainer == "random"]
    worst = rows.loc[rows.separation.idxmin()]
    return (
        f"In {(rows.low > 0.5).sum()} of {len(rows)} combinations of a metric and a planted "
        "model the truth surely "
        f"comes before random scores; least often by {TRIED[worst.metric].title} in "
        f"{worst.world.replace('_', ' ')}, {of_row(worst, 'separation')}."
    )


@sentence
def say_planted(verdicts: pd.DataFrame) -> str:
    """Which metrics cannot tell the truth, and how many that can are fooled."""
    failed = verdicts[~verdicts.passes]
    fooled = verdicts[verdicts.passes & verdicts.fooled_by.fillna("").ne("")]
    names = f" ({', '.join(failed.title)})" if len(failed) else ""
    ends = verdicts.random
    return (
        f"{len(failed)} of {len(verdicts)} metrics do not surely find the truth{names}; "
        f"{len(fooled)} of the others "
        "are fooled by a misleading explainer. The truth comes before random scores in "
        f"{100 * ends.min():.0f} % to "
        f"{100 * ends.max():.0f} % of texts, depending on the metric."
    )


@sentence
def say_worlds(cells: pd.DataFrame) -> str:
    """Which planted model is the hardest."""
    rows = cells[cells.explainer.isin(NEEDED)]
    unsure = (rows.low <= 0.5).groupby(rows.world, sort=False).sum()
    hardest = unsure.idxmax()
    means = cells[cells.explainer == "random"].groupby("world", sort=False).separation.mean()
    return (
        f"The hardest planted model is {hardest.replace('_', ' ')}, where {unsure.max()} of "
        f"{(rows.world == hardest).sum()} comparisons are unsure; the mean separation from "
        "random scores "
        f"ranges from {means.min():.2f} ({means.idxmin().replace('_', ' ')}) to {means.max():.2f} "
        f"({means.idxmax().replace('_', ' ')})."
    )


@sentence
def say_constant(table: pd.DataFrame) -> str:
    """Which metric gives constant scores most unlike what it gives random ones."""
    row = table.loc[table.gap.abs().idxmax()]
    return (
        f"{table.title.nunique()} metrics surely give constant scores something else than random "
        "ones; farthest off is "
        f"{row.title} in {row.world.replace('_', ' ')}, by "
        f"{of_row(row, 'gap', 'gap_low', 'gap_high', '+')}."
    )


@sentence
def say_raised(verdicts: pd.DataFrame) -> str:
    """How many metrics fall for a model that pushes them, and the one that is raised most."""
    falls = verdicts[verdicts.verdict == "falls for it"]
    columns = ["comprehensive_gain", "sufficient_gain"]
    known = verdicts.dropna(subset=columns, how="all")
    if known.empty:
        return "No metric was pushed."
    row = known.loc[known[columns].max(axis=1).idxmax()]
    push = row[columns].astype(float).idxmax().removesuffix("_gain")
    return (
        f"{len(falls)} of {len(verdicts)} metrics fall for it; the {push} model raises "
        f"{row.title} most, by "
        f"{of_row(row, f'{push}_gain', f'{push}_low', f'{push}_high', '+')}."
    )
