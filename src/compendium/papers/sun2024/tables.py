"""Tables 1-12 of Sun et al. (2024) and the values of their Figure 2, ours beside the published."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from compendium.config import ModelSpec
from compendium.papers.common.runs import RUN, TYPED, read_accuracy, read_of_runs, reported
from compendium.papers.common.tables import mean_low_high, table_of
from compendium.papers.sun2024.properties import CHANGES, RANDOM, Properties
from compendium.workflow.step import Step

CELL = [*RUN, "technique", "type"]
KEYS = ["task", "model", "technique", "type"]  # the same over seeds


class Property(NamedTuple):
    """A property: its metric, its table and measure, and how the paper prints it."""

    metric: str
    table: str
    measure: str
    factor: int = 1
    digits: int = 2


PROPERTIES = {  # by the paper's words, in its order; simulatability comes from the table of agents
    "comprehensiveness": Property("unified_comprehensiveness", "faithfulness", "comprehensiveness"),
    "sufficiency": Property("unified_sufficiency", "faithfulness", "sufficiency"),
    "token agreement": Property("people_units", "agreement", "token", factor=100, digits=1),
    "interaction agreement": Property(
        "people_interactions", "agreement", "interaction", factor=100, digits=1
    ),
    "simulatability": Property("simulatability", "agents", "gain", digits=1),
    "complexity": Property("complexity", "complexity", "entropy"),
}
FAITHFULNESS = ("comprehensiveness", "sufficiency")
PERCENT = ("token agreement", "interaction agreement")
MEASURES = {  # of `measured_means`
    "faithfulness": [*CHANGES, "units"],
    "agreement": ["token", "interaction"],
    "complexity": ["entropy", "random", "uniform", "pieces"],
}
TYPE_TITLES = {
    "token": "TokenEx",
    "pair": "TokenIntEx",
    "span": "SpanIntEx",
    "combined": "combined (ours)",
}
TECHNIQUE_TITLES = {"shapley": "Shapley", "attention": "Attention", "gradients": "IG"}
FAMILIES = {"BERT": "encoder", "BART": "encoder-decoder"}
CORPORA = {"snli": "SNLI", "fever": "FEVER"}
NO_FORM = "-"


def by_titles(table: pd.DataFrame) -> pd.DataFrame:
    """The table with titles of techniques and types, to be shown.

    The type of random units is the technique that has as many.
    """
    return table.replace({"technique": TECHNIQUE_TITLES, "type": TYPE_TITLES | TECHNIQUE_TITLES})


def model_family(spec: ModelSpec) -> str:
    """encoder or encoder-decoder, by the architecture, or by the name of the weights.

    spec: config.ModelSpec.
    """
    paired = spec.architecture == "encoder_decoder" or "bart" in (spec.weights or "").lower()
    return "encoder-decoder" if paired else "encoder"


def of_agents(step: Step, name: str) -> pd.DataFrame:
    """What notebook 07_sun2024_agents leaves for every run, put together.

    name: `agents` (Tables 7-10), `predictions` or `uninformed`.
    """
    runs = step.profile.explained_runs("diagnosis")
    return read_of_runs(step, name, "07_sun2024_agents", runs)


def exact_value_means(step: Step) -> pd.DataFrame:
    """How close each estimate comes to the exact values: means over the short instances of runs."""
    from compendium.papers.sun2024.explanations import mean_closeness

    parts = [(*run, 0) for run in step.profile.explained_runs("diagnosis")]
    table = read_of_runs(step, "oracle", TYPED, parts)
    return mean_closeness(table, RUN).assign(units=table.units.mean())


@table_of("task model seed technique type measure mean low high instances")
def measured_means(properties: Properties, name: str, step: Step) -> Iterator[tuple]:
    """Means over instances with intervals, one row per run, technique, type and measure.

    name: `faithfulness` (share of changed predictions and mean drop in probability, eq. 4: draws
    are averaged for each k, then over k), `agreement` (average precision of units and of
    interactions, eq. 12), `complexity` (entropy, the entropy of random scores, and the highest
    possible one, eq. 21). Measures without values have no row.
    """
    values = getattr(properties, "changes" if name == "faithfulness" else name)
    if name == "faithfulness":
        for keys in ([*CELL, "instance", "k"], [*CELL, "instance"]):
            values = values.groupby(keys, sort=False)[MEASURES[name]].mean().reset_index()
    for key, part in values.groupby(CELL, sort=False):
        for measure in MEASURES[name]:
            known = part[measure].dropna()
            if len(known):
                yield (
                    *key,
                    measure,
                    *mean_low_high(known, step.profile.bootstrap, "diagnosis", *key[:3]),
                    len(known),
                )


def span_rule_means(rules: pd.DataFrame) -> pd.DataFrame:
    """One row per run, technique and rule of spans: what its spans change.

    Also beyond what as many single units change.
    """
    measures = ["pieces", "units", "comprehensiveness", "sufficiency"]
    keys = [*RUN, "technique", "rule"]
    flat = rules.groupby([*keys, "type", "instance"])[measures].mean().reset_index()
    wide = flat.pivot(index=[*keys, "instance"], columns="type", values=measures)
    spans = wide.xs("span", axis=1, level="type")
    beyond = (spans - wide.xs("token", axis=1, level="type"))[list(FAITHFULNESS)].add_suffix(
        "_beyond_units"
    )
    by_cell = pd.concat([spans, beyond], axis=1).groupby(keys, sort=False)
    means = by_cell.mean()
    means.insert(0, "instances", by_cell.size())
    return means.reset_index()


def property_means(
    measured: dict[str, pd.DataFrame], agents: pd.DataFrame, models: dict
) -> pd.DataFrame:
    """Figure 2: one row per task, model, technique, type and property, beside chance.

    low, high: the interval over texts, NaN where the mean is over several seeds. Simulatability is
    that of explanations shown as symbols, as in the paper's main text; the gain of chance is 0.
    measured: from `measured_means`, by name.
    """
    parts = []
    for name, asked in PROPERTIES.items():
        if name == "simulatability":
            symbols = agents[agents.form == "symbol"]
            parts.append(_over_seeds(symbols, asked.measure).assign(property=name, chance=0.0))
            continue
        table = measured[asked.table]
        means = _over_seeds(table[table.measure == asked.measure], "mean")
        chance = means.value
        if name == "complexity":
            chance = table[table.measure == "random"].groupby(KEYS)["mean"].mean()
        real = means.drop("random", level="technique", errors="ignore")
        parts.append(
            real.assign(property=name, chance=[_chance(name, key, chance) for key in real.index])
        )
    out = pd.concat([part.reset_index() for part in parts if len(part)], ignore_index=True)
    out = out.assign(kind=out.model.map(lambda name: model_family(models[name])))
    return out[[*KEYS, "property", "value", "low", "high", "chance", "kind"]]


def _over_seeds(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """By KEYS: the mean of a column over seeds, and its interval where there is only one seed."""
    found = table.groupby(KEYS, sort=False)
    alone = found.size() == 1
    low = found.low.first().where(alone)
    high = found.high.first().where(alone)
    return pd.DataFrame({"value": found[column].mean(), "low": low, "high": high}).astype(float)


def _chance(name: str, key: tuple[str, str, str, str], means: pd.Series) -> float:
    """As many random units, random explanations of the same type, or random scores."""
    task, model, technique, kind = key
    if name == "complexity":
        return means.get(key, np.nan)
    if "agreement" in name:
        like = "span" if kind == "combined" else kind
        return means.get((task, model, "random", like), np.nan)
    # where the profile asks for random_sizes: each
    as_many = means.get((task, model, "random", technique), np.nan)
    return means.get((task, model, "random", RANDOM), np.nan) if np.isnan(as_many) else as_many


@table_of("task model f1 explained with_spans annotated agents_train agents_tested")
def tables_1_and_2(step: Step, properties: Properties, agents: pd.DataFrame) -> Iterator[dict]:
    """One row per task and model: macro F1 beside the published, and numbers of instances."""
    published = (
        reported("sun_base_f1").replace({"model": FAMILIES}).set_index(["dataset", "model"]).test_f1
    )
    profile = step.profile
    settings = profile.diagnosis
    for task, model in dict.fromkeys(run[:2] for run in profile.explained_runs("diagnosis")):
        seeds = profile.task_of(task, model).seeds
        f1 = 100 * np.mean([read_accuracy(step, task, model, s).macro_f1 for s in seeds])
        theirs = published.get(
            (CORPORA.get(task, task), model_family(profile.models[model])), np.nan
        )

        def own(table: pd.DataFrame, task: str = task, model: str = model) -> pd.DataFrame:
            return table[(table.task == task) & (table.model == model)]

        techniques = own(properties.complexity).groupby("instance").technique.nunique()
        rows = own(agents)
        yield {
            "task": task,
            "model": model,
            "f1": f"{f1:.1f}" + ("" if np.isnan(theirs) else f" [{theirs:.1f}]"),
            "explained": settings.rows,
            "with_spans": (techniques == len(settings.techniques)).sum(),
            "annotated": own(properties.agreement).dropna(subset=["token"]).instance.nunique(),
            "agents_train": rows.train.max() if len(rows) else 0,
            "agents_tested": rows.tested.max() if len(rows) else 0,
        }


@table_of(f"property task model technique {' '.join(TYPE_TITLES)} chance")
def beside_published(
    summary: pd.DataFrame, models: dict, names: Iterable[str] = PROPERTIES
) -> Iterator[tuple]:
    """One row per property, task, model and technique.

    A column per type: our value, the published one in brackets.

    The published value is the paper's for the same corpus, family of models and technique:
    agreement from Tables 3-6, simulatability from Tables 7-10, complexity from Tables 11 and 12
    (faithfulness is only drawn, in Figure 2). A dash marks what was not measured.
    """
    cell = ["technique", "property", "type"]
    published = published_cells().query("form != 'text'").set_index(["task", "kind", *cell]).value
    ours = summary.set_index(["task", "model", *cell])
    asked = dict.fromkeys(zip(summary.task, summary.model, summary.technique, strict=True))
    for name, (task, model, technique) in product(names, asked):
        family = model_family(models[model])
        own = ours.reindex([(task, model, technique, name, kind) for kind in TYPE_TITLES])
        theirs = published.reindex([(task, family, technique, name, kind) for kind in TYPE_TITLES])
        cells = [_format(name, *both) for both in zip(own.value, theirs, strict=True)]
        chance = own.chance.xs("span", level="type").item()
        yield name, task, model, TECHNIQUE_TITLES[technique], *cells, _format(name, chance)


def _format(name: str, value: float, published: float = np.nan) -> str:
    """A property's value as the paper prints it, with the published one in brackets if any."""
    asked = PROPERTIES[name]
    text = "–" if np.isnan(value) else f"{value * asked.factor:.{asked.digits}f}"
    return text if np.isnan(published) else f"{text} [{published:.{asked.digits}f}]"


def published_cells() -> pd.DataFrame:
    """Tables 3-12, one row per cell with its chance.

    Agreement and gains of agents are in points, complexity in nats.

    Columns as of `claims.contrast_values`.
    """
    agreement = reported("sun_agreement_tables3to6").rename(columns={"MAP_x100": "value"})
    agreement = _beside_random(agreement, ["model", "dataset", "level", "explanation_type"])
    agreement = agreement.assign(property=agreement.level + " agreement")
    gains = reported("sun_simulatability_tables7to10").rename(columns={"delta_f1": "value"})
    forms = gains.insertion_format.str.split(" ").str[0].str.lower()
    gains = gains.assign(form=forms, property="simulatability", chance=0.0)
    entropy = reported("sun_complexity_tables11to12").rename(columns={"entropy_nats": "value"})
    entropy = _beside_random(entropy, ["model", "dataset"]).assign(property="complexity")
    entropy = entropy[entropy.explanation_type.isin(TYPE_TITLES.values())]
    cells = pd.concat([agreement, gains, entropy], ignore_index=True)
    model = cells.model.str.split(" ").str[0]  # without "(inferred)"
    return pd.DataFrame(
        {
            "task": cells.dataset.map(_ours(CORPORA)),
            "model": model,
            "kind": model.map(FAMILIES),
            "technique": cells.technique.map(_ours(TECHNIQUE_TITLES)),
            "type": cells.explanation_type.map(_ours(TYPE_TITLES)),
            "form": cells.form.fillna(NO_FORM),
            **cells[["property", "value", "chance"]],
            "instance": "published",
            "agent": 0,
        }
    )


def _ours(titles: dict[str, str]) -> dict[str, str]:
    """Our name by the paper's title."""
    return {title: name for name, title in titles.items()}


def _beside_random(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """The rows of techniques; their chance is the value of random explanations in the same cell."""
    random = table[table.technique == "Random"][[*keys, "value"]].rename(
        columns={"value": "chance"}
    )
    return table[table.technique != "Random"].merge(
        random, on=keys, how="left", validate="many_to_one"
    )
