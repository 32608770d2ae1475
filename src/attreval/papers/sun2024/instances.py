"""What did the four properties of the diagnosis say of each text? A value a text and method, higher is better."""

from __future__ import annotations

import pandas as pd

from attreval.explain.techniques import TECHNIQUES
from attreval.papers.sun2024.tables import mean_over_k

RUN = ["task", "model", "seed", "instance"]
COLUMNS = [*RUN, "method", "metric", "value"]
OF_INSTANCE = {  # what is kept of single instances: table -> column -> measure
    "changes": {"comprehensiveness": "unified_comprehensiveness", "sufficiency": "unified_sufficiency"},
    "agreement": {"token": "unit_agreement", "interaction": "interaction_agreement"},
    "complexity": {"entropy": "complexity"},
    "told": {"correct": "simulated"},
}


def each_instance(diagnosis) -> pd.DataFrame:
    """The values of papers.sun2024.properties.Diagnosis by instance and method, as the joint study reads them.

    Faithfulness is averaged over numbers of pieces; sufficiency is 1 less the share of changed classes, and complexity
    1 less the share of the highest entropy. Random explanations of all types are one method, `random`.
    """
    changes = diagnosis.changes.assign(
        unified_comprehensiveness=diagnosis.changes.comprehensiveness,
        unified_sufficiency_inverted=1 - diagnosis.changes.sufficiency,
    )
    agreement = diagnosis.agreement.rename(columns={"token": "people_units", "interaction": "people_interactions"})
    found = diagnosis.complexity
    room = found.uniform.where(found.uniform > 0)
    own = found.assign(unified_simplicity=1 - found.entropy / room)
    chance = found.assign(unified_simplicity=1 - found.random / room, technique="random", type="random")
    parts = [
        melt(changes, ["unified_comprehensiveness", "unified_sufficiency_inverted"]),
        melt(agreement, ["people_units", "people_interactions"]),
        melt(pd.concat([own, chance], ignore_index=True), ["unified_simplicity"]),
    ]
    return pd.concat(parts, ignore_index=True)


def melt(frame: pd.DataFrame, metrics: list[str]) -> pd.DataFrame:
    """One row an instance, method and metric: means over whatever else a table tells apart, NaN left out."""
    named = frame.assign(method=[name_method(t, kind) for t, kind in zip(frame.technique, frame.type, strict=True)])
    means = named.groupby([*RUN, "method"], sort=False)[metrics].mean().reset_index()
    return means.melt([*RUN, "method"], metrics, "metric", "value").dropna(subset="value")[COLUMNS]


def name_method(technique: str, kind: str) -> str:
    """The method by which a technique makes explanations of a type; `random` for random ones."""
    return TECHNIQUES[technique][kind] if technique in TECHNIQUES else "random"


def read_agents(predictions: pd.DataFrame) -> pd.DataFrame:
    """Simulatability by instance and method, mean over the forms in which agents were told; untold agents left out."""
    told = predictions[predictions.technique.isin(list(TECHNIQUES))]
    if not len(told):
        return pd.DataFrame(columns=COLUMNS)
    return melt(told.rename(columns={"correct": "simulatability"}), ["simulatability"])


def by_instance(diagnosis, predictions: pd.DataFrame) -> pd.DataFrame:
    """What the properties say of single instances: a row an instance, method and measure, see OF_INSTANCE.

    diagnosis: `diagnosing.Diagnosis`. predictions: of agents; those told by symbols count, as in the main text. The
    method of a technique and type is that of explain.levels.TECHNIQUES; random explanations are `random`.
    """
    told = predictions[predictions.form == "symbol"]
    tables = {
        "changes": mean_over_k(diagnosis.changes),
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
        parts.append(part.melt([*RUN, "method"], list(names.values()), "measure"))
    return pd.concat(parts, ignore_index=True)
