"""Simulatability: an agent that is shown explanations predicts the model (Sun et al. 2024, section
2.4, appendix A).

An explanation is shown on token ids in one of two forms. `symbol`: every unit or span of the first
features is quoted in place, with the ranks of its features behind it; `text`: the features follow
the input, best first. The symbols are lost in the paper's text: `<`, `>` and the number of the rank
are ours, and no vocabulary is added. Letters used for shapes: L tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attreval.core.bootstrap import draw_counts, percentile_interval
from attreval.core.records import Tokens
from attreval.core.units import Units, consecutive_runs
from attreval.metrics.metric import metric
from attreval.metrics.unified.faithfulness import Feature

FORMS = ("symbol", "text")


@dataclass(frozen=True)
class Marks:
    """The ids that a tokenizer has for the marks: a sequence each."""

    opening: tuple[int, ...]
    closing: tuple[int, ...]
    within: tuple[int, ...]
    between: tuple[int, ...]
    ranks: tuple[tuple[int, ...], ...]
    separator: int


def read_marks(tokenizer: Any, most: int) -> Marks:
    """The marks of a tokenizer, with ranks from 1 to `most`."""

    def ids(text: str) -> tuple[int, ...]:
        return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])

    separator = tokenizer.sep_token_id if tokenizer.eos_token_id is None else tokenizer.eos_token_id
    ranks = tuple(ids(f" {rank}") for rank in range(1, most + 1))
    return Marks(ids(" <"), ids(" >"), ids(","), ids(";"), ranks, separator)


def insert_symbols(
    tokens: Tokens, units: Units, features: Sequence[Feature], marks: Marks
) -> Tokens:
    """The tokens with each part of each feature quoted, followed by the ranks of all features that
    it is a part of.

    What is quoted twice in the same place is quoted once; longer quotes go around shorter ones.
    """
    ranks: dict[tuple[int, int], list[int]] = {}
    for rank, feature in enumerate(features):
        for part in filter(None, feature):
            for run in consecutive_runs(part):
                ends = (units.groups[run[0]][0], units.groups[run[-1]][-1])
                ranks.setdefault(ends, []).append(rank)
    before: dict[int, list[int]] = {}
    behind: dict[int, list[int]] = {}
    for start, end in sorted(
        ranks, key=lambda span: (span[1] - span[0], span)
    ):  # short ones first: they go inside
        before[start] = [*marks.opening, *before.get(start, ())]
        numbers = [i for rank in dict.fromkeys(ranks[start, end]) for i in marks.ranks[rank]]
        behind[end] = [*behind.get(end, ()), *marks.closing, *numbers]
    pieces = [
        [*before.get(at, ()), own, *behind.get(at, ())]
        for at, own in enumerate(tokens.ids.tolist())
    ]
    segments = np.repeat(tokens.segments, [len(piece) for piece in pieces])
    return replace(tokens, ids=np.concatenate(pieces), segments=segments)


def append_text(tokens: Tokens, units: Units, features: Sequence[Feature], marks: Marks) -> Tokens:
    """The tokens, which end with a separator, and behind them the features: parts parted by `,`,
    features by `;`.
    """
    text: list[int] = []
    for feature in features:
        text += marks.between if text else ()
        for i, part in enumerate(filter(None, feature)):
            text += marks.within if i else ()
            text += tokens.ids[units.covered(part)].tolist()
    added = [*text, marks.separator]
    segments = np.concatenate([tokens.segments, np.full(len(added), tokens.segments[-1])])
    return replace(tokens, ids=np.concatenate([tokens.ids, added]), segments=segments)


def inform(
    tokens: Tokens, units: Units, features: Sequence[Feature], marks: Marks, form: str, longest: int
) -> Tokens:
    """The tokens with an explanation, in one of the two forms; the last features are left out while
    it is too long.

    Only ids and segments are those of the longer text. ValueError for another form.
    """
    if form not in FORMS:
        raise ValueError(f"an explanation is shown as {' or '.join(FORMS)}; got {form!r}")
    insert = insert_symbols if form == "symbol" else append_text
    for count in range(len(features), 0, -1):
        informed = insert(tokens, units, features[:count], marks)
        if len(informed) <= longest:
            return informed
    return tokens


def agreement_f1(predicted: np.ndarray, labels: np.ndarray) -> float:
    """Macro F1 of an agent's predictions against the model's, over the classes that either
    predicts.
    """
    from sklearn.metrics import f1_score

    return float(f1_score(labels, predicted, average="macro", zero_division=0))


def weighted_f1(predicted: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(draws,) macro F1 where each of n instances counts as often as (draws, n) weights say."""
    scores = []
    there = []
    for k in np.union1d(predicted, labels):
        hits = weights @ ((predicted == k) & (labels == k))
        total = weights @ (predicted == k).astype(float) + weights @ (labels == k)
        scores.append(2 * hits / np.maximum(total, 1))
        there.append(total > 0)
    return np.sum(scores, axis=0) / np.sum(there, axis=0)


def bootstrap_gain(
    informed: np.ndarray,
    uninformed: np.ndarray,
    labels: np.ndarray,
    draws: int,
    confidence: float,
    rng: np.random.Generator,
) -> tuple[float, float, float]:
    """(F1 of the informed agent less that of the other, lower, upper) with a percentile bootstrap
    over instances.
    """
    weights = draw_counts(rng, len(labels), draws)
    gains = weighted_f1(informed, labels, weights) - weighted_f1(uninformed, labels, weights)
    low, high = percentile_interval(gains, confidence)
    return (
        agreement_f1(informed, labels) - agreement_f1(uninformed, labels),
        float(low),
        float(high),
    )


SIMULATABILITY = metric(
    "Simulatability",
    name="simulatability",
    judge="diagnosis",
    source="Sun et al. 2024, section 2.4, eq. 14",
    about="How often agents that see the explanation predict what the model does, mean over its "
    "forms.",
    needs=("scores", "model", "agent"),
    higher_is_better=True,
    order=66,
    stored="simulatability",
    joint=True,
    notebook="07_sun2024",
)(agreement_f1)
