"""Figures 1-3 of Poerner et al. (2018), coloured texts.

Hits beside their Table 2, and by the number of attractors.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from attreval.core.alignment import overlap_shares
from attreval.methods import METHODS
from attreval.metrics.pointing_game import find_games
from compendium.config import Run
from compendium.corpora import TASKS
from compendium.papers.common.coloured_text import ColouredText
from compendium.papers.common.method_style import method_looks, name_method
from compendium.papers.common.runs import common_methods, load_attributions, load_tokens, to_explain
from compendium.papers.common.style import (
    draw_curve,
    draw_nothing,
    heat_map,
    model_title,
    task_panels,
    task_title,
)
from compendium.papers.common.tables import table_of
from compendium.papers.poerner2018.hits import affix_of, architecture_names, read_predictions
from compendium.papers.poerner2018.tables import AGREEMENT, BLOCKS, NAMES
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
FAR = 0.15  # from a published share of hits
CONDITIONS = {"all": "", "correct": ", right predictions", "wrong": ", wrong predictions"}


def figure_1(step: Step) -> ColouredText:
    """A hybrid document of news sentences, read by the convolutional network."""
    return shortest_example(
        step, BLOCKS["topics"].tasks, "cnn", ["gradient_l2", "lrp", "limsse_logit"]
    )


def figure_2(step: Step, predicted: str = "singular") -> ColouredText:
    """Words before a verb: a `singular` by the GRU, or a `plural` by the LSTM (Fig. 3)."""
    architecture, fifth = {"singular": ("gru", "occlusion_1"), "plural": ("lstm", "decomposition")}[
        predicted
    ]
    methods = ["gradient_l2", "gradient_x_input", "lrp", "deeplift", fifth, "limsse_probability"]
    return shortest_example(step, AGREEMENT, architecture, methods, predicted, least_words=5)


def figure_3(step: Step) -> ColouredText:
    """A hybrid document of review sentences, read by the quasi-recurrent LSTM."""
    return shortest_example(step, BLOCKS["sentiment"].tasks, "qlstm", ["lrp", "limsse_probability"])


def draw_table_2(table: pd.DataFrame) -> Axes:
    """Table 2 in hundredths: a panel per experiment, a row per method, a column per architecture.

    Bold: the published value, where it can be read with some certainty (not L), is more than FAR
        away.
    """
    ours = table[table.ours.notna()]
    kinds = dict(list(ours.groupby(["experiment", "task", "metric", "condition"], sort=False)))
    if not kinds:
        return draw_nothing(NO_TABLE)
    names = list(dict.fromkeys(table.sort_values("row").method))
    figure, panels = task_panels(kinds, 1.75, 0.2 * len(names) + 1.3, 4, 2.0, layout="constrained")
    for kind, axes in panels.items():
        _, task, metric, condition = kind
        part = kinds[kind]
        apart = (part.ours - part.published).abs().where(part.confidence.isin(SURE))
        architectures = list(dict.fromkeys(part.architecture))
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


FEW = 5  # texts; the mean of fewer says nothing
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
    looks = method_looks(dict.fromkeys(part.method))
    figure, panels = task_panels(dict.fromkeys(part.model), 3.4, 3.4, 3, 3.2, layout="constrained")
    for model, axes in panels.items():
        for method, look in looks.items():
            line = part[(part.model == model) & (part.method == method)].sort_values("attractors")
            curve = (line.attractors, line.accuracy, line.low, line.high)
            draw_curve(axes, *curve, 0.08, markersize=4, **look)
        whole = table[(table.model == model) & (table.condition == "all")]
        right = whole.groupby("attractors").right.first()
        axes.plot(right, color="black", linewidth=2, linestyle="--", label="model's predictions")
        title = model_title(whole.architecture.iloc[0])
        axes.set(title=title, xlabel="attractors", ylim=(-0.02, 1.02))
        axes.set(xticks=sorted(part.attractors.unique()))
    figure.supylabel(f"share of hits: {WORDS['hit_target']}")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside right upper")
    return figure.axes[0]


def shortest_example(
    step: Step,
    tasks: Sequence[str],
    architecture: str,
    methods: Sequence[str],
    predicted: str | None = None,
    least_words: int = 1,
) -> ColouredText:
    """The shortest explained text on which methods point at different words, or else the shortest.

    It is one of the first of the tasks that the profile has, read by the model of the architecture
    (or else the first model), with the rows of those methods that have explained it. predicted: the
    label that it must have. The text has no words where the profile has none of the tasks.
    """
    runs = [run for run in step.profile.explained_runs("pointing") if run[0] in tasks]
    chosen = [
        run for run in runs if step.profile.models[run[1]].architecture == architecture
    ] or runs
    found = dict(_candidates(step, chosen[0], methods, predicted, least_words)) if chosen else {}
    if not found:
        return ColouredText(
            (), {}, np.zeros(0, bool), model="no model of this profile", predicted="nothing"
        )
    return found[min(found)]


@table_of("example model predicted")
def example_table(examples: dict[str, ColouredText]) -> Iterator[tuple]:
    """One row an example: its name, the model that read it, and the label that it predicts."""
    return ((name, example.model, example.predicted) for name, example in examples.items())


def _candidates(
    step: Step, run: Run, methods: Sequence[str], asked: str | None, least_words: int
) -> Iterator[tuple[tuple[bool, int, str], ColouredText]]:
    """The explained texts of a run that have evidence for the predicted class.

    The lower the key, the better.
    """
    profile = step.profile
    task, model, _ = run
    records = load_attributions(step.results, profile, *run)
    tokens = load_tokens(step.results, profile, *run)
    shown = [method for method in methods if method in common_methods(records)]
    predictions = read_predictions(step)
    name = architecture_names(profile, task)[model]
    for instance in to_explain(profile, task, model):
        predicted = int(predictions[*run, instance.id])
        label = TASKS[task].labels[predicted]
        if len(instance.words) < least_words or asked not in (None, label):
            continue
        shares = overlap_shares(tokens[instance.id].offsets, instance.words)
        covered = np.asarray(shares.any(axis=0))
        game = find_games(instance, predicted, covered, affix_of(profile.pointing, task))[0]
        if game.discarded:
            continue
        chosen = {method: records[instance.id][method] for method in shown}
        tops = {record.features[int(record.scores.argmax())] for record in chosen.values()}
        rows = {
            METHODS[m].title: (shares.T @ one.on_tokens(len(shares)))[covered]
            for m, one in chosen.items()
        }
        words = tuple(np.array(instance.word_texts(), dtype=object)[covered])
        after = f"{label} verb" if instance.evidence.tags else ""
        text = ColouredText(words, rows, game.evidence[covered], after, name, label)
        yield (len(tops) < 2, len(instance.words), instance.id), text
