"""Scores from elsewhere and for elsewhere: numbers at hand, files, objects of captum and shap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from attreval.core.alignment import to_tokens
from attreval.core.extras import need
from attreval.core.records import as_places
from attreval.methods.attribution_files import GivenScores, on_content_tokens
from attreval.methods.method import Method
from attreval.metrics.scored_text import to_scale
from attreval.texts.marks import read_spans

if TYPE_CHECKING:
    import shap
    from captum.attr import visualization

    from attreval.api.explanation import Explanation


def token_scores(given: Sequence, one: Explanation, at: int) -> np.ndarray:
    """(L,) scores of a text's tokens from what `Explanations.add` takes.

    Args:
        given: numbers, or spans with scores.
        one: the text.
        at: its place, for messages.

    Raises:
        ValueError: they do not fit the text.
    """
    tokens = one.tokens
    content = tokens.content
    words = len(one.instance.words)
    of_tokens = np.zeros(len(tokens))
    given = list(given)
    if given and not np.isscalar(given[0]):
        of_tokens[content] = on_content_tokens(_scored_spans(given, one, at), tokens)
        return of_tokens
    values = _numbers(given, at)
    places_of_words = {words: np.arange(words), len(one.read): one.read}
    places_of_tokens = {len(content): content, len(tokens): np.arange(len(tokens))}
    fits_words = len(values) in places_of_words
    if len(values) in places_of_tokens and (one.unit == "token" or not fits_words):
        of_tokens[places_of_tokens[len(values)]] = values
        return np.where(tokens.special, 0.0, of_tokens)
    if fits_words:
        of_words = np.zeros(words)
        of_words[places_of_words[len(values)]] = values
        return to_tokens(of_words, tokens, one.instance)
    raise ValueError(
        f"text {at} has {len(one.read)} words that were read and {len(content)} tokens without "
        f"special ones; got {len(values)} scores. Scores of other words are given with their "
        "characters, as (start, end, score)"
    )


def _numbers(values: Sequence, at: int) -> np.ndarray:
    """Scores as (n,) float64. ValueError for what is no finite number."""
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"text {at}: scores are numbers; got {values!r:.80}") from None
    if wrong := np.flatnonzero(~np.isfinite(found)).tolist():
        raise ValueError(f"text {at}: scores are finite numbers; number {wrong[0]} is not")
    return found


def _scored_spans(given: Sequence, one: Explanation, at: int) -> GivenScores:
    """Stretches of characters with their scores. ValueError where these are none, or overlap."""
    spans = []
    scores = []
    for row in given:
        named = isinstance(row, dict)
        if not named and len(row) not in (3, 4):
            raise ValueError(
                f"text {at}: scores of characters are (start, end, score), or these after a "
                f"segment; got {row!r:.80}"
            )
        spans.append(row if named else list(row)[:-1])
        scores.append(row.get("score") if named else row[-1])
    found = read_spans(spans, one.instance.segments, f"text {at}")
    ordered = found[np.lexsort(found.T[::-1])]
    for (segment, _, end), (other, start, _) in pairwise(ordered):
        if segment == other and start < end:
            raise ValueError(
                f"text {at}: two scores hold character {start} of part {segment}; spans may not "
                "overlap"
            )
    return GivenScores(one.instance.segments, "", found, _numbers(scores, at))


def as_rows(explained: Sequence[Explanation], methods: Sequence[str]) -> list[GivenScores]:
    """One row a text and method, as methods.attribution_files writes them."""
    rows = []
    for one in explained:
        places = [(unit.segment, unit.start, unit.end) for unit in one.units]
        spans = as_places(places)
        text = one.instance
        for method in methods:
            scores = one.scores(method)
            rows.append(GivenScores(text.segments, method, spans, scores, text.id, one.target))
    return rows


def scores_of_methods(
    given: Mapping[str, Method], explained: Sequence[Explanation], labels: Sequence[str]
) -> dict[str, list[np.ndarray]]:
    """By method, (L,) scores of each text's tokens, as methods that were made elsewhere have them.

    Args:
        given: see methods.attribution_files.as_methods; texts are matched by their words.
        explained: the texts.
        labels: the model's classes.

    Raises:
        ValueError: a text has no scores, or (AnotherClass) another class was explained.
    """
    found: dict[str, list[np.ndarray]] = {}
    for name, method in given.items():
        if method.given is None:
            continue
        for one in explained:
            answer = method.given(one.instance, one.tokens, labels.index(one.target))
            of_tokens = np.zeros(len(one.tokens))
            of_tokens[one.tokens.content] = answer.values
            found.setdefault(name, []).append(of_tokens)
    return found


def to_captum(
    explained: Sequence[Explanation], method: str
) -> list[visualization.VisualizationDataRecord]:
    """Records for captum's visualize_text, scores divided by the largest of each text."""
    visualization = need("captum.attr", "captum", "to_captum").visualization
    records = []
    for one in explained:
        scores = one.scores(method)
        records.append(
            visualization.VisualizationDataRecord(
                word_attributions=to_scale(scores),
                pred_prob=one.probabilities[one.predicted],
                pred_class=one.predicted,
                true_class="",
                attr_class=one.target,
                attr_score=float(scores.sum()),
                raw_input_ids=[unit.text for unit in one.units],
                convergence_score=one.gaps.get(one.named(method), np.nan),
            )
        )
    return records


def to_shap(explained: Sequence[Explanation], method: str) -> shap.Explanation:
    """A shap.Explanation for shap.plots.text: values and words of each text, as they stand there.

    A base value is what the scores leave of the probability, or value, that is explained: of
    Shapley values that of the blank text, of methods that do not add up to it a remainder without a
    meaning.
    """
    shap = need("shap", "shap", "to_shap")
    values, words = np.empty((2, len(explained)), dtype=object)
    bases = np.zeros(len(explained))
    for at, one in enumerate(explained):
        values[at] = one.scores(method)
        words[at] = np.array(_stretches(one), dtype=object)
        among = [one.target, one.against] if one.against else one.probabilities
        whole = sum(one.probabilities[label] for label in among) if len(among) > 1 else 1.0
        bases[at] = one.probabilities[one.target] / whole - values[at].sum()
    return shap.Explanation(values=values, base_values=bases, data=words)


def _stretches(one: Explanation) -> list[str]:
    """Each unit with the characters up to the next one; a space ends the first text of a pair."""
    found = [f"{unit.text} " for unit in one.units]
    for at, (unit, following) in enumerate(pairwise(one.units)):
        if following.segment == unit.segment:
            found[at] = one.instance.segments[unit.segment][unit.start : following.start]
    return found
