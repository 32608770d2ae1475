"""Claims of Sun et al. (2024) about types of explanation.

Does each hold here, and in how many cells of the paper's own tables?
"""

from __future__ import annotations

from typing import get_type_hints

import pandas as pd

from attreval.papers.common.claims import Claim, read_claims, score
from attreval.papers.sun2024.contrasts import TypeContrast, contrast_types, count_cells
from attreval.papers.sun2024.properties import Properties
from attreval.papers.sun2024.tables import NO_FORM, model_family, published_cells
from attreval.workflow.step import Step

KEYS = ["task", "model", "technique", "type", "instance"]
COLUMNS = ["task", "model", "kind", "technique", "type", "form", "property", "instance", "value", "chance"]


def contrast_values(step: Step, properties: Properties, predictions: pd.DataFrame) -> pd.DataFrame:
    """One row an explanation of an instance and property, with what chance gives there; seeds are averaged.

    Simulatability is whether an agent predicts what the model predicts, and chance the uninformed agent.
    """
    changes = properties.changes.groupby([*KEYS, "k"])[["comprehensiveness", "sufficiency"]].mean().reset_index()
    parts = []
    for name in ("comprehensiveness", "sufficiency"):
        by_instance = changes.groupby(KEYS)[name].mean().rename("value").reset_index()
        random = by_instance[by_instance.technique == "random"]
        parts.append(_with_chance(by_instance, random, []).assign(property=name))
    if len(properties.agreement):
        for name in ("token", "interaction"):
            by_instance = properties.agreement.groupby(KEYS)[name].mean().rename("value").reset_index()
            by_instance["like"] = by_instance.type.replace("combined", "span")
            random = by_instance[by_instance.technique == "random"]
            parts.append(_with_chance(by_instance, random, ["like"]).assign(property=f"{name} agreement"))
    entropy = properties.complexity.groupby(KEYS)[["entropy", "random"]].mean().reset_index()
    parts.append(entropy.rename(columns={"entropy": "value", "random": "chance"}).assign(property="complexity"))
    if len(predictions):
        correct = predictions.groupby([*KEYS, "form"]).correct.mean().rename("value").reset_index()
        informed, uninformed = correct[correct.form != "none"], correct[correct.form == "none"]
        parts.append(_with_chance(informed, uninformed, []).assign(property="simulatability"))
    values = pd.concat(parts, ignore_index=True)
    forms = values.form.fillna(NO_FORM) if "form" in values else NO_FORM
    families = {name: model_family(spec) for name, spec in step.profile.models.items()}
    return values.assign(form=forms, kind=values.model.map(families))[COLUMNS]


def _with_chance(values: pd.DataFrame, random: pd.DataFrame, more: list[str]) -> pd.DataFrame:
    """The rows of explanations, with what chance gives on the same instance (and in the same columns `more`)."""
    keys = ["task", "model", "instance", *more]
    chance, real = random.set_index(keys).value, values[values.technique != "random"]
    return real.assign(chance=chance.reindex(pd.MultiIndex.from_frame(real[keys])).to_numpy())


def read_contrast(claim: Claim) -> TypeContrast:
    """The contrast of a claim. ValueError where it names something that a contrast does not have."""
    known = get_type_hints(TypeContrast)
    if unknown := [name for name in claim.contrast if name not in known]:
        raise ValueError(f"claim {claim.id}: a contrast has no {unknown[0]!r}; it has: {', '.join(known)}")
    return TypeContrast(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in claim.contrast.items()}
    )


def claims_table(step: Step, values: pd.DataFrame) -> pd.DataFrame:
    """One row a claim of the paper with our value, its interval and a verdict."""
    claims = read_claims("sun2024")
    found = {claim.id: _our_value(claim, values, step) for claim in claims if claim.contrast and not claim.why_not}
    return score(claims, found)


def _our_value(claim: Claim, values: pd.DataFrame, step: Step) -> dict:
    """Our value of a claim that sets one type of explanation, or technique, against others."""
    bootstrap = step.profile.bootstrap
    found = contrast_types(values, read_contrast(claim), bootstrap.draws, bootstrap.confidence)
    if found is None:
        nan = float("nan")
        return {"value": nan, "low": nan, "high": nan, "basis": "nothing in this run tests it"}
    basis = f"{found.positive} of {found.cells} cells"
    return {"value": found.value, "low": found.low, "high": found.high, "basis": basis}


def published_claims() -> pd.DataFrame:
    """In how many cells of the paper's own tables each claim holds (0 of 0 where they do not show it)."""
    cells, rows = published_cells(), []
    for claim in read_claims("sun2024"):
        if claim.contrast:
            held, shown = count_cells(cells, read_contrast(claim))
            rows.append((claim.id, held, shown, f"{held} of {shown}"))
    return pd.DataFrame(rows, columns=["claim", "held", "cells", "holds_in"])


def combined_table(step: Step, values: pd.DataFrame) -> pd.DataFrame:
    """Whether the combined explanations, which are ours, do better than spans and than tokens: one row a property.

    Differences are turned so that higher is better, with their intervals and the number of cells in which they are.
    """
    bootstrap, rows = step.profile.bootstrap, []
    for name in dict.fromkeys(values.property):
        forms = ("symbol",) if name == "simulatability" else None
        for other in ("span", "token"):
            asked = TypeContrast(name, "combined", (other,), forms=forms)
            if found := contrast_types(values, asked, bootstrap.draws, bootstrap.confidence):
                rows.append((name, other, found.value, found.low, found.high, found.positive, found.cells))
    return pd.DataFrame(rows, columns=["property", "against", "difference", "low", "high", "better_in", "cells"])
