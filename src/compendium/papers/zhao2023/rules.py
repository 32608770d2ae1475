"""Tables 2, 3 and 6 under several rules, with the chance level of each: what remains of "soft beats hard".

A rule says how scores become strengths of soft erasure, who the rival is, and what a tie counts (`settings.RULES`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from attreval.core.seeds import generator
from attreval.metrics import FAITHFULNESS, HARD_OF, METRICS
from attreval.metrics.diagnosticity import chance_level, sign_flip_test, tied, wins
from compendium.config import Profile
from compendium.papers.zhao2023.datasets import compared_tasks, published_dataset
from compendium.papers.zhao2023.diagnosticity import (
    mean_with_interval,
    text_differences,
    text_means,
    with_discovery_rate,
)
from compendium.papers.zhao2023.settings import RULES, list_settings, rule_setting
from compendium.workflow.step import Step

SURE = 0.05
NUMBERS = ["diagnosticity", "low", "high", "ties", "chance", "above_chance", "texts", "least"]


def pairs_by_rule(pairs: pd.DataFrame, profile: Profile) -> pd.DataFrame:
    """The pairs of each rule, one below the other, with columns `rule`, `win_...`, `tie_...` and `chance_...`.

    pairs: of `diagnosticity.pair_with_rivals`. A rule that was not measured on a task has no pairs there.
    """
    parts = []
    settings = {task: list_settings(profile, task) for task in dict.fromkeys(pairs.task)}
    for name, rule in RULES.items():
        for task, part in pairs.groupby("task", sort=False):
            setting = rule_setting(profile, task, rule.setting)
            part = part[part.setting == setting]
            protocol = settings[task][setting].protocol
            protocol = replace(protocol, ties=rule.ties or protocol.ties)
            found = {"rule": name}
            for metric in FAITHFULNESS:
                both = part[metric], part[f"{metric}_rival"]
                tie = tied(*both, protocol)
                found |= {f"win_{metric}": wins(*both, protocol), f"tie_{metric}": tie.astype(float)}
                found[f"chance_{metric}"] = np.where(tie, chance_level(1.0, protocol.ties), 0.5)
            parts.append(part.assign(**found))
    return pd.concat(parts, ignore_index=True)


def rule_tables(by_rule: pd.DataFrame, step: Step) -> dict[str, pd.DataFrame]:
    """Tables 2, 3 and 6 by rule: `table2_rules`, `table3_rules` and `table6_rules`, a row a cell, metric and rule.

    by_rule: of `pairs_by_rule`. ties: the share of ties; chance: what explanations no better than random scores would
    get with these ties; texts: of the row; least: of its smallest task. Means over tasks are taken as in Table 2.
    """
    tasks = compared_tasks(list(dict.fromkeys(by_rule.task)))
    compared = by_rule[by_rule.task.isin(tasks)]
    cells = _summarise(by_rule, ["task", "method"], step)
    cells["dataset"] = cells.task.map(published_dataset)
    return {
        "table2_rules": _with_average(compared, compared, "method", step),
        "table3_rules": _with_average(by_rule, compared, "task", step),
        "table6_rules": cells,
    }


def _with_average(pairs: pd.DataFrame, compared: pd.DataFrame, by: str, step: Step) -> pd.DataFrame:
    """The summary by method or task, and of all that are compared."""
    parts = [pairs.assign(row=pairs[by]), compared.assign(row="average")]
    table = pd.concat([_summarise(part, ["row"], step) for part in parts], ignore_index=True)
    return table.rename(columns={"row": by})


def _summarise(pairs: pd.DataFrame, by: Sequence[str], step: Step) -> pd.DataFrame:
    """One row a value of `by`, a rule and a metric: NUMBERS."""
    rows = []
    for (rule, *key), part in pairs.groupby(["rule", *by], sort=False):
        counts = part.groupby("task").instance.nunique()
        for metric in FAITHFULNESS:
            value, low, high = mean_with_interval(text_means(part, f"win_{metric}"), step, "rules")
            ties, chance = (_mean(part, f"{name}_{metric}") for name in ("tie", "chance"))
            found = (value, low, high, ties, chance, value - chance, counts.sum(), counts.min())
            rows.append((*key, rule, metric, *found))
    return pd.DataFrame(rows, columns=[*by, "rule", "metric", *NUMBERS])


def _mean(pairs: pd.DataFrame, column: str) -> float:
    """Mean over tasks of a column's mean over texts."""
    return float(np.mean([values.mean() for values in text_means(pairs, column)]))


def what_remains(by_rule: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a rule and soft metric: is it above its hard counterpart, in the mean over methods and tasks?

    difference with its interval over texts; p of the test over texts, q over the table. above_chance: the same
    difference once each metric's own chance level is taken off, which ties and their rule decide. holds: `above` or
    `below` at a false discovery rate of SURE over the table, else `not surely apart from`.
    by_rule: of `pairs_by_rule`.
    """
    tasks, rows = compared_tasks(list(dict.fromkeys(by_rule.task))), []
    for rule, part in by_rule[by_rule.task.isin(tasks)].groupby("rule", sort=False):
        counts = part.groupby("task").instance.nunique()
        for soft, hard in HARD_OF.items():
            texts = text_differences(part, soft, hard)
            difference, low, high = mean_with_interval(texts, step, "rules")
            row = {"rule": rule, "title": RULES[rule].title, "metric": soft, "measure": METRICS[soft].title}
            row |= {
                "difference": difference,
                "low": low,
                "high": high,
                "p": sign_flip_test(texts, generator("sign flips", rule, soft)),
            }
            for name, metric in (("soft", soft), ("hard", hard)):
                row |= {name: _mean(part, f"win_{metric}"), f"{name}_chance": _mean(part, f"chance_{metric}")}
            row["above_chance"] = difference - row["soft_chance"] + row["hard_chance"]
            rows.append(row | {"tasks": len(counts), "texts": counts.sum(), "least": counts.min()})
    table = with_discovery_rate(pd.DataFrame(rows))
    sign = np.where(table.difference > 0, "above", "below")
    return table.assign(holds=np.where(table.q < SURE, sign, "not surely apart from"))


def printed_rules(table: pd.DataFrame, by: Sequence[str], digits: str = ".3f") -> pd.DataFrame:
    """A table of `rule_tables` as it is printed: a row a metric and value of `by`, a cell `ours (chance)` a rule.

    texts: of the published rule; released_texts: of the released code, which may have been measured on fewer.
    """
    text = [f"{v:{digits}} ({c:{digits}})" for v, c in zip(table.diagnosticity, table.chance, strict=True)]
    rows, keys = [], [*by, "metric"]
    for key, part in table.assign(text=text).groupby(keys, sort=False):
        cells = part.set_index("rule")
        row = dict(zip(keys, key, strict=True)) | {"title": METRICS[key[-1]].title}
        row |= {rule: cells.text.get(rule, "\N{EN DASH}") for rule in RULES}
        rows.append(row | {"texts": cells.texts.get("published", 0), "released_texts": cells.texts.get("released", 0)})
    return pd.DataFrame(rows)
