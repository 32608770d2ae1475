"""Figures 1-13 of Poerner et al. (2018): the texts that the paper prints, coloured.

Hits beside their Table 2, and by the number of attractors.
"""

from collections.abc import Iterator
from itertools import chain

import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib.axes import Axes

from attreval.core.alignment import overlap_shares
from attreval.methods import METHODS
from compendium.corpora import TASKS
from compendium.corpora.written import printed_examples
from compendium.papers.common.coloured_text import ColouredText
from compendium.papers.common.method_style import method_looks, name_method
from compendium.papers.common.runs import load_printed
from compendium.papers.common.style import (
    draw_curve,
    draw_nothing,
    heat_map,
    model_title,
    task_panels,
    task_title,
)
from compendium.papers.common.tables import table_of
from compendium.papers.poerner2018.hits import architecture_names
from compendium.papers.poerner2018.tables import NAMES
from compendium.workflow.step import Step

WORDS = {
    "hybrid": "right fragment",
    "manual": "listed word",
    "hit_target": "subject",
    "hit_feat": "predicted number",
}
SURE = ("H", "M")  # how surely a published number was read: high, medium
NO_TABLE = (
    "This run has no task or method of the paper's Table 2; its own hits are in the table above."
)
LAST_OF_TEXT = 3  # figures behind it are the appendix's
FAR = 0.15  # from a published share of hits
CONDITIONS = {"all": "", "correct": ", right predictions", "wrong": ", wrong predictions"}


def printed_text(step: Step, figure: str) -> ColouredText:
    """The text that a figure of the paper prints, explained by our network of its architecture.

    figure: as the file of printed examples calls it, such as `2, top`. Another network stands in
    where the profile has none of this architecture; the text has no words where none explains it.
    """
    every = printed_examples()
    name = next(name for name, entry in every.items() if figure in entry["figures"])
    drawn = every[name]["figures"][figure]
    profile = step.profile
    runs = [
        run for run in profile.explained_runs("pointing") if name in profile.tasks[run[0]].printed
    ]
    if not runs:
        return ColouredText(
            (), {}, np.zeros(0, bool), model="no model of this profile", predicted="nothing"
        )
    # False comes first: the architecture that the figure names
    run = min(runs, key=lambda run: profile.models[run[1]].architecture != drawn["model"])
    found = load_printed(step, run, name)
    instance = found.instance
    shares = overlap_shares(found.tokens.offsets, instance.words)
    covered = shares.any(axis=0)
    rows = {
        METHODS[method].title: (shares.T @ record.on_tokens(len(shares)))[covered]
        for method, record in found.records.items()
        if method in drawn.get("methods", found.records)
    }
    known = instance.evidence
    evidence = np.asarray(known.marks.any(axis=0))
    if known.tags:  # before a verb, whose subject is the one span
        evidence = np.isin(np.arange(len(known.tags)), known.spans[0][0])
    labels = TASKS[run[0]].labels
    return ColouredText(
        tuple(np.array(instance.word_texts(), dtype=object)[covered]),
        rows,
        evidence[covered],
        f"{labels[instance.label]} verb" if known.tags else "",
        architecture_names(profile, run[0])[run[1]],
        labels[found.predicted],
    )


def appendix(step: Step) -> HTML:
    """Figures 4 to 13: the texts of the appendix by every method, and what our networks predict."""
    pages = []
    for figure in chain.from_iterable(one["figures"] for one in printed_examples().values()):
        if int(figure.partition(",")[0]) > LAST_OF_TEXT:
            shown = printed_text(step, figure)
            pages.append(f"<h4>Figure {figure}: {shown.model} predicts {shown.predicted}</h4>")
            pages.append(shown.html().data)
    return HTML("".join(pages))


def draw_table_2(table: pd.DataFrame) -> Axes:
    """Table 2 in hundredths: a panel per experiment, a row per method, a column per architecture.

    Bold: the published value, where it can be read with some certainty (not L), is more than FAR
        away.
    """
    ours = table[table.ours.notna()]
    kinds = dict(list(ours.groupby(["experiment", "task", "metric", "condition"], sort=False)))
    if not kinds:
        return draw_nothing(NO_TABLE)
    names = table.sort_values("row").method.unique()
    figure, panels = task_panels(kinds, 1.75, 0.2 * len(names) + 1.3, 4, 2.0, layout="constrained")
    for kind, axes in panels.items():
        _, task, metric, condition = kind
        part = kinds[kind]
        apart = (part.ours - part.published).abs().where(part.confidence.isin(SURE))
        architectures = part.architecture.unique()
        cells = part.assign(far=apart > FAR).set_index(["method", "architecture"])
        values = cells.ours.unstack().reindex(index=names, columns=architectures).to_numpy(float)
        bold = cells.far.unstack().reindex(index=names, columns=architectures).eq(True).to_numpy()
        methods = [name_method(NAMES.get(name, name)) for name in names]
        models = [model_title(name) for name in architectures]
        heat_map(axes, values, bold, "vlag_r", (0, 1), 0.8, methods, models, turn=90)
        axes.set_title(
            f"{task_title(task)}{CONDITIONS[condition]}\n{WORDS[metric]}".replace(", ", ",\n"),
            fontsize=9,
        )
    return figure.axes[0]


FEW = 20  # texts; the mean of fewer says nothing
SHOWN = (
    "random",
    "last",
    "gradient_l2",
    "gradient_x_input",
    "gradient_integrated_logit_dot",
    "occlusion_1",
    "decomposition",
    "lrp",
    "deeplift",
    "limsse_logit",
)


def draw_attractors(table: pd.DataFrame) -> Axes:
    """Hits on the subject by number of attractors: a panel per model, a line per method.

    Where the model is right.

    Bands are intervals; the share of right predictions is black. Points of fewer than FEW texts are
    left out.
    """
    table = table[(table.instances >= FEW) & (table.metric == "hit_target")]
    part = table[(table.condition == "correct") & table.method.isin(SHOWN)]
    if not len(part):
        return draw_nothing("no agreement sentences in this run")
    looks = method_looks(part.method.unique())
    figure, panels = task_panels(part.model.unique(), 2.3, 2.9, 3, 2.4, layout="constrained")
    for model, axes in panels.items():
        for method, look in looks.items():
            line = part[(part.model == model) & (part.method == method)].sort_values("attractors")
            curve = (line.attractors, line.accuracy, line.low, line.high)
            draw_curve(axes, *curve, 0.08, markersize=4, **look)
        whole = table[(table.model == model) & (table.condition == "all")]
        right = whole.groupby("attractors").right.first()
        axes.plot(right, color="black", linewidth=2, linestyle="--", label="model's predictions")
        title = model_title(whole.architecture.iloc[0])
        axes.set(title=title, xlabel="attractors (texts)", ylim=(-0.02, 1.02))
        texts = whole.groupby("attractors").instances.first()
        axes.set_xticks(texts.index, [f"{number}\n({texts[number]:,})" for number in texts.index])
    figure.supylabel(f"share of hits: {WORDS['hit_target']}")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside right upper")
    return figure.axes[0]


@table_of("example model predicted")
def example_table(examples: dict[str, ColouredText]) -> Iterator[tuple]:
    """One row an example: its name, the model that read it, and the label that it predicts."""
    return ((name, example.model, example.predicted) for name, example in examples.items())
