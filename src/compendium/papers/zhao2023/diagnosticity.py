"""Diagnosticity by method, task, size of the rationale and rule (Zhao & Aletras 2023).

Tables 2, 3 and 6, and Figure 3.

All is made of the values of `erasure.evaluate_erasure`. A rule says how scores become strengths of
soft erasure, who the rival is, and what a tie counts (`settings.RULES`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from attreval.core.bootstrap import draw_counts, percentile_interval
from attreval.core.seeds import generator
from attreval.metrics import FAITHFULNESS, HARD_OF, METRICS
from attreval.metrics.diagnosticity import OF_A_TIE, compare, sign_flip_test, tied, wins
from attreval.metrics.protocol import Protocol
from compendium.config import Profile
from compendium.papers.common.tables import mean_low_high, spell, table_of
from compendium.papers.common.verdicts import LEAST_TEXTS, adjust
from compendium.papers.zhao2023.erasure import HARD_MEASURES, ROW, ErasureValues
from compendium.papers.zhao2023.settings import (
    RULES,
    compared_rows,
    compared_tasks,
    main_rows,
    protocol_of,
    published_dataset,
    rule_setting,
)
from compendium.workflow.step import Step

HARD = {metric: METRICS[metric].stored for metric in FAITHFULNESS if metric not in HARD_OF}
WINS = [f"win_{metric}" for metric in FAITHFULNESS]
SURE = 0.05
SCALES = {  # who the rival is, and how scores become probabilities
    "main": "random scores, min-max",
    "permuted": "own scores permuted, min-max",
    "equal_means": "random scores, equal means",
    "rank": "random scores, ranks",
}


def pair_with_rivals(values: pd.DataFrame, profile: Profile) -> pd.DataFrame:
    """One row a setting, instance and method that is judged softly, with its outcomes.

    values: of `erasure.evaluate_erasure`. The rival is the instance's random scores, or the
    method's own scores in a random order where the setting has those; its values end in `_rival`.
    """
    return pair_values(values[values.soft_nc.notna()], profile, FAITHFULNESS)


def pair_values(values: pd.DataFrame, profile: Profile, metrics: Sequence[str]) -> pd.DataFrame:
    """The pairs of these values, with the outcome of these metrics; see `pair_with_rivals`."""
    permuted = values[values.role == "permuted"]
    every = values[values.role == "own"]
    random = every[every.method == "random"].drop(columns="method")
    own = every[every.method != "random"]
    rivalled = own.setting.isin(permuted.setting)
    keys = ["setting", *ROW]
    parts = [
        own[~rivalled].merge(random, on=keys[:-1], suffixes=("", "_rival"), validate="many_to_one"),
        own[rivalled].merge(permuted, on=keys, suffixes=("", "_rival"), validate="one_to_one"),
    ]
    pairs = pd.concat(parts, ignore_index=True)
    judged = [
        judge_pairs(part, protocol_of(profile, task, setting), metrics)
        for (setting, task), part in pairs.groupby(["setting", "task"], sort=False)
    ]
    return pd.concat(judged or [pairs]).sort_index()


def judge_pairs(pairs: pd.DataFrame, protocol: Protocol, metrics: Sequence[str]) -> pd.DataFrame:
    """The pairs with what each metric says of them: win, tie, and chance.

    chance: what they would win by chance, one half, or what the protocol gives for a tie.
    """
    found = {}
    for metric in metrics:
        own = pairs[metric]
        rival = pairs[f"{metric}_rival"]
        tie = tied(own, rival, protocol)
        found[f"win_{metric}"] = wins(own, rival, protocol)
        found[f"tie_{metric}"] = tie.astype(float)
        found[f"chance_{metric}"] = np.where(tie, OF_A_TIE[protocol.ties], 0.5)
    return pairs.assign(**found)


def texts_by_task(pairs: pd.DataFrame) -> pd.DataFrame:
    """One row a task: its texts in the main run, and whether these are enough."""
    found = count_texts(main_rows(pairs)).rename("texts").reset_index()
    averaged = found.task.isin(compared_tasks(found.task))
    return found.assign(least=LEAST_TEXTS, enough=found.texts >= LEAST_TEXTS, averaged=averaged)


def count_texts(pairs: pd.DataFrame) -> pd.Series:
    """By task, how many texts it has."""
    return pairs.groupby("task", sort=False).instance.nunique()


def text_means(pairs: pd.DataFrame, numbers: pd.Series) -> list[np.ndarray]:
    """By task the (n,) means of one number a pair over each text's methods, models and seeds."""
    texts = numbers.groupby([pairs.task, pairs.instance], sort=False).mean()
    return [part.to_numpy() for _, part in texts.groupby(level=0, sort=False)]


def mean_of_tasks(texts: list[np.ndarray]) -> float:
    """Mean over tasks of the means of their texts."""
    return float(np.mean([values.mean() for values in texts]))


def mean_of_texts(pairs: pd.DataFrame, numbers: pd.Series) -> float:
    """Mean over tasks of the means over texts of one number a pair."""
    return mean_of_tasks(text_means(pairs, numbers))


def lead(pairs: pd.DataFrame, metric: str, other: str) -> pd.Series:
    """By how much one metric wins a pair that the other does not."""
    return pairs[f"win_{metric}"] - pairs[f"win_{other}"]


def interval_over_tasks(
    pairs: pd.DataFrame, numbers: pd.Series, step: Step, name: str
) -> tuple[float, np.ndarray, np.ndarray]:
    """`mean_of_texts` with its bounds over texts drawn within each task.

    name: what the draws derive from.
    """
    spec = step.profile.bootstrap
    texts = text_means(pairs, numbers)
    drawn = []
    for at, values in enumerate(texts):
        counts = draw_counts(generator("bootstrap", name, at), len(values), spec.draws)
        drawn.append(counts @ values / len(values))
    return mean_of_tasks(texts), *percentile_interval(np.mean(drawn, axis=0), spec.confidence)


def how_many(pairs: pd.DataFrame) -> dict[str, int]:
    """How many tasks and texts there are, and how many texts the smallest task has (`least`)."""
    texts = count_texts(pairs)
    return {"tasks": len(texts), "texts": texts.sum(), "least": texts.min()}


def moved_by(
    part: pd.DataFrame, base: pd.DataFrame, metrics: Iterable[str], step: Step, name: str
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The pairs of a change beside those of the base.

    Their counts, and each metric's change with its interval.
    """
    both = part.merge(base, on=ROW, suffixes=("", "_base"), validate="one_to_one")
    row: dict[str, Any] = {**how_many(both)}
    for m in metrics:
        change, low, high = interval_over_tasks(both, lead(both, m, f"{m}_base"), step, name)
        row |= {f"{m}_change": change, f"{m}_low": low, f"{m}_high": high}
    return both, row


@table_of("task method metric diagnosticity low high instances")
def diagnosticity_cells(pairs: pd.DataFrame, step: Step) -> Iterator[tuple]:
    """One row a task, method and metric: diagnosticity with its interval (Table 6).

    Over all models and seeds.
    """
    for (task, method), cell in main_rows(pairs).groupby(["task", "method"], sort=False):
        # models and seeds of one instance are averaged first: the interval is over instances
        wide = cell.groupby("instance", sort=False)[WINS].mean().to_numpy()
        found = mean_low_high(wide, step.profile.bootstrap, "diagnosticity", task).T
        for metric, interval in zip(FAITHFULNESS, found, strict=True):
            yield task, method, metric, *interval, len(wide)


def diagnosticity_summary(pairs: pd.DataFrame, by: str) -> pd.DataFrame:
    """One row a metric and a value of `by`, and its average and sd.

    Table 2 is by method, Table 3 by task.

    diagnosticity: mean of the cells, over the tasks of `settings.compared_tasks` where it is a mean
        over tasks.
    difference: to the hard counterpart; p: of the test over texts (`sign_flip_test`); q: p at which
    the row would be among the table's findings at that false discovery rate (Benjamini and Hochberg
    1995). rank_sum, paired: p of the tests that take pairs as independent. All are NaN for hard
    metrics. texts: of the row; least: of its smallest task.
    """
    every = main_rows(pairs)
    averaged = compared_rows(every)
    chosen = averaged if by == "method" else every
    ends = average_cells(_wide_cells(averaged), by).loc[["average", "sd"]]
    by_value = _wide_cells(chosen).groupby(by, sort=False)[list(FAITHFULNESS)].mean()
    means = pd.concat([by_value, ends])
    rows = []
    for metric in FAITHFULNESS:
        hard = HARD_OF.get(metric)
        for name, value in means[metric].items():
            part = averaged if name in ("average", "sd") else chosen[chosen[by] == name]
            row = {by: name, "metric": metric, "diagnosticity": value} | how_many(part)
            if hard and name != "sd":
                # rank_sum, paired and pairs
                row |= vars(compare(part[f"win_{metric}"], part[f"win_{hard}"]))
                by_text = text_means(part, lead(part, metric, hard))
                row["difference"] = value - means.loc[name, hard]
                row["p"] = sign_flip_test(by_text, generator("sign flips", metric, by, name))
            rows.append(row)
    columns = f"{by} metric diagnosticity difference p q rank_sum paired pairs texts least"
    table = pd.DataFrame(rows, columns=spell(columns))
    return table.assign(q=adjust(table.p))


def _wide_cells(pairs: pd.DataFrame) -> pd.DataFrame:
    """task, method and the mean wins of each metric.

    Models and seeds of a text are averaged first.
    """
    texts = pairs.groupby(["task", "method", "instance"], sort=False)[WINS].mean()
    cells = texts.groupby(["task", "method"], sort=False).mean()
    return cells.set_axis(list(FAITHFULNESS), axis="columns").reset_index()


def mean_diagnosticity(pairs: pd.DataFrame) -> dict[str, float]:
    """Diagnosticity of each metric: mean over the methods of a task, then over tasks."""
    means = pairs.groupby(["task", "method"])[WINS].mean().groupby("task").mean().mean()
    return dict(zip(FAITHFULNESS, means, strict=True))


@table_of("task metric ratio diagnosticity low high")
def diagnosticity_by_ratio(
    erased: ErasureValues, pairs: pd.DataFrame, step: Step
) -> Iterator[tuple]:
    """One row a task, hard metric and ratio: mean diagnosticity over methods (Figure 3).

    Soft ones have no ratio.
    """

    def interval(task: str, won: pd.Series, instances: pd.Series) -> np.ndarray:
        return mean_low_high(
            won.groupby(instances, sort=False).mean(), step.profile.bootstrap, "diagnosticity", task
        )

    own = erased.curves[erased.curves.method.isin(pairs.method)]
    rivals = erased.rival_curves
    keys = [*ROW, "ratio"]
    if rivals.empty:
        rivals = erased.curves[erased.curves.method == "random"].drop(columns="method")
        keys.remove("method")
    both = own.merge(rivals, on=keys, suffixes=("", "_rival"))
    for metric, name in HARD.items():
        for (task, ratio), part in both.groupby(["task", "ratio"], sort=False):
            main = protocol_of(step.profile, task, "main")
            won = pd.Series(wins(part[name], part[f"{name}_rival"], main), part.index)
            yield task, metric, ratio, *interval(task, won, part.instance)
    for task, part in main_rows(pairs).groupby("task", sort=False):
        for metric in HARD_OF:
            yield task, metric, np.nan, *interval(task, part[f"win_{metric}"], part.instance)


def erasure_by_instance(erased: ErasureValues, pairs: pd.DataFrame) -> pd.DataFrame:
    """One row an instance, method and measure by the main protocol.

    Hard ones averaged over ratios, soft ones, wins; and soft ones with strengths of equal mean
    (`soft_nc_equal`, ...), where they were measured.
    """
    hard = erased.curves.groupby(ROW, sort=False)[HARD_MEASURES].mean().reset_index()
    own = erased.values[erased.values.role == "own"]
    equal = {metric: METRICS[f"{metric}_equal"].stored for metric in HARD_OF}
    equal_means = own[own.setting == "equal_means"].rename(columns=equal)
    parts = [
        hard.melt(ROW, HARD_MEASURES, "measure"),
        main_rows(own).melt(ROW, HARD_OF, "measure"),
        main_rows(pairs).melt(ROW, WINS, "measure"),
        equal_means.melt(ROW, equal.values(), "measure"),
    ]
    return pd.concat(parts, ignore_index=True)


def pairs_by_rule(pairs: pd.DataFrame, profile: Profile) -> pd.DataFrame:
    """The pairs of each rule, one below the other, judged by it, with column `rule`.

    None where it was not measured.
    """
    parts = []
    for name, rule in RULES.items():
        for task, part in pairs.groupby("task", sort=False):
            setting = rule_setting(profile, task, rule.setting)
            protocol = protocol_of(profile, task, setting)
            changed = replace(protocol, ties=rule.ties or protocol.ties)
            parts.append(
                judge_pairs(part[part.setting == setting], changed, FAITHFULNESS).assign(rule=name)
            )
    return pd.concat(parts, ignore_index=True)


def rule_tables(by_rule: pd.DataFrame, step: Step) -> dict[str, pd.DataFrame]:
    """Tables 2, 3 and 6 by rule: a row a cell, metric and rule.

    ties: the share of ties; chance: what explanations no better than random scores would get with
    these ties; texts: of the row; least: of its smallest task. Means over tasks are taken as in
    Table 2.
    """
    compared = compared_rows(by_rule)
    average = _summarise(compared.assign(row="average"), ["row"], step)

    def with_average(pairs: pd.DataFrame, name: str) -> pd.DataFrame:
        return pd.concat(
            [_summarise(pairs, [name], step), average.rename(columns={"row": name})],
            ignore_index=True,
        )

    cells = _summarise(by_rule, ["task", "method"], step)
    return {
        "table2_rules": with_average(compared, "method"),
        "table3_rules": with_average(by_rule, "task"),
        "table6_rules": cells.assign(dataset=cells.task.map(published_dataset)),
    }


def _summarise(pairs: pd.DataFrame, by: Sequence[str], step: Step) -> pd.DataFrame:
    """One row a value of `by`, a rule and a metric."""
    rows = []
    for (rule, *key), part in pairs.groupby(["rule", *by], sort=False):
        counts = how_many(part)
        for metric in FAITHFULNESS:
            mean, low, high = interval_over_tasks(part, part[f"win_{metric}"], step, "rules")
            row = dict(zip(by, key, strict=True)) | {"rule": rule, "metric": metric, **counts}
            row |= {"diagnosticity": mean, "low": low, "high": high}
            row["ties"] = mean_of_texts(part, part[f"tie_{metric}"])
            row["chance"] = mean_of_texts(part, part[f"chance_{metric}"])
            rows.append(row | {"above_chance": mean - row["chance"]})
    numbers = "diagnosticity low high ties chance above_chance texts least"
    return pd.DataFrame(rows, columns=spell(f"{' '.join(by)} rule metric {numbers}"))


def what_remains(by_rule: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a rule and soft metric: is it above its hard counterpart?

    In the mean over methods and tasks.

    difference with its interval over texts; p of the test over texts, q over the table.
    above_chance: the same difference once each metric's own chance level is taken off, which ties
    and their rule decide. holds: `above` or `below` at a false discovery rate of SURE over the
    table, else `not surely apart from`.
    """
    rows = []
    for rule, part in compared_rows(by_rule).groupby("rule", sort=False):
        for soft, hard in HARD_OF.items():
            ahead = lead(part, soft, hard)
            row = {
                "rule": rule,
                "title": RULES[rule].title,
                "metric": soft,
                "measure": METRICS[soft].title,
            }
            difference, low, high = interval_over_tasks(part, ahead, step, "rules")
            row |= {"difference": difference, "low": low, "high": high}
            row["p"] = sign_flip_test(text_means(part, ahead), generator("sign flips", rule, soft))
            for name, metric in (("soft", soft), ("hard", hard)):
                row[name] = mean_of_texts(part, part[f"win_{metric}"])
                row[f"{name}_chance"] = mean_of_texts(part, part[f"chance_{metric}"])
            row["above_chance"] = row["difference"] - row["soft_chance"] + row["hard_chance"]
            rows.append(row | how_many(part))
    table = pd.DataFrame(rows)
    q = adjust(table.p)
    sign = np.where(table.difference > 0, "above", "below")
    return table.assign(q=q, holds=np.where(q < SURE, sign, "not surely apart from"))


def average_cells(cells: pd.DataFrame, by: str) -> pd.DataFrame:
    """Means of cells (task, method, and a column a metric) over the other key, with mean and sd of
    the means below.

    by: `method` gives Table 2 of the paper, `task` Table 3. The sd is that of the means themselves
    (population), as in the paper. Index: the values of `by`, then `average` and `sd`.
    """
    means = cells.groupby(by, sort=False)[list(FAITHFULNESS)].mean()
    bottom = pd.DataFrame({"average": means.mean(), "sd": means.std(ddof=0)}).T
    return pd.concat([means, bottom]).rename_axis(by)
