"""One sentence a section of notebooks 08."""

import pandas as pd

from compendium.papers.common.method_style import name_method
from compendium.papers.common.sentences import of_row, sentence
from compendium.papers.common.style import name_run, task_title
from compendium.papers.joint.decomposition import NEARNESS
from compendium.papers.joint.standing import DIFFER, MEAN, TOO_FEW


@sentence
def say_counts(counts: pd.DataFrame, summary: pd.DataFrame) -> str:
    """How much the long table holds."""
    row = counts.iloc[0]
    return (
        f"{summary.metric.nunique()} metrics judge {row.methods} explanations of {row.texts} "
        f"texts in {row.runs} runs; "
        f"each mean rests on {summary.n.min():.0f} to {summary.n.max():.0f} texts."
    )


@sentence
def say_correlations(pooled: pd.DataFrame, chance: pd.DataFrame, itself: pd.DataFrame) -> str:
    """How many pairs of metrics agree, how many beyond chance, the two at the ends, and how stable
    orders are.
    """
    shown = "tokens" if (pooled.granularity == "tokens").any() else pooled.granularity.iloc[0]
    part = pooled[pooled.granularity == shown]
    halves = itself[itself.granularity == shown]
    counts = part.verdict.value_counts()
    most = part.loc[part.tau.idxmax()]
    least = part.loc[part.tau.idxmin()]
    beyond = "".join(
        f", {row.beyond} of these {row.told} more than methods with exchanged names do"
        for row in chance[chance.granularity == shown].itertuples()
    )
    said = (
        f"Of {len(part)} pairs of metrics, {counts.get('agree', 0)} agree and "
        f"{counts.get('contradict', 0)} "
        f"contradict each other{beyond}; rank correlations range from {of_row(most, 'tau')} "
        f"({most.pair}) down to "
        f"{of_row(least, 'tau')} ({least.pair})."
    )
    if len(halves):
        first = halves.loc[halves.tau.idxmax()]
        last = halves.loc[halves.tau.idxmin()]
        said += (
            f" On two halves of the texts, {first.title} ranks methods most alike "
            f"({first.tau:.2f}) and "
        )
        said += f"{last.title} least ({last.tau:.2f})."
    return said


@sentence
def say_random(by_metric: pd.DataFrame) -> str:
    """Whether random scores are at the bottom, and of which metric least."""
    shares = by_metric.below / by_metric.methods
    worst = by_metric.loc[shares.idxmax()]
    return (
        f"Random scores come out near the bottom in {by_metric.at_bottom.sum()} of "
        f"{by_metric.runs.sum()} combinations "
        "of a metric and a run; the metric that puts the largest share of methods below them is "
        f"{worst.title}, "
        f"{worst.below} of {worst.methods} ({worst.surely_below} surely)."
    )


@sentence
def say_pareto(by_method: pd.DataFrame, front: pd.DataFrame) -> str:
    """Which methods are undominated most often."""
    cells = len(
        front.drop_duplicates([name for name in ("task", "model", "metric") if name in front])
    )
    first = by_method.nlargest(3, "undominated")
    shown = ", ".join(
        f"{name_method(row.method)} ({row.undominated})" for _, row in first.iterrows()
    )
    return f"Over {cells} fronts, the methods that are undominated most often are {shown}."


@sentence
def say_choice(choices: pd.DataFrame, objections: pd.DataFrame) -> str:
    """How often the choice is settled, and which methods are recommended."""
    chosen = choices[choices.recommended]
    if chosen.empty:
        return "Nothing can be recommended from so few texts."
    row = chosen.loc[chosen.score.idxmax()]
    against = objections.surely.sum() if len(objections) else 0
    return (
        f"The choice is settled in {chosen.settled.sum()} of {len(chosen)} runs; the highest "
        "score is that of "
        f"{name_method(row.method)} on {name_run(row)}, {of_row(row, 'score')}. In {against} of "
        f"{len(objections)} "
        f"comparisons by a single metric, another method is surely better."
    )


@sentence
def say_stability(stability: pd.DataFrame) -> str:
    """From which budget on each sampled explanation is stable."""
    rows = stability.itertuples()
    shown = "; ".join(
        f"{name_method(row.method)} from {row.stable_from} on {task_title(row.task)}"
        for row in rows
    )
    share = f"{100 * stability.threshold.iloc[0]:.0f} % of its top tokens"
    return (
        f"A method shares {share} with its largest budget at these numbers of evaluations: {shown}."
    )


@sentence
def say_limits(turned: pd.DataFrame, methods: pd.DataFrame) -> str:
    """Whether rankings of models and methods move between the limits of a text."""
    said = ""
    if len(methods):
        least = methods.loc[methods.tau.idxmin()]
        said = f"; the order of methods keeps a rank correlation of at least {of_row(least, 'tau')}"
    return (
        f"Normalising reverses {turned.turned.sum()} of {turned.methods.sum()} comparisons of "
        "two models, "
        f"{turned.surely.sum()} of them surely{said}."
    )


@sentence
def say_starts(starts: pd.DataFrame) -> str:
    """How many metrics a baseline moves, and how like the scores stay."""
    others = starts[starts.baseline != "pad"]
    ranks = others[others.metric == "score_tau_b"]
    others = others[others.metric != "score_tau_b"]
    said = f"Another baseline surely moves {others.moves.sum()} of {len(others)} metric values"
    if len(ranks):
        least = ranks.loc[ranks["mean"].idxmin()]
        said += f"; scores change most from {least.baseline} (rank correlation with those from pad "
        said += f"{of_row(least, 'mean')})"
    return said


@sentence
def say_places(stands: pd.DataFrame) -> str:
    """The method with the highest mean place in each family of models, and where LRP stands."""
    means = stands[stands.metric == MEAN]
    said = []
    for family, part in means.groupby("family", sort=False):
        best = part.loc[part.place.idxmax()]
        words = (
            f"on {family} {name_method(best.method)} beats the largest share of the others, "
            f"{of_row(best, 'place')}"
        )
        if (part.method == "lrp").any() and best.method != "lrp":
            lrp = part[part.method == "lrp"].iloc[0]
            words += f", and LRP, ranked {lrp['rank']} of {lrp['of']}, {of_row(lrp, 'place')}"
        said.append(words)
    return f"Over all metrics, {'; '.join(said)}."


@sentence
def say_across(across: pd.DataFrame, by_metric: pd.DataFrame) -> str:
    """How often two models differ in their order of methods, and by which metric an order carries
    best and worst.
    """
    decided = across[across.verdict != TOO_FEW]
    best = by_metric.loc[by_metric.across.idxmax()]
    worst = by_metric.loc[by_metric.across.idxmin()]
    return (
        f"Of {len(decided)} comparisons of two models by a metric that rest on enough texts, "
        f"{(decided.verdict == DIFFER).sum()} find another order of methods than chance "
        "explains; orders carry best by "
        f"{best.title} (rank correlation {best.across:.2f} across models and {best.within:.2f} "
        "within one, on other "
        f"texts) and worst by {worst.title} ({worst.across:.2f} and {worst.within:.2f})."
    )


@sentence
def say_masked(moves: pd.DataFrame) -> str:
    """How far masking in training moves a metric at most, and whether it turns rankings of
    methods.
    """
    most = moves.loc[moves["shift"].abs().idxmax()]
    ranks = f"{(moves.verdict == 'moves').sum()} of {len(moves)} rankings of methods surely change"
    if (moves.verdict == TOO_FEW).all():
        ranks = "there are too few texts to say whether rankings of methods change"
    return (
        f"Learning from masked texts moves {most.title} most ({most.erased}), by "
        f"{of_row(most, 'shift', 'shift_low', 'shift_high', '+')}; {ranks}."
    )


@sentence
def say_decomposition(table: pd.DataFrame) -> str:
    """Whether judges or models make more of an order of methods: of one network, a family of
    models, and two.
    """
    rows = table[table.reading == "all"]
    where = (
        "where one network is trained anew",
        "within a family of models",
        "from one family of models to the other",
    )
    return "; ".join(
        f"{where[near]} the judge makes {_span(part.judge)} of the variance of an order of "
        "methods and the model "
        f"{_span(part.model)} ({(part.lead_low > 0).sum()} of {len(part)} comparisons surely "
        "more by the judge, "
        f"{(part.lead_high < 0).sum()} surely more by the model)"
        for near, part in rows.groupby(rows.kind.map(NEARNESS))
    )


def _span(values: pd.Series) -> str:
    """`0.20`, or `0.19 to 0.55`."""
    ends = [f"{max(value, 0):.2f}" for value in (values.min(), values.max())]
    return " to ".join(dict.fromkeys(ends))
