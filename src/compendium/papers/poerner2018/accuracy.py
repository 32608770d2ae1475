"""Pointing accuracy: the mean of hits over instances, with its interval (Poerner et al. 2018)."""

import pandas as pd

from compendium.config import BootstrapSpec
from compendium.papers.common.tables import mean_low_high, spell

AGREEMENT = ("all", "correct", "wrong")  # predictions of the number of the verb
CONDITIONS = {
    "hybrid": ("all",),
    "manual": ("all",),
    "hit_target": AGREEMENT,
    "hit_feat": AGREEMENT,
}
MODEL = ("task", "model", "architecture")
MOST_ATTRACTORS = 4  # more are counted with these


def summarise_hits(
    hits: pd.DataFrame, settings: BootstrapSpec, keys: tuple[str, ...] = MODEL
) -> pd.DataFrame:
    """Pointing accuracy with its interval: one row a combination of keys, metric, condition and
    method.

    hits: rows of `play` with the keys and `seed`. The conditions of agreement are all, correct and
    wrong predictions; seeds of one instance are averaged before instances are drawn; all methods of
    a group share the draws.
    columns: accuracy, low, high, instances (of any seed), and the shares of the model's right
        predictions and discards.
    """
    out = []
    for group, part in hits.groupby([*keys, "metric"], sort=False):
        *key, metric = group
        for condition in CONDITIONS[metric]:
            chosen = part if condition == "all" else part[part.correct == (condition == "correct")]
            kept = chosen[chosen.discarded == ""]
            values = kept.pivot_table(
                index="instance", columns="method", values="hit", aggfunc="mean", sort=False
            )
            if not len(values):
                continue
            found = mean_low_high(values, settings, "pointing", *key, metric)
            once = chosen.drop_duplicates(["instance", "seed"])
            right = once.correct.mean()
            discarded = (once.discarded != "").mean()
            for method, interval in zip(values.columns, found.T, strict=True):
                counts = (len(values), right, discarded)
                out.append((*key, metric, condition, method, *interval, *counts))
    columns = (
        f"{' '.join(keys)} metric condition method accuracy low high instances right discarded"
    )
    return pd.DataFrame(out, columns=spell(columns))


def accuracy_by_attractors(hits: pd.DataFrame, settings: BootstrapSpec) -> pd.DataFrame:
    """`summarise_hits` of agreement by number of attractors, four and more together."""
    counted = hits.assign(attractors=hits.attractors.clip(upper=MOST_ATTRACTORS).astype(int))
    in_order = counted.sort_values("attractors", kind="stable")
    return summarise_hits(in_order, settings, (*MODEL, "attractors"))
