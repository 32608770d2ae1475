"""Claims of Sun et al. (2024) about types of explanation.

Does each hold here, in how many cells of the paper's own tables does it hold, and does it with one thing changed?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from compendium.papers.common.claims import Claim, Turn, each_alone, quick_draws, read_claims, score, turned_table
from compendium.papers.common.contrasts import Cell, exchange_names, mean_difference
from compendium.papers.common.runs import unlearned_table
from compendium.papers.common.tables import table_of
from compendium.papers.common.verdicts import Expectation, Finding, untested
from compendium.papers.sun2024.contrasts import (
    TypeContrast,
    contrast_types,
    count_cells,
    mean_of_cells,
    rows_asked,
    single,
)
from compendium.papers.sun2024.properties import Properties, chance_changes
from compendium.papers.sun2024.tables import (
    CORPORA,
    FAITHFULNESS,
    KEYS,
    NO_FORM,
    PERCENT,
    model_family,
    published_cells,
)
from compendium.workflow.step import Step

TEXT = ["task", "model", "instance"]
ONE_AGENT = "one agent of each kind was trained, and training anew moves what agents gain more than explanations do"
COLUMNS = ["task", "model", "kind", "technique", "type", "form", "property", "instance", "agent", "value", "chance"]
TURNED = {"task": "corpus", "model": "model", "technique": "method", "type": "metric"}
RIVALS = {"technique": "method", "type": "metric", "form": "protocol"}  # what is turned where one rival is asked alone


def contrast_values(step: Step, properties: Properties, predictions: pd.DataFrame) -> pd.DataFrame:
    """One row per explanation of an instance and property, with the value of chance there; models' seeds are averaged.

    Simulatability is whether an agent predicts what the model predicts, a row an `agent` (its seed; 0 of all other
    properties); its chance is the uninformed agent of that seed.
    """
    text, parts, chance = [*KEYS, "instance"], [], chance_changes(properties.changes)
    changes = properties.changes.groupby([*text, "k"])[list(FAITHFULNESS)].mean().reset_index()
    for name in FAITHFULNESS:
        random = _means(chance, [*TEXT, "technique"], name) if len(chance) else chance
        parts.append(_with_chance(_means(changes, text, name), random, ["technique"]).assign(property=name))
    for name in ("token", "interaction") if len(properties.agreement) else ():
        found = _means(properties.agreement, text, name)
        found["like"] = found.type.replace("combined", "span")
        parts.append(
            _with_chance(found, found[found.technique == "random"], ["like"]).assign(property=f"{name} agreement")
        )
    entropy = properties.complexity.groupby(text)[["entropy", "random"]].mean().reset_index()
    parts.append(entropy.rename(columns={"entropy": "value", "random": "chance"}).assign(property="complexity"))
    if len(predictions):
        correct = _means(predictions.rename(columns={"agent_seed": "agent"}), [*text, "form", "agent"], "correct")
        informed, uninformed = correct[correct.form != "none"], correct[correct.form == "none"]
        parts.append(_with_chance(informed, uninformed, ["agent"]).assign(property="simulatability"))
    values = pd.concat(parts, ignore_index=True).reindex(columns=COLUMNS)
    families = {name: model_family(spec) for name, spec in step.profile.models.items()}
    known = {"form": values.form.fillna(NO_FORM), "agent": values.agent.fillna(0), "kind": values.model.map(families)}
    return values.assign(**known)


def _means(table: pd.DataFrame, keys: list[str], column: str) -> pd.DataFrame:
    """The keys and, as `value`, the mean of a column."""
    return table.groupby(keys)[column].mean().rename("value").reset_index()


def _with_chance(values: pd.DataFrame, random: pd.DataFrame, more: list[str]) -> pd.DataFrame:
    """The rows of explanations, with what chance gives on the same instance (and in the same columns `more`)."""
    keys, real = [*TEXT, *more], values[values.technique != "random"]
    chance = random.set_index(keys).value
    return real.assign(chance=chance.reindex(pd.MultiIndex.from_frame(real[keys])).to_numpy())


def claims_table(step: Step, values: pd.DataFrame, learned: pd.DataFrame | None = None) -> pd.DataFrame:
    """One row per claim of the paper with our value, its interval, its nulls and a verdict.

    learned: from `agents.agents_learned`; agents that have not learned say nothing of explanations, and neither does
    one agent of each kind.
    """
    claims, found = read_claims("sun2024"), {}
    unlearned = ONE_AGENT if _alone(step) else ""
    values, void = _of_learned(step, values)
    if learned is not None and not learned.learned.all():
        lost = learned[~learned.learned.astype(bool)].set_index(["task", "model"])
        unlearned = "; ".join(f"{task}, {model}: {reason}" for (task, model), reason in lost.reason.items())
        of_lost = values.set_index(["task", "model"]).index.isin(lost.index)
        values = values[~((values.property == "simulatability") & of_lost)]
    for claim in claims:
        if claim.why_not:
            continue
        found[claim.id] = our_value(claim, values, step) if claim.contrast else trade_off(step, values)
        reason = unlearned if (claim.contrast or {}).get("property") == "simulatability" else ""
        if (reason or void) and found[claim.id].reason:
            found[claim.id] = untested(reason or void)
    return score(claims, found, step.profile.bootstrap.confidence, published_values())


def _alone(step: Step) -> bool:
    """Whether one agent of each kind was trained: it tells what its seed does as much as what it is shown."""
    return len(step.profile.diagnosis.agents.seeds) == 1


def _of_learned(step: Step, values: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The rows of models that say something of the paper's claims, and why others do not; agents' of several seeds."""
    void = unlearned_table(step, step.profile.explained_runs("diagnosis"))
    lost = values.set_index(["task", "model"]).index.isin(void.set_index(["task", "model"]).index)
    lost |= (values.property == "simulatability").to_numpy() & _alone(step)
    return values[~lost], "; ".join(dict.fromkeys(void.reason))


def our_value(claim: Claim, values: pd.DataFrame, step: Step) -> Finding:
    """Our value of a claim that compares one type of explanation, or technique, with others."""
    asked = claim.ask(TypeContrast)
    found = contrast_types(values, asked, step.profile.bootstrap)
    if found is None:
        return untested("nothing in this run tests it")
    positive = "" if asked.properties else f"{found.positive} of "
    return found.finding_for("sun2024", step.profile, f"{positive}{found.cells} cells")


def trade_off(step: Step, values: pd.DataFrame) -> Finding:
    """Rank correlation of comprehensiveness with agreement with people over techniques and types; mean over models."""
    two = ["comprehensiveness", "token agreement"]
    asked = values[values.property.isin(two) & (values.technique != "random")]
    how = {"index": "instance", "columns": ["property", "technique", "type"], "aggfunc": "mean", "sort": False}
    cells = []
    for (task, model), part in asked.groupby(["task", "model"], sort=False):
        wide = part.pivot_table(values="value", **how).dropna()
        if not len(wide) or not all(name in wide for name in two):
            continue
        both = [c for c in wide[two[0]].columns if c in wide[two[1]].columns]
        if len(both) > 2:
            table = np.concatenate([wide[name][both].to_numpy() for name in two], axis=1)
            about = (tuple(wide.index), (0,) * len(wide), _correlation)
            cells.append(Cell(task, model, table, *about, by_names=partial(exchange_names, table)))
    found = mean_difference(cells, step.profile.bootstrap)
    if found is None:
        return untested("nobody marked these texts")
    return found.finding_for("sun2024", step.profile, f"{found.cells} models and tasks")


def _correlation(_: np.ndarray, means: np.ndarray) -> np.ndarray:
    """(b,) Spearman's correlation of the first half of (b, 2 c) means with the second."""
    one, other = (rankdata(part, axis=1) for part in np.split(means, 2, axis=1))
    one, other = one - one.mean(axis=1, keepdims=True), other - other.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return (one * other).sum(axis=1) / np.sqrt((one**2).sum(axis=1) * (other**2).sum(axis=1))


def _asked_of_published(ask: Callable, cells: pd.DataFrame) -> dict[str, Any]:
    """By claim that is a contrast, what `ask` says of it on the published cells, tasks by our names."""
    cells = cells.assign(task=cells.task.map({theirs: ours for ours, theirs in CORPORA.items()}))
    return {c.id: ask(cells, c.ask(TypeContrast)) for c in read_claims("sun2024") if c.contrast}


@table_of("claim held cells holds_in")
def published_claims() -> Iterator[tuple]:
    """In how many cells of the paper's own tables each claim holds (0 of 0 where they do not show it)."""
    for name, (held, shown) in _asked_of_published(count_cells, published_cells()).items():
        yield name, held, shown, f"{held} of {shown}"


def published_values() -> dict[str, float]:
    """By claim that the paper's own tables decide: its number made from them, as a share and not in per cent."""
    cells = published_cells()
    percent = cells.property.isin([*PERCENT, "simulatability"])
    cells = cells.assign(**{name: cells[name].where(~percent, cells[name] / 100) for name in ("value", "chance")})
    return {name: v for name, v in _asked_of_published(mean_of_cells, cells).items() if not np.isnan(v)}


@table_of("property against difference low high better_in cells")
def combined_table(step: Step, values: pd.DataFrame) -> Iterator[tuple]:
    """Do the combined explanations, which are ours, beat spans and tokens? One row per property and rival.

    Differences are turned so that higher is better; better_in: in how many cells they are above 0.
    """
    bootstrap = step.profile.bootstrap
    for name, other in product(dict.fromkeys(values.property), ("span", "token")):
        asked = TypeContrast(name, "combined", (other,), forms=("symbol",) if name == "simulatability" else None)
        if found := contrast_types(values, asked, bootstrap):
            interval = found.finding.interval(bootstrap.confidence)
            yield name, other, found.finding.value, *interval, found.positive, found.cells


def turned_claims(step: Step, values: pd.DataFrame, judged: pd.DataFrame) -> pd.DataFrame:
    """One row per contradicted claim and thing turned: a corpus, model, technique, type, rival or property alone.

    See `turned_table`. values: from `contrast_values`. judged: from `claims_table`.
    """
    settings, values = quick_draws(step.profile.bootstrap), _of_learned(step, values)[0]

    def number(part: pd.DataFrame, asked: TypeContrast) -> Finding | None:
        found = contrast_types(part, asked, settings)
        return found and found.finding

    def turn(claim: Claim) -> Iterator[Turn]:
        if not claim.contrast:
            return
        asked = claim.ask(TypeContrast)
        rows = pd.concat([rows_asked(values, one) for one in single(asked)]).sort_index()
        columns = {column: what for column, what in TURNED.items() if column != asked.across}
        for what, how, part in each_alone(rows, columns):
            yield Turn(what, how, number(part, asked))
        for name in asked.worse if len(asked.worse) > 1 else ():
            against = replace(asked, worse=(name,))
            yield Turn(RIVALS[asked.across], f"against {name} alone", number(values, against))
        for one in single(asked) if asked.properties else ():  # a lead, where the claim is a share of properties
            yield Turn("metric", one.property, number(values, one), Expectation(above=0))

    return turned_table(read_claims("sun2024"), judged, turn, step.profile.bootstrap.confidence)
