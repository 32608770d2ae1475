"""Do the statements of Sun et al. (2024) about types of explanation hold in our cells, and in the paper's own tables?

A cell is a technique, model and task. The same test runs over our summary and over the paper's published tables, so
what is reported is counted, not typed; only for faithfulness, which it shows in a figure, its text's counts stand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from attreval import project
from attreval.step import Step
from attreval.study.diagnosis_tables import PROPERTIES

CELL = ["task", "model", "technique"]
TYPES = {"TokenEx": "token", "TokenIntEx": "pair", "SpanIntEx": "span"}
TECHNIQUES = {"Shapley": "shapley", "Attention": "attention", "IG": "gradients"}
NEAR = 0.25  # shares of cells that differ by at most so much count as the same
Held = Callable[[pd.DataFrame], list[bool]]


@dataclass(frozen=True)
class Claim:
    """One statement. held: from a summary, for each cell whether it holds there.

    stated: cells in which the paper's text says that it holds, of how many, where its tables do not say; None where
    they do, or where the claim is ours.
    """

    id: str
    where: str
    statement: str
    held: Held
    stated: tuple[int, int] | None = None


def cells(summary: pd.DataFrame, name: str) -> pd.DataFrame:
    """A row a cell, a column a type, and `random`: values of one property, turned so that higher is better."""
    part = summary[summary.property == name]
    wide = part.pivot_table(index=[*CELL, "kind"], columns="type", values="value", sort=False)
    wide["random"] = part[part.type == "token"].set_index([*CELL, "kind"]).chance
    return (wide if PROPERTIES[name] else -wide).reset_index()


def best(name: str, kind: str) -> Held:
    """Whether a type is the best of the paper's three, and not just one of two best."""

    def held(summary: pd.DataFrame) -> list[bool]:
        wide = cells(summary, name)
        return (wide[kind] > wide[[other for other in TYPES.values() if other != kind]].max(axis=1)).tolist()

    return held


def above(name: str, kind: str, other: str) -> Held:
    """Whether a type does better than another, or than random explanations."""

    def held(summary: pd.DataFrame) -> list[bool]:
        wide = cells(summary, name).reindex(columns=[kind, other]).dropna()
        return (wide[kind] > wide[other]).tolist()

    return held


def technique_first(name: str, technique: str, types: tuple[str, ...], model_kind: str = "") -> Held:
    """Whether a technique is the best for a type of explanation: here a cell is a type, model and task."""

    def held(summary: pd.DataFrame) -> list[bool]:
        part = summary[(summary.property == name) & summary.type.isin(types)]
        part = part[part.kind == model_kind] if model_kind else part
        wide = part.pivot_table(index=["task", "model", "type"], columns="technique", values="value", sort=False)
        wide = wide if PROPERTIES[name] else -wide
        if len(wide.columns) < 2 or technique not in wide:
            return []
        return (wide[technique] > wide.drop(columns=technique).max(axis=1)).tolist()

    return held


def form_first(form: str, model_kind: str) -> Held:
    """Whether explanations in one form help agents more on average than in the other: a cell is a model and task."""

    def held(summary: pd.DataFrame) -> list[bool]:
        part = summary[summary.property.str.startswith("simulatability") & (summary.kind == model_kind)]
        wide = part[part.type.isin(TYPES.values())].pivot_table(
            index=["task", "model"], columns="property", values="value"
        )
        other = {"text": "simulatability", "symbol": "simulatability, text"}[form]
        own = {"text": "simulatability, text", "symbol": "simulatability"}[form]
        return (wide[own] > wide[other]).tolist() if {own, other} <= set(wide) else []

    return held


COMP, SUFF, TOKEN, PIECE, SIM, COMPLEX = PROPERTIES
CLAIMS = (
    Claim("c1a", "4.1", "Tokens are the most comprehensive type", best(COMP, "token"), (7, 12)),
    Claim("c1b", "4.1", "Pairs are the most comprehensive type", best(COMP, "pair"), (5, 12)),
    Claim("c1c", "4.1", "Tokens are more comprehensive than random", above(COMP, "token", "random"), (12, 12)),
    Claim("c1d", "4.1", "Spans are more comprehensive than random", above(COMP, "span", "random"), (12, 12)),
    Claim("c2a", "4.1", "Spans are the most sufficient type", best(SUFF, "span"), (7, 12)),
    Claim("c2b", "4.1", "Tokens are the most sufficient type", best(SUFF, "token"), (3, 12)),
    Claim("c2c", "4.1", "Tokens are more sufficient than random", above(SUFF, "token", "random"), (12, 12)),
    Claim("c4a", "4.2", "Spans meet people's tokens better than tokens do", above(TOKEN, "span", "token")),
    Claim("c4b", "4.2", "Pairs meet people's tokens better than tokens do", above(TOKEN, "pair", "token")),
    Claim("c5", "4.2", "Tokens meet people's tokens less than random", above(TOKEN, "random", "token")),
    Claim("c6", "4.2", "Spans meet people's interactions better than pairs", above(PIECE, "span", "pair")),
    Claim("c8", "4.3", "Spans, as symbols, help agents most", best(SIM, "span")),
    Claim("c9", "4.3", "IG makes the spans that help agents most", technique_first(SIM, "gradients", ("span",))),
    Claim("c10a", "E.3", "Text helps agents more than symbols (encoder)", form_first("text", "encoder")),
    Claim("c10b", "E.3", "Symbols help agents more (encoder-decoder)", form_first("symbol", "encoder-decoder")),
    Claim("c11a", "4.4", "Spans are simpler than pairs", above(COMPLEX, "span", "pair")),
    Claim("c11b", "4.4", "Tokens are simpler than pairs", above(COMPLEX, "token", "pair")),
    Claim(
        "c12a",
        "4.4",
        "Attention is the simplest (encoder)",
        technique_first(COMPLEX, "attention", ("token", "pair", "span"), "encoder"),
    ),
    Claim("c12b", "4.4", "Pairs are less simple than random scores", above(COMPLEX, "random", "pair")),
    Claim("o1", "ours", "Combined is more comprehensive than spans", above(COMP, "combined", "span")),
    Claim("o2", "ours", "Combined is more comprehensive than tokens", above(COMP, "combined", "token")),
    Claim("o3", "ours", "Combined is more sufficient than spans", above(SUFF, "combined", "span")),
    Claim("o4", "ours", "Combined meets people's tokens better than spans", above(TOKEN, "combined", "span")),
)


def published() -> pd.DataFrame:
    """The paper's tables in the form of a summary: agreement and agents in points, complexity in nats."""
    folder, parts = project.home() / "paper" / "reported", []
    agreement = pd.read_csv(folder / "sun_agreement_tables3to6.csv")
    chance = agreement[agreement.technique == "Random"].set_index(["model", "dataset", "level", "explanation_type"])
    for row in agreement[agreement.technique != "Random"].itertuples():
        random = chance.MAP_x100[row.model, row.dataset, row.level, row.explanation_type]
        parts.append((*name_cell(row), f"{row.level} agreement", row.MAP_x100, random))
    for row in pd.read_csv(folder / "sun_simulatability_tables7to10.csv").itertuples():
        name = SIM if row.insertion_format.startswith("Symbol") else "simulatability, text"
        parts.append((*name_cell(row), name, row.delta_f1, 0.0))
    entropy = pd.read_csv(folder / "sun_complexity_tables11to12.csv")
    chance = entropy[entropy.technique == "Random"].set_index(["model", "dataset"]).entropy_nats
    for row in entropy[entropy.explanation_type.isin(TYPES)].itertuples():
        parts.append((*name_cell(row), COMPLEX, row.entropy_nats, chance[row.model, row.dataset]))
    columns = ["task", "model", "kind", "technique", "type", "property", "value", "chance"]
    return pd.DataFrame(parts, columns=columns)


def name_cell(row) -> tuple[str, str, str, str, str]:
    """Task, model, kind of model, technique and type of a row of the paper's tables, in our words."""
    model = row.model.split(" ")[0]
    kind = {"BERT": "encoder", "BART": "encoder-decoder"}[model]
    return row.dataset, model, kind, TECHNIQUES[row.technique], TYPES[row.explanation_type]


def with_kinds(step: Step, summary: pd.DataFrame, agents: pd.DataFrame) -> pd.DataFrame:
    """Our summary with the kind of each model, and with the gains of agents that were shown text."""
    text = agents[agents.form == "text"].assign(value=100 * agents.gain, property="simulatability, text", chance=0.0)
    both = pd.concat([summary, text[summary.columns]], ignore_index=True)
    return both.assign(kind=[kind_of(step.profile.models[model]) for model in both.model])


def kind_of(spec) -> str:
    """Encoder or encoder-decoder, by its architecture, or by the name of its weights."""
    paired = spec.architecture == "encoder_decoder" or "bart" in (spec.weights or "").lower()
    return "encoder-decoder" if paired else "encoder"


def check_claims(step: Step, summary: pd.DataFrame, agents: pd.DataFrame) -> pd.DataFrame:
    """One row a claim: cells in which it holds in the paper and here, of how many, and a verdict."""
    ours, theirs, rows = with_kinds(step, summary, agents), published(), []
    for claim in CLAIMS:
        here = claim.held(ours)
        there = claim.stated or count(claim.held(theirs) if claim.where != "ours" else [])
        verdict = judge(there, count(here), claim.where == "ours")
        rows.append((claim.id, claim.where, claim.statement, show(there), show(count(here)), verdict))
        step.number(f"diagnosis.claim.{claim.id}.here", show(count(here)))
        step.number(f"diagnosis.claim.{claim.id}.reported", show(there))
    table = pd.DataFrame(rows, columns=["claim", "section", "statement", "paper", "here", "verdict"])
    for verdict, count_of in table[table.section != "ours"].verdict.value_counts(sort=False).items():
        step.number(f"diagnosis.claims.{verdict.replace(' ', '_')}", int(count_of))
    return table


def count(held: list[bool]) -> tuple[int, int]:
    """In how many cells of how many."""
    return sum(held), len(held)


def show(found: tuple[int, int]) -> str:
    """`7 of 12`, or nothing where there is no cell."""
    return f"{found[0]} of {found[1]}" if found[1] else "none"


def judge(there: tuple[int, int], here: tuple[int, int], own: bool) -> str:
    """What our cells say of a claim: the same share of cells, the same side of one half, or neither."""
    if not here[1]:
        return "not testable here"
    if own:
        return "holds" if 2 * here[0] > here[1] else "does not hold"
    reported, found = there[0] / there[1], here[0] / here[1]
    if abs(reported - found) <= NEAR:
        return "reproduced"
    return "direction only" if (reported > 0.5) == (found > 0.5) else "not reproduced"
