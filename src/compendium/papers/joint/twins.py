"""Is erasure fair to models that have never read an erased text? (Madsen et al. 2024)

Models are compared with twins that have also learned from masked texts. How far does each measure
of erasure move with masking, and the ranking of methods by it? A ranking is not the same twice: not
on other texts, nor of a model of another seed; both are measured beside it. Letters used for
shapes: n texts, t twins, m methods, b the texts themselves and their draws, j worlds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from attreval.core.records import Instance
from attreval.core.seeds import Rng, generator
from attreval.methods import METHODS
from attreval.metrics import METRICS, STORED
from attreval.metrics.rank_correlation import FEWEST, tau_b, true_means
from attreval.models.training import Prepared, masked_copies, measure_performance
from compendium import corpora
from compendium.papers.common import style
from compendium.papers.common.contrasts import (
    about_median,
    drawn_means,
    exchange_columns,
    mean_of_known,
    with_bounds,
)
from compendium.papers.common.method_style import method_looks
from compendium.papers.common.sentences import farthest, of_row, sentence
from compendium.papers.common.tables import spell, table_of
from compendium.papers.joint.across import cut_texts
from compendium.papers.joint.values import TOO_FEW, judge_chance
from compendium.papers.joint.variants import OpenRun, Part, first_parts, measure_variants
from compendium.papers.zhao2023.erasure import (
    HARD_MEASURES,
    ErasureInput,
    ask_erasure,
    erasure_values,
)
from compendium.papers.zhao2023.settings import query_segment, rule_protocol
from compendium.workflow.step import Step

TWINS = spell("task model role instance erased method metric value")
CELL = ["task", "erased", "metric"]
PLAIN = "plain"
MASKED = "masked"
# among the metrics of twins: whether the class was found, in a whole and in a masked text
ACCURACY = "accuracy"
# ways to erase; soft erasure, beside padding, leaves vectors in part, which no twin has read
PADDING = "padding"
MASK = "mask"
IN_PART = "in part"
SOFT = ("soft_nc_equal", "soft_ns_equal")
CUTS = 200  # random ones of the texts in two halves
MOVES = "moves"


def measure_twins(step: Step) -> pd.DataFrame:
    """One row a twin of joint.masked, text, way to erase, method and metric.

    And one a twin, text and reading, with ACCURACY for a metric, the reading for a way to erase,
    and no method. Each twin is asked about the same texts, explained by the same methods for its
    own prediction.
    """
    jobs = []
    for run in step.profile.twin_runs():
        parts = len(first_parts(step.profile.joint.masked.twins[run[0]].rows))
        jobs += [(run, (at, None, parts)) for at in range(parts)]
    return measure_variants(step, "twins", _ask_twin, jobs, TWINS)


def _ask_twin(opened: OpenRun, part: Part) -> Iterator[tuple]:
    """Accuracy and measures of erasure of one twin on a few texts."""
    task, model, _ = opened.run
    twins = opened.profile.joint.masked.twins[task]
    texts = corpora.load_task(task, "test", max(twins.rows, twins.tested))
    role = MASKED if model in twins.masked else PLAIN
    read = _read_twice(opened, texts[: twins.tested][slice(*part)])
    erased = _erase_texts(opened, texts[: twins.rows][slice(*part)])
    yield from ((role, *row) for row in chain(read, erased))


def _read_twice(opened: OpenRun, texts: list[Instance]) -> Iterator[tuple]:
    """Whether the model finds the class of each text, whole and masked."""
    model: Any = opened.scorer.model
    copies = masked_copies(model, texts, "twins", opened.run[0])
    readings: dict[str, Sequence[Instance | Prepared]] = {"whole": texts, "masked": copies}
    for reading, read in readings.items():
        if texts:
            right = measure_performance(model, read).correct
            for one, yes in zip(texts, right, strict=True):
                yield one.id, reading, "", ACCURACY, float(yes)


def _erase_texts(opened: OpenRun, texts: list[Instance]) -> Iterator[tuple]:
    """The measures of erasure of the model's explanations, by each way to erase."""
    task, _, seed = opened.run
    query = query_segment(task)
    padding = rule_protocol(opened.profile, task, "equal_means")
    protocols = {PADDING: padding, MASK: replace(padding, erased="mask", baseline="content")}
    methods = opened.profile.joint.masked.methods
    cases = []
    for one in opened.explain(texts, methods, opened.budget, ("twins", task, seed)):
        for method, record in one.attributions.items():
            names = ("twins", task, seed, one.instance.id, method)
            for way, protocol in protocols.items():
                own = (way, method, "own", record.scores, protocol, names)
                cases.append((one, ErasureInput(*own, soft=way == PADDING)))
    talks = [(case.method, ask_erasure(one.tokens, case, query)) for one, case in cases]
    found = opened.scorer.converse(talks)
    for (one, case), (hard, soft) in zip(cases, found, strict=True):
        text = one.instance.id
        for measure in HARD_MEASURES:
            value = getattr(hard, measure).mean()
            yield text, case.setting, case.method, STORED[measure].name, value
        if case.soft:
            for metric, value in zip(SOFT, erasure_values(hard, soft)[2:4], strict=True):
                yield text, IN_PART, case.method, metric, value


@dataclass(frozen=True)
class TwinValues:
    """What the twins have in one cell.

    values: (n, t, m) of texts that all twins have; masked: (t,) whether a twin is; methods: their
    names.
    """

    methods: list[str]
    masked: np.ndarray
    values: np.ndarray

    def by_kind(self, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(b, m) of (b, t, m): the mean of plain twins, and that of masked ones."""
        return means[:, ~self.masked].mean(axis=1), means[:, self.masked].mean(axis=1)


def _by_cell(values: pd.DataFrame) -> Iterator[tuple[tuple, TwinValues]]:
    """(task, way to erase, metric), and what the twins have there."""
    for cell, part in values.groupby(CELL, sort=False):
        methods = list(part.method.unique())
        twins = part.drop_duplicates(["role", "model"])
        wide = part.pivot(index="instance", columns=["model", "method"], values="value")
        wide = wide[pd.MultiIndex.from_product([twins.model, methods])].dropna()
        if len(wide):
            array = wide.to_numpy().reshape(len(wide), len(twins), len(methods))
            yield cell, TwinValues(methods, (twins.role == MASKED).to_numpy(), array)


def twin_accuracy(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """Mean accuracy of plain and of masked twins, and the difference.

    One row a task and reading of its texts, whole ones first.
    """
    found = _compare_twins(values[values.metric == ACCURACY], step)
    found = found.rename(columns={"erased": "reading"}).drop(columns=["metric", "method"])
    return found.sort_values("reading", ascending=False, kind="stable", ignore_index=True)


def twin_erasure(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """The mean of plain and of masked twins, and the difference.

    One row a task, way to erase, metric and method.
    """
    found = _compare_twins(values[values.metric != ACCURACY], step)
    found.insert(3, "title", [METRICS[metric].title for metric in found.metric])
    return found.drop(columns="models")


@table_of(f"task erased metric method models texts {PLAIN}± {MASKED}± difference±")
def _compare_twins(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    settings = step.profile.bootstrap
    for cell, twins in _by_cell(values):
        drawn = drawn_means(twins.values, settings.draws, "twins", cell[0])
        plain, masked = twins.by_kind(drawn)
        texts, models, _ = twins.values.shape
        for at, method in enumerate(twins.methods):
            row = [*cell, method, models, texts]
            for means in (plain, masked, masked - plain):
                row += with_bounds(means[:, at], settings.confidence)
            yield tuple(row)


def twin_moves(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """How far masking moves a metric, and the ranking of methods by it.

    One row a task, way to erase and metric; random scores are left out. shift: masked less plain,
    mean over methods. across: rank correlation of methods between a plain and a masked twin;
    within: between two of a kind; lost: the second less the first. halves_within, halves_across:
    the same between two halves of the texts. p: share of worlds with exchanged models that lose as
    much (where no kind has two twins: whose `across` is as low), by_chance: their mean; q: p over
    all rows. verdict: MOVES where that is rare.
    """
    settings = step.profile.bootstrap
    table = _moves(values[(values.metric != ACCURACY) & (values.method != "random")], step)
    return judge_chance(table, settings.confidence, MOVES)


@table_of(
    f"{' '.join(CELL)} title models methods texts shift± across± within± lost± halves_within "
    "halves_across by_chance p"
)
def _moves(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    settings = step.profile.bootstrap
    for cell, twins in _by_cell(values):
        texts, models, methods = twins.values.shape
        if methods < FEWEST:
            continue
        drawn = drawn_means(twins.values, settings.draws, "twins", cell[0])
        plain, masked = twins.by_kind(drawn)
        shift = with_bounds((masked - plain).mean(axis=1), settings.confidence)
        row = [*cell, METRICS[cell[2]].title, models, methods, texts, *shift]
        orders = true_means(drawn[0].T, drawn[1:].mT, generator("twins of true means", *cell)).mT
        for found in correlate_twins(orders, orders, twins.masked):
            row += about_median(found, settings.confidence)
        row += halve_texts(twins, generator("twins halved", *cell))
        # what worlds with exchanged models lose on average, or have across, and how often as much
        rng = generator("twins exchanged", *cell)
        exchanged = exchange_columns(twins.values, settings.nulls, rng).mean(axis=1)
        chance = correlate_twins(exchanged, exchanged, twins.masked)
        own = correlate_twins(drawn[:1], drawn[:1], twins.masked)
        told = chance.lost
        as_much = chance.lost >= own.lost - 1e-12
        if np.isnan(own.lost[0]):
            told = chance.across
            as_much = -chance.across >= -own.across - 1e-12
        p = (1 + as_much.sum()) / (1 + len(as_much))
        yield (*row, mean_of_known(told), p)


class TwinCorrelations(NamedTuple):
    """(b,) mean rank correlations of methods between twins of two kinds and of one."""

    across: np.ndarray
    within: np.ndarray
    lost: np.ndarray


def correlate_twins(one: np.ndarray, other: np.ndarray, masked: np.ndarray) -> TwinCorrelations:
    """Mean tau-b of the methods' (b, t, m) means; `within` is NaN where no kind has two twins.

    one, other: means over the same texts, or over two halves of them.
    """
    apart: list[np.ndarray] = []
    alike = [np.full(len(one), np.nan)]
    for i, k in combinations(range(len(masked)), 2):
        forth = tau_b(one[:, i], other[:, k])
        back = tau_b(one[:, k], other[:, i])
        pairs = alike if masked[i] == masked[k] else apart
        pairs.append((forth + back) / 2)
    across = mean_of_known(np.stack(apart))
    within = mean_of_known(np.stack(alike))
    return TwinCorrelations(across, within, within - across)


def halve_texts(twins: TwinValues, rng: Rng) -> tuple[float, float]:
    """(within, across) mean tau-b between two random halves of the texts."""
    array = twins.values
    if len(array) < 2:
        return np.nan, np.nan
    halves = cut_texts(len(array), rng, CUTS)
    one, other = np.einsum("chn,ntm->hctm", halves, array)
    within = mean_of_known(tau_b(one, other).ravel())
    across = mean_of_known(correlate_twins(one, other, twins.masked).across)
    return float(within), float(across)


def draw_masked(table: pd.DataFrame) -> Axes:
    """The mean of each method, plain model by masked twin; a panel a task, metric and way."""
    if table.empty:
        return style.draw_nothing("No models with masked twins are part of this profile.")
    looks = method_looks(name for name in METHODS if name in set(table.method))
    cells = dict(list(table.groupby(["task", "metric", "erased"], sort=False)))
    figure, panels = style.task_panels(cells, 2.9, 2.7, 3, sharey=False)
    for (task, metric, erased), axes in panels.items():
        part = cells[task, metric, erased]
        for row in part.itertuples():
            across = [[row.plain - row.plain_low], [row.plain_high - row.plain]]
            up = [[row.masked - row.masked_low], [row.masked_high - row.masked]]
            look: dict[str, Any] = {"linestyle": "", "markersize": 5, "elinewidth": 0.6}
            look |= looks[row.method]
            axes.errorbar(row.plain, row.masked, xerr=across, yerr=up, **look)
        bounds = part[["plain_low", "masked_low", "plain_high", "masked_high"]]
        ends = [bounds.min(axis=None), bounds.max(axis=None)]
        axes.plot(ends, ends, color="#999999", linewidth=0.8, zorder=0)
        axes.set_title(f"{part.title.iloc[0]}\n{style.task_title(task)}, {erased}", fontsize=9)
    figure.supxlabel("plain", fontsize=9)
    figure.supylabel("masked", fontsize=9)
    return style.legend_below(figure, 4, 0.01)


@sentence
def say_masked(moves: pd.DataFrame) -> str:
    """How far masking moves a metric at most, and whether it turns rankings of methods."""
    most = farthest(moves, "shift")
    ranks = f"{(moves.verdict == MOVES).sum()} of {len(moves)} rankings of methods surely change"
    if (moves.verdict == TOO_FEW).all():
        ranks = "there are too few texts to say whether rankings of methods change"
    return (
        f"Learning from masked texts moves {most.title} most ({most.erased}), by "
        f"{of_row(most, 'shift', 'shift_low', 'shift_high', '+')}; {ranks}."
    )
