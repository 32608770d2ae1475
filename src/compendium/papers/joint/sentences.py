"""One sentence a section of notebook 08_joint."""

import pandas as pd

from compendium.papers.common.sentences import fill, highest, list_rows, lowest, of_row, sentence
from compendium.papers.joint.standing import MEAN


@sentence
def say_counts(counts: pd.DataFrame, means: pd.DataFrame) -> str:
    """How much the long table holds."""
    row = counts.iloc[0]
    return (
        f"{means.metric.nunique()} metrics judge {row.methods} explanations of {row.texts} texts "
        f"in {row.runs} runs; each mean rests on {means.n.min():.0f} to {means.n.max():.0f} texts."
    )


@sentence
def say_correlations(pooled: pd.DataFrame, chance: pd.DataFrame, itself: pd.DataFrame) -> str:
    """How many pairs of metrics agree, how many beyond chance, and which the most."""
    shown = "tokens" if (pooled.granularity == "tokens").any() else pooled.granularity.iloc[0]
    part = pooled[pooled.granularity == shown]
    halves = itself[itself.granularity == shown]
    beyond = ", {row.beyond} of these {row.told} more than methods with exchanged names do"
    counts = part.verdict.value_counts()
    said = (
        f"Of {len(part)} pairs of metrics, {counts.get('agree', 0)} agree and "
        f"{counts.get('contradict', 0)} contradict each other"
        f"{list_rows(beyond, chance[chance.granularity == shown], '')}; "
    )
    said += fill(
        "rank correlations range from {most:tau} ({most.pair}) down to {least:tau} ({least.pair}).",
        most=highest(part, "tau"),
        least=lowest(part, "tau"),
    )
    if len(halves):
        said += fill(
            " On two halves of the texts, {first.title} ranks methods most alike ({first.tau:.2f}) "
            "and {last.title} least ({last.tau:.2f}).",
            first=highest(halves, "tau"),
            last=lowest(halves, "tau"),
        )
    return said


@sentence
def say_random(by_metric: pd.DataFrame) -> str:
    """Whether random scores are at the bottom, and of which metric least."""
    shares = by_metric.below / by_metric.methods
    worst = by_metric.loc[shares.idxmax()]
    return (
        f"Random scores come out near the bottom in {by_metric.at_bottom.sum()} of "
        f"{by_metric.runs.sum()} combinations of a metric and a run; the metric that puts the "
        f"largest share of methods below them is {worst.title}, {worst.below} of {worst.methods} "
        f"({worst.surely_below} surely)."
    )


@sentence
def say_places(stands: pd.DataFrame) -> str:
    """The method with the highest mean place in each family of models, and where LRP stands."""
    means = stands[stands.metric == MEAN]
    said = []
    for family, part in means.groupby("family", sort=False):
        best = highest(part, "place")
        beats = "on {family} {best.method:method} beats the largest share of the others, "
        words = fill(beats + "{best:place}", family=family, best=best)
        if (part.method == "lrp").any() and best.method != "lrp":
            lrp = part[part.method == "lrp"].iloc[0]
            words += f", and LRP, ranked {lrp['rank']} of {lrp['of']}, {of_row(lrp, 'place')}"
        said.append(words)
    return f"Over all metrics, {'; '.join(said)}."


@sentence
def say_pareto(by_method: pd.DataFrame, front: pd.DataFrame) -> str:
    """Which methods are undominated most often."""
    kept = [name for name in ("task", "model", "metric") if name in front]
    cells = len(front.drop_duplicates(kept))
    most = by_method.nlargest(3, "undominated")
    shown = list_rows("{row.method:method} ({row.undominated})", most, ", ")
    return f"Over {cells} fronts, the methods that are undominated most often are {shown}."


@sentence
def say_choice(choices: pd.DataFrame, objections: pd.DataFrame) -> str:
    """How often the choice is settled, and which methods are recommended."""
    chosen = choices[choices.recommended]
    if chosen.empty:
        return "Nothing can be recommended from so few texts."
    told = "the highest score is that of {row.method:method} on {row:run}, {row:score}."
    against = objections.surely.sum() if len(objections) else 0
    return (
        f"The choice is settled in {chosen.settled.sum()} of {len(chosen)} runs; "
        f"{fill(told, row=highest(chosen, 'score'))} In {against} of "
        f"{len(objections)} comparisons by a single metric, another method is surely better."
    )
