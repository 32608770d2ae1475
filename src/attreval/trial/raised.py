"""How far metrics are raised by models that answer erased texts to their liking
(trial/worlds/planted.py).
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from attreval.core.bootstrap import bootstrap_mean
from attreval.metrics.metric import Metric
from attreval.metrics.separation import TIED, separation
from attreval.trial.measure import evaluate
from attreval.trial.world import Made
from attreval.trial.worlds.planted import PUSHES, make_raised

RAISED_WORLDS = ("one", "additive")
EXPLAINERS = ("oracle", "random")


def evaluate_raised(metrics: Mapping[str, Metric], texts: int, draws: int) -> pd.DataFrame:
    """One row a push, metric, world, explainer, draw and text: what a metric of tokens gives; see
    `evaluate`.
    """
    of_tokens = {name: metric for name, metric in metrics.items() if metric.level == "token"}
    parts = []
    for push in PUSHES:

        def make(name: str, seed: int, count: int, corpora: str | None, push: str = push) -> Made:
            return make_raised(name, seed, count, push)

        values = evaluate(
            of_tokens, texts, draws, worlds=RAISED_WORLDS, explainers=EXPLAINERS, make=make
        )
        parts.append(values.assign(push=push))
    return pd.concat(parts, ignore_index=True)


def raised_table(values: pd.DataFrame, draws: int, confidence: float) -> pd.DataFrame:
    """One row a metric, push and explainer: the means without and with the push, and what the
    metric finds better.

    gain: pushed less plain, with the opposite sign where lower is better; low, high: bootstrap
        bounds over texts.
    moved: whether any value changes. truth_first: how often the oracle comes before random scores,
    plain and pushed, in the world where that is less often.
    """
    rows = []
    first = {}
    for push, part in values.groupby("push", sort=False):
        found = separation(part.drop(columns="push"), draws, confidence)
        first[push] = found[found.explainer == "random"].groupby("metric").separation.min()
    for (metric, explainer), part in values.groupby(["metric", "explainer"], sort=False):
        by = part.pivot_table(index="text", columns="push", values="value")
        for push in PUSHES[1:]:
            gains = part.sign.iloc[0] * (by[push] - by["none"]).to_numpy()
            gain, low, high = bootstrap_mean(
                gains, draws, confidence, "raised", metric, explainer, push
            )
            rows.append(
                {
                    "metric": metric,
                    "push": push,
                    "explainer": explainer,
                    "plain": by["none"].mean(),
                    "pushed": by[push].mean(),
                    "gain": float(gain),
                    "low": float(low),
                    "high": float(high),
                    "moved": bool((np.abs(gains) > TIED).any()),
                    "truth_first_plain": first["none"][metric],
                    "truth_first_pushed": first[push][metric],
                    "texts": len(by),
                }
            )
    return pd.DataFrame(rows)


def raised_verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: `falls for it` where a push surely raises any explanation's value, `moves`
    where values change and none surely rises, `resists` where none changes.

    raised_by: the pushes that do. Of random scores by each push the gain with its bounds, and
    truth_first, which is `truth_first` without one. table: of `raised_table`.
    """
    rows = []
    for metric, part in table.groupby("metric", sort=False):
        raised = part[part.low > TIED]
        verdict = "falls for it" if len(raised) else "moves" if part.moved.any() else "resists"
        row = {
            "metric": metric,
            "verdict": verdict,
            "raised_by": ", ".join(dict.fromkeys(raised.push)) or "nothing",
        }
        row["truth_first"] = part.truth_first_plain.iloc[0]
        for push, of in part[part.explainer == "random"].set_index("push").iterrows():
            row |= {f"{push}_{name}": of[name] for name in ("gain", "low", "high")}
            row[f"{push}_truth_first"] = of.truth_first_pushed
        rows.append(row)
    return pd.DataFrame(rows)
