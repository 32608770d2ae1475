"""One sentence a section of notebooks 08 and 09."""

from __future__ import annotations

import pandas as pd

from attreval.metrics.planted.measures import PLANTED_METRICS
from attreval.papers.common.sentences import name_method, name_run, of_row, sentence
from attreval.papers.common.style import task_title
from attreval.papers.joint.places import MEAN


@sentence
def say_counts(counts: pd.DataFrame, summary: pd.DataFrame) -> str:
    """How much the long table holds."""
    row = counts.iloc[0]
    return (
        f"{row.methods} explanations of {row.texts} texts in {row.runs} runs stand before {summary.metric.nunique()} "
        f"metrics; a "
        f"mean rests on {summary.n.min():.0f} to {summary.n.max():.0f} texts."
    )


@sentence
def say_correlations(pooled: pd.DataFrame) -> str:
    """How many pairs of metrics agree, and the two at the ends."""
    part = pooled[pooled.granularity == "tokens"] if (pooled.granularity == "tokens").any() else pooled
    counts = part.verdict.value_counts()
    most, least = part.loc[part.tau.idxmax()], part.loc[part.tau.idxmin()]
    return (
        f"Of {len(part)} pairs of metrics, {counts.get('agree', 0)} agree and {counts.get('contradict', 0)} "
        f"contradict each "
        f"other; from {most.pair}, {of_row(most, 'tau')}, down to {least.pair}, {of_row(least, 'tau')}."
    )


@sentence
def say_random(by_metric: pd.DataFrame) -> str:
    """Whether random scores are at the bottom, and of which metric least."""
    cells, bottom = by_metric.runs.sum(), by_metric.at_bottom.sum()
    shares = by_metric.below / by_metric.methods
    worst = by_metric.loc[shares.idxmax()]
    return (
        f"Random scores are near the bottom in {bottom} of {cells} runs and metrics; the metric that puts the "
        f"largest share of "
        f"methods below them is {worst.title}, {worst.below} of {worst.methods} ({worst.surely_below} surely)."
    )


@sentence
def say_pareto(by_method: pd.DataFrame, front: pd.DataFrame) -> str:
    """Which methods are undominated most often."""
    cells = len(front.drop_duplicates([name for name in ("task", "model", "metric") if name in front]))
    first = by_method.nlargest(3, "undominated")
    shown = ", ".join(f"{name_method(row.method)} ({row.undominated})" for _, row in first.iterrows())
    return f"Undominated most often, of {cells} fronts, are {shown}."


@sentence
def say_choice(choices: pd.DataFrame, objections: pd.DataFrame) -> str:
    """How often the choice is settled, and which methods are recommended."""
    chosen = choices[choices.recommended]
    if chosen.empty:
        return "Nothing can be recommended from so few texts."
    row = chosen.loc[chosen.score.idxmax()]
    against = objections.surely.sum() if len(objections) else 0
    return (
        f"The choice is settled in {chosen.settled.sum()} of {len(chosen)} runs; the highest score is that of "
        f"{name_method(row.method)} on {name_run(row)}, {of_row(row, 'score')}. Surely better on some metric is "
        f"another method in "
        f"{against} of {len(objections)} comparisons."
    )


@sentence
def say_stability(stability: pd.DataFrame) -> str:
    """From which budget on each sampled explanation is stable."""
    shown = [
        f"{name_method(row.method)} from {row.stable_from} on {task_title(row.task)}" for _, row in stability.iterrows()
    ]
    share = f"{100 * stability.threshold.iloc[0]:.0f} % of the top tokens"
    return f"{share} are those of the largest budget for {'; '.join(shown)} (evaluations)."


@sentence
def say_limits(turned: pd.DataFrame, methods: pd.DataFrame) -> str:
    """Whether rankings of models and methods move between the limits of a text."""
    least = methods.loc[methods.tau.idxmin()] if len(methods) else None
    said = f"; methods keep their order to {of_row(least, 'tau')} at the least" if least is not None else ""
    return (
        f"Normalised, {turned.turned.sum()} of {turned.methods.sum()} comparisons of two models turn round, "
        f"{turned.surely.sum()} of them surely{said}."
    )


@sentence
def say_starts(starts: pd.DataFrame) -> str:
    """How many metrics a baseline moves, and how like the scores stay."""
    others = starts[(starts.baseline != "pad") & (starts.metric != "score_tau_b")]
    ranks = starts[(starts.metric == "score_tau_b") & (starts.baseline != "pad")]
    least = ranks.loc[ranks["mean"].idxmin()] if len(ranks) else None
    said = (
        f"; scores stay most unlike from {least.baseline}, rank correlation {of_row(least, 'mean')}"
        if least is not None
        else ""
    )
    return f"Another start surely moves {others.moves.sum()} of {len(others)} values of metrics{said}."


@sentence
def say_separations(cells: pd.DataFrame) -> str:
    """How surely metrics put the truth before random scores, and where they do it least."""
    rows = cells[cells.explainer == "random"]
    worst = rows.loc[rows.separation.idxmin()]
    return (
        f"In {(rows.low > 0.5).sum()} of {len(rows)} metrics and planted models the truth surely comes before random "
        f"scores; least "
        f"so by {PLANTED_METRICS[worst.metric].title} in {worst.world.replace('_', ' ')}, "
        f"{of_row(worst, 'separation')}."
    )


@sentence
def say_planted(verdicts: pd.DataFrame) -> str:
    """Which metrics cannot tell the truth, and how many that can are fooled."""
    failed = verdicts[~verdicts.passes]
    fooled = verdicts[verdicts.passes & verdicts.fooled_by.fillna("").ne("")]
    names = f" ({', '.join(failed.title)})" if len(failed) else ""
    ends = verdicts.random
    return (
        f"{len(failed)} of {len(verdicts)} metrics cannot surely tell the truth{names}; {len(fooled)} of the others "
        f"are fooled by an "
        f"explainer that misleads. Before random scores the truth comes in {100 * ends.min():.0f} % to "
        f"{100 * ends.max():.0f} % of "
        f"texts, by metric."
    )


@sentence
def say_worlds(cells: pd.DataFrame) -> str:
    """Which planted model is the hardest."""
    rows = cells[cells.explainer.isin(["random", "reversed"])]
    unsure = (rows.low <= 0.5).groupby(rows.world, sort=False).sum()
    means = cells[cells.explainer == "random"].groupby("world", sort=False).separation.mean()
    return (
        f"Most comparisons are unsure in {unsure.idxmax().replace('_', ' ')} ({unsure.max()} of "
        f"{(rows.world == unsure.idxmax()).sum()}); "
        f"the mean separation from random scores goes from {means.min():.2f} ({means.idxmin().replace('_', ' ')}) to "
        f"{means.max():.2f} ({means.idxmax().replace('_', ' ')})."
    )


@sentence
def say_constant(table: pd.DataFrame) -> str:
    """Which metric gives constant scores most unlike what it gives random ones."""
    row = table.loc[table.gap.abs().idxmax()]
    return (
        f"{table.title.nunique()} metrics surely do otherwise; farthest off is {row.title} in "
        f"{row.world.replace('_', ' ')}, by "
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
        f"{len(falls)} of {len(verdicts)} metrics fall for it; most raised is {row.title} by the {push} model, by "
        f"{of_row(row, f'{push}_gain', f'{push}_low', f'{push}_high', '+')}."
    )


@sentence
def say_places(stands: pd.DataFrame) -> str:
    """The method with the highest mean place in each family of models, and where LRP stands."""
    means = stands[stands.metric == MEAN]
    said = []
    for family, part in means.groupby("family", sort=False):
        best = part.loc[part.place.idxmax()]
        words = f"on {family} {name_method(best.method)} beats the largest share of the others, {of_row(best, 'place')}"
        if (part.method == "lrp").any() and best.method != "lrp":
            lrp = part[part.method == "lrp"].iloc[0]
            words += f", and LRP, number {lrp['rank']} of {lrp['of']}, {of_row(lrp, 'place')}"
        said.append(words)
    return f"Over all metrics, {'; '.join(said)}."


@sentence
def say_masked(moves: pd.DataFrame) -> str:
    """How far masking in training moves a metric at most, and whether it turns rankings of methods."""
    most = moves.loc[moves["shift"].abs().idxmax()]
    few = (moves.verdict == "too few texts").all()
    turned = (moves.verdict == "moves").sum()
    ranks = (
        "texts are too few to say whether rankings turn"
        if few
        else f"of {len(moves)} rankings of methods {turned} surely turn"
    )
    return (
        f"A model that has learned from masked texts moves {most.title} most ({most.erased}), by "
        f"{of_row(most, 'shift', 'shift_low', 'shift_high', '+')}; {ranks}."
    )
