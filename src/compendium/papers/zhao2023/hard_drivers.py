"""What decides the level of hard NC and NS? Their diagnosticity under one change at a time, and under all together.

The published means are .394 and .349, below one half; ours are far above it. Everything here is measured on hard
erasure alone, with the five methods and random scores of the main run.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from attreval.metrics.diagnosticity import chance_level, tied
from attreval.metrics.protocol import HARD, TOGETHER
from compendium.papers.common.runs import reported
from compendium.papers.zhao2023.diagnosticity import HARD as MEASURES
from compendium.papers.zhao2023.diagnosticity import PAIR, mean_with_interval, pair_values, text_means
from compendium.papers.zhao2023.settings import list_settings
from compendium.workflow.step import Step

PREFIX = "hard: "
SHARES = {"ties": "tie", "chance": "chance"}  # column of the table -> of the pairs


def driver_pairs(values: pd.DataFrame, step: Step) -> pd.DataFrame:
    """The pairs of every setting of hard erasure alone, with wins, ties and chance by NC and NS.

    values: of `erasure.evaluate_erasure`.
    """
    own = values[values.setting.str.startswith(PREFIX)]
    pairs = pair_values(own, step.profile, tuple(MEASURES))
    settings = {task: list_settings(step.profile, task) for task in dict.fromkeys(pairs.task)}
    for (setting, task), part in pairs.groupby(["setting", "task"], sort=False):
        protocol = settings[task][setting].protocol
        for metric in MEASURES:
            tie = tied(part[metric], part[f"{metric}_rival"], protocol)
            pairs.loc[part.index, f"tie_{metric}"] = tie.astype(float)
            pairs.loc[part.index, f"chance_{metric}"] = np.where(tie, chance_level(1.0, protocol.ties), 0.5)
    return pairs


def drivers_table(pairs: pd.DataFrame, step: Step) -> pd.DataFrame:
    """One row a change: mean diagnosticity of NC and NS on the texts on which it was measured, and what it moves.

    _before: that of the main run's protocol on the same texts; _low, _high: of the change, over texts. full: the mean
    probability of the class on the whole text, which says how sure the model is. no_room: the share of texts whose
    erased form is as sure as the whole, so that every NC is 0. published: the paper's mean. pairs: of `driver_pairs`.
    """
    base = pairs[pairs.setting == f"{PREFIX}none"]
    theirs, rows = reported("zhao_table2_diagnosticity_by_fa").set_index("metric").avg, []
    for name, change in HARD.items():
        part = pairs[pairs.setting == f"{PREFIX}{name}"]
        if not len(part):
            continue
        both = part.merge(base, on=PAIR[1:], suffixes=("", "_base"), validate="one_to_one")
        counts = both.groupby("task").instance.nunique()
        row = {"change": name, "title": change.title, "tasks": len(counts), "texts": counts.sum()}
        row |= {
            "least": counts.min(),
            "full": _mean(part.full, part),
            "no_room": _mean((part.full - part.erased < 1e-8).astype(float), part),
        }
        for metric in MEASURES:
            move = both[["task", "instance"]].assign(move=both[f"win_{metric}"] - both[f"win_{metric}_base"])
            found, low, high = mean_with_interval(text_means(move, "move"), step, "drivers")
            row[metric], row[f"{metric}_before"] = (_mean(both[f"win_{metric}{end}"], both) for end in ("", "_base"))
            row |= {f"{metric}_change": found, f"{metric}_low": low, f"{metric}_high": high}
            row |= {f"{metric}_{name}": _mean(part[f"{of}_{metric}"], part) for name, of in SHARES.items()}
            row[f"{metric}_published"] = theirs[metric.upper()]
        rows.append(row)
    return pd.DataFrame(rows)


def _mean(numbers: pd.Series, pairs: pd.DataFrame) -> float:
    """Mean over tasks of the means over texts of one number a pair."""
    texts = text_means(pairs[["task", "instance"]].assign(number=numbers), "number")
    return float(np.mean([values.mean() for values in texts]))


def largest_drivers(table: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: the single change that lowers it most, what all changes together reach, and the published mean.

    table: of `drivers_table`; changes that not all tasks know are passed over, since theirs are other texts. gap_left:
    by how much the lowest setting is still above the published value.
    """
    rows = []
    table = table[table.tasks == table.tasks.max()] if len(table) else table
    together = table.change.isin(TOGETHER)
    for metric in MEASURES if len(table) else ():
        single, joined = table[~together & (table.change != "none")], table[together]
        most = single.loc[single[f"{metric}_change"].idxmin()]
        lowest = table.loc[table[metric].idxmin()]
        row = {"metric": metric, "change": most.change, "title": most.title, "diagnosticity": most[metric]}
        row |= {"before": most[f"{metric}_before"], "moved": most[f"{metric}_change"], "texts": most.texts}
        row |= {"together": joined[metric].min(), "lowest_title": lowest.title, "lowest": lowest[metric]}
        row |= {"published": most[f"{metric}_published"], "gap_left": lowest[metric] - most[f"{metric}_published"]}
        rows.append(row)
    return pd.DataFrame(rows)
