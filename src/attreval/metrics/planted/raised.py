"""Planted models that raise metrics without changing a prediction (after Hsia et al. 2024, Goodhart's law).

Erased texts do not look like texts, and a model can tell them: it may answer them as a metric likes best, and whole
texts as before. No explanation is better or worse for that, so a metric whose values move measures something else too.
`comprehensive` models give up their class wherever a part of a text is gone; `sufficient` ones are sure of the likelier
of the two classes that texts have, wherever little is left. Letters used for shapes: B rows, L tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from attreval.core.bootstrap import bootstrap_mean
from attreval.metrics.metric import Metric
from attreval.metrics.planted.measures import evaluate
from attreval.metrics.planted.worlds import GAIN, WIDTH, PlantedModel
from attreval.metrics.separation import TIED, separation

PUSHES = ("none", "comprehensive", "sufficient")
RAISED_WORLDS = ("one", "additive")
EXPLAINERS = ("oracle", "random")
SPECIAL_TOKENS = 3  # of every planted text
MOST_LEFT = 0.6  # of a text, to look like a rationale alone; without a rationale 1 - MOST_LEFT or more is left
SURE = 4.0  # by what factor logits are surer


class RaisedModel(PlantedModel):
    """The classifier of one world that answers erased texts as a push of PUSHES says, and whole texts as before."""

    def __init__(self, world: str, push: str = "none"):
        import torch

        if push not in PUSHES:
            raise ValueError(f"push {push!r} is not known; there are: {', '.join(PUSHES)}")
        super().__init__(world)
        there = torch.zeros((len(self.table), WIDTH), dtype=self.table.dtype)
        there[4:] = 1.0  # neither padding nor mask nor special token: by these entries a text is seen to be whole
        self.push, self.table = push, torch.cat([self.table, there], dim=1)
        self.width = self.table.shape[1]

    def logits(
        self,
        ids: Any,
        mask: Any,
        segments: Any,
        precision: str = "float32",
        embeddings: Any = None,
        entering: Any = None,
    ) -> Any:
        """(B, 3) float64 logits, whatever the precision."""
        import torch

        vectors = self.table[ids] if embeddings is None else embeddings
        vectors = vectors if entering is None else entering(vectors)
        honest = super().logits(None, mask, segments, precision, vectors[..., :-WIDTH])
        left = (vectors[..., -WIDTH:].mean(dim=-1) * mask).sum(dim=1) / (mask.sum(dim=1) - SPECIAL_TOKENS)  # (B,)
        if self.push == "comprehensive":
            given_up = SURE * GAIN * torch.eye(3, dtype=honest.dtype)[0].expand_as(honest)
            return torch.where(((left < 1) & (left >= 1 - MOST_LEFT))[:, None], given_up, honest)
        if self.push == "sufficient":
            sure = SURE * honest - 10 * SURE * GAIN * torch.eye(3, dtype=honest.dtype)[0]
            return torch.where(((left > 0) & (left <= MOST_LEFT))[:, None], sure, honest)
        return honest


def evaluate_raised(metrics: Mapping[str, Metric], texts: int, draws: int) -> pd.DataFrame:
    """One row a push, metric, world, explainer, draw and text: what a metric of tokens gives; see `evaluate`."""
    of_tokens = {name: metric for name, metric in metrics.items() if metric.level == "token"}
    parts = [
        evaluate(of_tokens, texts, draws, RAISED_WORLDS, EXPLAINERS, partial(RaisedModel, push=push)).assign(push=push)
        for push in PUSHES
    ]
    return pd.concat(parts, ignore_index=True)


def raised_table(values: pd.DataFrame, draws: int, confidence: float) -> pd.DataFrame:
    """One row a metric, push and explainer: the means without and with the push, and what the metric finds better.

    gain: pushed less plain, with the opposite sign where lower is better; low, high: bootstrap bounds over texts.
    moved: whether any value changes. truth_first: how often the oracle comes before random scores, plain and pushed, in
    the world where that is less often.
    """
    rows = []
    first = {
        push: separation(part.drop(columns="push"), draws, confidence)
        for push, part in values.groupby("push", sort=False)
    }
    first = {push: part[part.explainer == "random"].groupby("metric").separation.min() for push, part in first.items()}
    for (metric, explainer), part in values.groupby(["metric", "explainer"], sort=False):
        by = part.pivot_table(index="text", columns="push", values="value")
        for push in PUSHES[1:]:
            gain = part.sign.iloc[0] * (by[push] - by["none"]).to_numpy()
            moved = bool((np.abs(gain) > TIED).any())
            bounds = [float(x) for x in bootstrap_mean(gain, draws, confidence, "raised", metric, explainer, push)]
            shares = [float(first[name][metric]) for name in ("none", push)]
            rows.append((metric, push, explainer, by["none"].mean(), by[push].mean(), *bounds, moved, *shares, len(by)))
    numbers = ["plain", "pushed", "gain", "low", "high", "moved", "truth_first_plain", "truth_first_pushed", "texts"]
    return pd.DataFrame(rows, columns=["metric", "push", "explainer", *numbers])


def raised_verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: `falls for it` where a push surely raises any explanation's value, `moves` where values change
    and none surely rises, `resists` where none changes.

    raised_by: the pushes that do. Of random scores by each push the gain with its bounds, and truth_first, which is
    `truth_first` without one. table: of `raised_table`.
    """
    rows = []
    for metric, part in table.groupby("metric", sort=False):
        raised = part[part.low > TIED]
        verdict = "falls for it" if len(raised) else "moves" if part.moved.any() else "resists"
        row = {"metric": metric, "verdict": verdict, "raised_by": ", ".join(dict.fromkeys(raised.push)) or "nothing"}
        row["truth_first"] = part.truth_first_plain.iloc[0]
        for push, of in part[part.explainer == "random"].set_index("push").iterrows():
            row |= {f"{push}_{name}": of[name] for name in ("gain", "low", "high")}
            row[f"{push}_truth_first"] = of.truth_first_pushed
        rows.append(row)
    return pd.DataFrame(rows)
