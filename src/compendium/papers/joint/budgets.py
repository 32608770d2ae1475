"""From which budget on is a sampled explanation stable?

Methods that sample, and integrated gradients by their nodes, explain a few texts at growing
budgets: how many of the top tokens are those that the largest budget gives, and how many are the
same with another seed.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from attreval.core.bootstrap import draw_counts, percentile_interval
from attreval.core.seeds import generator
from attreval.methods import METHODS
from attreval.metrics.agreement import overlap_at_k
from compendium.papers.common import runs, style
from compendium.papers.common.method_style import MARKERS
from compendium.papers.common.sentences import list_rows, sentence
from compendium.papers.common.tables import spell, table_of
from compendium.papers.joint.variants import OpenRun, measure_variants
from compendium.workflow.step import Step

BUDGETS = spell("task model method budget seed instance requested scores")
CELL = ["task", "model", "method"]
STABLE = 0.9  # mean overlap of the top tokens from which on an explanation counts as stable
PANELS = {
    "to_largest": "with the largest budget, same seed",
    "between": "between two seeds",
}


def measure_budgets(step: Step) -> pd.DataFrame:
    """One row a budget, seed of the draws and text, by each method that has a budget.

    Texts are those of the first run of each task.
    """
    spec = step.profile.joint.budgets
    jobs = []
    for task, methods in spec.tasks.items():
        run = step.profile.first_explained(task)
        for method in methods if run else ():
            draws = spec.seeds if METHODS[method].stochastic else 1
            jobs += [(run, method, draw) for draw in range(draws)]
    return measure_variants(step, "budgets", _explain_growing, jobs, BUDGETS)


def _explain_growing(opened: OpenRun, method: str, draw: int) -> Iterator[tuple]:
    """One method at growing budgets, with one seed of its draws."""
    spec = opened.profile.joint.budgets
    task, model, _ = opened.run
    texts = runs.to_explain(opened.profile, task, model)[: spec.rows]
    for size in spec.sizes_of.get(task, spec.sizes):
        budget = METHODS[method].limited(opened.by_token, size).changed(limsse_draw=draw)
        names = ("budgets", *opened.run, draw + 1)
        for one in opened.explain(texts, [method], budget, names, opened.budget.target):
            for record in one.attributions.values():
                scores = record.on_content(one.tokens)
                yield method, size, draw + 1, one.instance.id, record.cost.requested, scores


@table_of("task model method k budget requested instances to_largest± between±")
def overlap_table(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """One row a run, method and budget: overlap of the top tokens, with its interval over texts.

    to_largest: with what the same seed gives at the largest budget; between: of two seeds at this
    budget, NaN for a method that draws nothing.
    """
    settings = step.profile.bootstrap
    k = step.profile.agreement.fixed_k
    for run, part in values.groupby(CELL, sort=False):
        texts = part.instance.unique()
        seeds = part.seed.unique()
        scores = part.pivot(index="instance", columns=["budget", "seed"], values="scores")
        scores = scores.loc[texts]
        counts = draw_counts(generator("budgets", *run), len(texts), settings.draws)
        largest = part.budget.max()
        for size, requested in part.groupby("budget", sort=False).requested:
            to_largest = [((size, seed), (largest, seed)) for seed in seeds]
            between = [((size, one), (size, other)) for one, other in combinations(seeds, 2)]
            row = [*run, k, size, requested.mean(), len(texts)]
            for pairs in (to_largest, between):
                overlaps = [np.full(len(texts), np.nan)] if not pairs else []
                for a, b in pairs:
                    of_pair = zip(scores[a], scores[b], strict=True)
                    overlaps.append(np.array([overlap_at_k(*both, k) for both in of_pair]))
                of_text = np.mean(overlaps, axis=0)
                drawn = counts @ of_text / len(texts)
                row += [of_text.mean(), *percentile_interval(drawn, settings.confidence)]
            yield tuple(row)


@table_of("task model method stable_from seeds_agree_from threshold")
def stability_table(overlaps: pd.DataFrame) -> Iterator[tuple]:
    """One row a run and method: from which budget on its top tokens overlap by STABLE.

    stable_from: with those of the largest budget, which itself cannot tell; seeds_agree_from: those
    of two seeds.
    """
    for run, part in overlaps.groupby(CELL, sort=False):
        part = part.sort_values("budget")
        sizes = part.budget.to_numpy()
        stable_from = _lasting(sizes, part.to_largest.to_numpy()[:-1] >= STABLE)
        agree_from = "draws nothing"
        if METHODS[run[-1]].stochastic:
            agree_from = _lasting(sizes, part.between.to_numpy() >= STABLE)
        yield *run, stable_from, agree_from, STABLE


def _lasting(sizes: np.ndarray, holds: np.ndarray) -> str:
    """The first size from which on something holds to the end; else `more than` the largest."""
    lasting = np.logical_and.accumulate(holds[::-1])[::-1]
    return f"{sizes[: len(holds)][lasting][0]:,}" if lasting.any() else f"more than {sizes[-1]:,}"


def draw_budgets(overlaps: pd.DataFrame) -> Axes:
    """Overlap of the top tokens by evaluations requested, a line a method.

    Left with what the largest budget gives, right between two seeds.
    """
    style.use_style()
    if overlaps.empty:
        return style.draw_nothing("No method was given growing budgets in this profile.")
    lines = list(overlaps.sort_values([*CELL, "budget"], kind="stable").groupby(CELL, sort=False))
    colours = sns.color_palette("colorblind", len(lines))
    sizes = sorted(set(overlaps.budget))
    figure, panels = plt.subplots(1, 2, figsize=(10.5, 4.2), sharey=True)
    for axes, (name, title) in zip(panels, PANELS.items(), strict=True):
        for at, ((task, model, method), line) in enumerate(lines):
            if name == "to_largest":
                line = line.iloc[:-1]  # compared with itself, the largest budget says nothing
            where = f"{style.task_title(task)}, {style.model_title(model)}"
            look = {"color": colours[at], "marker": MARKERS[at % len(MARKERS)]}
            ends = (line[name], line[f"{name}_low"], line[f"{name}_high"])
            label = f"{METHODS[method].title} ({where})"
            style.draw_curve(axes, line.requested, *ends, 0.08, label=label, **look)
        axes.axhline(STABLE, color="#666666", linestyle=":", linewidth=1)
        axes.set(xscale="log", ylim=(0, 1.03), xlabel="evaluations asked for", title=title)
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
    panels[0].set_ylabel(f"overlap of the top {overlaps.k.iloc[0]} tokens")
    return style.legend_below(figure, 2, 0.01)


@sentence
def say_stability(stability: pd.DataFrame) -> str:
    """From which budget on each sampled explanation is stable."""
    share = f"{100 * stability.threshold.iloc[0]:.0f} % of its top tokens"
    shown = list_rows("{row.method:method} from {row.stable_from} on {row.task:task}", stability)
    return (
        f"A method shares {share} with its largest budget at these numbers of evaluations: {shown}."
    )
