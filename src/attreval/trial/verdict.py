"""The verdict on a metric: where it tells the truth, what fools it, and what it costs.

A cell is a metric in a world. Its AUC over an explanation is the share of texts on which the truth
comes first, a tie counting half (after Chan et al. 2022), with a bootstrap interval over texts; it
is sure where the interval lies above one half. Letters used for shapes: n texts, s shares of noise.
"""

from collections.abc import Mapping
from itertools import chain
from math import ceil, log2

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, norm

from attreval.core.bootstrap import bootstrap_mean
from attreval.metrics.metric import Metric
from attreval.metrics.rank_correlation import tau_b
from attreval.metrics.separation import MUST, TIED, separation, won_by
from attreval.trial.explainers import DEGRADED, MISLEADING
from attreval.trial.measure import Trial

DRAWS = 1000
CONFIDENCE = 0.95
MOVED = 0.05  # of the gap between the truth and random scores: a value that moves by more has moved
LENGTH = 0.3  # a rank correlation with the number of words that is one
LEVEL = 0.01  # of a test for it
NEAR = 0.02  # how far behind the best mean AUC a metric may be and still be on the short list
MOST = 3  # metrics on a short list
AS_TRUE = 0.999  # how close to the truth an explanation is that misleads nobody
PAIRS = "Which two words act together?"
QUESTIONS = {  # by what a metric of tokens needs, the question that it answers; the first that fits
    "Does it point at the words that people marked?": {"marks"},
    "Does it agree with an explanation that is known to be right?": {"rivals"},
    "Does it change with the model's weights, or with a slightly changed text?": {
        "neighbours",
        "randomised",
    },
    "Does it tell what the model does?": {"model", "agent"},
    "How does it look?": {"scores"},
}
REASONS = {
    "random": "does not surely put the truth before random scores",
    "reversed": "does not surely put it before its reverse",
    "constant": "does not surely put it before scores that are all alike",
    **{name: f"is fooled by the {name} explanation" for name in MISLEADING},
}


def question_of(metric: Metric) -> str:
    """The question that a metric answers, by its level and by what it needs."""
    if metric.level == "pair":
        return PAIRS
    return next(
        question
        for question, needs in QUESTIONS.items()
        if needs & set(metric.needs) or needs == {"scores"}
    )


def matrix_table(trial: Trial, draws: int = DRAWS, confidence: float = CONFIDENCE) -> pd.DataFrame:
    """What the verdicts rest on, a row a metric and world.

    Args:
        trial: of `measure.try_metrics`.
        draws: of the bootstrap over texts.
        confidence: of its intervals.

    Returns:
        auc, low, high: over random scores. reversed, constant, adversarial, leaking, decoy: AUC
        over these, empty where a world lacks it or it is as true as the truth, and *_low the lower
        bounds. passes: surely before random scores and before the reverse. tau, tau_low, tau_high:
        rank correlation of the value with the share of truth in degraded explanations.
        moved_by_scale: share of texts whose value moves where the truth is multiplied by ten.
        sparse: AUC over the truth cut short. length: rank correlation of the values of random
        scores with the number of words, NaN where all texts are equally long; length_p: of its
        test. evaluations: that it asks for a text. known: share of texts on which it gives a value
        for the truth. decides: texts on which the interval of the AUC leaves one half, NaN for
        never. why: what speaks against it, in words.
    """
    values = trial.values
    cell = ["metric", "world"]
    valued = values.value.notna().astype(float).where(values.explainer == "oracle")
    known = valued.groupby([values[name] for name in cell]).transform("mean")
    # what says nothing ties with everything
    values = values.assign(value=values.value.where(known != 0, 0.0), known=known)
    cells = separation(values, draws, confidence).set_index(cell).sort_index()
    prices = trial.costs.set_index(cell).evaluations
    close = trial.truths.groupby(["world", "explainer"]).closeness.mean()
    rows = []
    for (metric, world), part in values.groupby(cell, sort=False):
        wide = part.pivot_table(index="text", columns="explainer", values="value", sort=False)
        wide *= part.sign.iloc[0]  # higher is better; means over draws
        by = cells.loc[(metric, world)].set_index("explainer")
        true = [name for name in MISLEADING if close.get((world, name), 0) >= AS_TRUE]
        by = by.drop(true, errors="ignore")
        chance = by.loc["random"]
        row = {
            "metric": metric,
            "world": world,
            "auc": chance.separation,
            "texts": int(chance.texts),
            "low": chance.low,
            "high": chance.high,
        }
        for name in ("reversed", "constant", *MISLEADING):
            row[name] = by.separation.get(name, np.nan)
            row[f"{name}_low"] = by.low.get(name, np.nan)
        row["passes"] = bool((by.low[by.index.isin(MUST)] > 0.5).all())
        row |= _degradation(wide, draws, confidence, metric, world)
        row |= _invariances(wide, part)
        row["sparse"] = by.separation.get("sparse", np.nan)
        row["sparse_high"] = by.high.get("sparse", np.nan)
        row["evaluations"] = prices.get((metric, world), np.nan)
        row["known"] = float(part.known.iloc[0])
        lead = (wide.oracle - wide.random).dropna()
        row["decides"] = texts_to_decide(won_by(lead.to_numpy()))
        row["why"] = "; ".join(reasons(row))
        rows.append(row)
    return pd.DataFrame(rows)


def texts_to_decide(won: np.ndarray) -> float:
    """The fewest texts at which the interval of the AUC leaves one half, by mean and variance.

    At least as many as all of which must be won for a coin to be excluded. NaN where the mean is
    not above one half.
    """
    if not len(won) or won.mean() <= 0.5:
        return np.nan
    z = norm.isf((1 - CONFIDENCE) / 2)
    of_a_coin = ceil(1 - log2(1 - CONFIDENCE))
    return float(max(of_a_coin, ceil((z * won.std() / (won.mean() - 0.5)) ** 2)))


def _degradation(
    wide: pd.DataFrame, draws: int, confidence: float, *names: object
) -> dict[str, float]:
    """tau of the value with the share of truth left, mean over texts; no order counts 0."""
    held = [name for name in ("oracle", *DEGRADED) if name in wide]
    rows = wide[held].dropna().round(9).to_numpy()
    if len(held) < 3 or not len(rows):
        return dict.fromkeys(("tau", "tau_low", "tau_high"), np.nan)
    falling = np.tile(-np.arange(len(held)), (len(rows), 1))
    taus = np.nan_to_num(tau_b(falling, rows))
    tau, low, high = bootstrap_mean(taus, draws, confidence, *names)
    return {"tau": float(tau), "tau_low": float(low), "tau_high": float(high)}


def _invariances(wide: pd.DataFrame, part: pd.DataFrame) -> dict[str, float]:
    """How values move with the scale of scores, and those of random scores with words of a text."""
    out = {"moved_by_scale": np.nan, "length": np.nan, "length_p": np.nan}
    gap = abs((wide.oracle - wide.random).mean())
    if "scaled" in wide:
        moved = (wide.scaled - wide.oracle).abs() > max(TIED, MOVED * gap)
        out["moved_by_scale"] = float(moved.mean())
    random = wide.random.dropna()
    words = part.drop_duplicates("text").set_index("text").words.reindex(random.index)
    if words.nunique() > 2 and random.nunique() > 1:
        found = kendalltau(words, part.sign.iloc[0] * random)
        out["length"] = float(found.statistic)
        out["length_p"] = float(found.pvalue)
    return out


def reasons(row: Mapping) -> list[str]:
    """What speaks against a metric in a world, in words."""
    out = [f"gives no value on {1 - row['known']:.0%} of texts"] if row["known"] < 1 else []
    row = {**row, "random": row["auc"], "random_low": row["low"]}
    for name, reason in REASONS.items():
        if not np.isnan(row[name]) and row[f"{name}_low"] <= 0.5:
            out.append(f"{reason} ({row[name]:.2f})")
    if row["tau_low"] <= 0:
        out.append(f"does not fall as the truth is mixed with noise (tau {row['tau']:.2f})")
    if row["moved_by_scale"] > 0.5:
        out.append("moves where all scores are multiplied by ten")
    if row["sparse_high"] < 0.5:
        out.append(f"prefers the truth cut short ({row['sparse']:.2f})")
    if abs(row["length"]) >= LENGTH and row["length_p"] < LEVEL:
        out.append(f"follows the number of words (tau {row['length']:.2f})")
    return out


def verdicts_by_metric(matrix: pd.DataFrame, metrics: Mapping[str, Metric]) -> pd.DataFrame:
    """In how many worlds each metric tells the truth, its means over worlds, and what fools it.

    Args:
        matrix: of `matrix_table`.
        metrics: by name.

    Returns:
        A row a metric. verdict: `tells the truth` where it passes in all worlds, `condemned` where
        it does in no more than half of them, else `in part`. auc: over random scores; worst, in:
        the least of it, and where. score: mean AUC over random scores, the reverse and all
        misleading explanations. fooled_by, moved_by: where that is so in any world. decides: the
        most texts that it needs in any world, NaN where it never decides in one.
    """
    rows = []
    for name, part in matrix.groupby("metric", sort=False):
        least = part.loc[part.auc.fillna(1).idxmin()]
        means = part[["auc", "reversed", *MISLEADING]].mean()
        passed = int(part.passes.sum())
        asked = len(part)
        verdict = "in part" if passed > asked / 2 else "condemned"
        fooled = [what for what in ("constant", *MISLEADING) if (part[f"{what}_low"] <= 0.5).any()]
        length = (part.length.abs() >= LENGTH) & (part.length_p < LEVEL / asked)
        moved = {
            "scale": part.moved_by_scale > 0.5,
            "sign": part.reversed <= 0.5,
            "sparsity": part.sparse_high < 0.5,
            "length": length,
        }
        known = metrics.get(name)
        rows.append(
            {
                "metric": name,
                "title": known.title if known else name,
                "question": question_of(known) if known else "",
                "verdict": "tells the truth" if passed == asked else verdict,
                "worlds": asked,
                "passed": passed,
                **means,
                "score": means.mean(),
                "tau": part.tau.mean(),
                "worst": least.auc,
                "in": least.world,
                "fooled_by": ", ".join(fooled),
                "moved_by": ", ".join(what for what, so in moved.items() if so.any()),
                "evaluations": part.evaluations.mean(),
                "decides": part.decides.max(skipna=False),
                "why": _worst_reason(part),
            }
        )
    return pd.DataFrame(rows)


def _worst_reason(part: pd.DataFrame) -> str:
    """What speaks most against a metric, and in which worlds; empty where nothing does."""
    said: dict[str, list[str]] = {}
    for world, why in zip(part.world, part.why, strict=True):
        for reason in filter(None, why.split("; ")):
            said.setdefault(reason.partition(" (")[0], []).append(world)
    return "; ".join(f"{reason} in {', '.join(worlds)}" for reason, worlds in said.items())


RULE = (
    "Of the metrics that answer a question: those that surely put the truth before random scores "
    "and before its reverse in more than half of the worlds, and fail in at most one world more "
    "than the best of them; of these the ones whose mean AUC over random scores, the reverse and "
    f"misleading explanations is within {NEAR} of the best; the cheapest first, at most {MOST}."
)


def choose_metrics(matrix: pd.DataFrame, metrics: Mapping[str, Metric]) -> dict[str, list[str]]:
    """The metrics on the short list for each question, by RULE."""
    table = verdicts_by_metric(matrix, metrics)
    table = table[table.passed > table.worlds / 2].assign(failed=table.worlds - table.passed)
    out = {}
    for question, part in table.groupby("question", sort=False):
        part = part[part.failed <= part.failed.min() + 1]
        part = part[part.score >= part.score.max() - NEAR]
        part = part.sort_values(["evaluations", "score"], ascending=[True, False])
        out[question] = part.metric.tolist()[:MOST]
    return out


def short_list(matrix: pd.DataFrame, metrics: Mapping[str, Metric]) -> pd.DataFrame:
    """The metrics to use for each question, by RULE, and how stable that is.

    A metric that is not on the list, but would be if one world were left out, follows with `use`
    False.

    Args:
        matrix: of `matrix_table`.
        metrics: by name.

    Returns:
        A row a question and metric. stays: the share of worlds that can be left out and leave it on
        the list. leaves_without: those that cannot.
    """
    chosen = choose_metrics(matrix, metrics)
    worlds = list(dict.fromkeys(matrix.world))
    without = {}
    if len(worlds) > 1:
        for world in worlds:
            without[world] = choose_metrics(matrix[matrix.world != world], metrics)
    table = verdicts_by_metric(matrix, metrics).set_index("metric")
    rows = []
    for question in dict.fromkeys(table.question):
        used = chosen.get(question, [])
        lists = {world: part.get(question, []) for world, part in without.items()}
        for name in dict.fromkeys([*used, *chain.from_iterable(lists.values())]):
            gone = [world for world, others in lists.items() if name not in others]
            row = {"question": question, "metric": name, "title": table.title[name]}
            row["use"] = name in used
            for what in ("passed", "worlds", "score", "evaluations", "decides"):
                row[what] = table[what][name]
            row["stays"] = 1 - len(gone) / len(without) if without else np.nan
            row["leaves_without"] = ", ".join(gone) if name in used else ""
            rows.append(row)
    return pd.DataFrame(rows)
