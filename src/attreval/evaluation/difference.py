"""What a retrained model does otherwise: predictions that differ, and reasons that moved.

A word's share is its score over the sum of the sizes of all scores of a text and method. What
chance alone does is told by networks trained anew on the old data: for each of these and the old
model, the largest difference of a word's share from the mean of the others, of all texts, is the
null. The new model's reason is beyond it where its difference from the mean of all of them is, by
every method that explains the text. A mean over k models has an error too, so that differences are
divided by sqrt(1 + 1/k). Letters used for shapes: n texts, m methods.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control

from attreval.api.explaining import explain
from attreval.api.explanation import Explanation, Unit
from attreval.api.explanations import Explanations
from attreval.api.method_names import find_methods
from attreval.core.bootstrap import LEAST_TEXTS, bootstrap_mean
from attreval.evaluation.difference_page import describe, save
from attreval.evaluation.findings import misses_much
from attreval.evaluation.run import BUDGET, open_model
from attreval.methods import METHODS
from attreval.metrics.rank_correlation import TIED, tau_b
from attreval.models.classifier import Classifier
from attreval.models.outputs import OUTPUTS, outputs_of
from attreval.texts.given import Text, as_text, read_segments

WITNESSES = ("occlusion_1", "integrated_gradients", "partition_shap")  # two that apply are asked
FIRST_NODES = 8  # of integrated gradients; doubled while the gap is large, as of `evaluate`
LEVEL = 0.05
LEAST_WORD = 5  # texts that a word stands in
CONFIDENCE = 0.95
DRAWS = 1000
COPY = 1e-4  # distances of one network from itself are smaller, whatever rounds otherwise
CHANGES = ["class", "text", "method", "word", "before", "after"]
TOLD = ["word", "before", "after", "moved", "tau"]  # of a text by a method
WORD_COLUMNS = ["class", "word", "texts", "change", "low", "high"]


@dataclass(frozen=True)
class Difference:
    """What has changed from one model to another.

    names: of the old and the new model. level: of the verdict. again: how many networks were
    trained anew. explanations: by the old and the new model, of the same texts. texts: a row a
    text: `text`, `old` and `new` (the class that each predicts); where they predict the same, for
    each method that has converged the `word` whose share changed most, its share `before` and
    `after`, how much influence `moved` to other words (half the L1 distance of shares, 0 to 1) and
    Kendall's `tau` of the order of words; with networks trained anew `p`, `q` (Benjamini and
    Hochberg) and whether it is `beyond` noise. words: a row a word and class predicted, the
    greatest change first: the mean change of its share, over methods and the texts that hold it,
    with an interval, and whether it is `beyond` noise.
    """

    names: tuple[str, str]
    level: float
    again: int
    explanations: tuple[Explanations, Explanations]
    texts: pd.DataFrame
    words: pd.DataFrame

    @property
    def methods(self) -> list[str]:
        """The witnesses."""
        return self.explanations[0].methods

    @property
    def flips(self) -> pd.DataFrame:
        """The texts whose prediction differs."""
        return self.texts[self.texts.old != self.texts.new]

    @property
    def movers(self) -> pd.DataFrame:
        """The texts whose prediction stands, those whose reason moved furthest first."""
        held = self.texts[self.texts.old == self.texts.new]
        changes = [held[f"{m}_after"] - held[f"{m}_before"] for m in self.methods]
        least = pd.concat(changes, axis=1).abs().min(axis=1)
        return held.assign(least=-least).sort_values(["p", "least"]).drop(columns="least")

    @property
    def beyond_noise(self) -> bool:
        """Whether a reason moved further than training anew moves it; never without `again`."""
        return bool(self.texts.beyond.any())

    def to_json(self) -> dict:
        """The finding in words, and both tables."""
        rows = {
            name: json.loads(getattr(self, name).to_json(orient="records"))
            for name in ("texts", "words")
        }
        facts = {"old": self.names[0], "new": self.names[1], "again": self.again}
        return {**facts, "level": self.level, "found": str(self), **rows}

    def save(self, path: str | Path) -> Path:
        """Write a page (.html), the table of texts (.csv) or all (.json)."""
        return save(self, Path(path))

    def __str__(self) -> str:
        return describe(self)


def diff(
    old: Classifier | str | Path,
    new: Classifier | str | Path,
    texts: Sequence[Text],
    again: Sequence[Classifier | str | Path] = (),
    *,
    methods: str | Sequence[str] | None = None,
    level: float = LEVEL,
    notify: Callable[[int, int, int], None] | None = None,
) -> Difference:
    """Compare what two models predict of the same texts, and for which reasons.

    Args:
        old, new: classifiers from `load` or `wrap`, or folders; they may read other tokens.
        texts: as for `explain`; one that occurs again counts once.
        again: networks trained anew on the data of the old one, which tell how far reasons move by
            chance; without them there is no verdict.
        methods: names, as for `explain`, all of which must agree; None takes the first two of
            WITNESSES that apply.
        level: of the texts found beyond noise, the share that may be there by chance.
        notify: as for `explain`, of all models together.

    Raises:
        ValueError: fewer than two texts, or LEAST_TEXTS for a verdict; models that have other
            classes, or outputs that are none; a network of `again` that is a copy of another; and
            as `explain` and `load`.
        TypeError: a model that comes from elsewhere.
    """
    segments = list(dict.fromkeys(read_segments(texts)))
    least = LEAST_TEXTS if len(again) else 2
    if len(segments) < least:
        what = "a verdict needs" if len(again) else "a comparison needs"
        raise ValueError(f"{what} {least} different texts or more; got {len(segments)}")
    if not 0 < level < 1:
        raise ValueError(f"the level is between 0 and 1, such as {LEVEL}; got {level}")
    named = {"the old model": old, "the new model": new}
    named |= {f"network {at} trained anew": one for at, one in enumerate(again, 1)}
    places, models = zip(*map(open_model, named.values()), strict=True)
    for what, one in zip(named, models, strict=True):
        _check_classes(what, one, models[0])
    chosen = _pick_witnesses(methods, models)
    budget = BUDGET.changed(path_steps=FIRST_NODES)
    heard = []
    for at, model in enumerate(models):

        def tell(done: int, of: int, evaluations: int, before: int = at * len(segments)) -> None:
            if notify:
                notify(before + done, of * len(models), evaluations)

        asked = [as_text(one) for one in segments]
        heard.append(explain(model, asked, chosen, budget=budget, notify=tell))
    return compare(heard[0], heard[1], heard[2:], level, places[:2])


def compare(
    old: Explanations,
    new: Explanations,
    again: Sequence[Explanations] = (),
    level: float = LEVEL,
    names: tuple[str, str] = ("old", "new"),
) -> Difference:
    """`diff` of the same texts explained by each model, for the class that it predicts."""
    references = [[_read(one) for one in found] for found in (old, *again)]
    changed = [_read(one) for one in new]
    methods = old.methods
    pairs = [_changes(one, changed) for one in references]
    null = [_changes(one, other) for one, other in combinations(references, 2)]
    if any(pair.change.abs().max() < COPY for pair in null):
        raise ValueError(
            "two of the old model and those trained anew give the same scores on all texts: a copy "
            "says nothing of chance; train with another seed"
        )
    columns = {
        "text": [as_text(one.instance.segments) for one in old],
        "old": [one.predicted for one in references[0]],
        "new": [one.predicted for one in changed],
    }
    told = _describe_texts(pairs[0], methods)
    table = pd.DataFrame(columns).join(told)
    p = np.full(len(table), np.nan)
    if again:
        steps = _steps(references, changed, methods)
        steps[table[[f"{method}_moved" for method in methods]].isna()] = np.nan
        chance = [
            _steps([*references[:at], *references[at + 1 :]], one, methods)
            for at, one in enumerate(references)
        ]
        p = _tail_shares(steps, np.concatenate(chance))
    known = ~np.isnan(p)
    q = p.copy()
    q[known] = false_discovery_control(p[known])
    table = table.assign(p=p, q=q, beyond=q <= level)
    words = _word_table(pairs, null)
    return Difference(names, level, len(again), (old, new), table, words)


class _Reading(NamedTuple):
    """What a model says of a text: the class, and by method that has converged words' scores."""

    predicted: str
    scores: Mapping[str, Mapping[Unit, float]]


def _check_classes(what: str, model: Any, first: Any) -> None:
    """ValueError for a model without classes, or with others than the first."""
    if outputs_of(model) != "classes":
        raise ValueError(
            f"models are compared by the class that they predict; the outputs of {what} are "
            f"{OUTPUTS[outputs_of(model)]}"
        )
    if set(model.labels) != set(first.labels):
        raise ValueError(
            f"the classes of {what} are {', '.join(model.labels)}, and those of the old model "
            f"{', '.join(first.labels)}; models of the same classes are compared, by name"
        )


def _pick_witnesses(methods: str | Sequence[str] | None, models: Sequence[Any]) -> list[str]:
    """The methods named, checked for each model, or the first two of WITNESSES for all."""
    families = {model.family for model in models}
    apply = [name for name in WITNESSES if families <= {*METHODS[name].families}]
    found = apply[:2]
    for family in families:
        found = find_methods(methods or found, family)
    return found


def _read(one: Explanation) -> _Reading:
    scores = {
        method: dict(zip(one.units, one.scores(method).tolist(), strict=True))
        for method, made in one.attributions.items()
        if not misses_much(made)
    }
    return _Reading(one.predicted, scores)


def _changes(a: Sequence[_Reading], b: Sequence[_Reading]) -> pd.DataFrame:
    """CHANGES, a row a text whose class is the same under two models, method and word of both."""
    rows = []
    for text, (one, other) in enumerate(zip(a, b, strict=True)):
        for method in one.scores if one.predicted == other.predicted else ():
            if method not in other.scores:
                continue
            words, shares = _shares([one, other], method)
            where = (one.predicted, text, method)
            rows += [
                (*where, unit.text, *two)
                for unit, two in zip(words, shares.T.tolist(), strict=True)
            ]
    found = pd.DataFrame(rows, columns=CHANGES)
    return found.assign(change=found.after - found.before)


def _shares(said: Sequence[_Reading], method: str) -> tuple[list[Unit], np.ndarray]:
    """The words that all models read, and (models, words) scores over the sum of their sizes."""
    first, *others = [one.scores[method] for one in said]
    words = [unit for unit in first if all(unit in scores for scores in others)]
    held = np.array([[scores[unit] for unit in words] for scores in (first, *others)])
    total = np.abs(held).sum(axis=1, keepdims=True)
    return words, held / np.where(total > 0, total, 1.0)


def _steps(
    others: Sequence[Sequence[_Reading]], ours: Sequence[_Reading], methods: Sequence[str]
) -> np.ndarray:
    """(n, m) largest difference of a word's share from the mean of the others of the same class.

    In units of what one network does by chance. NaN where there is no other.
    """
    out = np.full((len(ours), len(methods)), np.nan)
    for text, (mine, *theirs) in enumerate(zip(ours, *others, strict=True)):
        for at, method in enumerate(methods):
            alike = [mine, *(one for one in theirs if one.predicted == mine.predicted)]
            heard = [one for one in alike if method in one.scores]
            if method in mine.scores and len(heard) > 1:
                _, (own, *rest) = _shares(heard, method)
                furthest = np.abs(own - np.mean(rest, axis=0)).max(initial=0)
                out[text, at] = furthest / np.sqrt(1 + 1 / len(rest))
    return out


def _describe_texts(changes: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """The columns of methods in `Difference.texts`, by the number of the text."""
    told: dict[int, dict] = {}
    for (text, method), rows in changes.groupby(["text", "method"]):
        furthest = rows.loc[rows.change.abs().idxmax()]
        found = furthest[["word", "before", "after"]].to_dict()
        found["moved"] = rows.change.abs().sum() / 2
        found["tau"] = float(tau_b(rows.before, rows.after))
        told.setdefault(text, {}).update({f"{method}_{what}": x for what, x in found.items()})
    columns = [f"{method}_{what}" for method in methods for what in TOLD]
    return pd.DataFrame.from_dict(told, orient="index").reindex(columns=columns)


def _tail_shares(steps: np.ndarray, null: np.ndarray) -> np.ndarray:
    """(n,) the share of the null that is at least as large, the largest over methods.

    NaN where no method explains the text.

    Args:
        steps: (n, m).
        null: (k n, m).
    """
    larger = np.full(steps.shape, np.nan)
    for at, chance in enumerate(null.T):
        known = np.sort(chance[~np.isnan(chance)])
        below = np.searchsorted(known, steps[:, at] - TIED)
        larger[:, at] = (len(known) - below + 1) / (len(known) + 1)
    larger[np.isnan(steps)] = np.nan
    return np.fmax.reduce(larger, axis=1)


def _word_table(pairs: Sequence[pd.DataFrame], null: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """See `Difference.words`.

    A change is beyond noise where its interval excludes 0, and it is larger, from the old model and
    from each network trained anew, than any word's of that class between two of these.
    """
    tables = [pd.DataFrame(columns=WORD_COLUMNS)]
    for label, of_class in _changes_of_texts(pairs[0]).groupby("class"):
        wide = of_class.droplevel("class").unstack("word")  # (texts, words), NaN where it is not
        wide = wide.loc[:, wide.count() >= LEAST_WORD]
        if len(wide.columns):
            found = bootstrap_mean(wide.to_numpy(), DRAWS, CONFIDENCE, "diff", label)
            columns = (label, wide.columns, wide.count(), *found)
            tables.append(pd.DataFrame(dict(zip(WORD_COLUMNS, columns, strict=True))))
    table = pd.concat(tables[1:] or tables, ignore_index=True)
    table["beyond"] = False
    if null:
        sure = (table.low > 0) | (table.high < 0)
        places = pd.MultiIndex.from_frame(table[["class", "word"]])
        others = [_mean_changes(pair).abs().reindex(places).to_numpy() for pair in pairs[1:]]
        least = np.minimum.reduce([table.change.abs().to_numpy(), *others])
        chance = pd.concat([_mean_changes(pair).abs() for pair in null])
        bound = chance.groupby("class").max().reindex(table["class"]).to_numpy()
        table["beyond"] = sure & (least > bound)
    order = table.change.abs().sort_values(ascending=False).index
    return table.loc[order].reset_index(drop=True)


def _changes_of_texts(changes: pd.DataFrame) -> pd.Series:
    """By class, word and text, the change of all its places together, mean over methods."""
    keys = ["class", "word", "text"]
    cased = changes.assign(word=changes.word.str.casefold())
    return cased.groupby([*keys, "method"]).change.sum().groupby(keys).mean()


def _mean_changes(pair: pd.DataFrame) -> pd.Series:
    """By class and word, the mean over the texts that hold it, where there are LEAST_WORD."""
    found = _changes_of_texts(pair).groupby(["class", "word"]).agg(["mean", "size"])
    return found["mean"][found["size"] >= LEAST_WORD]
