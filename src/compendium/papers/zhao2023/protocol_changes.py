"""What diagnosticity depends on: changes of protocol, the share of text that soft erasure keeps.

The published means of NC and NS are .394 and .349, below one half; ours are far above it.
`drivers_table` asks why, on hard erasure alone, by one change at a time and by several together.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from attreval.metrics import FAITHFULNESS, HARD_OF
from compendium.papers.common.runs import load_attributions, reported
from compendium.papers.common.tables import spell, table_of
from compendium.papers.zhao2023.deviations import HARD as DRIVERS
from compendium.papers.zhao2023.deviations import TOGETHER
from compendium.papers.zhao2023.diagnosticity import (
    HARD,
    mean_diagnosticity,
    mean_of_texts,
    moved_by,
    pair_values,
)
from compendium.papers.zhao2023.settings import HARD_PREFIX, list_changes, protocol_of
from compendium.workflow.step import Step

# how much of a text each soft metric keeps, or removes
SHARES = {
    "soft_ns": "keep_rate",
    "soft_nc": "drop_rate",
}


@table_of(
    "setting title pairs tasks texts least "
    + " ".join(f"{m} {m}_change {m}_low {m}_high" for m in FAITHFULNESS)
)
def changes_table(pairs: pd.DataFrame, step: Step) -> Iterator[dict]:
    """One row a setting: mean diagnosticities, and how far they are from the main protocol's.

    All on the control instances.

    A change that does not apply to every task is compared on the tasks that it applies to. low,
    high: of the change of each metric. texts, least: of all tasks, and of the smallest. Empty where
        the profile has no control instances.
    """
    titles = {
        name: change.title
        for task in step.profile.tasks
        for name, change in list_changes(step.profile, task).items()
    }
    base = pairs[pairs.setting == "control"]
    changed = pairs[pairs.setting.isin(set(titles) - {"control"})]
    for setting, part in changed.groupby("setting", sort=False):
        both, moved = moved_by(part, base, FAITHFULNESS, step, "changes")
        yield (
            {"setting": setting, "title": titles[setting], "pairs": len(both)}
            | moved
            | mean_diagnosticity(both)
        )


@table_of("metric setting title diagnosticity change")
def largest_changes(changes: pd.DataFrame) -> Iterator[tuple]:
    """One row a metric: the change of protocol that moves its mean diagnosticity most.

    changes: of `changes_table`.
    """
    for metric in FAITHFULNESS if len(changes) else ():
        most = changes.loc[changes[f"{metric}_change"].abs().idxmax()]
        yield metric, most.setting, most.title, most[metric], most[f"{metric}_change"]


@table_of(
    "setting method keep_rate rival_keep_rate drop_rate rival_drop_rate pairs follows_nc soft_nc "
    "follows_ns soft_ns"
)
def keep_rate_table(pairs: pd.DataFrame) -> Iterator[dict]:
    """One row a setting and method: how much text it keeps, and what decides pairs.

    keep_rate, drop_rate: mean share of entries that Soft-NS keeps and that Soft-NC removes; NaN
    where a noise does neither. follows_ns: in how many of the pairs that are decided the side that
    keeps more wins Soft-NS. follows_nc: in how many the side that removes more wins Soft-NC. One
    half: unrelated.
    """
    for (setting, method), part in pairs.groupby(["setting", "method"], sort=False):
        row = {"setting": setting, "method": method}
        for rate in ("keep_rate", "drop_rate"):
            row |= {rate: part[rate].mean(), f"rival_{rate}": part[f"{rate}_rival"].mean()}
        row["pairs"] = len(part)
        for metric in HARD_OF:
            row[f"follows_{metric.removeprefix('soft_')}"] = _follows(part, metric)
            row[metric] = part[f"win_{metric}"].mean()
        yield row


def _follows(pairs: pd.DataFrame, metric: str) -> float:
    """Of the decided pairs, the share that the side wins whose masks keep or remove more.

    NaN where no pair differs in both.
    """
    share = SHARES[metric]
    more = np.sign(pairs[share] - pairs[f"{share}_rival"])
    won = np.sign(pairs[metric] - pairs[f"{metric}_rival"])
    decided = more.notna() & (more != 0) & (won != 0)
    return (more == won)[decided].mean()


def spread_over_draws(values: pd.DataFrame) -> pd.DataFrame:
    """One row a task and method: mean Soft-NC and Soft-NS, and their mean sd over draws."""
    main = values[(values.setting == "main") & values.soft_nc.notna()]
    columns = spell("soft_nc soft_nc_sd soft_ns soft_ns_sd keep_rate")
    return main.groupby(["task", "method"], sort=False)[columns].mean().reset_index()


@table_of(
    "setting pairs tasks methods instances no_effect draws nc nc_ties soft_nc soft_nc_ties ns "
    "ns_ties soft_ns soft_ns_ties soft_nc_difference soft_nc_follows soft_ns_difference "
    "soft_ns_follows"
)
def settings_table(pairs: pd.DataFrame, step: Step) -> Iterator[dict]:
    """One row a setting: pairs, mean diagnosticities, ties, what decides pairs.

    A metric's `_difference` is to its hard counterpart, `_ties` the share of pairs with equal
    values, `_follows` as in `keep_rate_table` over all methods. no_effect: the share of texts whose
    erased form is as sure as the whole. draws: random masks of a soft measure.
    """
    for setting, part in pairs.groupby("setting", sort=False):
        texts = part.drop_duplicates(["task", "instance"])
        row = {
            "setting": setting,
            "pairs": len(part),
            "tasks": part.task.nunique(),
            "methods": part.method.nunique(),
            "instances": len(texts),
            "no_effect": (texts.full - texts.erased < 1e-8).mean(),
            "draws": protocol_of(step.profile, part.task.iloc[0], setting).draws,
        }
        for metric, mean in mean_diagnosticity(part).items():
            row[metric] = mean
            row[f"{metric}_ties"] = (np.abs(part[metric] - part[f"{metric}_rival"]) < 1e-6).mean()
        for metric, hard in HARD_OF.items():
            row[f"{metric}_difference"] = row[metric] - row[hard]
            row[f"{metric}_follows"] = _follows(part, metric)
        yield row


def deeplift_coverage(step: Step) -> pd.DataFrame:
    """Of how many nonlinear parts captum's DeepLIFT knows the rule, and what that leaves.

    One row, of the first run.

    correlation: mean over texts of the rank correlation (Spearman) of its scores' sizes with those
        of gradient x input;
    least: the lowest of any text. Where no part is known to the rule, the two are the same but for
        their signs.
    """
    from attreval.models.loading import load_classifier
    from attreval.models.transformer_deeplift import list_coverage

    task, model, seed = step.profile.explained_runs("faithfulness")[0]
    loaded = load_classifier(
        step.results.model(step.profile.read_by(task), model, seed), model, "cpu"
    )
    covered, others = list_coverage(loaded.network) if loaded.family == "transformer" else ([], [])
    found = gradient_correlations(load_attributions(step.results, step.profile, task, model, seed))
    row = {
        "task": task,
        "model": model,
        "covered": len(covered),
        "parts": len(covered) + len(others),
    }
    row |= {"correlation": found.mean(), "least": found.min(), "texts": len(found)}
    return pd.DataFrame([row])


def gradient_correlations(records: dict) -> pd.Series:
    """By text the rank correlation of sizes of DeepLIFT's scores with those of gradient x input."""
    found = {}
    for name, by_method in records.items():
        if {"deeplift", "gradient_x_input_absolute"} <= set(by_method):
            sizes = pd.Series(np.abs(by_method["deeplift"].scores))
            others = pd.Series(np.abs(by_method["gradient_x_input_absolute"].scores))
            found[name] = sizes.corr(others, method="spearman")
    return pd.Series(found, dtype=float).dropna()


OF_DRIVER = ("", "_before", "_change", "_low", "_high", "_ties", "_chance", "_published")


@table_of(
    "change title tasks texts least full no_room "
    f"{' '.join(f'{m}{end}' for m in HARD for end in OF_DRIVER)}"
)
def drivers_table(values: pd.DataFrame, step: Step) -> Iterator[dict]:
    """One row a change: mean diagnosticity of NC and NS with it, and what it moves.

    _before: that of the main run's protocol on the same texts; _low, _high: of the change, over
    texts. full: the mean probability of the class on the whole text, which says how sure the model
    is. no_room: the share of texts whose erased form is as sure as the whole, so that every NC is
    0. values: of `erasure.evaluate_erasure`.
    """
    pairs = pair_values(
        values[values.setting.str.startswith(HARD_PREFIX)], step.profile, tuple(HARD)
    )
    base = pairs[pairs.setting == f"{HARD_PREFIX}none"]
    published = reported("zhao_table2_diagnosticity_by_fa").set_index("metric").avg
    for name, change in DRIVERS.items():
        part = pairs[pairs.setting == HARD_PREFIX + name]
        if not len(part):
            continue
        both, row = moved_by(part, base, HARD, step, "drivers")
        row["full"] = mean_of_texts(part, part.full)
        row["no_room"] = mean_of_texts(part, (part.full - part.erased < 1e-8).astype(float))
        for m in HARD:
            row[m] = mean_of_texts(both, both[f"win_{m}"])
            row[f"{m}_before"] = mean_of_texts(both, both[f"win_{m}_base"])
            row[f"{m}_ties"] = mean_of_texts(part, part[f"tie_{m}"])
            row[f"{m}_chance"] = mean_of_texts(part, part[f"chance_{m}"])
            row[f"{m}_published"] = published[m.upper()]
        yield {"change": name, "title": change.title} | row


@table_of(
    "metric change title diagnosticity before moved texts together lowest_title lowest published "
    "gap_left"
)
def largest_drivers(table: pd.DataFrame) -> Iterator[tuple]:
    """One row a metric: the change that lowers it most, all together, and the published mean.

    table: of `drivers_table`; changes that not all tasks know are passed over, since theirs are
    other texts. gap_left: by how much the lowest setting is still above the published value.
    """
    table = table[table.tasks == table.tasks.max()] if len(table) else table
    together = table.change.isin(TOGETHER)
    single = table[~together & (table.change != "none")]
    joined = table[together]
    for metric in HARD if len(table) else ():
        most = single.loc[single[f"{metric}_change"].idxmin()]
        lowest = table.loc[table[metric].idxmin()]
        published = most[f"{metric}_published"]
        alone = (most[metric], most[f"{metric}_before"], most[f"{metric}_change"], most.texts)
        ends = (
            joined[metric].min(),
            lowest.title,
            lowest[metric],
            published,
            lowest[metric] - published,
        )
        yield metric, most.change, most.title, *alone, *ends
