"""What did the four properties of the diagnosis say of each text? A value a text and method, higher is better."""

from __future__ import annotations

import pandas as pd

from attreval.explain.techniques import TECHNIQUES

RUN = ["task", "model", "seed", "instance"]
COLUMNS = [*RUN, "method", "judge", "value"]


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


def melt(frame: pd.DataFrame, judges: list[str]) -> pd.DataFrame:
    """One row an instance, method and judge: means over whatever else a table tells apart, NaN left out."""
    named = frame.assign(method=[name_method(t, kind) for t, kind in zip(frame.technique, frame.type, strict=True)])
    means = named.groupby([*RUN, "method"], sort=False)[judges].mean().reset_index()
    return means.melt([*RUN, "method"], judges, "judge", "value").dropna(subset="value")[COLUMNS]


def name_method(technique: str, kind: str) -> str:
    """The method by which a technique makes explanations of a type; `random` for random ones."""
    return TECHNIQUES[technique][kind] if technique in TECHNIQUES else "random"


def read_agents(predictions: pd.DataFrame) -> pd.DataFrame:
    """Simulatability by instance and method, mean over the forms in which agents were told; untold agents left out."""
    told = predictions[predictions.technique.isin(list(TECHNIQUES))]
    if not len(told):
        return pd.DataFrame(columns=COLUMNS)
    return melt(told.rename(columns={"correct": "simulatability"}), ["simulatability"])
