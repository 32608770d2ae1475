"""Judges or models: whose is an order of methods?

A column is what one metric says of all methods on one network, text by text, less each text's mean
over methods. Two columns share what they have in common: their covariance over methods is taken
between different texts, so that no noise is in it that one text makes in both, and divided by what
each column has with itself, so that neither scale nor number of texts matters. The correlation of
two networks under one metric holds what is the methods' own, the paper's and the metric's; that of
two metrics of a paper, the methods' own and the paper's; that of two papers on one network, the
methods' own and the model's; where all differ, the methods' own alone is left. So mean correlations
are the variance components of the crossed design methods x judges x models (generalizability
theory, Cronbach et al. 1972), also without balance where metrics and models are alike: each pair of
networks, and in it each paper and each pair of papers, counts alike. Two models are two networks:
of two families, of one family, or of one specification and two seeds, where the model's share is
what training anew makes of an order. Metrics of none of the papers are no judges. Letters used for
shapes: u, v networks, j, k metrics, m methods, n texts, p pairs of networks.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from attreval.core.bootstrap import percentile_interval
from attreval.core.seeds import Rng, generator
from attreval.metrics.rank_correlation import FEWEST
from compendium.config import ModelSpec
from compendium.papers.joint.alike import merge_same
from compendium.papers.joint.values import (
    JUDGES,
    family_of,
    judged,
    shared_family,
)

# of a column's variance: where the texts make more than the rest of it, the column is left out
LEAST_TOLD = 0.5
ENOUGH_MODELS = 5  # of a family, to draw them: of fewer, each pair of models is told by itself
# what each leaves out, of a column: agreement between methods, which does not ask what is right;
# methods whose rules on a transformer are others than on a recurrent network; what multiplies one
# step's gradient with the input, which is one method on a transformer
READINGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "right": ("metric", ("agreement", "agreement_dynamic")),
    "one rule": ("method", ("lrp", "deeplift")),
    "no one step": (
        "method",
        ("gradient_x_input", "gradient_simple_probability_dot", "deeplift"),
    ),
}
ALL = "all"
MERGED = "merged"
SINGLE = "single"
CORRELATIONS = ("same_metric", "same_paper", "same_model", "neither")
PARTS = ["methods", "paper", "metric", "model", "both"]  # of the variance
SHARES = (*PARTS, "judge", "lead")
SEEDS = "one network, trained anew"


@dataclass(frozen=True)
class ScoreColumns:
    """What one metric gives all methods on one network, text by text.

    networks: u pairs (model, seed); judges: (j,) of each metric; scores: (u, j, m, n), centred, 0
    where unknown. known: (u, j) where a column tells enough, untold: how many do not; texts: (j, n)
    which texts a metric has.
    """

    networks: list[tuple[str, int]]
    judges: np.ndarray
    scores: np.ndarray
    known: np.ndarray
    texts: np.ndarray
    untold: int = 0

    def comparable(self) -> bool:
        """Whether there are two networks and two papers, and enough methods."""
        methods = self.scores.shape[2]
        return len(self.networks) > 1 and len(set(self.judges)) > 1 and methods >= FEWEST

    def covariances(self, weights: np.ndarray) -> np.ndarray:
        """(uj, uj) covariances over methods, of different texts.

        weights: (n,) how often each text is there.
        """
        u, j, m, n = self.scores.shape
        weighed = (self.scores * weights).reshape(u * j, m, n)
        _, products = text_products(weighed)
        there = self.texts * weights
        totals = there.sum(axis=1)
        counts = np.outer(totals, totals) - there @ there.T
        # metrics may have no two of these texts in common
        with np.errstate(invalid="ignore", divide="ignore"):
            return products / ((m - 1) * np.tile(counts, (u, u)))

    def correlations(self, weights: np.ndarray) -> np.ndarray:
        """(u, j, v, k) the covariances as correlations; NaN where a column tells too little."""
        covariances = self.covariances(weights)
        own = np.where(self.known.ravel(), np.diag(covariances), np.nan)
        tells = (own > 0) & np.isfinite(own)
        sd = np.sqrt(np.where(tells, own, np.nan))
        return (covariances / np.outer(sd, sd)).reshape(*self.known.shape, *self.known.shape)


def text_products(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(c, c) sums of products of (c, m, n) columns: of the same text, and of different texts."""
    flat = scores.reshape(len(scores), -1)
    sums = scores.sum(axis=-1)
    same_text = flat @ flat.T
    return same_text, sums @ sums.T - same_text


def decomposition_table(
    values: pd.DataFrame,
    models: Mapping[str, ModelSpec],
    draws: int,
    confidence: float,
    alike: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """What an order of methods is made of: one row a task, kind of two networks and reading.

    Where a family has fewer than ENOUGH_MODELS, the reading SINGLE has a row a pair of models.

    Args:
        values: Scores of single texts: task, model, seed, instance, method, metric and value;
            random scores are left out, and models that are another's network.
        models: By name.
        draws: Of the intervals: texts, seeds and, where there are enough, models are drawn with
            replacement.
        confidence: Of the intervals.
        alike: Of `alike.pairs_alike`; with it there is the reading MERGED, of methods that say the
            same as one.

    Returns:
        kind: SEEDS, the family of two models, or of which two they are. models: the two, of SINGLE.
        networks, judges, metrics, texts, compared: of how many networks, by which judges and how
        many metrics, on how many texts, with how many methods. untold: how many columns of the
        task are left out, since texts make more of them than the rest does. same_metric,
        same_paper, same_model, neither: mean correlation of two networks under one metric, under
        two of a paper, of two papers on one network, of two on two. methods, paper, metric, model,
        both: shares of the variance with the sum 1; judge: paper and metric; `_cut`: the same where
        what is estimated below 0 counts as 0. lead: the judge's share less the model's. `_low`,
        `_high`: intervals.
    """
    rows = []
    own = [name for name, spec in models.items() if not spec.same_as]
    told = judged(values).dropna(subset="value")
    for task, part in told[told.model.isin(own)].groupby("task", sort=False):
        for reading, kept in _readings(part, alike):
            columns = gather_columns(kept)
            if columns is None or not columns.comparable():
                continue
            pairs, kinds = _pair_networks(columns, models)
            texts = columns.scores.shape[-1]
            rng = generator("decomposition", task, reading)
            drawn = []
            for _ in range(draws):
                times = np.bincount(rng.integers(texts, size=texts), minlength=texts).astype(float)
                drawn.append(average_papers(columns.correlations(times), columns.judges))
            seen = average_papers(columns.correlations(np.ones(texts)), columns.judges)
            names = np.array([model for model, _ in columns.networks])
            for kind in dict.fromkeys(kinds):
                here = pairs[kinds == kind]
                few = kind != SEEDS and _few_models(names[here], models)
                shares = []
                for means in drawn:
                    often = _draw_pairs(here, names, rng, not few)
                    shares.append(_shares(share_variance(means, here, often)))
                about = {"task": task, "reading": reading, "kind": kind, "models": ""}
                rows.append(about | _decompose(columns, here, seen, shares, confidence))
                if reading == ALL and few:
                    two = np.array([" | ".join(sorted(pair)) for pair in names[here]])
                    for single in dict.fromkeys(two):
                        about |= {"reading": SINGLE, "models": single}
                        found = _decompose(columns, here[two == single], seen, [], confidence)
                        rows.append(about | found)
    return pd.DataFrame(rows)


def _readings(
    values: pd.DataFrame, alike: pd.DataFrame | None
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each reading of which something is left, with its values."""
    yield ALL, values
    if alike is not None and alike.same.any():
        yield MERGED, merge_same(values, alike)
    for reading, (column, names) in READINGS.items():
        kept = values[~values[column].isin(names)]
        if len(kept) < len(values):
            yield reading, kept


def _few_models(pairs: np.ndarray, models: Mapping[str, ModelSpec]) -> bool:
    """Whether (p, 2) models of pairs are fewer than ENOUGH_MODELS of a family."""
    of_family = Counter(family_of(models[name]) for name in np.unique(pairs))
    return min(of_family.values()) < ENOUGH_MODELS


def gather_columns(part: pd.DataFrame) -> ScoreColumns | None:
    """The columns of one task, of methods that every network and metric has.

    None without two such methods. A text counts for a metric where each network that the metric
    applies to has it.
    """
    networks = list(dict.fromkeys(zip(part.model, part.seed, strict=True)))
    levels = [part[name].unique() for name in ("metric", "method", "instance")]
    judges = np.array([JUDGES[metric] for metric in levels[0]])
    wide = part.pivot(
        index=["model", "seed"], columns=["metric", "method", "instance"], values="value"
    )
    wide = wide.reindex(index=networks, columns=pd.MultiIndex.from_product(levels))
    scores = wide.to_numpy().reshape(len(networks), *map(len, levels))
    unknown = np.isnan(scores)
    has = ~unknown.all(axis=(2, 3))  # (u, j)
    lacking = (unknown & has[:, :, None, None]).any(axis=0)  # (j, methods, n)
    shared = ~lacking.all(axis=-1).any(axis=0)
    if shared.sum() < 2:
        return None
    there = ~lacking[:, shared].any(axis=1)  # (j, n)
    scores = np.where(there[None, :, None], scores.compress(shared, axis=2), np.nan)
    scores = np.nan_to_num(scores - scores.mean(axis=2, keepdims=True))
    columns = ScoreColumns(networks, judges, scores, has, there)
    own = np.diag(columns.covariances(np.ones(scores.shape[-1]))).reshape(has.shape)
    means = scores.sum(axis=-1) / np.maximum(1, there.sum(axis=1))[None, :, None]
    seen = means.var(axis=-1, ddof=1)
    known = has & (own > LEAST_TOLD * seen) & (seen > 0)
    return replace(columns, known=known, untold=(has & ~known).sum())


def _pair_networks(
    columns: ScoreColumns, models: Mapping[str, ModelSpec]
) -> tuple[np.ndarray, np.ndarray]:
    """(p, 2) pairs of networks, and (p,) the kind of each."""
    pairs = list(combinations(range(len(columns.networks)), 2))
    kinds = []
    for one, other in pairs:
        a = columns.networks[one][0]
        b = columns.networks[other][0]
        kinds.append(SEEDS if a == b else shared_family(models[a], models[b]))
    return np.array(pairs), np.array(kinds)


def average_papers(correlations: np.ndarray, judges: np.ndarray) -> np.ndarray:
    """(3, u, v) mean correlations of two networks.

    Under one metric, under two metrics of a paper, and under two papers. correlations: (u, j, v,
    k), NaN where unknown. On the diagonal of the last: two papers on one network. NaN where there
    is no such pair of metrics.
    """
    of = (judges[None] == np.unique(judges)[:, None]).astype(float)  # (papers, j)
    apart = ~np.eye(len(of), dtype=bool)

    def add(cells: np.ndarray) -> list[np.ndarray]:
        blocks = of @ cells.transpose(0, 2, 1, 3) @ of.T  # (u, v, papers, papers)
        same = np.einsum("pj,ujvj->uvp", of, cells)
        within = np.einsum("uvpp->uvp", blocks).copy()
        return [same, within - same, blocks[..., apart]]

    sums = add(np.nan_to_num(correlations))
    counts = add((~np.isnan(correlations)).astype(float))
    return np.stack([*map(_mean_of_cells, sums, counts)])


def _mean_of_cells(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(u, v) mean over the last axis of the mean that each cell has, of those that have one."""
    cells = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0.5)
    known = ~np.isnan(cells)
    number = known.sum(axis=-1)
    total = np.where(known, cells, 0).sum(axis=-1)
    return np.divide(total, number, out=np.full(total.shape, np.nan), where=number > 0)


def share_variance(means: np.ndarray, pairs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(4,) CORRELATIONS, mean over pairs (p, 2) of networks with (p,) weights.

    means: (3, u, v) of `average_papers`.
    """
    a, b = pairs.T
    same_metric, same_paper, neither = means[:, a, b]
    itself = np.diagonal(means[2])
    rows = np.stack([same_metric, same_paper, (itself[a] + itself[b]) / 2, neither])
    held = np.where(np.isnan(rows), 0, weights)
    sums = (np.nan_to_num(rows) * held).sum(axis=1)
    total = held.sum(axis=1)
    return np.divide(sums, total, out=np.full(4, np.nan), where=total > 0)


def _decompose(
    columns: ScoreColumns,
    pairs: np.ndarray,
    seen: np.ndarray,
    drawn: list[np.ndarray],
    confidence: float,
) -> dict[str, Any]:
    """The numbers of one row. seen: `average_papers` of all texts; drawn: SHARES of drawn ones."""
    found = share_variance(seen, pairs, np.ones(len(pairs)))
    shares = pd.Series(_shares(found), SHARES)
    low, high = percentile_interval(np.reshape(drawn, (-1, len(SHARES))), confidence)
    out = {
        "networks": len(np.unique(pairs)),
        "judges": ", ".join(dict.fromkeys(columns.judges)),
        "metrics": len(columns.judges),
        "texts": columns.texts.any(axis=0).sum(),
        "compared": columns.scores.shape[2],
        "untold": columns.untold,
    }
    out |= zip(CORRELATIONS, found, strict=True)
    out |= shares.to_dict()
    out |= cut_shares(shares).add_suffix("_cut").to_dict()
    out |= pd.Series(low, SHARES).add_suffix("_low").to_dict()
    return out | pd.Series(high, SHARES).add_suffix("_high").to_dict()


def cut_shares(shares: pd.Series) -> pd.Series:
    """The shares of PARTS, and the judge's, where one estimated below 0 counts as 0; sum 1."""
    cut = shares[PARTS].clip(lower=0)
    cut /= cut.sum()
    cut["judge"] = cut.paper + cut.metric
    return cut


def _shares(found: np.ndarray) -> np.ndarray:
    """(7,) SHARES from the four CORRELATIONS.

    Where no paper has two metrics, the judge is its metric.
    """
    same_metric, same_paper, same_model, neither = found
    judge = same_metric - neither
    model = same_model - neither
    paper = 0 * judge if np.isnan(same_paper) else same_paper - neither
    both = 1 - neither - judge - model
    return np.array([neither, paper, judge - paper, model, both, judge, judge - model])


def _draw_pairs(pairs: np.ndarray, names: np.ndarray, rng: Rng, of_models: bool) -> np.ndarray:
    """(p,) how often each pair is there in one draw. names: (u,) of the networks' models.

    Models are drawn with replacement, if at all, and of each of them its seeds.
    """
    of_model = np.unique(names, return_inverse=True)[1]
    members = np.unique(pairs)
    models = np.unique(of_model[members])
    drawn = rng.choice(models, len(models)) if of_models else models
    often = np.bincount(drawn, minlength=of_model.max() + 1)
    times = np.zeros(of_model.shape, int)
    for model in models:
        seeds = members[of_model[members] == model]
        drawn = rng.choice(seeds, len(seeds)) if len(seeds) > 1 else seeds
        times += np.bincount(drawn, minlength=len(times))
    a, b = of_model[pairs].T
    return times[pairs].prod(axis=1) * often[a] * np.where(a == b, 1, often[b])
