"""What does a text allow? (normalised AOPC, Edin et al. 2025)

Comprehensiveness and sufficiency of short texts, as they are and between the lowest and the highest
value that any order of a text's tokens reaches with a model; and whether rankings of methods and of
models move.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from attreval.core.records import Instance
from attreval.core.seeds import generator
from attreval.metrics.normalised_aopc import MEASURES, areas_in_limits
from attreval.metrics.rank_correlation import true_tau_b
from compendium import corpora
from compendium.config import BootstrapSpec, Profile
from compendium.papers.common.contrasts import about_median, drawn_means, with_bounds
from compendium.papers.common.sentences import lowest, of_row, sentence
from compendium.papers.common.tables import table_of
from compendium.papers.joint.variants import OpenRun, Part, first_parts, measure_variants
from compendium.papers.zhao2023.settings import main_protocol, query_segment
from compendium.workflow.step import Step

PLACE = ["raw", "least", "greatest", "normalised"]
LIMITS = ["task", "model", "instance", "exact", "method", "measure", *PLACE]


def measure_limits(step: Step) -> pd.DataFrame:
    """One row a run, short text, method and measure: its area, and what any order reaches.

    raw: the area; least, greatest: of all orders of the tokens. normalised: where the area lies
    between the two. exact: whether they are those of all orders.
    """
    profile = step.profile
    jobs = []
    for run in profile.first_runs(profile.joint.limits.tasks):
        rows = len(_short_texts(profile, run[0]))
        jobs += [(run, part) for part in first_parts(rows)]
    return measure_variants(step, "limits", _place_between_limits, jobs, LIMITS)


def _short_texts(profile: Profile, task: str) -> list[Instance]:
    """The first test instances of a task that are short enough."""
    spec = profile.joint.limits
    every = corpora.load_task(task, "test")
    return [one for one in every if len(one.words) <= spec.words][: spec.tasks[task]]


def _place_between_limits(opened: OpenRun, part: Part) -> Iterator[tuple]:
    """Areas of a few texts."""
    profile = opened.profile
    task = opened.run[0]
    texts = _short_texts(profile, task)[slice(*part)]
    names = ("limits", *opened.run)
    methods = profile.joint.limits.methods
    explained = opened.explain(texts, methods, opened.by_token, names)
    protocol = main_protocol(profile, task)
    query = query_segment(task)
    talks = []
    for one in explained:
        scores = [record.scores for record in one.attributions.values()]
        ties = ("ties", *opened.run, one.instance.id)
        rngs = [generator(*ties, method) for method in one.attributions]
        talks.append(("limits", areas_in_limits(one.tokens, scores, rngs, protocol, query)))
    answers = opened.scorer.converse(talks)
    for one, (limits, areas) in zip(explained, answers, strict=True):
        for method, of_method in zip(one.attributions, areas, strict=True):
            for measure, area in zip(MEASURES, of_method, strict=True):
                least, greatest = getattr(limits, measure)
                place = (area, least, greatest, limits.place(measure, area))
                yield one.instance.id, limits.exact, method, measure, *place


class DrawnPlaces(NamedTuple):
    """Means over texts, as they are and between the limits.

    A row is the texts themselves or a draw of them, a column a method.
    """

    raw: pd.DataFrame
    normalised: pd.DataFrame

    def less(self, other: "DrawnPlaces") -> "DrawnPlaces":
        """The differences of methods that both have."""
        methods = [name for name in self.raw if name in other.raw]
        raw = self.raw[methods] - other.raw[methods]
        return DrawnPlaces(raw, self.normalised[methods] - other.normalised[methods])

    def bounds(self, method: str, confidence: float) -> list[float]:
        """Value, lower and upper bound of both."""
        return [bound for means in self for bound in with_bounds(means[method], confidence)]


def _draw_places(part: pd.DataFrame, settings: BootstrapSpec) -> DrawnPlaces:
    """The means of one task's texts; draws are alike for all its models."""
    out = []
    for name in DrawnPlaces._fields:
        wide = part.pivot(index="instance", columns="method", values=name)[part.method.unique()]
        drawn = drawn_means(wide.to_numpy(), settings.draws, "limits", part.task.iloc[0])
        out.append(pd.DataFrame(drawn, columns=wide.columns))
    return DrawnPlaces(*out)


@table_of("task model measure method least greatest texts told exact raw± normalised±")
def limits_table(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """One row a task, model, measure and method: mean limits, and mean area both ways.

    exact: the share of texts whose limits are those of all orders. told: texts whose limits are
    apart.
    """
    settings = step.profile.bootstrap
    for cell, part in values.groupby(["task", "model", "measure"], sort=False):
        texts = part.instance.nunique()
        told = part[part.normalised.notna()].instance.nunique()
        means = part[["least", "greatest", "exact"]].mean()
        about = (means.least, means.greatest, texts, told, means.exact)
        drawn = _draw_places(part, settings)
        for method in drawn.raw:
            yield *cell, method, *about, *drawn.bounds(method, settings.confidence)


@table_of("task model measure methods tau low high")
def limits_of_methods(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """How alike raw and normalised means rank methods (tau-b).

    One row a task, model and measure; random scores are left out.
    """
    settings = step.profile.bootstrap
    told = values[values.method != "random"]
    for cell, part in told.groupby(["task", "model", "measure"], sort=False):
        drawn = np.stack(_draw_places(part, settings), axis=-1)
        taus = true_tau_b(drawn[0], drawn[1:], generator("limits of true means", *cell))
        yield *cell, drawn.shape[1], *about_median(taus, settings.confidence)


@table_of("task measure method model_a model_b raw± normalised± turned")
def limits_of_models(values: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """Differences of two models, raw and normalised, for each method.

    One row a task, measure, method and pair of models. turned: whether the two name different
    models as more faithful; `surely` where both intervals leave out zero.
    """
    settings = step.profile.bootstrap
    for cell, part in values.groupby(["task", "measure"], sort=False):
        by_model = part.groupby("model", sort=False)
        drawn = {model: _draw_places(of_model, settings) for model, of_model in by_model}
        for a, b in combinations(drawn, 2):
            gaps = drawn[a].less(drawn[b])
            for method in gaps.raw:
                bounds = gaps.bounds(method, settings.confidence)
                raw, raw_low, raw_high, placed, placed_low, placed_high = bounds
                turned = ""
                if raw * placed < 0:
                    sure = raw_low * raw_high > 0 and placed_low * placed_high > 0
                    turned = "surely" if sure else "turned"
                yield *cell, method, a, b, *bounds, turned


def turned_models(models: pd.DataFrame) -> pd.DataFrame:
    """For how many methods normalised means name the other of two models.

    One row a task, measure and pair of models. models: of `limits_of_models`.
    """
    known = models.assign(any_turned=models.turned != "", sure=models.turned == "surely")
    by = known.groupby(["task", "measure", "model_a", "model_b"], sort=False)
    found = by.agg(methods=("method", "size"), turned=("any_turned", "sum"), surely=("sure", "sum"))
    return found.reset_index()


@sentence
def say_limits(turned: pd.DataFrame, methods: pd.DataFrame) -> str:
    """Whether rankings of models and methods move between the limits of a text."""
    counts = turned[["turned", "methods", "surely"]].sum()
    said = (
        f"Normalising reverses {counts.turned} of {counts.methods} comparisons of two models, "
        f"{counts.surely} of them surely"
    )
    if len(methods):
        least = lowest(methods, "tau")
        said += (
            f"; the order of methods keeps a rank correlation of at least {of_row(least, 'tau')}"
        )
    return said
