"""Contradicted conclusions of Sun et al. (2024), one corpus, model, technique, type, rival or property at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from compendium.papers.common.claims import Claim, read_claims
from compendium.papers.common.style import model_title, task_title
from compendium.papers.common.turned import Turn, quick_draws, turned_table
from compendium.papers.common.verdicts import Expectation
from compendium.papers.sun2024.claims import read_contrast
from compendium.papers.sun2024.contrasts import TypeContrast, contrast_types
from compendium.workflow.step import Step

TITLES = {"task": task_title, "model": model_title}  # of a column's values; techniques and types have their own names
RIVALS = {
    "technique": "method",
    "type": "metric",
    "form": "protocol",
}  # what is turned where rivals are asked one by one


def turned_claims(step: Step, values: pd.DataFrame, judged: pd.DataFrame) -> pd.DataFrame:
    """One row a contradicted claim and thing turned, as `turned_table`.

    values: of `claims.contrast_values`; judged: of `claims.claims_table`.
    """
    settings = quick_draws(step.profile.bootstrap)

    def number(part: pd.DataFrame, asked: TypeContrast):
        found = contrast_types(part, asked, settings)
        return found and found.finding

    def turn(claim: Claim) -> Iterator[Turn]:
        if not claim.contrast:
            return
        asked = read_contrast(claim)
        properties = asked.properties or (asked.property,)
        shown = values[values.property.isin(properties) & (values.technique != "random")]
        for column, field, what in (
            ("task", "tasks", "corpus"),
            ("model", "kinds", "model"),
            ("technique", "techniques", "method"),
            ("type", "types", "metric"),
        ):
            if asked.across == column:
                continue
            allowed = getattr(asked, field)
            kind = shown.kind if column == "model" else shown[column]
            names = shown[column] if allowed is None else shown[column][kind.isin(allowed)]
            names = list(dict.fromkeys(names.dropna()))
            for name in names if len(names) > 1 else ():
                yield Turn(what, TITLES.get(column, str)(name), number(values[values[column] == name], asked))
        for name in asked.worse if len(asked.worse) > 1 else ():
            against = replace(asked, worse=(name,))
            yield Turn(RIVALS[asked.across], f"against {name} alone", number(values, against))
        for one in asked.properties:
            forms = asked.forms if one == "simulatability" else None
            alone = replace(asked, property=one, properties=(), forms=forms)
            yield Turn("metric", one, number(values, alone), Expectation(above=0))  # a lead, where the claim is a share

    return turned_table(read_claims("sun2024"), judged, turn, step.profile.bootstrap.confidence)
