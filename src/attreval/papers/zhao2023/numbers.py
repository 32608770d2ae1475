"""Which numbers of soft erasure and diagnosticity does the text speak of? They are kept here, by key."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attreval.metrics.registry import FAITHFULNESS, HARD_OF
from attreval.models.loading import load_classifier
from attreval.papers.zhao2023.diagnosticity import mean_diagnosticity, method_title
from attreval.workflow.step import Step


def note_diagnosticity(step: Step, pairs: pd.DataFrame, by_method: pd.DataFrame, by_task: pd.DataFrame) -> None:
    """The averages of Tables 2 and 3 with their tests, and what leads them."""
    main = pairs[pairs.setting == "main"]
    step.number("diagnosticity.pairs", len(main))
    step.number("diagnosticity.tasks", main.task.nunique())
    step.number("diagnosticity.methods", main.method.nunique())
    step.number("diagnosticity.instances", len(main.drop_duplicates(["task", "instance"])))
    average = by_method[by_method.method == "average"].set_index("metric")
    for metric in FAITHFULNESS:
        step.number(f"diagnosticity.{metric}", float(average.diagnosticity[metric]), 3)
        step.number(f"diagnosticity.{metric}_published", float(average.published[metric]), 3)
        of = by_task[(by_task.metric == metric) & ~by_task.task.isin(["average", "sd"])]
        step.number(f"diagnosticity.{metric}_lowest", float(of.diagnosticity.min()), 3)
        step.number(f"diagnosticity.{metric}_highest", float(of.diagnosticity.max()), 3)
        ties = np.abs(main[metric] - main[f"{metric}_rival"]) < 1e-6
        step.number(f"diagnosticity.{metric}_ties", float(ties.mean()), percent=True)
    for metric in HARD_OF:
        step.number(f"diagnosticity.{metric}_difference", float(average.difference[metric]), 3)
        step.number(f"diagnosticity.{metric}_rank_sum", tell_p(average.rank_sum[metric]))
        step.number(f"diagnosticity.{metric}_paired", tell_p(average.paired[metric]))
    idle = main.full - main.erased < 1e-8
    step.number("diagnosticity.idle", float(idle[~main.duplicated(["task", "instance"])].mean()), percent=True)


def tell_p(p: float) -> str:
    """A p-value as texts print it."""
    return "not defined" if np.isnan(p) else "below .001" if p < 0.001 else f"{p:.3f}".lstrip("0")


def note_controls(step: Step, pairs: pd.DataFrame, changes: pd.DataFrame, keep: pd.DataFrame) -> None:
    """How much the averages owe to the amount of text that is kept, and which change moves them most."""
    control = pairs[pairs.setting == "control"]
    step.number("diagnosticity.controls", len(control.drop_duplicates(["task", "instance"])))
    step.number("diagnosticity.control_pairs", len(control))
    for setting in ("control", "permuted", "calibrated", "rank"):
        part = pairs[pairs.setting == setting]
        found = mean_diagnosticity(part) if len(part) else {f"win_{m}": float("nan") for m in FAITHFULNESS}
        for metric in FAITHFULNESS:
            step.number(f"diagnosticity.{setting}.{metric}", float(found[f"win_{metric}"]), 3)
        for metric, hard in HARD_OF.items():
            gain = float(found[f"win_{metric}"] - found[f"win_{hard}"])
            step.number(f"diagnosticity.{setting}.{metric}_difference", gain, 3)
    main = keep[keep.setting == "main"]
    for word, at in (("least", main.keep_rate.idxmin()), ("most", main.keep_rate.idxmax())):
        step.number(f"diagnosticity.keep.{word}", float(main.keep_rate[at]), 2)
        step.number(f"diagnosticity.keep.{word}_method", method_title(main.method[at]))
    step.number("diagnosticity.keep.random", float(main.rival_keep_rate.mean()), 2)
    whole = pairs[pairs.setting == "main"]
    more = np.sign(whole.keep_rate - whole.keep_rate_rival)
    for metric in HARD_OF:
        lead = np.sign(whole[metric] - whole[f"{metric}_rival"])
        decided = (more != 0) & (lead != 0)
        step.number(f"diagnosticity.keep.follows_{metric}", float((more == lead)[decided].mean()), percent=True)
    for metric in FAITHFULNESS:
        most = changes.loc[changes[f"{metric}_change"].abs().idxmax()] if len(changes) else None
        step.number(f"diagnosticity.largest.{metric}", most.title if most is not None else "not measured")
        step.number(f"diagnosticity.largest.{metric}_to", float(most[metric]) if most is not None else float("nan"), 3)


def note_draws(step: Step, spread: pd.DataFrame) -> None:
    """How much one text's soft measures vary from one random mask to the next."""
    for metric in HARD_OF:
        step.number(f"diagnosticity.draws.{metric}_sd", float(spread[f"{metric}_sd"].mean()), 3)
    step.number("diagnosticity.draws.main", step.profile.faithfulness.draws)


def note_coverage(step: Step) -> None:
    """Of how many nonlinear parts of the first model captum's DeepLIFT knows the rule."""
    from attreval.models.captum_deeplift import list_coverage

    task, model, seed = step.profile.explained_runs("faithfulness")[0]
    loaded = load_classifier(step.results.model(step.profile.read_by(task), model, seed), model, "cpu")
    covered, others = list_coverage(loaded.network) if loaded.family == "transformer" else ([], [])
    step.number("diagnosticity.deeplift.covered", len(covered))
    step.number("diagnosticity.deeplift.parts", len(covered) + len(others))
