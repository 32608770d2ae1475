"""Tables 1-12 of Sun et al. (2024) and the values of their Figure 2, ours beside the published ones.

What do the four properties say of each type of explanation? Means over instances, with bootstrap intervals.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from attreval.core.bootstrap import bootstrap_mean
from compendium.papers.common.runs import RUN, reported
from compendium.papers.sun2024.oracle import mean_closeness
from compendium.papers.sun2024.properties import RANDOM, Properties
from compendium.workflow.step import Step

CELL = [*RUN, "technique", "type"]
CHANGED = ["comprehensiveness", "sufficiency", "drop_without", "drop_only", "units"]
PROPERTIES = {  # in the paper's words -> the metric
    "comprehensiveness": "unified_comprehensiveness",
    "sufficiency": "unified_sufficiency",
    "token agreement": "people_units",
    "interaction agreement": "people_interactions",
    "simulatability": "simulatability",
    "complexity": "complexity",
}
TYPE_TITLES = {"token": "TokenEx", "pair": "TokenIntEx", "span": "SpanIntEx", "combined": "combined (ours)"}
TECHNIQUE_TITLES = {"shapley": "Shapley", "attention": "Attention", "gradients": "IG"}
FAMILIES = {"BERT": "encoder", "BART": "encoder-decoder"}
CORPORA = {"snli": "SNLI", "fever": "FEVER"}
NO_FORM = "-"
PERCENT = ("token agreement", "interaction agreement")
ONE_DIGIT = (*PERCENT, "simulatability")


def model_family(spec) -> str:
    """encoder or encoder-decoder, by the architecture, or by the name of the weights. spec: config.ModelSpec."""
    paired = spec.architecture == "encoder_decoder" or "bart" in (spec.weights or "").lower()
    return "encoder-decoder" if paired else "encoder"


def tables_1_and_2(step: Step, properties: Properties, agents: pd.DataFrame) -> pd.DataFrame:
    """One row a task and model: macro F1 on test beside the published one, and how many instances each property has.

    with_spans: instances in which every technique finds a pair of spans.
    """
    published = reported("sun_base_f1")
    published = published.set_index(["dataset", published.model.map(FAMILIES)]).test_f1
    rows = []
    for task, model in dict.fromkeys((task, model) for task, model, _ in step.profile.explained_runs("diagnosis")):
        seeds = step.profile.tasks[task].seeds
        trained = [step.results.read_table("accuracy", "02_train", step.profile.read_by(task), model, s) for s in seeds]
        f1 = 100 * float(np.mean([table.macro_f1.iloc[0] for table in trained]))
        theirs = published.get((CORPORA.get(task, task), model_family(step.profile.models[model])), np.nan)
        found = {name: part[(part.task == task) & (part.model == model)] for name, part in vars(properties).items()}
        complete = found["complexity"].groupby("instance").technique.nunique()
        own = agents[(agents.task == task) & (agents.model == model)]
        rows.append(
            {
                "task": task,
                "model": model,
                "f1": f"{f1:.1f}" + ("" if np.isnan(theirs) else f" [{theirs:.1f}]"),
                "explained": step.profile.diagnosis.rows,
                "with_spans": int((complete == len(step.profile.diagnosis.techniques)).sum()),
                "annotated": int(found["agreement"].dropna(subset=["token"]).instance.nunique()),
                "agents_train": int(own.train.max()) if len(own) else 0,
                "agents_tested": int(own.tested.max()) if len(own) else 0,
            }
        )
    return pd.DataFrame(rows)


def figure_2_values(summary: pd.DataFrame, models: dict) -> pd.DataFrame:
    """Comprehensiveness and sufficiency, which the paper shows in Figure 2 alone; see _beside_published."""
    return _beside_published(summary, models, ("comprehensiveness", "sufficiency"))


def tables_3_to_6(summary: pd.DataFrame, models: dict) -> pd.DataFrame:
    """Agreement with people, in percent; see _beside_published."""
    return _beside_published(summary, models, PERCENT)


def tables_7_to_10(step: Step) -> pd.DataFrame:
    """F1 of every agent and its gain over the one without explanations (eq. 14-16)."""
    return read_runs(step, "07_sun2024_agents", "agents")


def tables_11_to_12(summary: pd.DataFrame, models: dict) -> pd.DataFrame:
    """Complexity, in nats; see _beside_published."""
    return _beside_published(summary, models, ("complexity",))


def _beside_published(summary: pd.DataFrame, models: dict, names: Iterable[str] = PROPERTIES) -> pd.DataFrame:
    """One row a property, task, model and technique; a column a type: ours, and in brackets the published value.

    Published is what the paper has for the same corpus, family of models and technique. What was not measured is a
    dash. summary: of property_means. models: name -> config.ModelSpec.
    """
    cell = ["technique", "type", "property"]
    published = published_cells().query("form != 'text'").set_index(["task", "kind", *cell]).value
    ours = summary.set_index(["task", "model", *cell])
    rows = []
    for name in names:
        for task, model, technique in dict.fromkeys(zip(summary.task, summary.model, summary.technique, strict=True)):
            where = (CORPORA.get(task, task), model_family(models[model]), technique)
            cells = []
            for kind in TYPE_TITLES:
                value = ours.value.get((task, model, technique, kind, name), np.nan)
                cells.append(_format(name, value, published.get((*where, kind, name), np.nan)))
            chance = ours.chance.get((task, model, technique, "span", name), np.nan)
            rows.append((name, task, model, TECHNIQUE_TITLES[technique], *cells, _format(name, chance)))
    return pd.DataFrame(rows, columns=["property", "task", "model", "technique", *TYPE_TITLES, "chance"])


def _format(name: str, value: float, published: float = np.nan) -> str:
    """A property's value as the paper prints it, with the published one in brackets where there is one."""
    digits, own = (1 if name in ONE_DIGIT else 2), value * (100 if name in PERCENT else 1)
    text = "–" if np.isnan(own) else f"{own:.{digits}f}"
    return text if np.isnan(published) else f"{text} [{published:.{digits}f}]"


def published_cells() -> pd.DataFrame:
    """Tables 3-12, one row a cell: agreement and gains of agents in points, complexity in nats; chance beside each.

    Columns task, model, kind (of model), technique, type, form, property, value, chance, instance (`published`).
    """
    agreement = reported("sun_agreement_tables3to6")
    keys = ["model", "dataset", "level", "explanation_type"]
    chance = agreement[agreement.technique == "Random"].set_index(keys).MAP_x100
    agreement = agreement[agreement.technique != "Random"]
    gains = reported("sun_simulatability_tables7to10")
    entropy = reported("sun_complexity_tables11to12")
    entropy_chance = entropy[entropy.technique == "Random"].set_index(["model", "dataset"]).entropy_nats
    entropy = entropy[entropy.explanation_type.isin(list(TYPE_TITLES.values()))]
    parts = [
        agreement.assign(
            form=NO_FORM,
            property=agreement.level + " agreement",
            value=agreement.MAP_x100,
            chance=chance.loc[pd.MultiIndex.from_frame(agreement[keys])].to_numpy(),
        ),
        gains.assign(
            form=gains.insertion_format.str.split(" ").str[0].str.lower(),
            property="simulatability",
            value=gains.delta_f1,
            chance=0.0,
        ),
        entropy.assign(
            form=NO_FORM,
            property="complexity",
            value=entropy.entropy_nats,
            chance=entropy_chance.loc[pd.MultiIndex.from_frame(entropy[["model", "dataset"]])].to_numpy(),
        ),
    ]
    cells = pd.concat(parts, ignore_index=True)
    model = cells.model.str.split(" ").str[0]  # without "(inferred)"
    return pd.DataFrame(
        {
            "task": cells.dataset,
            "model": model,
            "kind": model.map(FAMILIES),
            "technique": cells.technique.map({title: name for name, title in TECHNIQUE_TITLES.items()}),
            "type": cells.explanation_type.map({title: name for name, title in TYPE_TITLES.items()}),
        }
        | {name: cells[name] for name in ("form", "property", "value", "chance")}
        | {"instance": "published"}
    )


def bootstrap_means(values: pd.DataFrame, measures: list[str], step: Step) -> pd.DataFrame:
    """Means of measures over instances with bootstrap intervals, one row a run, technique, type and measure.

    values: one row an instance, technique and type. Measures that nothing is known of have no row.
    """
    rows, bootstrap = [], step.profile.bootstrap
    for key, part in values.groupby(CELL, sort=False):
        for measure in measures:
            known = part[measure].dropna()
            if len(known):
                found = bootstrap_mean(known.to_numpy(), bootstrap.draws, bootstrap.confidence, "diagnosis", *key[:3])
                rows.append((*key, measure, *(float(x) for x in found), len(known)))
    return pd.DataFrame(rows, columns=[*CELL, "measure", "mean", "low", "high", "instances"])


def mean_over_k(changes: pd.DataFrame) -> pd.DataFrame:
    """One row an instance, technique and type: draws averaged for each k, then over k."""
    by_k = changes.groupby([*CELL, "instance", "k"], sort=False)[CHANGED].mean().reset_index()
    return by_k.groupby([*CELL, "instance"], sort=False)[CHANGED].mean().reset_index()


def faithfulness_means(changes: pd.DataFrame, step: Step) -> pd.DataFrame:
    """Share of changed predictions and mean drop in probability: over k, then instances (eq. 4)."""
    return bootstrap_means(mean_over_k(changes), CHANGED, step)


def agreement_means(agreement: pd.DataFrame, step: Step) -> pd.DataFrame:
    """Mean average precision of units and of interactions (eq. 12); no row where people marked nothing."""
    return bootstrap_means(agreement, ["token", "interaction"], step)


def complexity_means(complexity: pd.DataFrame, step: Step) -> pd.DataFrame:
    """Mean entropy, that of random scores, and the highest possible (eq. 21)."""
    return bootstrap_means(complexity, ["entropy", "random", "uniform", "pieces"], step)


def span_rule_means(rules: pd.DataFrame) -> pd.DataFrame:
    """How each way to make spans does: pairs of spans, units masked, changes, and changes beyond as many single units.

    One row a task, model, seed, technique and rule.
    """
    measures = ["comprehensiveness", "sufficiency", "pieces", "units"]
    keys = [*RUN, "technique", "rule"]
    flat = rules.groupby([*keys, "type", "instance"], sort=False)[measures].mean().reset_index()
    wide = flat.pivot(index=[*keys, "instance"], columns="type", values=measures)
    spans = {name: wide[name, "span"].groupby(keys, sort=False) for name in measures}
    out = {"instances": spans["comprehensiveness"].size()}
    out |= {name: spans[name].mean() for name in ("pieces", "units", "comprehensiveness", "sufficiency")}
    for name in ("comprehensiveness", "sufficiency"):
        beyond = wide[name, "span"] - wide[name, "token"]
        out[f"{name}_beyond_units"] = beyond.groupby(keys, sort=False).mean()
    return pd.DataFrame(out).reset_index()


def agent_predictions(step: Step) -> pd.DataFrame:
    """Whether each agent predicts what the model predicts, instance by instance."""
    return read_runs(step, "07_sun2024_agents", "predictions")


def exact_value_means(step: Step) -> pd.DataFrame:
    """How close each estimate comes to the exact values, mean over short instances of each run."""
    table = read_runs(step, "07_sun2024_explanations", "oracle", 0)
    return mean_closeness(table, RUN).assign(units=table.units.mean())


def read_runs(step: Step, notebook: str, name: str, *part: int) -> pd.DataFrame:
    """A table that a notebook leaves for each evaluated run (or a part of it), put together."""
    parts = []
    for task, model, seed in step.profile.explained_runs("diagnosis"):
        found = step.results.read_table(name, notebook, task, model, seed, *part)
        parts.append(found.assign(task=task, model=model, seed=seed))
    return pd.concat([some for some in parts if len(some)] or parts, ignore_index=True)


def property_means(measured: dict[str, pd.DataFrame], agents: pd.DataFrame, models: dict) -> pd.DataFrame:
    """Figure 2: one row a task, model, technique, type and property, mean over seeds, with what chance gives beside it.

    low, high: the interval over texts, NaN where the mean is over several seeds.
    measured: faithfulness, agreement and complexity, as the functions above give them. Simulatability is that of
    explanations as symbols, as in the paper's main text; chance gives it no gain. models: name -> config.ModelSpec.
    """
    rows = []
    sources = {
        "comprehensiveness": ("faithfulness", "comprehensiveness"),
        "sufficiency": ("faithfulness", "sufficiency"),
        "token agreement": ("agreement", "token"),
        "interaction agreement": ("agreement", "interaction"),
        "complexity": ("complexity", "entropy"),
    }
    keys = ["task", "model", "technique", "type"]
    for name, (table, measure) in sources.items():
        chosen = measured[table][measured[table].measure == measure]
        means = chosen.groupby(keys, sort=False)["mean"].mean()
        bounds = _bounds(chosen, keys)
        for key, value in means.drop("random", level="technique", errors="ignore").items():
            rows.append((*key, name, value, *bounds[key], _chance(name, key, means, measured[table])))
    symbols = agents[agents.form == "symbol"] if len(agents) else agents
    bounds = _bounds(symbols, keys)
    for key, value in symbols.groupby(keys, sort=False)["gain"].mean().items():
        rows.append((*key, "simulatability", value, *bounds[key], 0.0))
    out = pd.DataFrame(rows, columns=[*keys, "property", "value", "low", "high", "chance"])
    out["kind"] = out.model.map({name: model_family(spec) for name, spec in models.items()})
    order = {name: i for i, name in enumerate(PROPERTIES)}
    return out.sort_values("property", key=lambda column: column.map(order), kind="stable").reset_index(drop=True)


def _bounds(table: pd.DataFrame, keys: list[str]) -> dict[tuple, tuple[float, float]]:
    """The interval of each key that has one row; NaN of those that have a row a seed."""
    unknown = (float("nan"), float("nan"))
    found = table.groupby(keys, sort=False)
    return {key: (part.low.iloc[0], part.high.iloc[0]) if len(part) == 1 else unknown for key, part in found}


def _chance(name: str, key: tuple[str, str, str, str], means: pd.Series, table: pd.DataFrame) -> float:
    """What random explanations get: the same units for all types, random ones of each type, or random scores."""
    if name == "complexity":
        cells = table[(table[["task", "model", "technique", "type"]] == list(key)).all(axis=1)]
        return float(cells[cells.measure == "random"]["mean"].mean())
    task, model, technique, kind = key
    if "agreement" in name:
        return float(means.get((task, model, "random", {"combined": "span"}.get(kind, kind)), np.nan))
    as_many = means.get((task, model, "random", technique), np.nan)  # where the profile asks for random_sizes: each
    return float(means.get((task, model, "random", RANDOM), np.nan) if np.isnan(as_many) else as_many)
