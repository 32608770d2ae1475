"""Which claims of Sun et al. (2024) about types of explanation hold here, and in how many cells of their tables?"""

from __future__ import annotations

from typing import get_type_hints

import pandas as pd

from attreval.core import project
from attreval.papers.common.claims import Claim, read_claims, score
from attreval.papers.sun2024.contrasts import TypeContrast, contrast_types, count_cells
from attreval.workflow.step import Step

TYPES = {"TokenEx": "token", "TokenIntEx": "pair", "SpanIntEx": "span"}
TECHNIQUES = {"Shapley": "shapley", "Attention": "attention", "IG": "gradients"}
KEYS = ["task", "model", "technique", "type", "instance"]
COLUMNS = ["task", "model", "kind", "technique", "type", "form", "property", "instance", "value", "chance"]
NO_FORM = "-"


def kind_of(spec) -> str:
    """encoder or encoder-decoder, by the architecture, or by the name of the weights."""
    paired = spec.architecture == "encoder_decoder" or "bart" in (spec.weights or "").lower()
    return "encoder-decoder" if paired else "encoder"


def gather_values(step: Step, diagnosis, predictions: pd.DataFrame) -> pd.DataFrame:
    """One row an explanation of an instance and property, with what chance gives there; seeds are averaged.

    Simulatability is whether an agent predicts what the model predicts, and chance the agent without explanations.
    """
    changes = diagnosis.changes.groupby([*KEYS, "k"])[["comprehensiveness", "sufficiency"]].mean().reset_index()
    parts = []
    for name in ("comprehensiveness", "sufficiency"):
        by_instance = changes.groupby(KEYS)[name].mean().rename("value").reset_index()
        chance = by_instance[by_instance.technique == "random"].set_index(["task", "model", "instance"]).value
        parts.append(with_chance(by_instance, chance, ["task", "model", "instance"]).assign(property=name))
    if len(diagnosis.agreement):
        for level in ("token", "interaction"):
            by_instance = diagnosis.agreement.groupby(KEYS)[level].mean().rename("value").reset_index()
            by_instance["like"] = by_instance.type.replace("combined", "span")
            random = by_instance[by_instance.technique == "random"].set_index(["task", "model", "instance", "like"])
            found = with_chance(by_instance, random.value, ["task", "model", "instance", "like"])
            parts.append(found.assign(property=f"{level} agreement"))
    entropy = diagnosis.complexity.groupby(KEYS)[["entropy", "random"]].mean().reset_index()
    parts.append(entropy.rename(columns={"entropy": "value", "random": "chance"}).assign(property="complexity"))
    if len(predictions):
        told = predictions.groupby([*KEYS, "form"]).correct.mean().rename("value").reset_index()
        untold = told[told.form == "none"].set_index(["task", "model", "instance"]).value
        found = with_chance(told[told.form != "none"], untold, ["task", "model", "instance"])
        parts.append(found.assign(property="simulatability"))
    values = pd.concat(parts, ignore_index=True).assign(
        form=lambda frame: frame.form.fillna(NO_FORM) if "form" in frame else NO_FORM
    )
    kinds = {name: kind_of(spec) for name, spec in step.profile.models.items()}
    return values.assign(kind=values.model.map(kinds))[COLUMNS]


def with_chance(values: pd.DataFrame, chance: pd.Series, keys: list[str]) -> pd.DataFrame:
    """The rows of explanations, with what chance gives on the same instance."""
    real = values[values.technique != "random"]
    return real.assign(chance=chance.reindex(pd.MultiIndex.from_frame(real[keys])).to_numpy())


def published() -> pd.DataFrame:
    """The paper's tables, one row a cell: agreement and gains of agents in points, complexity in nats."""
    folder, parts = project.home() / "paper" / "reported", []
    agreement = pd.read_csv(folder / "sun_agreement_tables3to6.csv")
    chance = agreement[agreement.technique == "Random"].set_index(["model", "dataset", "level", "explanation_type"])
    for row in agreement[agreement.technique != "Random"].itertuples():
        random = chance.MAP_x100[row.model, row.dataset, row.level, row.explanation_type]
        parts.append((*name_cell(row), NO_FORM, f"{row.level} agreement", row.MAP_x100, random))
    for row in pd.read_csv(folder / "sun_simulatability_tables7to10.csv").itertuples():
        form = row.insertion_format.split(" ")[0].lower()
        parts.append((*name_cell(row), form, "simulatability", row.delta_f1, 0.0))
    entropy = pd.read_csv(folder / "sun_complexity_tables11to12.csv")
    chance = entropy[entropy.technique == "Random"].set_index(["model", "dataset"]).entropy_nats
    for row in entropy[entropy.explanation_type.isin(TYPES)].itertuples():
        parts.append((*name_cell(row), NO_FORM, "complexity", row.entropy_nats, chance[row.model, row.dataset]))
    names = [name for name in COLUMNS if name != "instance"]
    return pd.DataFrame(parts, columns=names).assign(instance="published")


def name_cell(row) -> tuple[str, str, str, str, str]:
    """Task, model, kind of model, technique and type of a row of the paper's tables, in our words."""
    model = row.model.split(" ")[0]
    kind = {"BERT": "encoder", "BART": "encoder-decoder"}[model]
    return row.dataset, model, kind, TECHNIQUES[row.technique], TYPES[row.explanation_type]


def read_contrast(claim: Claim) -> TypeContrast:
    """The contrast of a claim. ValueError where it names something that a contrast does not have."""
    known = get_type_hints(TypeContrast)
    if unknown := [name for name in claim.contrast if name not in known]:
        raise ValueError(f"claim {claim.id}: a contrast has no {unknown[0]!r}; it has: {', '.join(known)}")
    return TypeContrast(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in claim.contrast.items()}
    )


def diagnosis_claims(step: Step, values: pd.DataFrame) -> pd.DataFrame:
    """One row a claim of Sun et al. 2024 with our value, its interval and a verdict."""
    claims = read_claims("sun2024")
    found = {}
    for claim in claims:
        if claim.contrast and not claim.why_not:
            found[claim.id] = measure(claim, values, step)
    for claim in claims:
        if claim.contrast:
            held, cells = count_published(claim)
            step.number(f"diagnosis.published.{claim.id}", f"{held} of {cells}")
    return score(claims, found)


def measure(claim: Claim, values: pd.DataFrame, step: Step) -> dict:
    """Our value of a claim that sets one type of explanation, or technique, against others."""
    bootstrap = step.profile.bootstrap
    found = contrast_types(values, read_contrast(claim), bootstrap.draws, bootstrap.confidence)
    if found is None:
        nan = float("nan")
        return {"value": nan, "low": nan, "high": nan, "basis": "nothing in this run tests it"}
    basis = f"{found.positive} of {found.cells} cells"
    return {"value": found.value, "low": found.low, "high": found.high, "basis": basis}


def count_published(claim: Claim) -> tuple[int, int]:
    """In how many cells of the paper's own tables a claim holds, of how many; 0 of 0 where they do not show it."""
    return count_cells(published(), read_contrast(claim))


def combined_table(step: Step, values: pd.DataFrame) -> pd.DataFrame:
    """Whether the combined explanations, which are ours, do better than spans and than tokens: one row a property.

    Differences are turned so that higher is better, with their intervals and the number of cells in which they are.
    """
    bootstrap, rows = step.profile.bootstrap, []
    for name in dict.fromkeys(values.property):
        for other in ("span", "token"):
            forms = ("symbol",) if name == "simulatability" else None
            asked = TypeContrast(name, "combined", (other,), forms=forms)
            found = contrast_types(values, asked, bootstrap.draws, bootstrap.confidence)
            if found:
                rows.append((name, other, found.value, found.low, found.high, found.positive, found.cells))
    table = pd.DataFrame(rows, columns=["property", "against", "difference", "low", "high", "better_in", "cells"])
    for against, part in table.groupby("against", sort=False):
        step.number(f"diagnosis.combined.better_than_{against}", int((part.low > 0).sum()))
        step.number(f"diagnosis.combined.worse_than_{against}", int((part.high < 0).sum()))
    step.number("diagnosis.combined.properties", int(table.property.nunique()))
    return table
