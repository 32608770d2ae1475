"""Changes of protocol, and the share of text that soft erasure keeps: what diagnosticity depends on."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attreval.core.bootstrap import bootstrap_mean
from attreval.metrics.protocol import Protocol
from attreval.metrics.registry import FAITHFULNESS, HARD_OF
from attreval.papers.zhao2023.diagnosticity import mean_diagnosticity
from attreval.papers.zhao2023.erasure import RUN, list_changes
from attreval.workflow.step import Step


def changes_table(pairs: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a setting: mean diagnosticities on the control instances, and how far they are from the main protocol's.

    A change that does not apply to every task is compared on the tasks that it applies to. low, high: of the change of
    each metric, over instances. Empty where the profile has no control instances.
    """
    titles = {
        name: change.title for task in step.profile.tasks for name, change in list_changes(step.profile, task).items()
    }
    base, rows = pairs[pairs.setting == "control"], []
    for setting, part in pairs[~pairs.setting.isin(["main", "control"])].groupby("setting", sort=False):
        keys = [*RUN, "instance", "method"]
        both = part.merge(base, on=keys, suffixes=("", "_base"), validate="one_to_one")
        same = both[[*keys, *(f"win_{m}_base" for m in FAITHFULNESS)]].rename(columns=lambda c: c.removesuffix("_base"))
        found = mean_diagnosticity(both)
        before = mean_diagnosticity(same)
        row = {"setting": setting, "title": titles[setting], "pairs": len(both), "tasks": both.task.nunique()}
        per = both.groupby(["task", "instance"], sort=False).mean(numeric_only=True)
        spec = step.profile.bootstrap
        moves = np.stack([per[f"win_{m}"] - per[f"win_{m}_base"] for m in FAITHFULNESS], axis=1)
        _, low, high = bootstrap_mean(moves, spec.draws, spec.confidence, "changes")
        for i, m in enumerate(FAITHFULNESS):
            row |= {m: found[f"win_{m}"], f"{m}_change": found[f"win_{m}"] - before[f"win_{m}"]}
            row |= {f"{m}_low": low[i], f"{m}_high": high[i]}
        rows.append(row)
    names = [name for m in FAITHFULNESS for name in (m, f"{m}_change", f"{m}_low", f"{m}_high")]
    return pd.DataFrame(rows, columns=["setting", "title", "pairs", "tasks", *names])


def keep_rate_table(pairs: pd.DataFrame) -> pd.DataFrame:
    """One row a setting and method: how much text its scores keep, how much its rival's do, and what decides pairs.

    keep_rate: mean share of entries that Soft-NS keeps. follows_ns: in how many of the pairs that are decided the side
    that keeps more wins Soft-NS. follows_nc: in how many the side that removes more wins Soft-NC. One half: unrelated.
    """
    rows = []
    for (setting, method), part in pairs.groupby(["setting", "method"], sort=False):
        row = {"setting": setting, "method": method, "keep_rate": part.keep_rate.mean()}
        row |= {"rival_keep_rate": part.keep_rate_rival.mean(), "pairs": len(part)}
        for metric in HARD_OF:
            row[f"follows_{metric[-2:]}"] = _follows(part, metric)
            row[metric] = part[f"win_{metric}"].mean()
        rows.append(row)
    return pd.DataFrame(rows)


def _follows(pairs: pd.DataFrame, metric: str) -> float:
    """In how many pairs that differ in both the side that keeps more has more of a soft metric; NaN where none does."""
    more = np.sign(pairs.keep_rate - pairs.keep_rate_rival)
    won = np.sign(pairs[metric] - pairs[f"{metric}_rival"])
    decided = (more != 0) & (won != 0)
    return float((more == won)[decided].mean()) if decided.any() else np.nan


def settings_table(pairs: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a setting, `main` and `control` among them: pairs, mean diagnosticities, ties, what decides pairs.

    A metric's `_difference` is to its hard counterpart, `_ties` the share of pairs with equal values, `_follows` as in
    `keep_rate_table` over all methods. no_effect: the share of texts whose erased form is as sure as the whole. draws:
    random masks of a soft measure.
    """
    rows = []
    for setting, part in pairs.groupby("setting", sort=False):
        texts = part.drop_duplicates(["task", "instance"])
        task = part.task.iloc[0]
        spec = step.profile.faithfulness_of(task)
        control = Protocol(draws=spec.control_draws)
        draws = spec.draws if setting == "main" else list_changes(step.profile, task)[setting].apply(control).draws
        row = {"setting": setting, "pairs": len(part), "tasks": part.task.nunique(), "methods": part.method.nunique()}
        row |= {"instances": len(texts), "no_effect": float((texts.full - texts.erased < 1e-8).mean()), "draws": draws}
        means = mean_diagnosticity(part)
        for metric in FAITHFULNESS:
            row[metric] = means[f"win_{metric}"]
            row[f"{metric}_ties"] = float((np.abs(part[metric] - part[f"{metric}_rival"]) < 1e-6).mean())
        for metric, hard in HARD_OF.items():
            row[f"{metric}_difference"] = row[metric] - row[hard]
            row[f"{metric}_follows"] = _follows(part, metric)
        rows.append(row)
    return pd.DataFrame(rows)


def largest_changes(changes: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: the change of protocol that moves its mean diagnosticity most. changes: of `changes_table`."""
    rows = []
    for metric in FAITHFULNESS if len(changes) else ():
        most = changes.loc[changes[f"{metric}_change"].abs().idxmax()]
        rows.append((metric, most.setting, most.title, most[metric], most[f"{metric}_change"]))
    return pd.DataFrame(rows, columns=["metric", "setting", "title", "diagnosticity", "change"])


def deeplift_coverage(step: Step) -> pd.DataFrame:
    """One row, of the first run: of how many nonlinear parts captum's DeepLIFT knows the rule."""
    from attreval.models.captum_deeplift import list_coverage
    from attreval.models.loading import load_classifier

    task, model, seed = step.profile.explained_runs("faithfulness")[0]
    loaded = load_classifier(step.results.model(step.profile.read_by(task), model, seed), model, "cpu")
    covered, others = list_coverage(loaded.network) if loaded.family == "transformer" else ([], [])
    return pd.DataFrame([{"task": task, "model": model, "covered": len(covered), "parts": len(covered) + len(others)}])
