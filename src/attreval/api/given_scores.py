"""Scores that were made elsewhere, of words, tokens or stretches of characters, as scores of the model's tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attreval.api.explanation import Explanation
from attreval.core.alignment import to_tokens
from attreval.core.records import Instance


def token_scores(given: Sequence, explained: Explanation, at: int) -> np.ndarray:
    """(L,) token scores from scores made elsewhere, see `Explanations.add`. ValueError where they do not fit the text.

    at: the text's place, for messages.
    """
    instance, tokens, given = explained.instance, explained.tokens, list(given)
    if given and not np.isscalar(given[0]):
        spans, values = _read_spans(given, instance, at)
        words = np.array(spans, dtype=np.int64).reshape(-1, 3)
        return to_tokens(np.array(values), tokens, Instance(instance.id, instance.segments, 0, words))
    values = _numbers(given, at)
    content, words = tokens.content, len(instance.words)
    fitting = {
        "word": {words: np.arange(words), len(explained.read): explained.read},
        "token": {len(content): content, len(tokens): np.arange(len(tokens))},
    }
    for unit in sorted(fitting, key=lambda name: name != explained.unit):  # where both fit, that of the explanations
        if len(values) in fitting[unit]:
            full = np.zeros(words if unit == "word" else len(tokens))
            full[fitting[unit][len(values)]] = values
            return to_tokens(full, tokens, instance) if unit == "word" else np.where(tokens.special, 0.0, full)
    raise ValueError(
        f"text {at} has {len(explained.read)} words that were read and {len(content)} tokens without special ones; got "
        f"{len(values)} scores. Scores of other words are given with their characters, as (start, end, score)"
    )


def _numbers(values: Sequence, at: int) -> np.ndarray:
    """Scores as (n,) float64. ValueError for what is no finite number."""
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"text {at}: scores are numbers; got {values!r:.80}") from None
    if not np.isfinite(found).all():
        raise ValueError(f"text {at}: scores are finite numbers; number {int((~np.isfinite(found)).argmax())} is not")
    return found


def _read_spans(given: Sequence, instance: Instance, at: int) -> tuple[list[tuple[int, int, int]], np.ndarray]:
    """Stretches (segment, start, end) that hold all that can be seen of the text, and their scores; 0 for the rest."""
    rows = []
    for one in given:
        row = (
            (one.get("segment", 0), one.get("start"), one.get("end"), one.get("score"))
            if isinstance(one, dict)
            else tuple(one)
        )
        row = (0, *row) if len(row) == 3 else row
        if len(row) != 4 or any(part is None for part in row):
            raise ValueError(
                f"text {at}: scores of characters are (start, end, score), or these after a segment; got {one!r:.80}"
            )
        rows.append((int(row[0]), int(row[1]), int(row[2]), row[3]))
    rows.sort(key=lambda row: row[:3])
    spans, values = [row[:3] for row in rows], _numbers([row[3] for row in rows], at).tolist()
    for (s, start, end), after in zip(spans, [*spans[1:], (len(instance.segments), 0, 0)], strict=True):
        if not 0 <= s < len(instance.segments) or not 0 <= start < end <= len(instance.segments[s]):
            raise ValueError(f"text {at}: characters {start} to {end} of part {s} are outside its text")
        if after[0] == s and after[1] < end:
            raise ValueError(f"text {at}: two scores hold character {after[1]} of part {s}; stretches may not overlap")
    for s, text in enumerate(instance.segments):  # what has no score has none, though its neighbour may be near
        mine = [span for span in spans if span[0] == s]
        ends = [0, *(end for _, _, end in mine)], [*(start for _, start, _ in mine), len(text)]
        free = [(s, a, b) for a, b in zip(*ends, strict=True) if text[a:b].strip()]
        spans, values = spans + free, values + [0.0] * len(free)
    return spans, np.array(values)
