"""What does the text say of the joint study and of the judges themselves? Numbers by key, and small tables to read."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attreval.explain import METHODS
from attreval.metrics.registry import METRICS
from attreval.papers.joint.correlations import POOLED, RUN
from attreval.papers.joint.values import JOINT
from attreval.workflow.step import Step

WORDS = {"agree": "agree", "contradict": "contradict", "cannot be told": "open", "not measured": "unmeasured"}
NONE = "none"


def note_joint(step: Step, values: pd.DataFrame, summary: pd.DataFrame) -> None:
    """How many runs, texts, methods and judges there are."""
    known = values[values.value.notna()]
    step.number("joint.runs", known.drop_duplicates(RUN).shape[0])
    step.number("joint.texts", known.drop_duplicates(["task", "instance"]).shape[0])
    step.number("joint.methods", known[known.method != "random"].method.nunique())
    step.number("joint.judges", known.judge.nunique())
    step.number("joint.values", len(known))
    tokens = summary[summary.level == "tokens"]
    step.number("joint.models", tokens.model.nunique())
    step.number("joint.tasks", tokens.task.nunique())


def note_correlations(step: Step, table: pd.DataFrame) -> None:
    """How many pairs of judges agree, contradict each other, or cannot be told, pooled; which; and the extremes."""
    for level in ("tokens", "pieces"):
        part = table[(table.task == POOLED) & (table.level == level)]
        known = part[part.verdict != "not measured"]
        step.number(f"joint.{level}.pairs", len(known))
        for word, key in WORDS.items():
            some = part[part.verdict == word]
            step.number(f"joint.{level}.{key}", len(some))
            if word in ("agree", "contradict"):
                strongest = some.reindex(some.tau.abs().sort_values(ascending=False, kind="stable").index)
                step.number(f"joint.{level}.{key}_pairs", "; ".join(map(tell_pair, strongest.itertuples())) or NONE)
        for word, at in (("highest", known.tau.idxmax), ("lowest", known.tau.idxmin)):
            row = known.loc[at()] if len(known) else None
            step.number(f"joint.{level}.{word}_pair", tell_names(row) if row is not None else float("nan"))
            step.number(f"joint.{level}.{word}", float(row.tau) if row is not None else float("nan"), 2)
    single = table[(table.task != POOLED) & (table.verdict != "not measured")]
    step.number("joint.single", len(single))
    step.number("joint.single_contradict", int((single.verdict == "contradict").sum()))


def tell_names(row) -> str:
    """A pair of judges in words."""
    return f"{METRICS[row.judge_a].title} and {METRICS[row.judge_b].title}"


def tell_pair(row) -> str:
    """A pair of judges with its rank correlation."""
    return f"{tell_names(row)} ({row.tau:.2f})"


def floor_by_judge(step: Step, table: pd.DataFrame) -> pd.DataFrame:
    """One row a judge: in how many runs random scores are near the bottom, and how many methods come below them."""
    keys = ["at_bottom", "methods", "below", "surely_below"]
    sums = table.groupby("judge", sort=False)[keys].sum().assign(runs=table.groupby("judge", sort=False).size())
    found = sums.reindex([judge for judge in JOINT if judge in sums.index]).reset_index()
    step.number("joint.floor.cells", len(table))
    step.number("joint.floor.at_bottom", int(table.at_bottom.sum()))
    step.number("joint.floor.exceptions", int((~table.at_bottom.astype(bool)).sum()))
    bad = found[found.at_bottom < found.runs / 2]
    step.number("joint.floor.blind", ", ".join(METRICS[judge].title for judge in bad.judge) or NONE)
    return found.assign(title=[METRICS[judge].title for judge in found.judge])


def note_needed(step: Step, needed: pd.DataFrame) -> None:
    """The budget from which on each sampled method stands still, for the first run that asked for it."""
    step.number("joint.budgets.stable", step.profile.joint.budgets.stable, 2)
    step.number("joint.budgets.k", step.profile.agreement.fixed_k)
    step.number("joint.budgets.texts", int(needed.instances.max()) if len(needed) else 0)
    step.number("joint.budgets.largest", int(needed.largest.max()) if len(needed) else float("nan"))
    for method in ("lime", "kernel_shap", "partition_shap", "limsse_logit", "integrated_gradients"):
        part = needed[needed.method == method]
        step.number(f"joint.budgets.{method}", tell_budget(part, "stands_still"))
        step.number(f"joint.budgets.{method}_seeds", tell_budget(part, "seeds_agree"))


def tell_budget(part: pd.DataFrame, column: str) -> str | float:
    """A budget in words: `more than` the largest where it takes more."""
    if not len(part):
        return float("nan")
    if column == "seeds_agree" and not METHODS[part.method.iloc[0]].stochastic:
        return "draws nothing"
    size = part[column].iloc[0]
    return f"more than {part.largest.iloc[0]:,}" if np.isnan(size) else f"{int(size):,}"


def lay_out_needed(needed: pd.DataFrame) -> pd.DataFrame:
    """The table of budgets with numbers as texts, since some are `more than` a number."""
    rows = [
        (r.task, r.model, r.method, *(tell_budget(needed.loc[[at]], name) for name in ("stands_still", "seeds_agree")))
        for at, r in zip(needed.index, needed.itertuples(), strict=True)
    ]
    return pd.DataFrame(rows, columns=["task", "model", "method", "stands_still", "seeds_agree"])


def lay_out_pooled(table: pd.DataFrame, level: str) -> pd.DataFrame:
    """The pooled rank correlations of a level with names to read, those measured."""
    part = table[(table.task == POOLED) & (table.level == level) & (table.verdict != "not measured")]
    names = {f"title_{end}": [METRICS[j].title for j in part[f"judge_{end}"]] for end in ("a", "b")}
    return part.assign(**names)[["title_a", "title_b", "tau", "low", "high", "runs", "verdict"]]


def note_bargains(step: Step, table: pd.DataFrame, named: pd.DataFrame) -> None:
    """Which explanation of tokens is undominated most often, and how much of the undominated is cheap."""
    best = table[table.undominated & (table.method != "random")]
    counts = best.method.value_counts()
    step.number("joint.bargains.most", METHODS[counts.index[0]].title if len(counts) else float("nan"))
    step.number("joint.bargains.most_times", int(counts.iloc[0]) if len(counts) else 0)
    step.number("joint.bargains.cells", table.drop_duplicates([*RUN, "judge"]).shape[0])
    step.number(
        "joint.bargains.cheap", float((best.requested <= 1).mean()) if len(best) else float("nan"), percent=True
    )
    step.number("joint.bargains.judges", len(named))
