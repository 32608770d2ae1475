"""Claims of Sun et al. (2024): here, in the paper's own tables, and with one thing changed."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from compendium.papers.common.claims import (
    Claim,
    Judged,
    Turn,
    Turnable,
    Turning,
    each_alone,
    quick_draws,
    read_claims,
    score,
    settle,
)
from compendium.papers.common.contrasts import ContrastCell, exchange_columns, mean_difference
from compendium.papers.common.runs import unlearned_table
from compendium.papers.common.tables import spell, table_of
from compendium.papers.common.verdicts import Finding, untested
from compendium.papers.sun2024 import contrasts
from compendium.papers.sun2024.contrasts import TypeContrast, contrast_types
from compendium.papers.sun2024.properties import Properties, chance_changes
from compendium.papers.sun2024.tables import (
    FAITHFULNESS,
    KEYS,
    NO_FORM,
    PERCENT,
    model_family,
    published_cells,
)
from compendium.workflow.step import Step

TEXT = ["task", "model", "instance"]
ONE_AGENT = (
    "one agent of each kind was trained, and training anew moves what agents gain more than "
    "explanations do"
)
COLUMNS = spell("task model kind technique type form property instance agent value chance")
TURNED: dict[str, Turnable] = {
    "task": "corpus",
    "model": "model",
    "technique": "method",
    "type": "metric",
    "property": "metric",
}
# what is turned where one rival is asked alone
RIVALS: dict[str, Turnable] = {"technique": "method", "type": "metric", "form": "protocol"}


def contrast_values(step: Step, properties: Properties, predictions: pd.DataFrame) -> pd.DataFrame:
    """One row per explanation of an instance and property, with the value of chance there.

    Models' seeds are averaged.

    Simulatability is whether an agent predicts what the model predicts, a row an `agent` (its seed;
    0 of all other properties); its chance is the uninformed agent of that seed.
    """
    text = [*KEYS, "instance"]
    chance = chance_changes(properties.changes)
    changes = properties.changes.groupby([*text, "k"])[list(FAITHFULNESS)].mean().reset_index()
    found = {}
    for name in FAITHFULNESS:
        random = _means(chance, [*TEXT, "technique"], name) if len(chance) else chance
        found[name] = _with_chance(_means(changes, text, name), random, "technique")
    for name in ("token", "interaction") if len(properties.agreement) else ():
        agreed = _means(properties.agreement, text, name)
        agreed["like"] = agreed.type.replace("combined", "span")
        found[f"{name} agreement"] = _with_chance(
            agreed, agreed[agreed.technique == "random"], "like"
        )
    entropy = properties.complexity.groupby(text)[["entropy", "random"]].mean().reset_index()
    found["complexity"] = entropy.rename(columns={"entropy": "value", "random": "chance"})
    if len(predictions):
        correct = _means(
            predictions.rename(columns={"agent_seed": "agent"}), [*text, "form", "agent"], "correct"
        )
        uninformed = correct.form == "none"
        found["simulatability"] = _with_chance(correct[~uninformed], correct[uninformed], "agent")
    parts = [part.assign(property=name) for name, part in found.items()]
    values = pd.concat(parts, ignore_index=True).reindex(columns=COLUMNS)
    kind = values.model.map(lambda name: model_family(step.profile.models[name]))
    return values.assign(form=values.form.fillna(NO_FORM), agent=values.agent.fillna(0), kind=kind)


def _means(table: pd.DataFrame, keys: list[str], column: str) -> pd.DataFrame:
    return table.groupby(keys)[column].mean().rename("value").reset_index()


def _with_chance(values: pd.DataFrame, random: pd.DataFrame, key: str) -> pd.DataFrame:
    """The rows of explanations, with what chance gives on the same instance and `key`."""
    keys = [*TEXT, key]
    real = values[values.technique != "random"]
    chance = random.set_index(keys).value
    return real.assign(chance=chance.reindex(pd.MultiIndex.from_frame(real[keys])).to_numpy())


def claims_table(step: Step, values: pd.DataFrame, learned: pd.DataFrame) -> pd.DataFrame:
    """One row per claim of the paper with our value, its interval, its nulls and a verdict.

    See `agents_learned`.
    """
    claims = read_claims("sun2024")
    unlearned = ONE_AGENT if len(step.profile.diagnosis.agents.seeds) == 1 else ""
    values, void = _of_learned(step, values)
    if not learned.learned.all():
        lost = learned[~learned.learned.astype(bool)].set_index(["task", "model"])
        unlearned = "; ".join(
            f"{task}, {model}: {reason}" for (task, model), reason in lost.reason.items()
        )
        of_lost = values.set_index(["task", "model"]).index.isin(lost.index)
        values = values[~((values.property == "simulatability") & of_lost)]
    found = {}
    for claim in claims:
        if claim.why_not:
            continue
        one = our_value(claim, values, step) if claim.contrast else trade_off(step, values)
        asked = claim.contrast or {}
        of_agents = "simulatability" in asked.get("properties", ())
        is_void = "tasks" in asked or values.empty
        reason = (of_agents and unlearned) or (is_void and void)
        found[claim.id] = untested(reason) if reason and one.reason else one
    return score(claims, found, step.profile.bootstrap.confidence, published_values())


def _of_learned(step: Step, values: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The rows of models that say something of the claims, and why others do not.

    Rows of agents are kept where there are several.
    """
    void = unlearned_table(step, step.profile.explained_runs("diagnosis"))
    lost = values.set_index(["task", "model"]).index.isin(void.set_index(["task", "model"]).index)
    lost |= (values.property == "simulatability").to_numpy() & (
        len(step.profile.diagnosis.agents.seeds) == 1
    )
    return values[~lost], "; ".join(void.reason.unique())


def our_value(claim: Claim, values: pd.DataFrame, step: Step) -> Finding:
    """Our value of a claim that compares one type of explanation, or technique, with others."""
    asked = claim.ask(TypeContrast)
    found = contrast_types(values, asked, step.profile.bootstrap)
    if found is None:
        return untested("nothing in this run tests it")
    basis = f"{found.positive} of {found.cells} cells"
    return found.finding_for("sun2024", step.profile, basis)


def trade_off(step: Step, values: pd.DataFrame) -> Finding:
    """Rank correlation of comprehensiveness with agreement with people over techniques and types.

    Mean over models.
    """
    two = ["comprehensiveness", "token agreement"]
    asked = values[values.property.isin(two) & (values.technique != "random")]
    cells = []
    for (task, model), part in asked.groupby(["task", "model"], sort=False):
        columns = ["property", "technique", "type"]
        wide = part.pivot_table(
            index="instance", columns=columns, values="value", aggfunc="mean", sort=False
        ).dropna()
        if not len(wide) or not all(name in wide for name in two):
            continue
        both = [c for c in wide[two[0]].columns if c in wide[two[1]].columns]
        if len(both) > 2:
            table = np.concatenate([wide[name][both] for name in two], axis=1)
            by_names = partial(exchange_columns, table)
            seeds = (0,) * len(wide)
            cells.append(
                ContrastCell(
                    task, model, table, tuple(wide.index), seeds, _correlation, by_names=by_names
                )
            )
    found = mean_difference(cells, step.profile.bootstrap)
    if found is None:
        return untested("nobody marked these texts")
    return found.finding_for("sun2024", step.profile, f"{found.cells} models and tasks")


def _correlation(means: np.ndarray) -> np.ndarray:
    """(b,) Spearman's correlation of the first half of (b, 2 c) means with the second."""

    def centred_ranks(part: np.ndarray) -> np.ndarray:
        ranks = rankdata(part, axis=1)
        return ranks - ranks.mean(axis=1, keepdims=True)

    one, other = map(centred_ranks, np.split(means, 2, axis=1))
    with np.errstate(invalid="ignore"):
        squares = (one**2).sum(axis=1) * (other**2).sum(axis=1)
        return (one * other).sum(axis=1) / np.sqrt(squares)


def _asked_of_published(ask: Callable, cells: pd.DataFrame) -> dict[str, Any]:
    """By claim that is a contrast, what `ask` says of it on the published cells."""
    return {c.id: ask(cells, c.ask(TypeContrast)) for c in read_claims("sun2024") if c.contrast}


@table_of("claim held cells holds_in")
def published_claims() -> Iterator[tuple]:
    """In how many cells of the paper's own tables each claim holds.

    0 of 0 where they do not show it.
    """
    for name, (held, shown) in _asked_of_published(
        contrasts.count_cells, published_cells()
    ).items():
        yield name, held, shown, f"{held} of {shown}"


def published_values() -> dict[str, float]:
    """By claim that the paper's own tables decide: its number made from them.

    Shares are not in per cent.
    """
    cells = published_cells()
    percent = cells.property.isin([*PERCENT, "simulatability"])
    cells = cells.assign(
        **{name: cells[name].where(~percent, cells[name] / 100) for name in ("value", "chance")}
    )
    return {
        name: v
        for name, v in _asked_of_published(contrasts.mean_of_cells, cells).items()
        if not np.isnan(v)
    }


@table_of("property against difference low high better_in cells")
def combined_table(step: Step, values: pd.DataFrame) -> Iterator[tuple]:
    """Do the combined explanations, ours, beat spans and tokens?

    One row per property and rival; higher is better.
    """
    bootstrap = step.profile.bootstrap
    for name, other in product(values.property.unique(), ("span", "token")):
        asked = TypeContrast(
            (name,), "combined", (other,), forms=("symbol",) if name == "simulatability" else None
        )
        if found := contrast_types(values, asked, bootstrap):
            interval = found.finding.interval(bootstrap.confidence)
            yield name, other, found.finding.value, *interval, found.positive, found.cells


def judge_claims(step: Step, values: pd.DataFrame, learned: pd.DataFrame) -> Judged:
    """The verdicts on the claims of Sun et al. (2024), and what turns each."""
    judged = claims_table(step, values, learned)
    turn = turning(step, values)
    return settle(read_claims("sun2024"), judged, turn, step.profile.bootstrap.confidence)


def turning(step: Step, values: pd.DataFrame) -> Turning:
    """What a claim's contrast is of a corpus, model, technique, type, property or rival alone."""
    settings = quick_draws(step.profile.bootstrap)
    values, _ = _of_learned(step, values)

    def number(part: pd.DataFrame, asked: TypeContrast) -> Finding | None:
        found = contrast_types(part, asked, settings)
        return None if found is None else found.finding

    def turn(claim: Claim) -> Iterator[Turn]:
        if not claim.contrast:
            return
        asked = claim.ask(TypeContrast)
        rows = contrasts.rows_asked(values, asked)
        columns = {column: what for column, what in TURNED.items() if column != asked.across}
        for what, how, part in each_alone(rows, columns):
            yield Turn(what, how, number(part, asked))
        for name in asked.worse if len(asked.worse) > 1 else ():
            against = replace(asked, worse=(name,))
            yield Turn(RIVALS[asked.across], f"against {name} alone", number(values, against))

    return turn
