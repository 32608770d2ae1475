"""What do the four properties say of each type of explanation? Means over instances with intervals, and a summary."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attreval.core.bootstrap import bootstrap_mean
from attreval.papers.sun2024.instances import name_method
from attreval.workflow.step import Step

RUN = ["task", "model", "seed"]
CELL = [*RUN, "technique", "type"]
CHANGED = ["comprehensiveness", "sufficiency", "drop_without", "drop_only", "units"]
OF_INSTANCE = {  # what is kept of single instances: table -> column -> measure
    "changes": {"comprehensiveness": "unified_comprehensiveness", "sufficiency": "unified_sufficiency"},
    "agreement": {"token": "unit_agreement", "interaction": "interaction_agreement"},
    "complexity": {"entropy": "complexity"},
    "told": {"correct": "simulated"},
}
PROPERTIES = {  # in the paper's words -> the metric
    "comprehensiveness": "unified_comprehensiveness",
    "sufficiency": "unified_sufficiency",
    "token agreement": "people_units",
    "interaction agreement": "people_interactions",
    "simulatability": "simulatability",
    "complexity": "complexity",
}


def summarise(values: pd.DataFrame, measures: list[str], step: Step, keys: list[str] = CELL) -> pd.DataFrame:
    """Means of measures over instances with bootstrap intervals, one row a combination of keys and a measure.

    values: one row an instance and combination. Measures that nothing is known of have no row.
    """
    rows, bootstrap = [], step.profile.bootstrap
    for key, part in values.groupby(keys, sort=False):
        for measure in measures:
            known = part[measure].dropna()
            if len(known):
                found = bootstrap_mean(known.to_numpy(), bootstrap.draws, bootstrap.level, "diagnosis", *key[:3])
                rows.append((*key, measure, *(float(x) for x in found), len(known)))
    return pd.DataFrame(rows, columns=[*keys, "measure", "mean", "low", "high", "instances"])


def over_pieces(changes: pd.DataFrame) -> pd.DataFrame:
    """One row an instance, technique and type: changes averaged over numbers of pieces."""
    by_k = changes.groupby([*CELL, "instance", "k"], sort=False)[CHANGED].mean().reset_index()
    return by_k.groupby([*CELL, "instance"], sort=False)[CHANGED].mean().reset_index()


def faithfulness_table(changes: pd.DataFrame, step: Step) -> pd.DataFrame:
    """Share of changed predictions and mean drop in probability: over numbers of pieces, then instances (eq. 4)."""
    return summarise(over_pieces(changes), CHANGED, step)


def by_instance(diagnosis, predictions: pd.DataFrame) -> pd.DataFrame:
    """What the properties say of single instances: a row an instance, method and measure, see OF_INSTANCE.

    diagnosis: `diagnosing.Diagnosis`. predictions: of agents; those told by symbols count, as in the main text. The
    method of a technique and type is that of explain.levels.TECHNIQUES; random explanations are `random`.
    """
    told = predictions[predictions.form == "symbol"]
    tables = {
        "changes": over_pieces(diagnosis.changes),
        "agreement": diagnosis.agreement,
        "complexity": diagnosis.complexity,
        "told": told,
    }
    parts = []
    for table, names in OF_INSTANCE.items():
        part = tables[table].rename(columns=names)
        part = part.assign(method=[name_method(t, kind) for t, kind in zip(part.technique, part.type, strict=True)])
        # random explanations of agreement come at three levels, whose values no single method has
        part = part[(part.method != "random") | (part.type == "random")]
        parts.append(part.melt([*RUN, "instance", "method"], list(names.values()), "measure"))
    return pd.concat(parts, ignore_index=True)


def agreement_table(agreement: pd.DataFrame, step: Step) -> pd.DataFrame:
    """Mean average precision of units and of interactions (eq. 12); no row where people marked nothing."""
    return summarise(agreement, ["token", "interaction"], step)


def complexity_table(complexity: pd.DataFrame, step: Step) -> pd.DataFrame:
    """Mean entropy, that of random scores, and the highest possible (eq. 21)."""
    return summarise(complexity, ["entropy", "random", "uniform", "pieces"], step)


def rules_table(rules: pd.DataFrame, step: Step) -> pd.DataFrame:
    """How each way to make spans does: pieces, units masked, changes, and changes beyond as many single units.

    One row a task, model, seed, technique and rule.
    """
    measures = ["comprehensiveness", "sufficiency", "pieces", "units"]
    keys = [*RUN, "technique", "rule"]
    flat = rules.groupby([*keys, "type", "instance"], sort=False)[measures].mean().reset_index()
    wide = flat.pivot(index=[*keys, "instance"], columns="type", values=measures)
    out = pd.DataFrame(
        {
            "instances": wide["comprehensiveness", "span"].groupby(keys, sort=False).size(),
            "pieces": wide["pieces", "span"].groupby(keys, sort=False).mean(),
            "units": wide["units", "span"].groupby(keys, sort=False).mean(),
            "comprehensiveness": wide["comprehensiveness", "span"].groupby(keys, sort=False).mean(),
            "sufficiency": wide["sufficiency", "span"].groupby(keys, sort=False).mean(),
        }
    )
    for measure in ("comprehensiveness", "sufficiency"):
        beyond = wide[measure, "span"] - wide[measure, "token"]
        out[f"{measure}_beyond_units"] = beyond.groupby(keys, sort=False).mean()
    return out.reset_index()


def read_runs(step: Step, notebook: str, name: str, *part: int) -> pd.DataFrame:
    """A table that a notebook leaves for each run under diagnosis (or a part of it), put together."""
    parts = []
    for task, model, seed in step.profile.explained_runs("diagnosis"):
        found = step.results.read_table(name, notebook, task, model, seed, *part)
        parts.append(found.assign(task=task, model=model, seed=seed))
    return pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)


def agents_table(step: Step) -> pd.DataFrame:
    """F1 of every agent and its gain over the one without explanations (eq. 14-16)."""
    return read_runs(step, "07_sun2024_agents", "agents")


def predictions_table(step: Step) -> pd.DataFrame:
    """Whether each agent predicts what the model predicts, instance by instance."""
    return read_runs(step, "07_sun2024_agents", "predictions")


def oracle_table(step: Step) -> pd.DataFrame:
    """How close each estimate comes to the exact values, mean over short instances."""
    table = read_runs(step, "07_sun2024_explanations", "oracle", 0)
    keys = [*RUN, "estimate", "samples", "exact"]
    out = table.groupby(keys, sort=False)[["spearman", "pearson", "error"]].mean().reset_index()
    return out.assign(instances=table.instance.nunique(), units=table.units.mean())


def summary_table(parts: dict[str, pd.DataFrame], agents: pd.DataFrame) -> pd.DataFrame:
    """One row a task, model, technique, type and property, mean over seeds, with what chance gives beside it.

    Simulatability is that of explanations as symbols, as in the paper's main text; chance gives it no gain.
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
        chosen = parts[table][parts[table].measure == measure]
        means = chosen.groupby(keys, sort=False)["mean"].mean().reset_index()
        chance = chance_of(name, means, parts[table])
        for row in means[means.technique != "random"].itertuples():
            rows.append((*row[1:5], name, row.mean, chance(row)))
    symbols = agents[(agents.form == "symbol")] if len(agents) else agents
    for key, value in symbols.groupby(keys, sort=False)["gain"].mean().items():
        rows.append((*key, "simulatability", value, 0.0))
    out = pd.DataFrame(rows, columns=[*keys, "property", "value", "chance"])
    order = {name: i for i, name in enumerate(PROPERTIES)}
    return out.sort_values("property", key=lambda column: column.map(order), kind="stable").reset_index(drop=True)


def chance_of(name: str, means: pd.DataFrame, table: pd.DataFrame):
    """Row -> what random explanations get: the same units for all types, random ones of each type, random scores."""
    if name == "complexity":
        found = table[table.measure == "random"].groupby(["task", "model", "technique", "type"])["mean"].mean()
        return lambda row: float(found[row.task, row.model, row.technique, row.type])
    random = means[means.technique == "random"].set_index(["task", "model", "type"])["mean"]

    def chance(row) -> float:
        kind = {"combined": "span"}.get(row.type, row.type) if "agreement" in name else "random"
        return float(random.get((row.task, row.model, kind), np.nan))

    return chance


def note_diagnosis(step: Step, summary: pd.DataFrame, diagnosis) -> None:
    """Keep the numbers that the text looks up: for each task and kind of model, means over techniques by type."""
    from attreval.papers.sun2024.claims import kind_of

    runs = step.profile.explained_runs("diagnosis")
    kinds = {model: kind_of(step.profile.models[model]).replace("-", "_") for _, model, _ in runs}
    step.number("diagnosis.instances", step.profile.diagnosis.rows)
    step.number("diagnosis.agents", step.profile.diagnosis.agents.rows)
    changes = diagnosis.changes[diagnosis.changes.technique != "random"]
    for (task, model, technique), part in changes.groupby(["task", "model", "technique"], sort=False):
        step.number(f"diagnosis.{task}.{kinds[model]}.{technique}_instances", int(part.instance.nunique()))
    for (task, model, name), part in summary.groupby(["task", "model", "property"], sort=False):
        key = f"diagnosis.{task}.{kinds[model]}.{name.replace(' ', '_')}"
        digits = 1 if name == "simulatability" else 2
        for kind, value in part.groupby("type", sort=False).value.mean().items():
            step.number(f"{key}.{kind}", float(value), digits)
        step.number(f"{key}.chance", float(part.chance.mean()), digits)
    for task in dict.fromkeys(task for task, _, _ in runs):
        known = diagnosis.agreement[diagnosis.agreement.task == task].dropna(subset=["token"])
        step.number(f"diagnosis.{task}.annotated", int(known.instance.nunique()))
        measured = "is measured" if len(known) else "cannot be measured here, because nobody marked these texts"
        step.number(f"diagnosis.{task}.agreement", measured)
