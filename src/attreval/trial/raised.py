"""How far models that answer erased texts to a metric's liking raise it; see `worlds.planted`."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from attreval.core.bootstrap import bootstrap_mean
from attreval.metrics.metric import Metric
from attreval.metrics.separation import TIED, separation
from attreval.trial.measure import try_metrics
from attreval.trial.world import Made
from attreval.trial.worlds.planted import PUSHES, make_raised

RAISED_WORLDS = ("one", "additive")
EXPLAINERS = ("oracle", "random")


def evaluate_raised(metrics: Mapping[str, Metric], texts: int, draws: int) -> pd.DataFrame:
    """What metrics of tokens give under each push: the values of `try_metrics`, and `push`."""
    of_tokens = {name: metric for name, metric in metrics.items() if metric.level == "token"}
    parts = []
    for push in PUSHES:

        def make(name: str, seed: int, count: int, corpora: str | None, push: str = push) -> Made:
            return make_raised(name, seed, count, push)

        trial = try_metrics(of_tokens, texts, draws, RAISED_WORLDS, EXPLAINERS, make=make)
        parts.append(trial.values.drop(columns="words").assign(push=push))
    return pd.concat(parts, ignore_index=True)


def raised_table(values: pd.DataFrame, draws: int, confidence: float) -> pd.DataFrame:
    """Means without and with a push, and what the metric finds better.

    Args:
        values: of `evaluate_raised`.
        draws: of the bootstrap over texts.
        confidence: of its intervals.

    Returns:
        A row a metric, push and explainer. gain: pushed less plain, with the opposite sign where
        lower is better, with bounds `low` and `high`. moved: whether any value changes.
        truth_first: how often the oracle comes before random scores, plain and pushed, in the world
        where that is less often.
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
            names = ("raised", metric, explainer, push)
            gain, low, high = bootstrap_mean(gains, draws, confidence, *names)
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
    """What pushes do to each metric, from a table of `raised_table`.

    A metric `falls for it` where a push surely raises any explanation's value, `moves` where values
    change and none surely rises, and `resists` where none changes. raised_by: the pushes that do.
    Of random scores, by each push, the gain with its bounds and truth_first; `truth_first` alone is
    without a push.
    """
    rows = []
    for metric, part in table.groupby("metric", sort=False):
        raised = part[part.low > TIED]
        verdict = "falls for it" if len(raised) else "moves" if part.moved.any() else "resists"
        row = {
            "metric": metric,
            "verdict": verdict,
            "raised_by": ", ".join(dict.fromkeys(raised.push)) or "nothing",
            "truth_first": part.truth_first_plain.iloc[0],
        }
        for push, of in part[part.explainer == "random"].set_index("push").iterrows():
            row |= {f"{push}_{name}": of[name] for name in ("gain", "low", "high")}
            row[f"{push}_truth_first"] = of.truth_first_pushed
        rows.append(row)
    return pd.DataFrame(rows)
