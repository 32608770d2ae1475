"""Separation: how often a metric puts the true importances first, where they are planted (after Chan et al. 2022).

A metric separates two explainers as well as it puts the right one first on the same text: the share of texts in which
it does, a tie counting half. One that cannot tell the true importances from random scores and from their reverse does
not measure what it is read as. A user's own metric is tested in the same way: see `PlantedMetric` and `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import isgenerator
from typing import Any

import numpy as np
import pandas as pd

from attreval.core.bootstrap import bootstrap_mean
from attreval.metrics.planted.explainers import DRAWN, EXPLAINERS, explain_as
from attreval.metrics.planted.worlds import WORLDS, Planted, PlantedModel, make_texts

TIED = 1e-9  # values closer than this are a tie
COLUMNS = ["metric", "world", "explainer", "draw", "text", "value", "sign"]


@dataclass(frozen=True)
class PlantedMetric:
    """One metric. measure: (text, scores, names) -> a number, or a conversation with the model that returns one.

    higher_is_better: what its number says. together: measure takes all texts of a world at once, (texts, list of
    scores, names), and gives a number for each. level: `token` or `pair`, what scores belong to. names: what draws
    derive from. blind: why it is expected to fail, where it is.
    """

    title: str
    measure: Callable[..., Any]
    level: str = "token"
    together: bool = False
    blind: str = ""
    higher_is_better: bool = True


def evaluate(
    metrics: Mapping[str, PlantedMetric],
    texts: int = 60,
    draws: int = 4,
    worlds: Sequence[str] = WORLDS,
    explainers: Sequence[str] = tuple(EXPLAINERS),
    make_model: Callable[[str], PlantedModel] = PlantedModel,
) -> pd.DataFrame:
    """One row a metric, world, explainer, draw and text: what the metric gives; pairs in the world that has them.

    draws: of explainers with anything random in them, and of the ties in their scores. sign: 1 where higher is better,
    -1 where lower is. make_model: makes the model of a world. Raises ValueError where a metric gives no finite number.
    """
    from attreval.models.scorer import Scorer

    rows = []
    for world in worlds:
        made, scorer = make_texts(world, texts), Scorer(make_model(world), precision="float64")
        for name, metric in metrics.items():
            if metric.level == "pair" and made[0].pair_truth is None:
                continue
            sign = 1 if metric.higher_is_better else -1
            for explainer in explainers:
                for draw in range(draws if explainer in DRAWN else 1):
                    scores = [explain_as(explainer, text, metric.level, draw) for text in made]
                    values = _measure_texts(scorer, name, metric, made, scores, (name, explainer, draw))
                    rows += [
                        (name, world, explainer, draw, text.id, value, sign)
                        for text, value in zip(made, values, strict=True)
                    ]
        scorer.forget()
    found = pd.DataFrame(rows, columns=COLUMNS)
    if not np.isfinite(found.value).all():
        bad = found[~np.isfinite(found.value)].iloc[0]
        raise ValueError(
            f"metric {bad.metric!r} gives {bad.value} for {bad.explainer} on {bad.text!r}: a number is needed"
        )
    return found


def _measure_texts(
    scorer, name: str, metric: PlantedMetric, texts: list[Planted], scores: list, names: tuple
) -> list[float]:
    """What a metric gives for one explainer on every text."""
    if metric.together:
        return [float(value) for value in metric.measure(texts, scores, names)]
    found = [metric.measure(text, given, (*names, text.id)) for text, given in zip(texts, scores, strict=True)]
    asking = [(i, answer) for i, answer in enumerate(found) if isgenerator(answer)]
    for (i, _), answer in zip(asking, scorer.converse((name, one) for _, one in asking), strict=True):
        found[i] = answer
    return [float(value) for value in found]


def separation(values: pd.DataFrame, draws: int, confidence: float, of: str = "oracle") -> pd.DataFrame:
    """One row a metric, world and explainer: how often `of` comes first on the same text, a tie counting half.

    low, high: bootstrap bounds over texts; draws of one text are averaged. mean: of the metric's own values. gap: the
    explainer's mean less that of random scores; gap_low, gap_high hold for all metrics and worlds at once (Bonferroni).
    """
    from scipy.stats import t

    rows, groups = [], values.groupby(["metric", "world"], sort=False)
    texts = max(1, values.text.nunique() // values.world.nunique() - 1)
    width = float(t.isf((1 - confidence) / 2 / len(groups), texts))
    for (metric, world), part in groups:
        by = {
            explainer: some.pivot(index="text", columns="draw", values="value")
            for explainer, some in part.groupby("explainer", sort=False)
        }
        right, chance, sign = by[of], by["random"].mean(axis=1), part.sign.iloc[0]
        for explainer, some in by.items():
            lead = sign * (right.to_numpy()[:, :1] - some.loc[right.index].to_numpy())
            won = np.where(np.abs(lead) <= TIED, 0.5, lead > 0).mean(axis=1)
            mean, low, high = bootstrap_mean(won, draws, confidence, "meta", metric, world)
            gap = some.mean(axis=1) - chance
            half = width * gap.std(ddof=1) / np.sqrt(len(gap))
            row = [metric, world, explainer, float(mean), float(low), float(high), float(some.to_numpy().mean())]
            rows.append((*row, gap.mean(), gap.mean() - half, gap.mean() + half, len(won)))
    numbers = ["separation", "low", "high", "mean", "gap", "gap_low", "gap_high", "texts"]
    return pd.DataFrame(rows, columns=["metric", "world", "explainer", *numbers])


def metric_verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: in how many worlds the oracle comes before random scores and before its reverse, surely.

    passes: in all of them, by intervals above one half. fooled_by: the other explainers that the metric does not
    surely put behind the oracle, in any world. column a explainer: the mean separation over worlds.
    """
    rows = []
    for metric, part in table.groupby("metric", sort=False):
        means = part.groupby("explainer", sort=False).separation.mean()
        sure = {explainer: bool((some.low > 0.5).all()) for explainer, some in part.groupby("explainer", sort=False)}
        passes = all(sure[name] for name in ("random", "reversed") if name in sure)
        fooled = [name for name in sure if name not in ("oracle", "random", "reversed") and not sure[name]]
        row = {"metric": metric, "passes": passes, "fooled_by": ", ".join(fooled)}
        rows.append(row | {name: means[name] for name in means.index if name != "oracle"})
    return pd.DataFrame(rows)
